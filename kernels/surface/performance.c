#include "sequence.h"

#include <string.h>

#include "arguments.h"
#include "block.h"
#include "comm.h"
#include "request.h"
#include "user_buffer.h"

/* Performing a sequence (law (5) of sequence.h).
 *
 * Invariants: (1) number[i] > 0: the request of step i, whose wait has not been appended; once it has been, the number is there
 *                 with the other sign, and may be another request's when that of the step has been learnt of;
 *             (2) due[0 .. n_due): requests whose wait has been appended, and that have not been learnt of;
 *             (3) written_from .. written_to holds all memory that receives write to which are among these. */

typedef struct {
    user_buffer whole;
    Py_ssize_t n_rows;
    int64_t row_bytes;
    Py_buffer view;
} given_array;

typedef struct performance {
    const sequence_object *of;
    PyObject *handle;               /* of the communicator */
    arrival_object *arrival;
    int comm, tag, rank;
    unsigned epoch;
    int n_arrays, n_due;
    const char *written_from, *written_to;
    int *number, *due;              /* [steps] each */
    given_array array[];
} performance;

static void end(performance *p)
{
    for (int k = 0; k < p->n_arrays; k++) user_buffer_release(&p->array[k].view, &p->array[k].whole);
    PyMem_Free(p);
}

/* ---- what it is given ---- */

static int take_array(given_array *a, PyObject *what, int is_writable)
{
    if (PyList_CheckExact(what) || PyTuple_CheckExact(what)) return 0;
    if (!user_buffer_take(what, is_writable, &a->view, &a->whole)) return 0;
    a->n_rows = a->view.ndim > 0 ? a->view.shape[0] : 1;
    a->row_bytes = a->n_rows > 0 ? a->whole.bytes / a->n_rows : 0;
    return 1;
}

/* A performance that has taken its arrays; NULL: not for us, or with an exception. */
static performance *begin(sequence_object *of, int comm, PyObject *const *array, Py_ssize_t n_arrays)
{
    if (n_arrays < of->n_arrays || n_arrays > SEQUENCE_ARRAYS) return NULL;
    const size_t n_steps = (size_t)of->n, arrays_bytes = (size_t)n_arrays * sizeof(given_array);
    performance *p = PyMem_Malloc(sizeof *p + arrays_bytes + 2 * n_steps * sizeof(int));
    if (!p) {
        PyErr_NoMemory();
        return NULL;
    }
    *p = (performance){.of = of, .comm = comm, .rank = surface.rank, .epoch = surface.epoch};
    p->number = (int *)(void *)((char *)p->array + arrays_bytes);
    p->due = p->number + n_steps;
    memset(p->number, 0, n_steps * sizeof(int));
    for (; p->n_arrays < n_arrays; p->n_arrays++) {
        if (take_array(&p->array[p->n_arrays], array[p->n_arrays], (int)(of->receives >> p->n_arrays & 1))) continue;
        end(p);
        return NULL;
    }
    return p;
}

static user_buffer part_of(const performance *p, const sequence_step *s)
{
    const given_array *a = &p->array[s->array];
    if (s->end == WHOLE) return a->whole;
    const int64_t bytes = (s->end - s->first) * a->row_bytes;
    return (user_buffer){.data = a->whole.data && bytes ? a->whole.data + s->first * a->row_bytes : NULL, .bytes = bytes};
}

static envelope envelope_of(const performance *p, const sequence_step *s)
{
    return (envelope){p->comm, s->peer, s->tag == TAG_OF_CALL ? p->tag : s->tag};
}

static int receives(const sequence_step *s)
{
    return s->kind == STEP_RECV || s->kind == STEP_IRECV;
}

/* Law (3) of sequence.h. A receive names its source; with oneself only an array of one's own could be exchanged. */
static int fits(const performance *p)
{
    const int n_peers = comm_peers_of(p->comm);
    for (int i = 0; i < p->of->n; i++) {
        const sequence_step *s = &p->of->step[i];
        if (s->kind >= STEP_WAIT) continue;
        const envelope e = envelope_of(p, s);
        if (e.peer >= n_peers || e.peer < (receives(s) ? SIM_ANY : 0) || e.tag < (receives(s) ? SIM_ANY : 0)) return 0;
        if (s->end > p->array[s->array].n_rows) return 0;
        if (s->kind != STEP_SENDRECV) continue;
        const envelope from = envelope_of(p, s + 1);
        if (comm_is_with_itself(&e, &from)) return 0;
    }
    return 1;
}

/* ---- waiting ---- */

/* The kernel must not touch the memory any more. */
static int abandon(performance *p)
{
    for (int i = 0; i < p->of->n; i++)
        if (p->number[i] > 0) request_abandon(p->number[i], p->epoch);
    for (int k = 0; k < p->n_due; k++) request_abandon(p->due[k], p->epoch);
    return -1;
}

/* The step of a request that is due: the last one that had this number. */
static int step_of(const performance *p, int request)
{
    int i = p->of->n - 1;
    while (i >= 0 && p->number[i] != -request) i--;
    return i;
}

/* How a program that makes the calls one by one writes that of a step. */
static PyObject *call_of(const performance *p, int step)
{
    if (step > 0 && p->of->step[step - 1].kind == STEP_SENDRECV) return surface.name.Sendrecv;
    switch (p->of->step[step].kind) {
    case STEP_SEND: return surface.name.Send;
    case STEP_RECV: return surface.name.Recv;
    case STEP_ISEND: return surface.name.Isend;
    case STEP_IRECV: return surface.name.Irecv;
    default: return surface.name.Sendrecv;
    }
}

static int report_truncated(const performance *p, int request, const message *m)
{
    const int step = step_of(p, request);
    PyObject *call = PyUnicode_FromFormat("%U, step %d of a MessageSequence", call_of(p, step), step);
    const int result = call ? request_report(p->handle, call, m, NULL) : -1;
    Py_XDECREF(call);
    return result;
}

/* The rank has waited for the kernel: what came of the requests that were due. The first truncated message raises. */
static int learn(performance *p)
{
    message truncated = {0};
    int request = 0;
    for (int k = 0; k < p->n_due; k++) {
        const message m = request_collect(p->due[k]);
        if (request || !m.is_recv || m.bytes <= m.capacity) continue;
        truncated = m;
        request = p->due[k];
    }
    p->n_due = 0;
    p->written_from = p->written_to = NULL;
    return request ? report_truncated(p, request, &truncated) : 0;
}

/* Who reports a deadlock asks for the step (sequence_step_waited_for). */
static void note(const performance *p, performance *blocked)
{
    if (surface.performed_epoch == p->epoch) surface.performed[p->rank] = blocked;
}

static int catch_up(performance *p)
{
    note(p, p);
    const int result = block_on(surface.name.perform);
    note(p, NULL);
    return result < 0 ? -1 : learn(p);
}

int sequence_attach(int n_ranks)
{
    PyMem_Free(surface.performed);
    surface.performed_epoch = surface.epoch;
    surface.performed = PyMem_Calloc((size_t)n_ranks, sizeof *surface.performed);
    if (!surface.performed) return PyErr_NoMemory(), -1;
    return 0;
}

PyObject *sequence_step_waited_for(PyObject *module, PyObject *const *at, Py_ssize_t n)
{
    (void)module;
    int rank, request;
    if (n != 2 || !arguments_int(at[0], &rank) || !arguments_int(at[1], &request))
        return PyErr_Format(PyExc_TypeError, "step_waited_for(rank, request)");
    const performance *p = surface.performed && rank >= 0 && rank < surface.n_ranks ? surface.performed[rank] : NULL;
    const int step = p && request > 0 ? step_of(p, request) : -1;
    if (step < 0) Py_RETURN_NONE;
    return Py_BuildValue("Oi", call_of(p, step), step);
}

/* The wait for a step's request is appended. */
static void is_due(performance *p, int step)
{
    const sequence_step *s = &p->of->step[step];
    p->due[p->n_due++] = p->number[step];
    p->number[step] = -p->number[step];
    const user_buffer room = part_of(p, s);
    if (!receives(s) || !room.data) return;
    if (!p->written_from || room.data < p->written_from) p->written_from = room.data;
    if (room.data + room.bytes > p->written_to) p->written_to = room.data + room.bytes;
}

static int wait_for_one(performance *p, int step)
{
    const int number = p->number[step];
    if (number <= 0) return 0;
    is_due(p, step);
    const int code = surface.calls->append_wait(surface.sim, surface.timeline, number);
    return code < 0 ? surface_kernel_error(code) : 0;
}

/* For all requests of these steps that are not waited for yet. */
static int wait_for_all(performance *p, int first, int end_step)
{
    const int before = p->n_due;
    for (int i = first; i < end_step; i++)
        if (p->number[i] > 0) is_due(p, i);
    if (p->n_due == before) return 0;
    const int code = surface.calls->append_wait_all(surface.sim, surface.timeline, p->n_due - before, p->due + before);
    return code < 0 ? surface_kernel_error(code) : 0;
}

/* ---- the steps ---- */

/* Bytes that an earlier step receives are there before they are sent. */
static int must_catch_up(const performance *p, user_buffer load)
{
    return load.data && load.data < p->written_to && load.data + load.bytes > p->written_from;
}

static int send(performance *p, int step, int blocking)
{
    const sequence_step *s = &p->of->step[step];
    const user_buffer load = part_of(p, s);
    const envelope to = envelope_of(p, s);
    if (must_catch_up(p, load) && catch_up(p) < 0) return -1;
    const int number = comm_post_send(&to, load, blocking, 0);
    p->number[step] = number > 0 ? number : 0;
    return number < 0 ? -1 : blocking ? wait_for_one(p, step) : 0;
}

static int receive(performance *p, int step)
{
    const sequence_step *s = &p->of->step[step];
    const user_buffer room = part_of(p, s);
    const envelope from = envelope_of(p, s);
    const int number = comm_post_recv(&from, room);
    if (number < 0) return -1;
    p->number[step] = number;
    return 0;
}

/* A send that is complete at once is not waited for. */
static int exchange(performance *p, int step)
{
    if (send(p, step, 0) < 0 || receive(p, step + 1) < 0) return -1;
    return p->number[step] ? wait_for_all(p, step, step + 2) : wait_for_one(p, step + 1);
}

static int look(performance *p)
{
    arrival_object *arrival = p->arrival;
    if (!arrival || arrival->is_done) return 0;
    const int waits = !is_none(arrival->source); /* for the kernel, and so for what is due */
    if (!waits && p->written_from && catch_up(p) < 0) return -1; /* what follows may send it */
    const int result = arrival_look(arrival, 0);
    if (result < 0) return -1;
    if (result > 0) return waits ? learn(p) : 0;
    if (p->n_due && catch_up(p) < 0) return -1;
    PyObject *answer = PyObject_CallMethodNoArgs((PyObject *)arrival, surface.name._look);
    Py_XDECREF(answer);
    return answer ? 0 : -1;
}

static int perform_step(performance *p, int step)
{
    const sequence_step *s = &p->of->step[step];
    switch (s->kind) {
    case STEP_SEND: return send(p, step, 1);
    case STEP_ISEND: return send(p, step, 0);
    case STEP_RECV: return receive(p, step) < 0 ? -1 : wait_for_one(p, step);
    case STEP_IRECV:
        return receive(p, step) < 0 ? -1 : 0;
    case STEP_SENDRECV: return exchange(p, step);
    case STEP_WAIT: return wait_for_one(p, s->of);
    case STEP_WAITALL: return wait_for_all(p, 0, step);
    default: return look(p);
    }
}

/* The program's clock is that of its last wait, and what it spent since: waits are over before steps behind the last of them. */
static int ends_waiting(const performance *p, int step)
{
    const sequence_step *s = &p->of->step[step];
    if (!p->n_due || step < p->of->n_until_last_wait) return 0;
    if (s->kind == STEP_SEND) return surface.calls->sends_at_once(surface.sim, surface.timeline, part_of(p, s).bytes);
    return s->kind == STEP_LOOK && p->arrival && is_none(p->arrival->source);
}

static int perform_all(performance *p)
{
    for (int i = 0; i < p->of->n; i += p->of->step[i].kind == STEP_SENDRECV ? 2 : 1) {
        const int must_wait = ends_waiting(p, i) || surface.calls->is_far_ahead(surface.sim, surface.timeline);
        if (must_wait && catch_up(p) < 0) return -1;
        if (perform_step(p, i) < 0) return -1;
    }
    if (wait_for_all(p, 0, p->of->n) < 0) return -1;
    return p->n_due ? catch_up(p) : 0;
}

int sequence_perform(sequence_object *self, PyObject *handle, PyObject *const *array, Py_ssize_t n_arrays, int tag,
                     arrival_object *arrival)
{
    const int comm = comm_number(handle);
    if (comm >= 0) self->has_begun = 1; /* before an array's own code, which may be Python, runs */
    performance *p = comm < 0 ? NULL : begin(self, comm, array, n_arrays);
    if (!p) return PyErr_Occurred() ? -1 : 0;
    p->handle = handle;
    p->tag = tag;
    p->arrival = arrival;
    int result = fits(p);
    if (result) result = perform_all(p) < 0 ? abandon(p) : 1;
    end(p);
    return result;
}
