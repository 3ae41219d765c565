#include "window.h"

#include <string.h>

#include "call.h"
#include "put.h"
#include "request.h"
#include "slot.h"
#include "user_buffer.h"

/* A rank's part of a window, and the rank that it accesses. */
typedef struct {
    PyObject *part;                 /* owned; it keeps alive what is borrowed: */
    PyObject *epochs, *accessed;    /* a set, from the first access on, which is made by smpy.mpi */
    PyObject *target;               /* the argument */
    int comm, own, rank;            /* the window's number; own rank, and the target's */
} part_access;

static int64_t number_in(PyObject *of, python_slot *slot)
{
    PyObject *number = slot_get(of, slot);
    const int64_t value = number && PyLong_CheckExact(number) ? PyLong_AsLongLong(number) : -1;
    if (value < 0) PyErr_Clear();
    return value;
}

static int is_in(PyObject *key, PyObject *dict)
{
    const int result = PyDict_Contains(dict, key);
    if (result < 0) PyErr_Clear();
    return result > 0;
}

/* ---- the target ---- */

static int takes_target(PyObject *self, PyObject *target, part_access *a)
{
    a->part = NULL;
    if (surface.checks || !arguments_int(target, &a->rank) || a->rank < 0) return 0;
    a->part = Py_XNewRef(slot_get(self, &surface.slot._membership));
    if (is_none(a->part) || slot_get(a->part, &surface.slot.is_over) != Py_False) return 0;
    a->target = target;
    a->epochs = slot_get(a->part, &surface.slot.epochs);
    a->accessed = slot_get(a->epochs, &surface.slot.accessed);
    a->own = (int)number_in(a->part, &surface.slot.rank);
    a->comm = (int)number_in(slot_get(a->part, &surface.slot.communicator), &surface.slot.number);
    if (!a->accessed || !PySet_CheckExact(a->accessed) || a->own < 0 || a->comm < 0) return 0;
    return a->rank < surface.calls->comm_size(surface.sim, a->comm);
}

static int is_locked(const part_access *a)
{
    PyObject *locks = slot_get(a->epochs, &surface.slot.locks);
    if (!locks || !PyDict_CheckExact(locks) || !PyDict_GET_SIZE(locks)) return 0;
    if (is_in(a->target, locks)) return 1;
    PyObject *all = PyLong_FromLong(-1);
    const int result = all && is_in(all, locks);
    Py_XDECREF(all);
    return result;
}

static int may_access(const part_access *a)
{
    if (a->rank == a->own) return 0; /* a copy, without a message */
    if (slot_get(a->epochs, &surface.slot.is_fenced) == Py_True || is_locked(a)) return 1;
    PyObject *started = slot_get(a->epochs, &surface.slot.started);
    return started && PyTuple_CheckExact(started) && PySequence_Contains(started, a->target) == 1;
}

/* Displacement of a target specification of as many bytes as are given, or -1. */
static int displacement_of(PyObject *target, int64_t bytes)
{
    int displacement, count;
    if (is_none(target)) return 0;
    if (arguments_int(target, &displacement)) return displacement;
    if ((!PyList_CheckExact(target) && !PyTuple_CheckExact(target)) || PySequence_Fast_GET_SIZE(target) != 3) return -1;
    PyObject *const *item = PySequence_Fast_ITEMS(target);
    if (!arguments_int(item[0], &displacement) || !arguments_int(item[1], &count) || count < 0) return -1;
    PyObject *datatype = Py_NewRef(item[2]); /* the list may change under code of the program's */
    int64_t target_bytes;
    const int overflows = __builtin_mul_overflow((int64_t)count, (int64_t)user_buffer_entry_bytes(datatype), &target_bytes);
    Py_DECREF(datatype);
    return overflows || target_bytes != bytes ? -1 : displacement;
}

/* Address of the bytes in the target's memory, and the piece of the window that has it; or NULL. */
static char *place_of(const part_access *a, PyObject *target, int64_t bytes, PyObject **piece)
{
    const int displacement = displacement_of(target, bytes);
    PyObject *pieces = slot_get(slot_get(a->part, &surface.slot.window), &surface.slot.pieces);
    if (displacement < 0 || !pieces || !PyDict_CheckExact(pieces)) return NULL;
    *piece = PyDict_GetItemWithError(pieces, a->target);
    if (!*piece) return PyErr_Clear(), NULL;
    const int64_t address = number_in(*piece, &surface.slot.address), unit = number_in(*piece, &surface.slot.disp_unit);
    int64_t first, end;
    if (address <= 0 || unit <= 0 || __builtin_mul_overflow((int64_t)displacement, unit, &first)) return NULL;
    if (__builtin_add_overflow(first, bytes, &end) || end > number_in(*piece, &surface.slot.nbytes)) return NULL;
    return (char *)(uintptr_t)address + first;
}

/* ---- accesses ---- */

static int has_content(const user_buffer *b)
{
    return b->data && !b->layout && user_buffer_folded_share(b) == FOLDED_NONE;
}

/* An Rget is completed by its request alone. */
static int append_access(const part_access *a, int64_t bytes, int kind, access_requests *made)
{
    const int code = surface.calls->append_access(surface.sim, surface.timeline, a->comm, a->rank, bytes, kind, made);
    if (code < 0) return surface_kernel_error(code);
    return kind == ACCESS_RGET ? 0 : PySet_Add(a->accessed, a->target);
}

/* The dict of what is under way to the target, borrowed; NULL: there is none yet, and smpy.mpi makes it. */
static PyObject *under_way_to(const part_access *a)
{
    PyObject *puts = slot_get(slot_get(a->part, &surface.slot.window), &surface.slot.puts);
    PyObject *found = puts && PyDict_CheckExact(puts) ? PyDict_GetItemWithError(puts, a->target) : NULL;
    if (!found) PyErr_Clear();
    return found && PyDict_CheckExact(found) ? found : NULL;
}

static int post_put(const part_access *a, int kind, PyObject *under_way, PyObject *piece, char *to, const user_buffer *load)
{
    access_requests made;
    put_object *put = put_new(under_way, piece, to, load->data, load->bytes);
    if (!put) return -1;
    const int is_appended = append_access(a, load->bytes, kind, &made) == 0;
    payload *end = is_appended ? surface.calls->payload_of(surface.sim, made.recv) : NULL;
    if (end) {
        end->object = put;
        return 0;
    }
    put_drop(put);
    if (is_appended) PyErr_NoMemory();
    return -1;
}

/* Makes an access: 0, which is its request; or -1, with an exception or without: then it is not for us. */
static int put_from(const part_access *a, int kind, PyObject *origin, PyObject *target)
{
    Py_buffer view;
    user_buffer load;
    PyObject *piece, *under_way = under_way_to(a);
    if (!under_way || !user_buffer_take(origin, 0, &view, &load)) return -1;
    char *to = has_content(&load) && may_access(a) ? place_of(a, target, load.bytes, &piece) : NULL;
    const int result = to ? post_put(a, kind, under_way, piece, to, &load) : -1;
    user_buffer_release(&view, &load);
    return result;
}

/* Reads at the present date, which the rank may have to wait for. */
static int read_and_post(const part_access *a, int kind, const user_buffer *room, const char *from)
{
    access_requests made;
    if (surface.calls->clock_s(surface.sim, surface.timeline) != surface.calls->now_s(surface.sim) &&
        block_on(kind == ACCESS_RGET ? surface.name.Win_Rget : surface.name.Win_Get) < 0)
        return -1;
    memmove(room->data, from, (size_t)room->bytes);
    return append_access(a, room->bytes, kind, &made) < 0 ? -1 : made.recv;
}

/* Likewise; the request completes when the bytes have arrived. */
static int get_into(const part_access *a, int kind, PyObject *origin, PyObject *target)
{
    Py_buffer view;
    user_buffer room;
    PyObject *piece;
    if (!user_buffer_take(origin, 1, &view, &room)) return -1;
    const char *from = has_content(&room) && may_access(a) ? place_of(a, target, room.bytes, &piece) : NULL;
    const int result = from ? read_and_post(a, kind, &room, from) : -1;
    user_buffer_release(&view, &room);
    return result;
}

static PyObject *perform_access(PyObject *self, const arguments *given, int kind)
{
    PyObject *const parameters[] = {surface.name.origin, surface.name.target_rank, surface.name.target};
    PyObject *in[3];
    part_access a;
    int number = -1;
    if (!arguments_sort(given, parameters, 3, 2, in)) return NULL;
    if (takes_target(self, in[1], &a))
        number = (kind == ACCESS_GET || kind == ACCESS_RGET ? get_into : put_from)(&a, kind, in[0], in[2]);
    Py_XDECREF(a.part);
    if (number < 0) return NULL;
    if (kind == ACCESS_PUT || kind == ACCESS_GET) Py_RETURN_NONE;
    request_object *r = request_new();
    if (r) r->number = number;
    return (PyObject *)r;
}

static PyObject *perform_put(PyObject *self, const arguments *given)
{
    return perform_access(self, given, ACCESS_PUT);
}

static PyObject *perform_get(PyObject *self, const arguments *given)
{
    return perform_access(self, given, ACCESS_GET);
}

static PyObject *perform_rput(PyObject *self, const arguments *given)
{
    return perform_access(self, given, ACCESS_RPUT);
}

static PyObject *perform_rget(PyObject *self, const arguments *given)
{
    return perform_access(self, given, ACCESS_RGET);
}

/* ---- completion ---- */

/* Waits for what was appended. The first wait at a date is counted here, further ones, which may take time, by smpy.mpi. */
static int catch_up(const part_access *a, PyObject *call)
{
    if (block_on(call) < 0) return -1;
    const double now_s = surface.calls->now_s(surface.sim);
    PyObject **date = slot_at(a->epochs, &surface.slot._date_s), **n_waits = slot_at(a->epochs, &surface.slot._n_at_date);
    if (!date || !n_waits || !*date || !PyFloat_CheckExact(*date) || PyFloat_AS_DOUBLE(*date) == now_s) {
        PyObject *result = PyObject_CallMethodOneArg(a->part, surface.name._count_wait, call);
        Py_XDECREF(result);
        return result ? 0 : -1;
    }
    PyObject *now = PyFloat_FromDouble(now_s);
    if (!now) return -1;
    Py_SETREF(*date, now);
    Py_XSETREF(*n_waits, PyLong_FromLong(1)); /* there is one of it in the interpreter */
    return 0;
}

static int complete(const part_access *a, int rank, int other)
{
    const int code = surface.calls->append_complete(surface.sim, surface.timeline, a->comm, rank, other);
    return code < 0 ? surface_kernel_error(code) : 0;
}

static int flush_local(const part_access *a)
{
    return complete(a, a->own, a->rank) < 0 ? -1 : catch_up(a, surface.name.Win_Flush_local);
}

static int flush(const part_access *a)
{
    if (complete(a, a->own, a->rank) < 0 || (a->rank != a->own && complete(a, a->rank, a->own) < 0)) return -1;
    return PySet_Discard(a->accessed, a->target) < 0 ? -1 : catch_up(a, surface.name.Win_Flush);
}

static PyObject *perform_completion(PyObject *self, const arguments *given, int (*make)(const part_access *))
{
    PyObject *rank, *result = NULL;
    part_access a;
    if (!arguments_sort(given, &surface.name.rank, 1, 1, &rank)) return NULL;
    if (takes_target(self, rank, &a) && is_locked(&a) && make(&a) == 0) result = Py_NewRef(Py_None);
    Py_XDECREF(a.part);
    return result;
}

static PyObject *perform_flush(PyObject *self, const arguments *given)
{
    return perform_completion(self, given, flush);
}

static PyObject *perform_flush_local(PyObject *self, const arguments *given)
{
    return perform_completion(self, given, flush_local);
}

/* ---- the Python type ---- */

static PyObject *Window_Put(PyObject *self, PyObject *const *at, Py_ssize_t n, PyObject *keywords)
{
    const arguments given = {at, n, keywords};
    return call_perform(self, COMM_NULL, &given, surface.name.Put, surface.name._Put, perform_put);
}

static PyObject *Window_Get(PyObject *self, PyObject *const *at, Py_ssize_t n, PyObject *keywords)
{
    const arguments given = {at, n, keywords};
    return call_perform(self, COMM_NULL, &given, surface.name.Get, surface.name._Get, perform_get);
}

static PyObject *Window_Rput(PyObject *self, PyObject *const *at, Py_ssize_t n, PyObject *keywords)
{
    const arguments given = {at, n, keywords};
    return call_perform(self, COMM_NULL, &given, surface.name.Rput, surface.name._Rput, perform_rput);
}

static PyObject *Window_Rget(PyObject *self, PyObject *const *at, Py_ssize_t n, PyObject *keywords)
{
    const arguments given = {at, n, keywords};
    return call_perform(self, COMM_NULL, &given, surface.name.Rget, surface.name._Rget, perform_rget);
}

static PyObject *Window_Flush(PyObject *self, PyObject *const *at, Py_ssize_t n, PyObject *keywords)
{
    const arguments given = {at, n, keywords};
    return call_perform(self, COMM_NULL, &given, surface.name.Flush, surface.name._Flush, perform_flush);
}

static PyObject *Window_Flush_local(PyObject *self, PyObject *const *at, Py_ssize_t n, PyObject *keywords)
{
    const arguments given = {at, n, keywords};
    return call_perform(self, COMM_NULL, &given, surface.name.Flush_local, surface.name._Flush_local, perform_flush_local);
}

static PyMethodDef methods[] = {
    {"Put", (PyCFunction)(void (*)(void))Window_Put, METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("Put($self, origin, target_rank, target=None)\n--\n\nWrite to a rank's part of the window.")},
    {"Get", (PyCFunction)(void (*)(void))Window_Get, METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("Get($self, origin, target_rank, target=None)\n--\n\nRead from a rank's part of the window.")},
    {"Rput", (PyCFunction)(void (*)(void))Window_Rput, METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("Rput($self, origin, target_rank, target=None)\n--\n\n"
               "Write to a rank's part of the window; the request is complete when `origin` may change, which is at once.")},
    {"Rget", (PyCFunction)(void (*)(void))Window_Rget, METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("Rget($self, origin, target_rank, target=None)\n--\n\n"
               "Read from a rank's part of the window; the request completes when the entries have arrived.")},
    {"Flush", (PyCFunction)(void (*)(void))Window_Flush, METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("Flush($self, rank)\n--\n\nComplete accesses to a rank.")},
    {"Flush_local", (PyCFunction)(void (*)(void))Window_Flush_local, METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("Flush_local($self, rank)\n--\n\nComplete accesses to a rank for this side: their buffers may change.")},
    {0},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, (void *)PyDoc_STR("The hot calls of a window.")},
    {Py_tp_methods, methods},
    {0},
};

static PyType_Spec spec = {
    .name = "smpy.engine._surface.WindowBase",
    .basicsize = sizeof(PyObject),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};

int window_add_type(PyObject *module)
{
    PyObject *type = PyType_FromModuleAndSpec(module, &spec, NULL);
    const int result = type ? PyModule_AddType(module, (PyTypeObject *)type) : -1;
    Py_XDECREF(type);
    return result;
}
