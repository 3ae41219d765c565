#include "window_sync.h"

#include "access_notes.h"
#include "call.h"
#include "lines.h"
#include "window_part.h"

enum { EXCLUSIVE = 1, SHARED = 2 }; /* smpy.mpi's LOCK_EXCLUSIVE, LOCK_SHARED, and the sum of all MODE_ constants: */
enum { ASSERTIONS = 31 };
enum { EACH_MAX = 256 };            /* ranks of a window that is locked rank by rank; larger ones are left to smpy.mpi */

/* ---- parts of the calls ---- */

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

/* At both ends. */
static int complete_with(const part_access *a, int rank)
{
    if (complete(a, a->own, rank) < 0) return -1;
    return rank == a->own ? 0 : complete(a, rank, a->own);
}

/* Nothing is under way any more with the target, or with any rank: NULL. A set that nobody has changed is every rank's. */
static int note_completion(const part_access *a, PyObject *target)
{
    PyObject *accessed = slot_get(a->epochs, &surface.slot.accessed);
    if (!accessed || !PySet_CheckExact(accessed)) return 0;
    return target ? PySet_Discard(accessed, target) : PySet_Clear(accessed);
}

/* Writes what others have put to a rank that is locked now. */
static int write_puts(const part_access *a, PyObject *rank)
{
    PyObject *under_way = window_part_item(slot_get(a->window, &surface.slot.puts), rank);
    if (!under_way || !PyDict_CheckExact(under_way) || !PyDict_GET_SIZE(under_way)) return 0;
    PyObject *result = PyObject_CallMethodOneArg(a->window, surface.name.write_puts, rank);
    Py_XDECREF(result);
    return result ? 0 : -1;
}

static int write_all_puts(const part_access *a)
{
    PyObject *puts = slot_get(a->window, &surface.slot.puts);
    PyObject *ranks = puts && PyDict_CheckExact(puts) ? PyDict_Keys(puts) : NULL;
    int result = ranks ? 0 : -1;
    for (Py_ssize_t i = 0; result == 0 && i < PyList_GET_SIZE(ranks); i++) result = write_puts(a, PyList_GET_ITEM(ranks, i));
    Py_XDECREF(ranks);
    return result;
}

/* ---- locks ---- */

static PyObject *locks_of(const part_access *a)
{
    PyObject *locks = slot_get(a->epochs, &surface.slot.locks);
    return locks && PyDict_CheckExact(locks) ? locks : NULL;
}

static int has_started(const part_access *a)
{
    return slot_get(a->epochs, &surface.slot.started) != Py_None;
}

/* An empty dict may be every rank's. */
static int note_lock(const part_access *a, PyObject *rank, int kind)
{
    PyObject **locks = slot_at(a->epochs, &surface.slot.locks), **is_fenced = slot_at(a->epochs, &surface.slot.is_fenced);
    PyObject *own = PyDict_GET_SIZE(*locks) ? Py_NewRef(*locks) : PyDict_New(), *number = PyLong_FromLong(kind);
    const int result = own && number && is_fenced ? PyDict_SetItem(own, rank, number) : -1;
    Py_XDECREF(number);
    if (result < 0) {
        Py_XDECREF(own);
        return -1;
    }
    Py_SETREF(*locks, own);
    Py_SETREF(*is_fenced, Py_NewRef(Py_False));
    return 0;
}

static int append_lock(const part_access *a, int rank, int kind)
{
    const int how = kind == SHARED ? LOCK_SHARED : LOCK_ALONE;
    const int code = surface.calls->append_lock(surface.sim, surface.timeline, a->comm, rank, how);
    return code < 0 ? surface_kernel_error(code) : complete_with(a, rank);
}

static int append_unlock(const part_access *a, int rank, int kind)
{
    const int how = kind == SHARED ? LOCK_SHARED : LOCK_ALONE;
    const int code = surface.calls->append_unlock(surface.sim, surface.timeline, a->comm, rank, how);
    return code < 0 ? surface_kernel_error(code) : complete_with(a, rank);
}

/* ---- checks ---- */

/* May a lock end the epoch of a fence? Of accesses in it, smpy.mpi.checks tells. */
static int may_end_fence(const part_access *a)
{
    return !a->notes || slot_get(a->checked, &surface.slot.has_accessed) == Py_False;
}

/* Notes the line of a lock, or forgets it: 0. */
static int note_line(const part_access *a, PyObject *rank, int line)
{
    PyObject *lines = a->notes ? slot_get(a->checked, &surface.slot.lock_lines) : NULL;
    if (!lines || !PyDict_CheckExact(lines)) return 0;
    if (!line) return window_part_item(lines, rank) ? PyDict_DelItem(lines, rank) : 0;
    PyObject *number = PyLong_FromLong(line);
    const int result = number ? PyDict_SetItem(lines, rank, number) : -1;
    Py_XDECREF(number);
    return result;
}

/* The call has returned. */
static void check_completion(const part_access *a, PyObject *call, int is_local)
{
    if (a->notes) access_notes_complete(a, call, is_local);
}

static int lock(const part_access *a, int kind)
{
    if (note_lock(a, a->target, kind) < 0 || append_lock(a, a->rank, kind) < 0) return -1;
    if (catch_up(a, surface.name.Win_Lock) < 0 || write_puts(a, a->target) < 0) return -1;
    return note_line(a, a->target, lines_here());
}

/* Kind of the lock, which is taken off the locks; 0: there is none. */
static int take_lock(const part_access *a, PyObject *rank)
{
    int kind;
    PyObject *locks = locks_of(a), *number = window_part_item(locks, rank);
    if (!number || !arguments_int(number, &kind)) return 0;
    return PyDict_DelItem(locks, rank) < 0 ? 0 : kind;
}

static int unlock(const part_access *a)
{
    const int kind = take_lock(a, a->target);
    if (!kind || append_unlock(a, a->rank, kind) < 0 || note_completion(a, a->target) < 0) return -1;
    if (block_on(surface.name.Win_Unlock) < 0 || note_line(a, a->target, 0) < 0) return -1;
    check_completion(a, surface.name.Unlock, 0);
    return 0;
}

static int lock_all(const part_access *a, PyObject *all)
{
    const int n_ranks = surface.calls->comm_size(surface.sim, a->comm);
    if (note_lock(a, all, SHARED) < 0) return -1;
    for (int rank = 0; rank < n_ranks; rank++)
        if (append_lock(a, rank, SHARED) < 0) return -1;
    if (catch_up(a, surface.name.Win_Lock_all) < 0 || write_all_puts(a) < 0) return -1;
    return note_line(a, all, lines_here());
}

static int unlock_all(const part_access *a, PyObject *all)
{
    const int n_ranks = surface.calls->comm_size(surface.sim, a->comm);
    if (!take_lock(a, all)) return -1;
    for (int rank = 0; rank < n_ranks; rank++)
        if (append_unlock(a, rank, SHARED) < 0) return -1;
    if (note_completion(a, NULL) < 0 || block_on(surface.name.Win_Unlock_all) < 0 || note_line(a, all, 0) < 0) return -1;
    check_completion(a, surface.name.Unlock_all, 0);
    return 0;
}

/* ---- the calls ---- */

static int is_assertion(PyObject *given)
{
    int assertion;
    return !given || (arguments_int(given, &assertion) && assertion >= 0 && assertion <= ASSERTIONS);
}

PyObject *window_sync_lock(PyObject *self, const arguments *given)
{
    PyObject *const parameters[] = {surface.name.rank, surface.name.lock_type, surface.name.assertion};
    PyObject *in[3], *result = NULL;
    part_access a;
    int kind = EXCLUSIVE;
    if (!arguments_sort(given, parameters, 3, 1, in) || !is_assertion(in[2])) return NULL;
    if (in[1] && (!arguments_int(in[1], &kind) || (kind != EXCLUSIVE && kind != SHARED))) return NULL;
    const int may_lock = window_part_take_target(self, in[0], &a) && locks_of(&a) && !window_part_is_locked(&a) &&
                         !has_started(&a) && may_end_fence(&a);
    if (may_lock && lock(&a, kind) == 0) result = Py_NewRef(Py_None);
    Py_XDECREF(a.part);
    return result;
}

/* A call that names a rank alone, which is locked. */
static PyObject *perform_on_locked(PyObject *self, const arguments *given, int (*make)(const part_access *))
{
    PyObject *rank, *result = NULL;
    part_access a;
    if (!arguments_sort(given, &surface.name.rank, 1, 1, &rank)) return NULL;
    if (window_part_take_target(self, rank, &a) && window_part_is_locked(&a) && make(&a) == 0) result = Py_NewRef(Py_None);
    Py_XDECREF(a.part);
    return result;
}

PyObject *window_sync_unlock(PyObject *self, const arguments *given)
{
    return perform_on_locked(self, given, unlock);
}

static int flush_local(const part_access *a)
{
    if (complete(a, a->own, a->rank) < 0 || catch_up(a, surface.name.Win_Flush_local) < 0) return -1;
    check_completion(a, surface.name.Flush_local, 1);
    return 0;
}

PyObject *window_sync_flush_local(PyObject *self, const arguments *given)
{
    return perform_on_locked(self, given, flush_local);
}

static int flush(const part_access *a)
{
    if (complete_with(a, a->rank) < 0 || note_completion(a, a->target) < 0) return -1;
    if (catch_up(a, surface.name.Win_Flush) < 0) return -1;
    check_completion(a, surface.name.Flush, 0);
    return 0;
}

PyObject *window_sync_flush(PyObject *self, const arguments *given)
{
    return perform_on_locked(self, given, flush);
}

static PyObject *perform_on_all(PyObject *self, int (*make)(const part_access *, PyObject *))
{
    PyObject *all = PyLong_FromLong(ALL_RANKS), *result = NULL;
    part_access a = {.rank = ALL_RANKS};
    const int is_small = all && window_part_take(self, &a) && locks_of(&a) &&
                         surface.calls->comm_size(surface.sim, a.comm) <= EACH_MAX;
    if (is_small && make(&a, all) == 0) result = Py_NewRef(Py_None);
    Py_XDECREF(all);
    Py_XDECREF(a.part);
    return result;
}

static int lock_all_if_none_is(const part_access *a, PyObject *all)
{
    return PyDict_GET_SIZE(locks_of(a)) || has_started(a) || !may_end_fence(a) ? -1 : lock_all(a, all);
}

PyObject *window_sync_lock_all(PyObject *self, const arguments *given)
{
    PyObject *assertion;
    if (!arguments_sort(given, &surface.name.assertion, 1, 0, &assertion) || !is_assertion(assertion)) return NULL;
    return perform_on_all(self, lock_all_if_none_is);
}

PyObject *window_sync_unlock_all(PyObject *self, const arguments *given)
{
    return arguments_sort(given, NULL, 0, 0, NULL) ? perform_on_all(self, unlock_all) : NULL;
}
