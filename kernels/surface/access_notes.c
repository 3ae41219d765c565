#include "access_notes.h"

#include "arguments.h"
#include "guard.h"
#include "lines.h"
#include "pending.h"

enum { ACCESSES_MAX = 1024 };       /* of a target, and buffers of a rank, that are searched one by one; more are smpy.mpi's */
enum { UNDER_LOCK = -1, EXCLUSIVE = 1 };

typedef struct {
    int64_t begin, end;             /* bytes of the target's part */
    int origin, line;
    int epoch;                      /* fences before it, or UNDER_LOCK */
    uint8_t is_read, is_exclusive;
} noted_access;

typedef struct {
    noted_access *at;
    int n, room;
    int is_elsewhere;
} target_notes;

typedef struct {
    PyObject *memory;               /* owned view */
    const char *data;
    int64_t bytes;
    uint64_t sum;
    int target, line;
    int is_written;
} noted_buffer;

typedef struct {
    noted_buffer *at;
    int n, room;
} origin_notes;

typedef struct {
    PyObject_HEAD
    int n_ranks;
    target_notes *target;           /* by rank in the window, as are */
    origin_notes *origin;
} notes_object;

static notes_object *notes_in(const part_access *a)
{
    return (notes_object *)a->notes;
}

/* Room for one more: the array, or NULL without memory. */
static void *with_room(void *at, int n, int *room, size_t size)
{
    if (n < *room) return at;
    const int more = *room ? 2 * *room : 4;
    void *grown = PyMem_Realloc(at, (size_t)more * size);
    if (grown) *room = more;
    return grown;
}

PyObject *access_notes_of(PyObject *checked)
{
    PyObject *notes = slot_get(checked, &surface.slot.notes);
    return notes && Py_IS_TYPE(notes, surface.notes_type) ? notes : NULL;
}

/* Is all here that is under way between the rank and the target, or any target? */
static int is_here(const part_access *a)
{
    PyObject *buffers = slot_get(slot_get(a->checked, &surface.slot.buffers), &surface.slot._by_target);
    if (a->rank != ALL_RANKS) return !notes_in(a)->target[a->rank].is_elsewhere && !window_part_item(buffers, a->target);
    for (int rank = 0; rank < notes_in(a)->n_ranks; rank++)
        if (notes_in(a)->target[rank].is_elsewhere) return 0;
    return buffers && PyDict_CheckExact(buffers) && !PyDict_GET_SIZE(buffers);
}

/* ---- accesses ---- */

static int conflict(const noted_access *a, const noted_access *b)
{
    if (a->epoch != b->epoch || (a->is_read && b->is_read) || a->begin >= b->end || b->begin >= a->end) return 0;
    return a->origin == b->origin || !(a->is_exclusive || b->is_exclusive);
}

static int is_repeated(const noted_access *a, const noted_access *b)
{
    return a->begin == b->begin && a->end == b->end && a->origin == b->origin && a->line == b->line && a->epoch == b->epoch &&
           a->is_read == b->is_read && a->is_exclusive == b->is_exclusive;
}

static int is_exclusive(const part_access *a)
{
    int kind;
    PyObject *lock = window_part_item(slot_get(a->epochs, &surface.slot.locks), a->target);
    return lock && arguments_int(lock, &kind) && kind == EXCLUSIVE;
}

/* Are accesses in the epoch noted here? Then `epoch` is its number. */
static int is_of_fence_or_lock(const part_access *a, int *epoch)
{
    if (slot_get(a->epochs, &surface.slot.is_fenced) != Py_True) {
        *epoch = UNDER_LOCK;
        return slot_get(a->epochs, &surface.slot.started) == Py_None;
    }
    PyObject **has_accessed = slot_at(a->checked, &surface.slot.has_accessed);
    *epoch = (int)window_part_number_in(a->checked, &surface.slot.n_fences);
    if (*epoch < 0 || !has_accessed || !*has_accessed) return 0;
    Py_SETREF(*has_accessed, Py_NewRef(Py_True));
    return 1;
}

int access_notes_begin(const part_access *a, int is_read, int64_t begin, int64_t bytes)
{
    noted_access new = {.begin = begin, .end = begin + bytes, .origin = a->own, .is_read = (uint8_t)is_read};
    target_notes *t = &notes_in(a)->target[a->rank];
    if (!is_here(a) || t->n == ACCESSES_MAX || notes_in(a)->origin[a->own].n == ACCESSES_MAX) return 0;
    if (!is_of_fence_or_lock(a, &new.epoch)) return 0;
    new.line = lines_here();
    new.is_exclusive = (uint8_t)is_exclusive(a);
    for (int i = 0; i < t->n; i++) {
        if (conflict(&t->at[i], &new)) return 0;
        if (is_repeated(&t->at[i], &new)) return 1;
    }
    noted_access *grown = with_room(t->at, t->n, &t->room, sizeof *grown);
    if (!grown) return PyErr_NoMemory(), -1;
    t->at = grown;
    t->at[t->n++] = new;
    return 1;
}

/* Forgets accesses of an origin under locks; the reads alone if completion is local. */
static void forget_locked(target_notes *t, int origin, int is_local)
{
    int n = 0;
    for (int i = 0; i < t->n; i++) {
        const noted_access *one = &t->at[i];
        if (one->origin != origin || one->epoch != UNDER_LOCK || (is_local && !one->is_read)) t->at[n++] = *one;
    }
    t->n = n;
}

/* To a target, or to ALL_RANKS. */
static void forget_all_locked(notes_object *notes, int target, int origin, int is_local)
{
    const int first = target == ALL_RANKS ? 0 : target, last = target == ALL_RANKS ? notes->n_ranks - 1 : target;
    for (int rank = first; rank <= last; rank++) forget_locked(&notes->target[rank], origin, is_local);
}

/* ---- buffers ---- */

static uint64_t sum_of(const noted_buffer *b)
{
    const int before = guard_enter_own();
    const uint64_t sum = surface.calls->sum_of(b->data, b->bytes);
    guard_leave_own(before);
    return sum;
}

static void tell_of_change(int rank, const noted_buffer *b, PyObject *call)
{
    pending_tell("access_changed", Py_BuildValue("iiiOi", rank, b->line, b->is_written, call ? call : Py_None,
                                                 call ? lines_here() : 0));
}

/* The buffer of an access that the line has made before, as in a loop; or NULL. */
static noted_buffer *find(const origin_notes *o, const noted_buffer *new)
{
    for (int i = o->n - 1; i >= 0; i--) {
        noted_buffer *b = &o->at[i];
        const int is_same = b->data == new->data && b->bytes == new->bytes && b->is_written == new->is_written;
        if (is_same && b->target == new->target && lines_are_one(b->line, new->line)) return b;
    }
    return NULL;
}

int access_notes_hold(const part_access *a, int is_written, PyObject *object, const char *data, int64_t bytes)
{
    origin_notes *o = &notes_in(a)->origin[a->own];
    noted_buffer new = {.data = data, .bytes = bytes, .target = a->rank, .line = lines_here(), .is_written = is_written};
    new.sum = sum_of(&new);
    noted_buffer *before = find(o, &new);
    if (before) {
        if (!is_written && before->sum != new.sum) tell_of_change(surface.rank, before, NULL);
        before->sum = new.sum;
        return 0;
    }
    noted_buffer *grown = with_room(o->at, o->n, &o->room, sizeof *grown);
    if (!grown) return PyErr_NoMemory(), -1;
    o->at = grown;
    new.memory = PyMemoryView_FromObject(object);
    if (!new.memory) return -1;
    o->at[o->n++] = new;
    return 0;
}

/* Takes the first buffer of a target, or of any rank, off the list: 1, and its memory is the caller's to drop; 0: there is none. */
static int take_buffer(origin_notes *o, int target, noted_buffer *taken)
{
    int i = 0;
    while (i < o->n && target != ALL_RANKS && o->at[i].target != target) i++;
    if (i >= o->n) return 0;
    *taken = o->at[i];
    for (o->n--; i < o->n; i++) o->at[i] = o->at[i + 1];
    return 1;
}

static void look_at_buffers(origin_notes *o, int target, PyObject *call)
{
    noted_buffer b;
    while (take_buffer(o, target, &b)) {
        if (call && sum_of(&b) != b.sum) tell_of_change(surface.rank, &b, call);
        Py_DECREF(b.memory);
    }
}

/* ---- completion ---- */

void access_notes_complete(const part_access *a, PyObject *call, int is_local)
{
    if (!is_here(a)) {
        pending_tell("completed", Py_BuildValue("OOii", a->part, call, a->rank, lines_here()));
        return;
    }
    forget_all_locked(notes_in(a), a->rank, a->own, is_local);
    look_at_buffers(&notes_in(a)->origin[a->own], a->rank, call);
}

/* ---- the Python type ---- */

static int is_rank(const notes_object *notes, int rank)
{
    if (rank >= 0 && rank < notes->n_ranks) return 1;
    PyErr_Format(PyExc_IndexError, "the window has no rank %d", rank);
    return 0;
}

/* Appends a new reference to a list, or drops the list. */
static PyObject *with_row(PyObject *list, PyObject *row)
{
    if (!list || !row || PyList_Append(list, row) < 0) Py_CLEAR(list);
    Py_XDECREF(row);
    return list;
}

static PyObject *Notes_take(PyObject *self, PyObject *args)
{
    notes_object *notes = (notes_object *)self;
    int target;
    if (!PyArg_ParseTuple(args, "i:take", &target) || !is_rank(notes, target)) return NULL;
    target_notes *t = &notes->target[target];
    PyObject *list = PyList_New(0);
    for (int i = 0; i < t->n && list; i++) {
        const noted_access *one = &t->at[i];
        list = with_row(list, Py_BuildValue("iiiLLNN", one->epoch, one->origin, one->line, (long long)one->begin,
                                            (long long)one->end, PyBool_FromLong(one->is_read),
                                            PyBool_FromLong(one->is_exclusive)));
    }
    t->n = 0;
    t->is_elsewhere = 1;
    return list;
}

static PyObject *Notes_give_back(PyObject *self, PyObject *args)
{
    notes_object *notes = (notes_object *)self;
    int target;
    if (!PyArg_ParseTuple(args, "i:give_back", &target) || !is_rank(notes, target)) return NULL;
    notes->target[target].is_elsewhere = 0;
    Py_RETURN_NONE;
}

static PyObject *Notes_take_buffers(PyObject *self, PyObject *args)
{
    notes_object *notes = (notes_object *)self;
    int origin, target;
    noted_buffer b;
    if (!PyArg_ParseTuple(args, "ii:take_buffers", &origin, &target) || !is_rank(notes, origin)) return NULL;
    PyObject *list = PyList_New(0);
    while (list && take_buffer(&notes->origin[origin], target, &b))
        list = with_row(list, Py_BuildValue("iKLNNN", b.line, (unsigned long long)(uintptr_t)b.data, (long long)b.bytes,
                                            PyBool_FromLong(b.is_written), PyBool_FromLong(sum_of(&b) != b.sum), b.memory));
    return list;
}

static PyObject *Notes_complete(PyObject *self, PyObject *args)
{
    notes_object *notes = (notes_object *)self;
    int origin, target, is_local;
    if (!PyArg_ParseTuple(args, "iip:complete", &origin, &target, &is_local) || !is_rank(notes, origin)) return NULL;
    if (target != ALL_RANKS && !is_rank(notes, target)) return NULL;
    forget_all_locked(notes, target, origin, is_local);
    Py_RETURN_NONE;
}

static PyObject *Notes_look(PyObject *self, PyObject *args)
{
    notes_object *notes = (notes_object *)self;
    PyObject *call;
    int origin, target;
    if (!PyArg_ParseTuple(args, "iiO:look", &origin, &target, &call) || !is_rank(notes, origin)) return NULL;
    look_at_buffers(&notes->origin[origin], target, call == Py_None ? NULL : call);
    Py_RETURN_NONE;
}

static PyObject *Notes_end_fence(PyObject *self, PyObject *args)
{
    notes_object *notes = (notes_object *)self;
    int target, epoch, n = 0;
    if (!PyArg_ParseTuple(args, "ii:end_fence", &target, &epoch) || !is_rank(notes, target)) return NULL;
    target_notes *t = &notes->target[target];
    for (int i = 0; i < t->n; i++)
        if (t->at[i].epoch == UNDER_LOCK || t->at[i].epoch > epoch) t->at[n++] = t->at[i];
    t->n = n;
    Py_RETURN_NONE;
}

static PyObject *Notes_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    int n_ranks;
    (void)keywords;
    if (!PyArg_ParseTuple(args, "i:AccessNotes", &n_ranks)) return NULL;
    notes_object *notes = (notes_object *)type->tp_alloc(type, 0);
    if (!notes) return NULL;
    notes->n_ranks = n_ranks;
    notes->target = PyMem_Calloc((size_t)n_ranks, sizeof *notes->target);
    notes->origin = PyMem_Calloc((size_t)n_ranks, sizeof *notes->origin);
    if (notes->target && notes->origin) return (PyObject *)notes;
    Py_DECREF(notes);
    return PyErr_NoMemory();
}

static void Notes_dealloc(PyObject *self)
{
    notes_object *notes = (notes_object *)self;
    PyTypeObject *type = Py_TYPE(self);
    for (int rank = 0; notes->target && rank < notes->n_ranks; rank++) PyMem_Free(notes->target[rank].at);
    for (int rank = 0; notes->origin && rank < notes->n_ranks; rank++) {
        look_at_buffers(&notes->origin[rank], ALL_RANKS, NULL);
        PyMem_Free(notes->origin[rank].at);
    }
    PyMem_Free(notes->target);
    PyMem_Free(notes->origin);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMethodDef methods[] = {
    {"take", Notes_take, METH_VARARGS,
     PyDoc_STR("take(target, /)\n--\n\n(epoch, origin, line, begin, end, is_read, is_exclusive) of each access; the next are the "
               "caller's to note.")},
    {"give_back", Notes_give_back, METH_VARARGS,
     PyDoc_STR("give_back(target, /)\n--\n\nThe caller has no accesses to the target: the next are noted here.")},
    {"take_buffers", Notes_take_buffers, METH_VARARGS,
     PyDoc_STR("take_buffers(origin, target, /)\n--\n\n(line, address, bytes, is_written, has_changed, memory) of each buffer.")},
    {"complete", Notes_complete, METH_VARARGS,
     PyDoc_STR("complete(origin, target, is_local, /)\n--\n\nForget accesses under locks to a target, or with -1 to all; if it "
               "is local, those that read.")},
    {"look", Notes_look, METH_VARARGS,
     PyDoc_STR("look(origin, target, call, /)\n--\n\nForget buffers of accesses to a target, or with -1 to all; tell of those "
               "changed before the call that has completed them, if one has.")},
    {"end_fence", Notes_end_fence, METH_VARARGS,
     PyDoc_STR("end_fence(target, epoch, /)\n--\n\nForget accesses to a target in this epoch of fences, and in those before.")},
    {0},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, (void *)PyDoc_STR("AccessNotes(n_ranks, /)\n--\n\nCompiled accesses to a window, in a world with checks.")},
    {Py_tp_new, (void *)Notes_new},
    {Py_tp_dealloc, (void *)Notes_dealloc},
    {Py_tp_methods, methods},
    {0},
};

static PyType_Spec spec = {
    .name = "smpy.engine._surface.AccessNotes",
    .basicsize = sizeof(notes_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};

int access_notes_add_type(PyObject *module)
{
    PyObject *type = PyType_FromModuleAndSpec(module, &spec, NULL);
    if (!type || PyModule_AddType(module, (PyTypeObject *)type) < 0) return -1;
    Py_XSETREF(surface.notes_type, (PyTypeObject *)type);
    return 0;
}
