#include "window.h"

#include <string.h>

#include "access_notes.h"
#include "call.h"
#include "guard.h"
#include "put.h"
#include "request.h"
#include "user_buffer.h"
#include "window_part.h"
#include "window_sync.h"

static int may_access(const part_access *a)
{
    if (a->rank == a->own) return 0; /* a copy, without a message */
    if (slot_get(a->epochs, &surface.slot.is_fenced) == Py_True || window_part_is_locked(a)) return 1;
    PyObject *started = slot_get(a->epochs, &surface.slot.started);
    return started && PyTuple_CheckExact(started) && PySequence_Contains(started, a->target) == 1;
}

/* Bytes of a target's memory. */
typedef struct {
    char *at;
    int64_t first;                  /* of its piece of the window */
    PyObject *piece;                /* borrowed */
} target_place;

/* Displacement of a target specification of as many bytes as are given, or -1. In a world with checks its datatype, if it names
 * one, is that of the buffer that was taken. */
static int displacement_of(const part_access *a, PyObject *target, int64_t bytes, int is_read)
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
    if (a->notes && (uintptr_t)datatype != surface.taken[is_read]) return -1;
    return overflows || target_bytes != bytes ? -1 : displacement;
}

/* Address of a piece's memory, which smpy.mpi lends when it is first accessed; not positive: it has none. */
static int64_t address_of(PyObject *piece)
{
    const int64_t address = window_part_number_in(piece, &surface.slot.address);
    if (address) return address;
    PyObject *lent = PyObject_CallMethodNoArgs(piece, surface.name.lent_memory);
    Py_XDECREF(lent);
    PyErr_Clear();
    return window_part_number_in(piece, &surface.slot.address);
}

/* A target's piece, borrowed, which smpy.mpi makes when it is first needed; NULL: there is none. */
static PyObject *piece_of(const part_access *a)
{
    PyObject *pieces = slot_get(a->window, &surface.slot.pieces), *known = window_part_item(pieces, a->target);
    if (known) return known;
    PyObject *made = PyObject_CallMethodOneArg(a->window, surface.name.piece, a->target);
    Py_XDECREF(made); /* `pieces` has it */
    PyErr_Clear();
    return window_part_item(pieces, a->target);
}

static int find_place(const part_access *a, PyObject *target, int64_t bytes, int is_read, target_place *out)
{
    const int displacement = displacement_of(a, target, bytes, is_read);
    out->piece = displacement < 0 ? NULL : piece_of(a);
    if (!out->piece) return 0;
    const int64_t address = address_of(out->piece), unit = window_part_number_in(out->piece, &surface.slot.disp_unit);
    int64_t end;
    if (address <= 0 || unit <= 0 || __builtin_mul_overflow((int64_t)displacement, unit, &out->first)) return 0;
    if (__builtin_add_overflow(out->first, bytes, &end)) return 0;
    out->at = (char *)(uintptr_t)address + out->first;
    return end <= window_part_number_in(out->piece, &surface.slot.nbytes);
}

/* ---- accesses ---- */

static int has_content(const user_buffer *b)
{
    return b->data && !b->layout && user_buffer_folded_share(b) == FOLDED_NONE;
}

/* Is the access plain? 1, and it is among those that the checks know of; or 0, or -1 with an exception. */
static int begin_access(const part_access *a, PyObject *target, const user_buffer *own, int is_read, target_place *out)
{
    if (!has_content(own) || !may_access(a) || !find_place(a, target, own->bytes, is_read, out)) return 0;
    return a->notes ? access_notes_begin(a, is_read, out->first, own->bytes) : 1;
}

/* Has the checks look at its buffer until it is complete. */
static int hold_buffer(const part_access *a, const Py_buffer *view, const user_buffer *own, int is_read)
{
    return a->notes ? access_notes_hold(a, is_read, view->obj, own->data, own->bytes) : 0;
}

/* A set that nobody has changed is every rank's. */
static int note_access(const part_access *a)
{
    PyObject **accessed = slot_at(a->epochs, &surface.slot.accessed);
    if (!accessed || !*accessed) return PyErr_Format(PyExc_SystemError, "a window's epochs without a set of accesses"), -1;
    if (!PySet_CheckExact(*accessed)) {
        PyObject *own = PySet_New(NULL);
        if (!own) return -1;
        Py_SETREF(*accessed, own);
    }
    return PySet_Add(*accessed, a->target);
}

/* An Rget is completed by its request alone. */
static int append_access(const part_access *a, int64_t bytes, int kind, access_requests *made)
{
    const int code = surface.calls->append_access(surface.sim, surface.timeline, a->comm, a->rank, bytes, kind, made);
    if (code < 0) return surface_kernel_error(code);
    return kind == ACCESS_RGET ? 0 : note_access(a);
}

/* The dict of what is under way to the target, borrowed; NULL: an exception, or the window has none. */
static PyObject *under_way_to(const part_access *a)
{
    PyObject *puts = slot_get(a->window, &surface.slot.puts), *found = window_part_item(puts, a->target);
    if (found || !puts || !PyDict_CheckExact(puts)) return found && PyDict_CheckExact(found) ? found : NULL;
    PyObject *made = PyDict_New();
    const int result = made ? PyDict_SetItem(puts, a->target, made) : -1;
    Py_XDECREF(made); /* `puts` has it */
    return result < 0 ? NULL : made;
}

static int post_put(const part_access *a, int kind, const target_place *to, const user_buffer *load)
{
    access_requests made;
    PyObject *under_way = under_way_to(a);
    const int before = guard_enter_own();
    put_object *put = under_way ? put_new(under_way, to->piece, to->at, load->data, load->bytes) : NULL;
    guard_leave_own(before);
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
    target_place to;
    if (!user_buffer_take(origin, 0, &view, &load)) return -1;
    int result = begin_access(a, target, &load, 0, &to) == 1 ? post_put(a, kind, &to, &load) : -1;
    if (result == 0) result = hold_buffer(a, &view, &load, 0);
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
    const int before = guard_enter_own();
    memmove(room->data, from, (size_t)room->bytes);
    guard_leave_own(before);
    return append_access(a, room->bytes, kind, &made) < 0 ? -1 : made.recv;
}

/* Likewise; the request completes when the bytes have arrived. */
static int get_into(const part_access *a, int kind, PyObject *origin, PyObject *target)
{
    Py_buffer view;
    user_buffer room;
    target_place from;
    if (!user_buffer_take(origin, 1, &view, &room)) return -1;
    int result = begin_access(a, target, &room, 1, &from) == 1 ? read_and_post(a, kind, &room, from.at) : -1;
    if (result >= 0 && hold_buffer(a, &view, &room, 1) < 0) result = -1;
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
    const int has_request = kind == ACCESS_RPUT || kind == ACCESS_RGET;
    if (window_part_take_target(self, in[1], &a) && !(a.notes && has_request))
        number = (kind == ACCESS_GET || kind == ACCESS_RGET ? get_into : put_from)(&a, kind, in[0], in[2]);
    Py_XDECREF(a.part);
    if (number < 0) return NULL;
    if (!has_request) Py_RETURN_NONE;
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
    return call_perform(self, COMM_NULL, &given, surface.name.Flush, surface.name._Flush, window_sync_flush);
}

static PyObject *Window_Flush_local(PyObject *self, PyObject *const *at, Py_ssize_t n, PyObject *keywords)
{
    const arguments given = {at, n, keywords};
    return call_perform(self, COMM_NULL, &given, surface.name.Flush_local, surface.name._Flush_local, window_sync_flush_local);
}

static PyObject *Window_Lock(PyObject *self, PyObject *const *at, Py_ssize_t n, PyObject *keywords)
{
    const arguments given = {at, n, keywords};
    return call_perform(self, COMM_NULL, &given, surface.name.Lock, surface.name._Lock, window_sync_lock);
}

static PyObject *Window_Unlock(PyObject *self, PyObject *const *at, Py_ssize_t n, PyObject *keywords)
{
    const arguments given = {at, n, keywords};
    return call_perform(self, COMM_NULL, &given, surface.name.Unlock, surface.name._Unlock, window_sync_unlock);
}

static PyObject *Window_Lock_all(PyObject *self, PyObject *const *at, Py_ssize_t n, PyObject *keywords)
{
    const arguments given = {at, n, keywords};
    return call_perform(self, COMM_NULL, &given, surface.name.Lock_all, surface.name._Lock_all, window_sync_lock_all);
}

static PyObject *Window_Unlock_all(PyObject *self, PyObject *const *at, Py_ssize_t n, PyObject *keywords)
{
    const arguments given = {at, n, keywords};
    return call_perform(self, COMM_NULL, &given, surface.name.Unlock_all, surface.name._Unlock_all, window_sync_unlock_all);
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
    {"Lock", (PyCFunction)(void (*)(void))Window_Lock, METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("Lock($self, rank, lock_type=1, assertion=0)\n--\n\n"
               "Lock a rank's part of the window, to access it until `Unlock`.")},
    {"Unlock", (PyCFunction)(void (*)(void))Window_Unlock, METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("Unlock($self, rank)\n--\n\nUnlock a rank's part of the window, and complete accesses to it.")},
    {"Lock_all", (PyCFunction)(void (*)(void))Window_Lock_all, METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("Lock_all($self, assertion=0)\n--\n\nLock the parts of all ranks, shared with others.")},
    {"Unlock_all", (PyCFunction)(void (*)(void))Window_Unlock_all, METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("Unlock_all($self)\n--\n\nUnlock the parts of all ranks, and complete accesses to them.")},
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
