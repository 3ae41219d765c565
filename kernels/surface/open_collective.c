#include "open_collective.h"

#include <string.h>

#include "block.h"
#include "contents.h"

PyObject *open_collective_know(PyObject *module, PyObject *const *at, Py_ssize_t n)
{
    (void)module;
    if (n != 3 || !PyDict_CheckExact(at[2])) return PyErr_Format(PyExc_TypeError, "know_collectives(comm, entered, open)");
    if (!surface.open_collectives && !(surface.open_collectives = PyDict_New())) return NULL;
    PyObject *pair = PyTuple_Pack(2, at[1], at[2]);
    const int code = pair ? PyDict_SetItem(surface.open_collectives, at[0], pair) : -1;
    Py_XDECREF(pair);
    return code < 0 ? NULL : Py_NewRef(Py_None);
}

PyObject *open_collective_use_sum(PyObject *module, PyObject *operation)
{
    (void)module;
    Py_XSETREF(surface.sum, Py_NewRef(operation));
    Py_RETURN_NONE;
}

/* The open collective that the rank enters next, and its count of them: a new reference, or NULL. */
static PyObject *next_open(int comm, int rank, Py_buffer *entered)
{
    PyObject *key = PyLong_FromLong(comm), *found = NULL;
    PyObject *pair = key && surface.open_collectives ? PyDict_GetItemWithError(surface.open_collectives, key) : NULL;
    Py_XDECREF(key);
    if (!pair || PyObject_GetBuffer(PyTuple_GET_ITEM(pair, 0), entered, PyBUF_WRITABLE) < 0) return NULL;
    if (entered->len >= (Py_ssize_t)sizeof(int64_t) * (rank + 1)) {
        PyObject *place = PyLong_FromLongLong(((const int64_t *)entered->buf)[rank] + 1);
        found = place ? PyDict_GetItemWithError(PyTuple_GET_ITEM(pair, 1), place) : NULL;
        Py_XDECREF(place);
    }
    if (!found) PyBuffer_Release(entered);
    return Py_XNewRef(found);
}

/* Does the call of this rank match? `said` is what it brings: (format, bytes). */
static int is_alike(PyObject *plain, PyObject *said, PyObject *operation)
{
    if (!PyTuple_CheckExact(plain) || !PyTuple_CheckExact(said)) return 0;
    const Py_ssize_t bytes = PyBytes_GET_SIZE(PyTuple_GET_ITEM(said, 1));
    return bytes > 0 && PyTuple_GET_ITEM(plain, 2) == operation && PyLong_AsSsize_t(PyTuple_GET_ITEM(plain, 1)) == bytes &&
           PyUnicode_Compare(PyTuple_GET_ITEM(plain, 0), PyTuple_GET_ITEM(said, 0)) == 0;
}

static int take_part(int comm, int schedule, PyObject *content)
{
    const int64_t bytes = PyBytes_GET_SIZE(content);
    const int code = surface.calls->append_collective(surface.sim, surface.timeline, comm, schedule, 0, bytes, NULL);
    return code < 0 ? surface_kernel_error(code) : block_on(surface.name.Allreduce);
}

static PyObject *take_result(PyObject *collective, PyObject *recvbuf, PyObject *result)
{
    if (is_none(result)) Py_RETURN_NONE;
    if (!PyBytes_CheckExact(result)) return PyObject_CallMethodObjArgs(collective, surface.name.fill, recvbuf, result, NULL);
    PyObject *const both[] = {recvbuf, result};
    PyObject *has_fit = contents_replace(NULL, both, 2);
    if (has_fit == Py_False) PyErr_SetString(PyExc_BufferError, "Allreduce: recvbuf was changed while the call was under way");
    Py_XDECREF(has_fit);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

/* The rest, once the rank has entered: its part, its time, its result. */
static PyObject *perform(PyObject *collective, PyObject *fold, PyObject *operation, int comm, int rank, int schedule,
                         PyObject *content, PyObject *recvbuf)
{
    PyObject *place = PyLong_FromLong(rank);
    PyObject *put = place ? PyObject_CallMethodObjArgs(fold, surface.name.put, place, content, NULL) : NULL;
    Py_XDECREF(place);
    if (!put) return NULL;
    Py_DECREF(put);
    if (take_part(comm, schedule, content) < 0) return NULL;
    PyObject *result = PyObject_CallMethodOneArg(fold, surface.name.result, operation);
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *left = PyObject_CallMethodNoArgs(collective, surface.name.leave);
    if (type) PyErr_Restore(type, value, trace);
    PyObject *answer = result && left ? take_result(collective, recvbuf, result) : NULL;
    Py_XDECREF(result);
    Py_XDECREF(left);
    return answer;
}

PyObject *open_collective_join(int comm, PyObject *sendbuf, PyObject *recvbuf, PyObject *op)
{
    Py_buffer entered;
    PyObject *const buffers[] = {sendbuf, recvbuf};
    const int rank = comm == 0 ? surface.rank : surface.calls->comm_rank(surface.sim, comm, surface.rank);
    PyObject *collective = rank < 0 ? NULL : next_open(comm, rank, &entered), *answer = NULL;
    if (!collective) return NULL;
    PyObject *operation = op ? PyObject_GetAttr(op, surface.name._operation) : Py_XNewRef(surface.sum);
    PyObject *plain = operation ? PyObject_GetAttr(collective, surface.name.plain) : NULL;
    PyObject *number = plain && plain != Py_None ? PyObject_GetAttr(collective, surface.name.schedule) : NULL;
    const long schedule = number ? PyLong_AsLong(number) : -1;
    PyObject *said = schedule >= 0 ? contents_take(NULL, buffers, 2) : NULL;
    const int is_ours = said && is_alike(plain, said, operation);
    if (is_ours) ((int64_t *)entered.buf)[rank]++;
    PyBuffer_Release(&entered);
    if (is_ours) {
        PyObject *fold = PyTuple_GET_ITEM(plain, 3), *content = PyTuple_GET_ITEM(said, 1);
        answer = perform(collective, fold, operation, comm, rank, (int)schedule, content, recvbuf);
    } else {
        PyErr_Clear();
    }
    Py_XDECREF(said);
    Py_XDECREF(number);
    Py_XDECREF(plain);
    Py_XDECREF(operation);
    Py_DECREF(collective);
    return answer;
}
