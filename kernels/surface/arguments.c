#include "arguments.h"

#include <limits.h>

int arguments_sort(const arguments *given, PyObject *const *parameter, int n_parameters, int n_required, PyObject **out)
{
    if (given->n_positional > n_parameters) return 0;
    for (int i = 0; i < n_parameters; i++) out[i] = i < given->n_positional ? given->at[i] : NULL;
    const Py_ssize_t n_keywords = given->keywords ? PyTuple_GET_SIZE(given->keywords) : 0;
    for (Py_ssize_t k = 0; k < n_keywords; k++) {
        int i = 0;
        /* names in a program's text are interned, as ours are */
        while (i < n_parameters && parameter[i] != PyTuple_GET_ITEM(given->keywords, k)) i++;
        if (i == n_parameters || out[i]) return 0;
        out[i] = given->at[given->n_positional + k];
    }
    for (int i = 0; i < n_required; i++)
        if (!out[i]) return 0;
    return 1;
}

PyObject *arguments_hand_over(PyObject *self, PyObject *name, const arguments *given)
{
    PyObject *method = PyObject_GetAttr(self, name);
    if (!method) return NULL;
    PyObject *result = PyObject_Vectorcall(method, given->at, (size_t)given->n_positional, given->keywords);
    Py_DECREF(method);
    return result;
}

int arguments_int(PyObject *argument, int *out)
{
    if (!PyLong_CheckExact(argument)) return 0;
    int overflows;
    const long value = PyLong_AsLongAndOverflow(argument, &overflows);
    if (overflows || value < INT_MIN || value > INT_MAX) return 0;
    *out = (int)value;
    return 1;
}
