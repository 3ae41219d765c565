#include "site.h"

#include "comm.h"
#include "lines.h"

int site_number(PyObject *name)
{
    PyObject *known = PyDict_GetItemWithError(surface.call_numbers, name); /* borrowed */
    if (known) return (int)PyLong_AsLong(known);
    if (PyErr_Occurred()) return -1;
    const Py_ssize_t number = PyDict_GET_SIZE(surface.call_numbers);
    PyObject *made = PyLong_FromSsize_t(number);
    const int result = made ? PyDict_SetItem(surface.call_numbers, name, made) : -1;
    Py_XDECREF(made);
    return result < 0 ? -1 : (int)number;
}

/* Number of a call; a line keeps that of its last call, as it mostly makes the same one again. */
static int number_at(int line, PyObject *name)
{
    if (!line) return site_number(name);
    program_line *at = &surface.lines.at[line];
    if (at->call_name != name) {
        const int call = site_number(name);
        if (call < 0) return -1;
        Py_XSETREF(at->call_name, Py_NewRef(name));
        at->call = call;
    }
    return at->call;
}

int site_open(PyObject *name, int comm)
{
    const int line = lines_here(), call = number_at(line, name);
    if (call < 0) return -1;
    surface.calls->begin_call(surface.sim, surface.timeline, call, line, comm);
    return 0;
}

void site_close(void)
{
    surface.calls->end_call(surface.sim, surface.timeline);
}

PyObject *site_begin_call(PyObject *module, PyObject *const *at, Py_ssize_t n)
{
    (void)module;
    if (n != 2 || !PyTuple_Check(at[1])) return PyErr_Format(PyExc_TypeError, "begin_call takes a name and the arguments");
    if (!surface_is_here()) Py_RETURN_FALSE;
    PyObject *self = PyTuple_GET_SIZE(at[1]) ? PyTuple_GET_ITEM(at[1], 0) : NULL;
    return site_open(at[0], self ? comm_number_as_named(self) : COMM_NULL) < 0 ? NULL : Py_NewRef(Py_True);
}

PyObject *site_end_call(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    if (surface_is_here()) site_close();
    Py_RETURN_NONE;
}
