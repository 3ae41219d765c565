#include "request.h"

#include <stddef.h>
#include <structmember.h>

#include "arguments.h"
#include "pending.h"
#include "wait.h"

/* ---- the kernel's side ---- */

/* A failure is raised by the hub: whoever collects has no way to tell it. */
static void pay(double work_s)
{
    const int code = surface.calls->append_overhead(surface.sim, surface.timeline, work_s);
    if (code >= 0 || surface.failure.type) return;
    surface_kernel_error(code);
    PyErr_Fetch(&surface.failure.type, &surface.failure.value, &surface.failure.trace);
}

message request_collect(int number)
{
    const request *r = surface.calls->request_of(surface.sim, number);
    const message m = {!r->is_send && !r->is_cancelled, r->is_cancelled, r->matched_source,
                       r->matched_tag, r->matched_bytes, r->bytes};
    const double work_s = surface.calls->work_of_request_s(surface.sim, number);
    surface.calls->release(surface.sim, number);
    if (work_s > 0) pay(work_s);
    return m;
}

void request_abandon(int number, unsigned epoch)
{
    if (!surface.sim || surface.epoch != epoch) return;
    payload *lent = surface.calls->payload_of(surface.sim, number);
    if (lent && lent->kind == PAYLOAD_BORROWED) lent->kind = PAYLOAD_NONE;
    surface.calls->release(surface.sim, number);
}

/* ---- results for the program ---- */

static int set_number(PyObject *object, PyObject *name, long long value)
{
    PyObject *number = PyLong_FromLongLong(value);
    const int result = number ? PyObject_SetAttr(object, name, number) : -1;
    Py_XDECREF(number);
    return result;
}

static int fill_status(PyObject *status, const message *m)
{
    const int is_recv = m->is_recv;
    if (set_number(status, surface.name._source, is_recv ? m->source : SIM_ANY) < 0) return -1;
    if (set_number(status, surface.name._tag, is_recv ? m->tag : SIM_ANY) < 0) return -1;
    if (set_number(status, surface.name._error, 0) < 0) return -1;
    const int64_t bytes = m->bytes < m->capacity ? m->bytes : m->capacity;
    if (set_number(status, surface.name._nbytes, is_recv ? bytes : 0) < 0) return -1;
    return PyObject_SetAttr(status, surface.name._cancelled, m->is_cancelled ? Py_True : Py_False);
}

static int raise_truncated(PyObject *self, PyObject *call, const message *m)
{
    PyObject *messages = PyImport_ImportModule("smpy.engine.messages");
    PyObject *told = messages ? PyObject_CallMethod(messages, "Envelope", "iiLL", m->source, m->tag, (long long)m->bytes,
                                                    (long long)m->capacity)
                              : NULL;
    PyObject *result = told ? PyObject_CallMethodObjArgs(self, surface.name._truncated, call, told, NULL) : NULL;
    if (result) PyErr_SetString(PyExc_SystemError, "_truncated() returned");
    Py_XDECREF(result);
    Py_XDECREF(told);
    Py_XDECREF(messages);
    return -1;
}

int request_can_report(PyObject *status)
{
    if (is_none(status)) return 1;
    PyObject *bytes = PyObject_GetAttr(status, surface.name._nbytes);
    Py_XDECREF(bytes);
    PyErr_Clear();
    return bytes != NULL;
}

int request_report(PyObject *self, PyObject *call, const message *m, PyObject *status)
{
    if (!is_none(status) && fill_status(status, m) < 0) return -1;
    return m->is_recv && m->bytes > m->capacity ? raise_truncated(self, call, m) : 0;
}

/* ---- life and death ---- */

request_object *request_new(void)
{
    PyTypeObject *type = surface.request_class;
    request_object *r = (request_object *)type->tp_alloc(type, 0);
    if (!r) return NULL;
    r->epoch = surface.epoch;
    return r;
}

static PyObject *Request_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    (void)args, (void)keywords;
    request_object *r = (request_object *)type->tp_alloc(type, 0);
    if (!r) return NULL;
    r->number = NO_NUMBER;
    r->epoch = surface.epoch;
    return (PyObject *)r;
}

static int Request_traverse(PyObject *self, visitproc visit, void *arg)
{
    request_object *r = (request_object *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(r->view.obj);
    Py_VISIT(r->layout);
    Py_VISIT(r->buffer);
    Py_VISIT(r->memory);
    Py_VISIT(r->message);
    Py_VISIT(r->finish);
    return 0;
}

static int Request_clear(PyObject *self)
{
    request_object *r = (request_object *)self;
    PyBuffer_Release(&r->view); /* does nothing where there is none */
    Py_CLEAR(r->layout);
    Py_CLEAR(r->buffer);
    Py_CLEAR(r->memory);
    Py_CLEAR(r->message);
    Py_CLEAR(r->finish);
    return 0;
}

int request_is_plain(const request_object *r)
{
    return is_none(r->message) && is_none(r->finish) && (r->number <= 0 || r->epoch == surface.epoch);
}

void request_become_null(request_object *r)
{
    r->number = NO_NUMBER;
    Request_clear((PyObject *)r);
}

static int is_under_way(const request_object *r)
{
    if ((!r->view.obj && !r->memory) || r->number <= 0 || !surface.sim || r->epoch != surface.epoch) return 0;
    return !surface.calls->request_of(surface.sim, r->number)->is_done;
}

static void Request_finalize(PyObject *self)
{
    request_object *r = (request_object *)self;
    if (r->is_held || !is_under_way(r)) return;
    payload *lent = surface.calls->payload_of(surface.sim, r->number);
    if (!lent) return; /* there is none, then, and nothing to hold */
    lent->object = Py_NewRef(self);
    r->is_held = 1;
    r->before = NULL;
    r->after = surface.held;
    if (surface.held) surface.held->before = r;
    surface.held = r;
}

static void Request_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    if (((request_object *)self)->number > 0 && PyObject_CallFinalizerFromDealloc(self) < 0) return;
    PyObject_GC_UnTrack(self);
    if (((request_object *)self)->pending) pending_drop((request_object *)self);
    Request_clear(self);
    type->tp_free(self);
    Py_DECREF(type);
}

int request_drop(int number, unsigned epoch, PyObject *memory)
{
    if (!surface.sim || surface.epoch != epoch) return 0;
    request_object *r = request_new();
    if (!r) return -1;
    r->number = number;
    r->memory = Py_NewRef(memory);
    Py_DECREF(r);
    return 0;
}

void request_take_held(void *held, request_object **chain)
{
    request_object *r = held;
    if (r->before)
        r->before->after = r->after;
    else
        surface.held = r->after;
    if (r->after) r->after->before = r->before;
    r->is_held = 0;
    r->after = *chain;
    *chain = r;
}

void request_drop_chain(request_object *chain)
{
    while (chain) {
        request_object *r = chain;
        chain = r->after;
        r->number = NO_NUMBER;
        Py_DECREF(r);
    }
}

void request_drop_held(void)
{
    request_object *chain = NULL;
    while (surface.held) request_take_held(surface.held, &chain);
    request_drop_chain(chain);
}

#ifdef SMPY_CHECK
static void require(int holds, const char *what)
{
    if (!holds) Py_FatalError(what);
}

void request_check(void)
{
    const request_object *before = NULL;
    for (const request_object *r = surface.held; r; before = r, r = r->after) {
        require(r->is_held && r->before == before, "a request in the list of held ones is not linked to it");
        require(is_under_way(r), "a held request is not under way");
        require(surface.calls->payload_of(surface.sim, r->number)->object == r, "the kernel does not know a held request");
    }
}
#endif

/* ---- the Python type ---- */

static PyObject *Request_get_buffer(PyObject *self, void *unused)
{
    (void)unused;
    request_object *r = (request_object *)self;
    PyObject *buffer = r->view.obj ? r->view.obj : r->buffer;
    return Py_NewRef(buffer ? buffer : Py_None);
}

static PyObject *Request_refer_to(PyObject *self, PyObject *number)
{
    request_object *r = (request_object *)self;
    int id;
    if (!arguments_int(number, &id)) return PyErr_Format(PyExc_TypeError, "a number of the kernel's is required");
    r->number = id >= 0 ? id : NO_NUMBER;
    r->epoch = surface.epoch;
    Py_RETURN_NONE;
}

static PyObject *Request_share(PyObject *self, PyObject *other)
{
    request_object *r = (request_object *)self;
    const request_object *with = (request_object *)other;
    if (!PyObject_TypeCheck(other, surface.request_base)) return PyErr_Format(PyExc_TypeError, "a Request is required");
    PyBuffer_Release(&r->view);
    r->number = with->number;
    r->epoch = with->epoch;
    Py_XSETREF(r->buffer, Py_XNewRef(with->view.obj ? with->view.obj : with->buffer));
    Py_XSETREF(r->message, Py_XNewRef(with->message));
    Py_XSETREF(r->finish, Py_XNewRef(with->finish));
    Py_RETURN_NONE;
}

static PyObject *Request_let_go(PyObject *self, PyObject *unused)
{
    (void)unused;
    request_become_null((request_object *)self);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"Wait", (PyCFunction)(void (*)(void))wait_one, METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("Wait($self, status=None)\n--\n\nWait for the transfer to complete.")},
    {"Test", (PyCFunction)(void (*)(void))wait_test, METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("Test($self, status=None)\n--\n\nWhether the transfer is complete; asking takes simulated time.")},
    {"_refer_to", Request_refer_to, METH_O,
     PyDoc_STR("_refer_to($self, number, /)\n--\n\nStand for the kernel's request with this number; 0: it is complete.")},
    {"_share", Request_share, METH_O,
     PyDoc_STR("_share($self, request, /)\n--\n\nStand for what another request stands for.")},
    {"_let_go", Request_let_go, METH_NOARGS, PyDoc_STR("_let_go($self)\n--\n\nBecome null, and let go of all memory.")},
    {"Waitall", (PyCFunction)(void (*)(void))wait_all, METH_FASTCALL | METH_KEYWORDS | METH_CLASS,
     PyDoc_STR("Waitall($type, requests, statuses=None)\n--\n\nWait for all of them to complete.")},
    {0},
};

static PyMemberDef members[] = {
    {"_kernel_request", T_INT, offsetof(request_object, number), READONLY,
     PyDoc_STR("The kernel's number; 0: complete, -1: null.")},
    {"_layout", T_OBJECT, offsetof(request_object, layout), READONLY, PyDoc_STR("Of a receive with strides, kept alive likewise.")},
    {"_envelope", T_OBJECT, offsetof(request_object, message), 0, PyDoc_STR("What a request that is complete received.")},
    {"_on_completion", T_OBJECT, offsetof(request_object, finish), 0, PyDoc_STR("What its owner does on completion.")},
    {0},
};

static PyGetSetDef computed[] = {
    {"_buffer", Request_get_buffer, NULL, PyDoc_STR("The memory kept alive until completion."), NULL},
    {0},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, (void *)PyDoc_STR("A transfer under way.")},
    {Py_tp_new, (void *)Request_new},
    {Py_tp_traverse, (void *)Request_traverse},
    {Py_tp_clear, (void *)Request_clear},
    {Py_tp_finalize, (void *)Request_finalize},
    {Py_tp_dealloc, (void *)Request_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {Py_tp_getset, computed},
    {0},
};

static PyType_Spec spec = {
    .name = "smpy.engine._surface.RequestBase",
    .basicsize = sizeof(request_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};

int request_add_type(PyObject *module)
{
    PyObject *type = PyType_FromModuleAndSpec(module, &spec, NULL);
    if (!type || PyModule_AddType(module, (PyTypeObject *)type) < 0) return -1;
    Py_XSETREF(surface.request_base, (PyTypeObject *)type);
    return 0;
}
