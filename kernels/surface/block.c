#include "block.h"

#include <alloca.h>
#include <greenlet.h>

#include "guard.h"
#include "put.h"
#include "request.h"

enum { SPARE_STACK_BYTES = 256 };

int block_import_greenlet(void)
{
    PyGreenlet_Import();
    return _PyGreenlet_API ? 0 : -1;
}

static int tell_engine(PyObject *method)
{
    PyObject *result = PyObject_CallMethodNoArgs(surface.engine, method);
    Py_XDECREF(result);
    return result ? 0 : -1;
}

/* The engine's deliveries among those from `first` to `end`. */
static int run_engines(int first, int end)
{
    PyObject *given[] = {surface.engine, PyLong_FromLong(first), PyLong_FromLong(end)}, *result = NULL;
    if (given[1] && given[2]) result = PyObject_VectorcallMethod(surface.name._run_deliveries, given, 3, NULL);
    Py_XDECREF(given[1]);
    Py_XDECREF(given[2]);
    Py_XDECREF(result);
    return result ? 0 : -1;
}

/* Bytes are written in the order in which they arrived. Held requests and puts whose transfers ended are dropped last: dropping
 * memory can run Python, and that can reach the kernel again. */
static int run_deliveries(const delivery *list, int n)
{
    request_object *ended = NULL;
    put_object *arrived = NULL;
    int engines = -1, result = 0; /* first delivery of the engine's that has not been run, or -1 */
    for (int i = 0; i < n && result == 0; i++) {
        const int is_put = list[i].object && put_is(list[i].object);
        if (is_put && engines >= 0) {
            result = run_engines(engines, i);
            engines = -1;
        }
        if (is_put)
            put_arrive(list[i].object, &arrived);
        else if (list[i].object)
            request_take_held(list[i].object, &ended);
        if ((list[i].token || list[i].data) && engines < 0) engines = i;
    }
    if (engines >= 0 && result == 0) result = run_engines(engines, n);
    surface.calls->deliveries_done(surface.sim);
    request_drop_chain(ended);
    put_drop_chain(arrived);
    return result;
}

static int run_what_is_due(void)
{
    const delivery *deliveries;
    const int64_t *notes;
    const int n_deliveries = surface.calls->deliveries(surface.sim, &deliveries);
    if (n_deliveries && run_deliveries(deliveries, n_deliveries) < 0) return -1;
    return surface.calls->notes(surface.sim, &notes) ? tell_engine(surface.name._run_notes) : 0;
}

int block_step(int *next)
{
    if (surface.failure.type) {
        PyErr_Restore(surface.failure.type, surface.failure.value, surface.failure.trace);
        surface.failure.type = surface.failure.value = surface.failure.trace = NULL;
        return -1;
    }
#ifdef SMPY_CHECK
    request_check();
#endif
    const int before = guard_enter_own();
    *next = surface.calls->next(surface.sim);
    if (*next >= 0) {
        surface.timeline = *next;
        surface.rank = surface.calls->rank_of(surface.sim, *next);
    }
    const int result = run_what_is_due();
    guard_leave_own(before);
    return result;
}

/* A rank's first switch is to the hub. The copy of its stack is made larger than need be, so that malloc can give its later copies,
 * from calls that are a little deeper, the memory of earlier ones: pieces that are too small would lie between them unused. */
static PyObject *switch_to_hub(int next)
{
    *(volatile char *)alloca(SPARE_STACK_BYTES) = 0;
    PyObject *hub = PyObject_GetAttr(surface.engine, surface.name._hub);
    PyObject *word = hub ? Py_BuildValue("(i)", next) : NULL;
    PyObject *result = word ? PyGreenlet_Switch((PyGreenlet *)hub, word, NULL) : NULL;
    Py_XDECREF(word);
    Py_XDECREF(hub);
    return result;
}

/* The greenlet of a timeline that was started and has not ended, or NULL; borrowed. */
static PyGreenlet *greenlet_of(int timeline)
{
    if (timeline < 0 || timeline >= PyList_GET_SIZE(surface.greenlets)) return NULL;
    PyObject *body = PyList_GET_ITEM(surface.greenlets, timeline);
    return body == Py_None ? NULL : (PyGreenlet *)body;
}

/* The timeline comes back here: in its body's greenlet, or in one that its program has made. */
static int wait_in_this_greenlet(int timeline)
{
    PyGreenlet *current = PyGreenlet_GetCurrent();
    if (!current) return -1;
    if ((PyObject *)current != PyList_GET_ITEM(surface.greenlets, timeline))
        return PyList_SetItem(surface.greenlets, timeline, (PyObject *)current);
    Py_DECREF(current);
    return 0;
}

int block_on(PyObject *call)
{
    const int me = surface.timeline, rank = surface.rank;
    const unsigned epoch = surface.epoch;
    int next;
    if (PyList_SetItem(surface.waits_in, me, Py_NewRef(call)) < 0 || wait_in_this_greenlet(me) < 0) return -1;
    if (block_step(&next) < 0) {
        PyErr_Fetch(&surface.failure.type, &surface.failure.value, &surface.failure.trace);
        next = SIM_YIELD; /* brings the hub to its next step */
    } else if (next == me) {
        return 0;
    }
    PyGreenlet *other = greenlet_of(next);
    PyObject *result = other ? PyGreenlet_Switch(other, NULL, NULL) : switch_to_hub(next);
    Py_XDECREF(result);
    if (result && surface.epoch == epoch && surface.timeline != me) {
        PyErr_Format(PyExc_RuntimeError, "a greenlet that waits in MPI, of rank %d, was switched to by rank %d", rank,
                     surface.rank);
        return -1;
    }
    return result ? 0 : -1;
}
