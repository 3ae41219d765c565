#include "pending.h"

#include "call.h"
#include "array_memory.h"
#include "comm.h"
#include "guard.h"
#include "lines.h"
#include "wait.h"

typedef struct {
    request_object *of;             /* borrowed: it takes itself off the list */
    PyObject *memory;               /* owned: keeps the bytes there until they are looked at for the last time */
    const char *data;
    int64_t bytes;
    uint64_t sum;                   /* a send's */
    int number;                     /* the kernel's; 0: a send that was complete at once */
    int line;
    int guard;                      /* 0: there is none */
    uint8_t is_written, is_wild;
} pending_buffer;

typedef struct pending_buffers {
    pending_buffer *at;             /* in the order of their starts */
    int n, room;
    int told[2];                    /* lines of the overlap that it has told of last */
} pending_buffers;

/* ---- lists ---- */

static pending_buffers *buffers_of(int rank)
{
    if (rank >= surface.pending_room) {
        int room = surface.pending_room ? surface.pending_room : 64;
        while (room <= rank) room *= 2;
        pending_buffers *grown = PyMem_Realloc(surface.pending, (size_t)room * sizeof *grown);
        if (!grown) return NULL;
        for (int i = surface.pending_room; i < room; i++) grown[i] = (pending_buffers){0};
        surface.pending = grown;
        surface.pending_room = room;
    }
    return &surface.pending[rank];
}

static pending_buffer *find(const pending_buffers *all, const request_object *r)
{
    for (int i = all->n - 1; i >= 0; i--)
        if (all->at[i].of == r) return &all->at[i];
    return NULL;
}

/* Off the list; what is handed over owns its memory. */
static pending_buffer take_out(pending_buffers *all, pending_buffer *p)
{
    const pending_buffer over = *p;
    for (all->n--; p < all->at + all->n; p++) *p = p[1];
    return over;
}

void pending_tell(const char *method, PyObject *arguments)
{
    PyObject *function = arguments ? PyObject_GetAttrString(surface.checks, method) : NULL;
    PyObject *result = function ? PyObject_CallObject(function, arguments) : NULL;
    if (!result) PyErr_WriteUnraisable(surface.checks);
    Py_XDECREF(result);
    Py_XDECREF(function);
    Py_XDECREF(arguments);
}

/* Tells of who has touched a receive's buffer, if somebody has. `call` has completed it, or is NULL. */
static int end_guard(int rank, const pending_buffer *over, PyObject *call)
{
    const guard_touch touch = over->guard ? guard_end(over->guard) : (guard_touch){GUARD_UNTOUCHED, 0};
    if (!touch.how) return 0;
    pending_tell("touched", Py_BuildValue("iiiiOi", rank, over->line, touch.how, touch.line, call ? call : Py_None,
                                  call ? lines_here() : 0));
    return 1;
}

void pending_end_checks(void)
{
    for (int rank = 0; rank < surface.pending_room; rank++) {
        const pending_buffers *all = &surface.pending[rank];
        for (int i = 0; i < all->n; i++) {
            if (!all->at[i].number) pending_tell("left", Py_BuildValue("ii", rank, all->at[i].line));
            end_guard(rank, &all->at[i], NULL);
            Py_XDECREF(all->at[i].memory);
        }
        PyMem_Free(all->at);
    }
    PyMem_Free(surface.pending);
    surface.pending = NULL;
    surface.pending_room = surface.n_pending_elsewhere = 0;
    array_memory_stop();
    guard_stop();
    Py_CLEAR(surface.checks);
}

/* ---- the life of a buffer ---- */

static int have_bytes_in_common(const pending_buffer *a, const pending_buffer *b)
{
    return a->data < b->data + b->bytes && b->data < a->data + a->bytes && (a->is_written || b->is_written);
}

/* Tells of the first buffer that a new one overlaps, unless it has just told of such lines. */
static void compare(pending_buffers *all, const pending_buffer *new)
{
    const int writes = new->is_written;
    int i = 0;
    while (i < all->n && !have_bytes_in_common(&all->at[i], new)) i++;
    if (i < all->n && (all->told[0] != all->at[i].line || all->told[1] != new->line)) {
        const pending_buffer *other = &all->at[i];
        all->told[0] = other->line;
        all->told[1] = new->line;
        pending_tell("overlapping", Py_BuildValue("iiiii", surface.rank, other->line, other->is_written, new->line, writes));
    }
    if (surface.n_pending_elsewhere && new->data)
        pending_tell("compare", Py_BuildValue("iiiKL", surface.rank, new->line, writes, (unsigned long long)(uintptr_t)new->data,
                                      (long long)new->bytes));
}

/* A guard sees who touches the buffer; without one, or of bytes outside its pages, sums tell what has changed. */
static void watch(pending_buffer *new)
{
    int is_whole;
    new->guard = guard_begin(new->data, new->bytes, new->line, &is_whole);
    if (is_whole) return;
    const int before = guard_enter_own();
    surface.calls->check_buffer(surface.sim, new->number, new->data, new->bytes);
    guard_leave_own(before);
}

static int begin(request_object *r, int is_written)
{
    pending_buffers *all = buffers_of(surface.rank);
    if (!all) return PyErr_NoMemory(), -1;
    if (all->n == all->room) {
        const int room = all->room ? 2 * all->room : 8;
        pending_buffer *grown = PyMem_Realloc(all->at, (size_t)room * sizeof *grown);
        if (!grown) return PyErr_NoMemory(), -1;
        all->at = grown;
        all->room = room;
    }
    pending_buffer new = {.of = r, .number = r->number, .line = lines_here(), .is_written = (uint8_t)is_written};
    if (is_written) new.is_wild = surface.calls->request_of(surface.sim, r->number)->peer == SIM_ANY;
    const char *data = surface.taken_from[is_written].data;
    const int64_t bytes = surface.taken_from[is_written].bytes;
    if (r->view.obj && data && surface.calls->folded_share(surface.sim, data, bytes) == FOLDED_NONE) {
        new.memory = Py_XNewRef(r->view.obj);
        new.data = data;
        new.bytes = bytes;
        compare(all, &new);
        if (is_written)
            watch(&new);
        else
            new.sum = surface.calls->sum_of(data, bytes);
    }
    all->at[all->n++] = new;
    r->pending = surface.rank + 1;
    return 0;
}

static pending_buffers *list_of(const request_object *r)
{
    const int is_here = r->pending > 0 && surface.checks && r->epoch == surface.epoch && r->pending <= surface.pending_room;
    return is_here ? &surface.pending[r->pending - 1] : NULL;
}

/* The request is null now. */
static void end(request_object *r, PyObject *call, int asks)
{
    pending_buffers *all = list_of(r);
    pending_buffer *p = all ? find(all, r) : NULL;
    r->pending = 0;
    if (!p) return;
    const pending_buffer over = take_out(all, p);
    if (over.is_wild && asks) pending_tell("asks", Py_BuildValue("(i)", over.line));
    const int is_touched = end_guard(surface.rank, &over, call);
    const int has_changed = !over.data || is_touched ? 0
                            : over.is_written ? surface.calls->buffer_has_changed(surface.sim, over.number, over.data)
                                              : surface.calls->sum_of(over.data, over.bytes) != over.sum;
    Py_XDECREF(over.memory);
    if (has_changed) pending_tell("changed", Py_BuildValue("iiiOi", surface.rank, over.line, over.is_written, call, lines_here()));
}

void pending_drop(request_object *r)
{
    pending_buffers *all = list_of(r);
    pending_buffer *p = all ? find(all, r) : NULL;
    const int rank = r->pending - 1;
    r->pending = 0;
    if (!p) return;
    const pending_buffer over = take_out(all, p);
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    if (!over.number) pending_tell("left", Py_BuildValue("ii", rank, over.line)); /* the kernel knows of others */
    end_guard(rank, &over, NULL);
    Py_XDECREF(over.memory);
    PyErr_Restore(type, value, trace);
}

/* ---- methods that look at buffers ---- */

/* A request that was complete at once keeps no memory. */
static void keep_memory(request_object *r, const arguments *given)
{
    PyObject *const parameters[] = {surface.name.buf, surface.name.dest, surface.name.tag};
    PyObject *in[3];
    if (r->view.obj || !arguments_sort(given, parameters, 3, 2, in)) return;
    const int is_specified = PyList_CheckExact(in[0]) || PyTuple_CheckExact(in[0]);
    PyObject *buffer = is_specified ? PySequence_Fast_GET_ITEM(in[0], 0) : in[0];
    if (PyObject_GetBuffer(buffer, &r->view, PyBUF_STRIDES | PyBUF_FORMAT) < 0) PyErr_Clear();
}

static PyObject *pending(PyObject *made, int is_written)
{
    if (!made || begin((request_object *)made, is_written) == 0) return made;
    Py_DECREF(made);
    return NULL;
}

static PyObject *perform_isend(PyObject *self, const arguments *given)
{
    const int before = guard_enter_own(); /* of a buffer that is received into, the overlap is told */
    PyObject *made = comm_isend(self, given);
    guard_leave_own(before);
    if (made) keep_memory((request_object *)made, given);
    return pending(made, 0);
}

static PyObject *perform_irecv(PyObject *self, const arguments *given)
{
    return pending(comm_irecv(self, given), 1);
}

static int asks(const arguments *given)
{
    PyObject *status;
    return arguments_sort(given, &surface.name.status, 1, 0, &status) && !is_none(status);
}

/* Is it one whose buffers smpy.mpi has in its lists? */
static int is_elsewhere(PyObject *request)
{
    return PyObject_TypeCheck(request, surface.request_base) && ((request_object *)request)->pending == PENDING_ELSEWHERE;
}

static PyObject *perform_wait(PyObject *self, const arguments *given)
{
    if (is_elsewhere(self)) return NULL;
    PyObject *result = wait_perform_one(self, given);
    if (result) end((request_object *)self, surface.name.Wait, asks(given));
    return result;
}

static PyObject *perform_test(PyObject *self, const arguments *given)
{
    if (is_elsewhere(self)) return NULL;
    PyObject *result = wait_perform_test(self, given);
    if (result == Py_True) end((request_object *)self, surface.name.Test, asks(given));
    return result;
}

static void end_all(PyObject *call, PyObject *const *item, Py_ssize_t n, int asked)
{
    for (Py_ssize_t i = 0; i < n; i++) {
        request_object *r = (request_object *)item[i];
        if (PyObject_TypeCheck(item[i], surface.request_base) && r->pending > 0 && r->number == NO_NUMBER) end(r, call, asked);
    }
}

static PyObject *perform_waitall(PyObject *type, const arguments *given)
{
    PyObject *const parameters[] = {surface.name.requests, surface.name.statuses};
    PyObject *in[2];
    if (!arguments_sort(given, parameters, 2, 1, in) || !(PyList_CheckExact(in[0]) || PyTuple_CheckExact(in[0]))) return NULL;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(in[0]); i++)
        if (is_elsewhere(PySequence_Fast_GET_ITEM(in[0], i))) return NULL;
    PyObject *result = wait_perform_all(type, given);
    if (result)
        end_all(surface.name.Waitall, PySequence_Fast_ITEMS(in[0]), PySequence_Fast_GET_SIZE(in[0]), 0);
    return result;
}

static PyObject *Checked_Isend(PyObject *self, PyObject *const *at, Py_ssize_t n, PyObject *keywords)
{
    const arguments given = {at, n, keywords};
    return call_perform(self, comm_number_as_named(self), &given, surface.name.Isend, surface.name._Isend, perform_isend);
}

static PyObject *Checked_Irecv(PyObject *self, PyObject *const *at, Py_ssize_t n, PyObject *keywords)
{
    const arguments given = {at, n, keywords};
    return call_perform(self, comm_number_as_named(self), &given, surface.name.Irecv, surface.name._Irecv, perform_irecv);
}

static PyObject *Checked_Wait(PyObject *self, PyObject *const *at, Py_ssize_t n, PyObject *keywords)
{
    const arguments given = {at, n, keywords};
    return call_perform(self, COMM_NULL, &given, surface.name.Wait, surface.name._Wait, perform_wait);
}

static PyObject *Checked_Test(PyObject *self, PyObject *const *at, Py_ssize_t n, PyObject *keywords)
{
    const arguments given = {at, n, keywords};
    return call_perform(self, COMM_NULL, &given, surface.name.Test, surface.name._Test, perform_test);
}

static PyObject *Checked_Waitall(PyObject *type, PyObject *const *at, Py_ssize_t n, PyObject *keywords)
{
    const arguments given = {at, n, keywords};
    return call_perform(type, COMM_NULL, &given, surface.name.Waitall, surface.name._Waitall, perform_waitall);
}

static PyMethodDef of_comm[] = {
    {"Isend", (PyCFunction)(void (*)(void))Checked_Isend, METH_FASTCALL | METH_KEYWORDS, NULL},
    {"Irecv", (PyCFunction)(void (*)(void))Checked_Irecv, METH_FASTCALL | METH_KEYWORDS, NULL},
    {0},
}, of_request[] = {
    {"Wait", (PyCFunction)(void (*)(void))Checked_Wait, METH_FASTCALL | METH_KEYWORDS, NULL},
    {"Test", (PyCFunction)(void (*)(void))Checked_Test, METH_FASTCALL | METH_KEYWORDS, NULL},
    {0},
}, waitall = {"Waitall", (PyCFunction)(void (*)(void))Checked_Waitall, METH_FASTCALL | METH_KEYWORDS | METH_CLASS, NULL};

static int add_method(PyObject *methods, const char *name, PyObject *method)
{
    const int result = method ? PyDict_SetItemString(methods, name, method) : -1;
    Py_XDECREF(method);
    return result;
}

static int add_methods(PyObject *methods, PyTypeObject *type, PyMethodDef *list)
{
    for (; list->ml_name; list++)
        if (add_method(methods, list->ml_name, PyDescr_NewMethod(type, list)) < 0) return -1;
    return 0;
}

PyObject *pending_methods(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    PyObject *comms = PyDict_New(), *requests = PyDict_New();
    if (comms && requests && add_methods(comms, surface.comm_base, of_comm) == 0 &&
        add_methods(requests, surface.request_base, of_request) == 0 &&
        add_method(requests, waitall.ml_name, PyDescr_NewClassMethod(surface.request_base, &waitall)) == 0)
        return Py_BuildValue("NN", comms, requests);
    Py_XDECREF(comms);
    Py_XDECREF(requests);
    return NULL;
}

/* ---- for smpy.mpi.checks ---- */

PyObject *pending_check(PyObject *module, PyObject *checks)
{
    (void)module;
    if (guard_start() < 0) return NULL;
    Py_XSETREF(surface.checks, Py_NewRef(checks));
    array_memory_resume();
    Py_RETURN_NONE;
}

PyObject *pending_elsewhere(PyObject *module, PyObject *more)
{
    (void)module;
    const long n = PyLong_AsLong(more);
    if (n == -1 && PyErr_Occurred()) return NULL;
    surface.n_pending_elsewhere += (int)n;
    Py_RETURN_NONE;
}

PyObject *pending_mark(PyObject *module, PyObject *request)
{
    (void)module;
    if (PyObject_TypeCheck(request, surface.request_base)) ((request_object *)request)->pending = PENDING_ELSEWHERE;
    Py_RETURN_NONE;
}

PyObject *pending_completed(PyObject *module, PyObject *args)
{
    PyObject *call, *requests;
    int asked;
    (void)module;
    if (!PyArg_ParseTuple(args, "OOp:pending_completed", &call, &requests, &asked)) return NULL;
    if (!surface.pending || surface.rank < 0 || surface.rank >= surface.pending_room) Py_RETURN_NONE;
    const pending_buffers *all = &surface.pending[surface.rank];
    for (int i = all->n - 1; i >= 0 && requests == Py_None; i--)
        if (i < all->n && all->at[i].of->number == NO_NUMBER) end(all->at[i].of, call, asked);
    PyObject *list = requests == Py_None ? NULL : PySequence_Fast(requests, "requests are a sequence");
    if (requests != Py_None && !list) return NULL;
    if (list) end_all(call, PySequence_Fast_ITEMS(list), PySequence_Fast_GET_SIZE(list), asked);
    Py_XDECREF(list);
    Py_RETURN_NONE;
}

PyObject *pending_forget(PyObject *module, PyObject *request)
{
    (void)module;
    if (!PyObject_TypeCheck(request, surface.request_base)) Py_RETURN_NONE;
    request_object *r = (request_object *)request;
    pending_buffers *all = list_of(r);
    pending_buffer *p = all ? find(all, r) : NULL;
    const int rank = r->pending - 1;
    r->pending = 0;
    if (!p) Py_RETURN_NONE;
    const pending_buffer over = take_out(all, p);
    end_guard(rank, &over, NULL);
    Py_XDECREF(over.memory);
    Py_RETURN_NONE;
}

PyObject *pending_overlaps(PyObject *module, PyObject *args)
{
    unsigned long long address;
    long long bytes;
    int is_written;
    (void)module;
    if (!PyArg_ParseTuple(args, "KLp:pending_overlaps", &address, &bytes, &is_written)) return NULL;
    PyObject *found = PyList_New(0);
    if (!found || surface.rank < 0 || surface.rank >= surface.pending_room) return found;
    const pending_buffers *all = &surface.pending[surface.rank];
    const pending_buffer other = {.data = (const char *)(uintptr_t)address, .bytes = bytes, .is_written = (uint8_t)is_written};
    for (int i = 0; i < all->n; i++) {
        if (!have_bytes_in_common(&all->at[i], &other)) continue;
        PyObject *row = Py_BuildValue("ii", all->at[i].line, all->at[i].is_written);
        if (!row || PyList_Append(found, row) < 0) Py_CLEAR(found);
        Py_XDECREF(row);
        if (!found) return NULL;
    }
    return found;
}
