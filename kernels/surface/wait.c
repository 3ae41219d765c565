#include "wait.h"

#include "call.h"

static int complete(request_object *r, PyObject *call, PyObject *status)
{
    const message m = request_collect(r->number);
    request_become_null(r);
    return request_report((PyObject *)r, call, &m, status);
}

static int takes_status(const arguments *given, PyObject **status)
{
    return arguments_sort(given, &surface.name.status, 1, 0, status) && request_can_report(*status);
}

PyObject *wait_perform_one(PyObject *self, const arguments *given)
{
    request_object *r = (request_object *)self;
    PyObject *status;
    if (!request_is_plain(r) || r->number < 0 || !takes_status(given, &status)) return NULL;
    if (r->number == 0) {
        const message nothing = {0};
        request_become_null(r);
        return request_report(self, surface.name.Wait, &nothing, status) < 0 ? NULL : Py_NewRef(Py_True);
    }
    const int code = surface.calls->append_wait(surface.sim, surface.timeline, r->number);
    if (code < 0) return surface_kernel_error(code), NULL;
    if (block_on(surface.name.Wait) < 0 || complete(r, surface.name.Wait, status) < 0) return NULL;
    Py_RETURN_TRUE;
}

PyObject *wait_perform_test(PyObject *self, const arguments *given)
{
    request_object *r = (request_object *)self;
    PyObject *status;
    if (!request_is_plain(r) || r->number <= 0 || !takes_status(given, &status)) return NULL;
    const int code = surface.calls->append_test(surface.sim, surface.timeline, r->number);
    if (code < 0) return surface_kernel_error(code), NULL;
    if (block_on(surface.name.Test) < 0) return NULL;
    if (!surface.calls->answer(surface.sim, surface.timeline)) Py_RETURN_FALSE;
    if (complete(r, surface.name.Test, status) < 0) return NULL;
    Py_RETURN_TRUE;
}

/* Requests of a Waitall: new references, so that nothing the program does meanwhile matters. */
enum { FEW = 16 };
typedef struct {
    Py_ssize_t n;
    int n_under_way;
    request_object **request, *few[FEW];
    int *number, few_numbers[FEW];
} batch;

static int batch_take(batch *b, PyObject *const *item, Py_ssize_t n) /* 1, or 0: not for us */
{
    b->n = 0;
    b->n_under_way = 0;
    b->request = n <= FEW ? b->few : PyMem_Malloc((size_t)n * sizeof *b->request);
    b->number = n <= FEW ? b->few_numbers : PyMem_Malloc((size_t)n * sizeof *b->number);
    if (!b->request || !b->number) return 0;
    for (; b->n < n; b->n++) {
        request_object *r = (request_object *)item[b->n];
        if (!PyObject_TypeCheck(item[b->n], surface.request_base) || !request_is_plain(r)) return 0;
        b->request[b->n] = (request_object *)Py_NewRef(item[b->n]);
        if (r->number > 0) b->number[b->n_under_way++] = r->number;
    }
    return 1;
}

static void batch_drop(batch *b)
{
    for (Py_ssize_t i = 0; i < b->n; i++) Py_DECREF(b->request[i]);
    if (b->request != b->few) PyMem_Free(b->request);
    if (b->number != b->few_numbers) PyMem_Free(b->number);
}

/* All of them become null before the first truncated one raises. */
static int batch_complete(batch *b)
{
    Py_ssize_t truncated = -1;
    message reported = {0};
    for (Py_ssize_t i = 0; i < b->n; i++) {
        request_object *r = b->request[i];
        if (r->number > 0) {
            const message m = request_collect(r->number);
            if (m.is_recv && m.bytes > m.capacity && truncated < 0) {
                truncated = i;
                reported = m;
            }
        }
        request_become_null(r);
    }
    return truncated < 0 ? 0 : request_report((PyObject *)b->request[truncated], surface.name.Waitall, &reported, NULL);
}

static int wait_for_batch(batch *b)
{
    if (b->n_under_way) {
        const int code = surface.calls->append_wait_all(surface.sim, surface.timeline, b->n_under_way, b->number);
        if (code < 0) return surface_kernel_error(code);
        if (block_on(surface.name.Waitall) < 0) return -1;
    }
    return batch_complete(b);
}

PyObject *wait_perform_all(PyObject *type, const arguments *given)
{
    (void)type;
    PyObject *const parameters[] = {surface.name.requests, surface.name.statuses};
    PyObject *out[2], *result = NULL;
    if (!arguments_sort(given, parameters, 2, 1, out) || !is_none(out[1])) return NULL;
    if (!PyList_CheckExact(out[0]) && !PyTuple_CheckExact(out[0])) return NULL;
    batch b;
    if (batch_take(&b, PySequence_Fast_ITEMS(out[0]), PySequence_Fast_GET_SIZE(out[0])))
        result = wait_for_batch(&b) < 0 ? NULL : Py_NewRef(Py_True);
    batch_drop(&b);
    return result;
}

PyObject *wait_one(PyObject *self, PyObject *const *at, Py_ssize_t n, PyObject *keywords)
{
    const arguments given = {at, n, keywords};
    return call_perform(self, COMM_NULL, &given, surface.name.Wait, surface.name._Wait, wait_perform_one);
}

PyObject *wait_test(PyObject *self, PyObject *const *at, Py_ssize_t n, PyObject *keywords)
{
    const arguments given = {at, n, keywords};
    return call_perform(self, COMM_NULL, &given, surface.name.Test, surface.name._Test, wait_perform_test);
}

PyObject *wait_all(PyObject *type, PyObject *const *at, Py_ssize_t n, PyObject *keywords)
{
    const arguments given = {at, n, keywords};
    return call_perform(type, COMM_NULL, &given, surface.name.Waitall, surface.name._Waitall, wait_perform_all);
}
