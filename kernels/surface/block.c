#include "block.h"

#include <greenlet.h>

#include "request.h"

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

/* Held requests whose transfers ended are dropped last: dropping memory can run Python, and that can reach the kernel again. */
static int run_errands(const errand *list, int n)
{
    request_object *ended = NULL;
    int concerns_engine = 0, result = 0;
    for (int i = 0; i < n; i++) {
        if (list[i].object) request_take_held(list[i].object, &ended);
        concerns_engine |= list[i].token || list[i].data;
    }
    if (concerns_engine)
        result = tell_engine(surface.name._run_errands); /* which ends with sim_errands_done */
    else
        surface.calls->errands_done(surface.sim);
    request_drop_chain(ended);
    return result;
}

int block_step(int *next)
{
    const errand *errands;
    const int64_t *notes;
#ifdef SMPY_CHECK
    request_check();
#endif
    *next = surface.calls->next(surface.sim);
    if (*next >= 0) surface.rank = *next;
    const int n_errands = surface.calls->errands(surface.sim, &errands);
    if (n_errands && run_errands(errands, n_errands) < 0) return -1;
    if (surface.calls->notes(surface.sim, &notes) && tell_engine(surface.name._run_notes) < 0) return -1;
    return 0;
}

static PyObject *switch_to_hub(int next, int is_failed)
{
    PyObject *type = NULL, *value = NULL, *trace = NULL, *result = NULL;
    if (is_failed) PyErr_Fetch(&type, &value, &trace);
    PyObject *hub = PyObject_GetAttr(surface.engine, surface.name._hub);
    PyObject *word = is_failed ? NULL : Py_BuildValue("(i)", next);
    if (hub && is_failed)
        result = PyGreenlet_Throw((PyGreenlet *)hub, type, value, trace);
    else if (hub && word)
        result = PyGreenlet_Switch((PyGreenlet *)hub, word, NULL);
    Py_XDECREF(word);
    Py_XDECREF(hub);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return result;
}

/* The greenlet of a rank that was started and has not ended, or NULL; borrowed. */
static PyGreenlet *greenlet_of(int rank)
{
    if (rank < 0 || rank >= PyList_GET_SIZE(surface.greenlets)) return NULL;
    PyObject *body = PyList_GET_ITEM(surface.greenlets, rank);
    return body == Py_None ? NULL : (PyGreenlet *)body;
}

int block_on(PyObject *call)
{
    const int me = surface.rank;
    int next;
    if (PyList_SetItem(surface.waits_in, me, Py_NewRef(call)) < 0) return -1;
    const int is_failed = block_step(&next) < 0;
    if (next == me && !is_failed) return 0;

    PyGreenlet *other = is_failed ? NULL : greenlet_of(next);
    PyObject *result = other ? PyGreenlet_Switch(other, NULL, NULL) : switch_to_hub(next, is_failed);
    Py_XDECREF(result);
    return result ? 0 : -1;
}
