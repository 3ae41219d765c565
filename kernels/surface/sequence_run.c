#include "sequence.h"

#include <math.h>
#include <string.h>

#include "arguments.h"
#include "block.h"
#include "clock.h"
#include "comm.h"
#include "request.h"
#include "site.h"
#include "user_buffer.h"

/* Performing a sequence (law (5) of sequence.h).
 *
 * Sequences within it are performed on a stack: for each of their steps, from the outermost to the one under way, `started` has a
 * number.
 * Invariants: (1) a number > 0 is the request of the step, whose wait has not been appended; once it has been, the number is 0;
 *             (2) due[0 .. n_due): requests whose wait has been appended, and that have not been learnt of;
 *             (3) written_from .. written_to holds all memory that receives write to which are among these;
 *             (4) there are fewer than DUE_MAX, but for those at the end of a sequence: a rank holds no more requests. */

enum { DUE_MAX = 16 };
enum { NO_ROWS = -1 };              /* rows of an array without dimensions */

typedef struct {
    user_buffer whole;
    Py_ssize_t n_rows;
    int64_t row_bytes;
    Py_buffer view;
} given_array;

/* A step of a sequence: that of the whole sequence run, or of one within. */
typedef struct {
    const sequence_object *of;
    int step;
} place;

typedef struct sequence_run {
    PyObject *handle;               /* handle of the communicator */
    arrival_object *arrival;
    int comm;                       /* COMM_NULL when a function has freed it */
    int tag, timeline;
    int is_timed;                   /* sequence_gifts */
    unsigned epoch;
    int n_arrays, n_given, n_started, started_room, n_due, due_room;
    const char *written_from, *written_to;
    int *started;
    int *due;                       /* numbers of these requests, and the step of each */
    place *due_from;
    long long *given;               /* numbers */
    given_array array[];
} sequence_run;

/* A sequence under way: the numbers of its steps begin at started[first]. */
typedef struct {
    const sequence_object *of;
    int first;
    int is_last;                    /* nothing waits behind it */
} level;

static void end(sequence_run *p)
{
    for (int k = 0; k < p->n_arrays; k++) user_buffer_release(&p->array[k].view, &p->array[k].whole);
    PyMem_Free(p->started);
    PyMem_Free(p->due);
    PyMem_Free(p->due_from);
    PyMem_Free(p);
}

/* ---- its arguments ---- */

static int take_array(given_array *a, PyObject *what, int is_writable)
{
    if (PyList_CheckExact(what) || PyTuple_CheckExact(what)) return 0;
    if (!user_buffer_take(what, is_writable, &a->view, &a->whole)) return 0;
    surface.taken[is_writable] = 0; /* its messages are posted later, without a type */
    a->n_rows = a->view.ndim > 0 ? a->view.shape[0] : NO_ROWS;
    a->row_bytes = a->n_rows > 0 ? a->whole.bytes / a->n_rows : 0;
    return 1;
}

static int take_numbers(sequence_run *p, PyObject *given)
{
    for (; p->n_given < (given ? PyTuple_GET_SIZE(given) : 0); p->n_given++) {
        PyObject *number = PyTuple_GET_ITEM(given, p->n_given);
        int overflows = 0;
        if (PyLong_CheckExact(number)) p->given[p->n_given] = PyLong_AsLongLongAndOverflow(number, &overflows);
        if (!PyLong_CheckExact(number) || overflows) return 0;
    }
    return 1;
}

/* A sequence run that has taken what it is given; NULL: not for us, or with an exception. */
static sequence_run *begin(sequence_object *of, const sequence_gifts *given)
{
    const int comm = comm_number_of_plain(given->comm);
    if (comm < 0) return NULL;
    of->has_begun = 1; /* before an array's own code, which may be Python, runs */
    PyObject *numbers = is_none(given->numbers) ? NULL : given->numbers;
    if (numbers && !PyTuple_CheckExact(numbers)) return NULL;
    const Py_ssize_t n_given = numbers ? PyTuple_GET_SIZE(numbers) : 0;
    if (given->n_arrays < of->n_arrays || given->n_arrays > SEQUENCE_ARRAYS || n_given < of->n_given) return NULL;
    const size_t arrays_bytes = (size_t)given->n_arrays * sizeof(given_array);
    sequence_run *p = PyMem_Malloc(sizeof *p + arrays_bytes + (size_t)n_given * sizeof *p->given);
    if (!p) {
        PyErr_NoMemory();
        return NULL;
    }
    *p = (sequence_run){.handle = given->comm, .arrival = given->arrival, .comm = comm, .tag = given->tag,
                       .timeline = surface.timeline, .is_timed = given->is_timed, .epoch = surface.epoch};
    p->given = (long long *)(void *)((char *)p->array + arrays_bytes);
    int is_ours = take_numbers(p, numbers);
    for (; is_ours && p->n_arrays < given->n_arrays; p->n_arrays++) {
        is_ours = take_array(&p->array[p->n_arrays], given->array[p->n_arrays], (int)(of->receives >> p->n_arrays & 1));
        if (!is_ours) break;
    }
    if (is_ours) return p;
    end(p);
    return NULL;
}

static user_buffer part_of(const sequence_run *p, const sequence_step *s)
{
    const given_array *a = &p->array[s->array];
    if (s->end == WHOLE) return a->whole;
    const int64_t bytes = (s->end - s->first) * a->row_bytes;
    return (user_buffer){.data = a->whole.data && bytes ? a->whole.data + s->first * a->row_bytes : NULL, .bytes = bytes};
}

static envelope envelope_of(const sequence_run *p, const sequence_step *s)
{
    return (envelope){p->comm, s->peer, s->tag == TAG_OF_CALL ? p->tag : s->tag};
}

static int receives(const sequence_step *s)
{
    return s->kind == STEP_RECV || s->kind == STEP_IRECV;
}

/* The number that a step takes: 1, or 0 when it is too large to be one of ours. */
static int take_number(const sequence_run *p, const sequence_number *n, long long *out)
{
    return !__builtin_add_overflow(n->plus, n->place >= 0 ? p->given[n->place] : 0, out);
}

static int takes_numbers(const sequence_run *p, const sequence_object *of, const sequence_step *s)
{
    long long unused;
    for (Py_ssize_t i = s->first; i < s->end; i++)
        if (!take_number(p, &of->number[i], &unused)) return 0;
    return 1;
}

/* Law (3) of sequence.h. */
static int fits(const sequence_run *p, const sequence_object *of)
{
    const int n_peers = comm_peers_of(p->comm);
    const PyObject *fitted = NULL; /* the sequence within that was looked at last: often the next one is the same */
    for (int i = 0; i < of->n; i++) {
        const sequence_step *s = &of->step[i];
        if (s->kind == STEP_PERFORM && of->object[s->of] != fitted) {
            fitted = of->object[s->of];
            if (!fits(p, (const sequence_object *)fitted)) return 0;
        }
        if ((s->kind == STEP_CALL || s->kind == STEP_EXECUTE) && !takes_numbers(p, of, s)) return 0;
        if (s->kind >= STEP_WAIT) continue;
        const envelope e = envelope_of(p, s);
        if (e.peer >= n_peers || e.peer < (receives(s) ? SIM_ANY : 0) || e.tag < (receives(s) ? SIM_ANY : 0)) return 0;
        if (s->end > p->array[s->array].n_rows) return 0;
    }
    return 1;
}

/* ---- waiting ---- */

static void end_capsule(PyObject *capsule)
{
    end(PyCapsule_GetPointer(capsule, NULL));
}

/* Ends it with an exception. What was started goes on, and the arrays are kept alive until it is over. What is due is over; or
 * the rank could not wait for it, and the kernel must not touch its memory any more. */
static int abandon(sequence_run *p)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *memory = PyCapsule_New(p, NULL, end_capsule);
    for (int i = 0; i < p->n_started; i++)
        if (p->started[i] > 0 && (!memory || request_drop(p->started[i], p->epoch, memory) < 0))
            request_abandon(p->started[i], p->epoch);
    for (int k = 0; k < p->n_due; k++) request_abandon(p->due[k], p->epoch);
    if (!memory) end(p);
    Py_XDECREF(memory);
    PyErr_Restore(type, value, trace);
    return -1;
}

/* Name of a step's call in a program that makes the calls one by one. */
static PyObject *call_of(place at)
{
    const int kind = at.of->step[at.step].kind;
    return kind == STEP_SEND ? surface.name.Send : kind == STEP_RECV ? surface.name.Recv : surface.name.Irecv;
}

static int report_truncated(const sequence_run *p, place from, const message *m)
{
    PyObject *call = PyUnicode_FromFormat("%U, step %d of a MessageProgram", call_of(from), from.step);
    const int result = call ? request_report(p->handle, call, m, NULL) : -1;
    Py_XDECREF(call);
    return result;
}

/* The rank has waited for the kernel: what came of the requests that were due. The first truncated message raises. */
static int learn(sequence_run *p)
{
    message truncated = {0};
    place from = {0};
    for (int k = 0; k < p->n_due; k++) {
        const message m = request_collect(p->due[k]);
        if (from.of || !m.is_recv || m.bytes <= m.capacity) continue;
        truncated = m;
        from = p->due_from[k];
    }
    p->n_due = 0;
    p->written_from = p->written_to = NULL;
    return from.of ? report_truncated(p, from, &truncated) : 0;
}

/* Notes the step in which the timeline is blocked, for reports of deadlocks (sequence_step_waited_for). */
static void note(const sequence_run *p, sequence_run *blocked)
{
    if (surface.performed_epoch == p->epoch) surface.performed[p->timeline] = blocked;
}

static int catch_up(sequence_run *p)
{
    note(p, p);
    const int result = block_on(surface.name.perform);
    note(p, NULL);
    return result < 0 ? -1 : learn(p);
}

int sequence_add_timelines(int n)
{
    if (n <= surface.performed_room) return 0;
    const int room = 2 * surface.performed_room > n ? 2 * surface.performed_room : n;
    struct sequence_run **grown = PyMem_Realloc(surface.performed, (size_t)room * sizeof *grown);
    if (!grown) return PyErr_NoMemory(), -1;
    for (int i = surface.performed_room; i < room; i++) grown[i] = NULL;
    surface.performed = grown;
    surface.performed_room = room;
    return 0;
}

int sequence_attach(int n_timelines)
{
    PyMem_Free(surface.performed);
    surface.performed = NULL;
    surface.performed_room = 0;
    surface.performed_epoch = surface.epoch;
    return sequence_add_timelines(n_timelines);
}

PyObject *sequence_step_waited_for(PyObject *module, PyObject *const *at, Py_ssize_t n)
{
    (void)module;
    int timeline, request;
    if (n != 2 || !arguments_int(at[0], &timeline) || !arguments_int(at[1], &request))
        return PyErr_Format(PyExc_TypeError, "step_waited_for(timeline, request)");
    const sequence_run *p = timeline >= 0 && timeline < surface.performed_room ? surface.performed[timeline] : NULL;
    int k = p && request > 0 ? p->n_due - 1 : -1;
    while (k >= 0 && p->due[k] != request) k--;
    if (k < 0) Py_RETURN_NONE;
    return Py_BuildValue("Oi", call_of(p->due_from[k]), p->due_from[k].step);
}

static int make_room_for_due(sequence_run *p)
{
    if (p->n_due < p->due_room) return 0;
    const int room = p->due_room ? 2 * p->due_room : 16;
    int *due = PyMem_Realloc(p->due, (size_t)room * sizeof *due);
    if (due) p->due = due;
    place *from = due ? PyMem_Realloc(p->due_from, (size_t)room * sizeof *from) : NULL;
    if (!from) return PyErr_NoMemory(), -1;
    p->due_from = from;
    p->due_room = room;
    return 0;
}

/* The wait for a step's request is appended next. */
static int is_due(sequence_run *p, const level *l, int step)
{
    if (make_room_for_due(p) < 0) return -1;
    const sequence_step *s = &l->of->step[step];
    int *number = &p->started[l->first + step];
    p->due_from[p->n_due] = (place){l->of, step};
    p->due[p->n_due++] = *number;
    *number = 0;
    const user_buffer room = part_of(p, s);
    if (!receives(s) || !room.data) return 0;
    if (!p->written_from || room.data < p->written_from) p->written_from = room.data;
    if (room.data + room.bytes > p->written_to) p->written_to = room.data + room.bytes;
    return 0;
}

static int wait_for_one(sequence_run *p, const level *l, int step)
{
    const int number = p->started[l->first + step];
    if (number <= 0) return 0;
    if (is_due(p, l, step) < 0) return -1;
    const int code = surface.calls->append_wait(surface.sim, surface.timeline, number);
    return code < 0 ? surface_kernel_error(code) : 0;
}

/* For all requests of a sequence that are not waited for yet. */
static int wait_for_all(sequence_run *p, const level *l)
{
    const int before = p->n_due;
    for (int i = 0; i < l->of->n; i++)
        if (p->started[l->first + i] > 0 && is_due(p, l, i) < 0) return -1;
    if (p->n_due == before) return 0;
    const int code = surface.calls->append_wait_all(surface.sim, surface.timeline, p->n_due - before, p->due + before);
    return code < 0 ? surface_kernel_error(code) : 0;
}

/* ---- the steps ---- */

/* A function has freed the communicator: the step's own call says so. */
static int report_freed(sequence_run *p, const level *l, int step)
{
    if (p->n_due && catch_up(p) < 0) return -1;
    const sequence_step *s = &l->of->step[step];
    PyObject *peer = PyLong_FromLong(s->peer);
    PyObject *array = p->array[s->array].view.obj;
    PyObject *result = peer ? PyObject_CallMethodObjArgs(p->handle, call_of((place){l->of, step}), array, peer, NULL) : NULL;
    if (result) PyErr_SetString(PyExc_SystemError, "a call on a communicator that has been freed returned");
    Py_XDECREF(result);
    Py_XDECREF(peer);
    return -1;
}

/* Bytes that an earlier step receives are there before they are sent. */
static int must_catch_up(const sequence_run *p, user_buffer load)
{
    return load.data && load.data < p->written_to && load.data + load.bytes > p->written_from;
}

static int send(sequence_run *p, const level *l, int step)
{
    const sequence_step *s = &l->of->step[step];
    const user_buffer load = part_of(p, s);
    const envelope to = envelope_of(p, s);
    if (to.comm < 0) return report_freed(p, l, step);
    if (must_catch_up(p, load) && catch_up(p) < 0) return -1;
    const int number = comm_post_send(&to, load, 1, 0);
    p->started[l->first + step] = number > 0 ? number : 0;
    return number < 0 ? -1 : wait_for_one(p, l, step);
}

static int receive(sequence_run *p, const level *l, int step)
{
    const sequence_step *s = &l->of->step[step];
    const user_buffer room = part_of(p, s);
    const envelope from = envelope_of(p, s);
    if (from.comm < 0) return report_freed(p, l, step);
    const int number = comm_post_recv(&from, room);
    if (number < 0) return -1;
    p->started[l->first + step] = number;
    return 0;
}

static int look(sequence_run *p)
{
    arrival_object *arrival = p->arrival;
    if (!arrival || arrival->is_done) return 0;
    const int waits = !is_none(arrival->source); /* for the kernel, and so for what is due */
    if (!waits && p->n_due && catch_up(p) < 0) return -1; /* the next steps may send received bytes, or call a function */
    const int result = arrival_look(arrival, 0, p->is_timed);
    if (result < 0) return -1;
    if (result > 0) return waits ? learn(p) : 0;
    if (p->n_due && catch_up(p) < 0) return -1;
    PyObject *answer = PyObject_CallMethodNoArgs((PyObject *)arrival, surface.name._look);
    Py_XDECREF(answer);
    return answer ? 0 : -1;
}

static int report_no_work(double flop)
{
    PyObject *number = PyFloat_FromDouble(flop);
    if (number) PyErr_Format(PyExc_ValueError, "cannot compute %R operations: give a finite number of at least 0", number);
    Py_XDECREF(number);
    return -1;
}

static long long number_of(const sequence_run *p, const sequence_number *n)
{
    long long number = 0;
    take_number(p, n, &number);
    return number;
}

/* The function is the program's: it may read what was received and write to what was sent, and its time is the rank's. */
static int call(sequence_run *p, const sequence_object *of, const sequence_step *s)
{
    PyObject *argument[STEP_NUMBERS_MAX];
    int n = 0, is_made = 1;
    if (p->n_due && catch_up(p) < 0) return -1;
    for (Py_ssize_t i = s->first; is_made && i < s->end; i++) {
        argument[n] = PyLong_FromLongLong(number_of(p, &of->number[i]));
        is_made = argument[n] != NULL;
        n += is_made;
    }
    if (p->is_timed) clock_start();
    PyObject *result = is_made ? PyObject_Vectorcall(of->object[s->of], argument, (size_t)n, NULL) : NULL;
    if (p->is_timed && surface.epoch == p->epoch && clock_stop() < 0) Py_CLEAR(result);
    while (n) Py_DECREF(argument[--n]);
    Py_XDECREF(result);
    return result ? 0 : -1;
}

static int execute(sequence_run *p, const sequence_object *of, const sequence_step *s)
{
    PyObject *work = of->object[s->of]; /* (kernel, flop) */
    double flop = PyFloat_AS_DOUBLE(PyTuple_GET_ITEM(work, 1));
    for (Py_ssize_t i = s->first; i < s->end; i++) flop *= (double)number_of(p, &of->number[i]);
    if (!(flop >= 0) || !isfinite(flop)) return p->n_due && catch_up(p) < 0 ? -1 : report_no_work(flop);
    const int kernel = site_number(PyTuple_GET_ITEM(work, 0));
    if (kernel < 0) return -1;
    const int code = surface.calls->append_compute_of(surface.sim, surface.timeline, kernel, 1, 1, flop, 0);
    return code < 0 ? surface_kernel_error(code) : 0;
}

/* Functions of the program have run, with this result: they may have freed the communicator. */
static int behind_functions(sequence_run *p, int result)
{
    if (result >= 0) p->comm = comm_number(p->handle);
    return result;
}

static int perform_within(sequence_run *p, const level *outer, int step);

static int perform_step(sequence_run *p, const level *l, int step)
{
    const sequence_step *s = &l->of->step[step];
    switch (s->kind) {
    case STEP_SEND: return send(p, l, step);
    case STEP_RECV: return receive(p, l, step) < 0 ? -1 : wait_for_one(p, l, step);
    case STEP_IRECV: return receive(p, l, step);
    case STEP_WAIT: return wait_for_one(p, l, s->of);
    case STEP_LOOK: return behind_functions(p, look(p));
    case STEP_PERFORM: return perform_within(p, l, step);
    case STEP_CALL: return behind_functions(p, call(p, l->of, s));
    default: return execute(p, l->of, s);
    }
}

/* The program's clock is that of its last wait, and what it spent since: waits are over before steps behind the last of them. */
static int ends_waiting(const sequence_run *p, const level *l, int step)
{
    const sequence_step *s = &l->of->step[step];
    if (!p->n_due || !l->is_last || step < l->of->n_until_last_wait) return 0;
    if (s->kind == STEP_SEND)
        return surface.calls->sends_at_once(surface.sim, surface.timeline, part_of(p, s).bytes);
    return s->kind == STEP_CALL || s->kind == STEP_EXECUTE || (s->kind == STEP_LOOK && p->arrival && is_none(p->arrival->source));
}

static int perform_level(sequence_run *p, const sequence_object *of, int is_last)
{
    const level l = {of, p->n_started, is_last};
    if (p->n_started + of->n > p->started_room) {
        const int room = 2 * p->started_room > p->n_started + of->n ? 2 * p->started_room : p->n_started + of->n;
        int *grown = PyMem_Realloc(p->started, (size_t)room * sizeof *grown);
        if (!grown) return PyErr_NoMemory(), -1;
        p->started = grown;
        p->started_room = room;
    }
    memset(p->started + p->n_started, 0, (size_t)of->n * sizeof *p->started);
    p->n_started += of->n;
    for (int i = 0; i < of->n; i++) {
        const int is_far_ahead = p->n_due >= DUE_MAX || surface.calls->is_far_ahead(surface.sim, surface.timeline);
        if ((is_far_ahead || ends_waiting(p, &l, i)) && catch_up(p) < 0) return -1;
        if (perform_step(p, &l, i) < 0) return -1;
    }
    if (wait_for_all(p, &l) < 0) return -1;
    p->n_started = l.first;
    return 0;
}

static int perform_within(sequence_run *p, const level *outer, int step)
{
    const sequence_object *inner = (const sequence_object *)outer->of->object[outer->of->step[step].of];
    return perform_level(p, inner, outer->is_last && step + 1 >= outer->of->n_until_last_wait);
}

static int perform_all(sequence_run *p, const sequence_object *of)
{
    if (perform_level(p, of, 1) < 0) return -1;
    return p->n_due ? catch_up(p) : 0;
}

int sequence_perform(sequence_object *self, const sequence_gifts *given)
{
    sequence_run *p = begin(self, given);
    if (!p) return PyErr_Occurred() ? -1 : 0;
    const int is_ours = fits(p, self);
    if (is_ours && perform_all(p, self) < 0) return abandon(p);
    end(p);
    return is_ours;
}

int sequence_overlap(sequence_object *self, const sequence_gifts *given, int times)
{
    sequence_run *p = begin(self, given);
    if (!p) return PyErr_Occurred() ? -1 : -2;
    int n = fits(p, self) ? 0 : -2;
    for (; n >= 0 && n < times && !given->arrival->is_done; n++)
        if (perform_all(p, self) < 0 || behind_functions(p, look(p)) < 0) return abandon(p);
    end(p);
    return n;
}
