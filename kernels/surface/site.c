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

int site_open(PyObject *name, PyObject *self)
{
    const int call = site_number(name);
    if (call < 0) return -1;
    surface.calls->begin_call(surface.sim, surface.timeline, call, lines_here(), self ? comm_number_as_named(self) : COMM_NULL);
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
    return site_open(at[0], self) < 0 ? NULL : Py_NewRef(Py_True);
}

PyObject *site_end_call(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    if (surface_is_here()) site_close();
    Py_RETURN_NONE;
}
