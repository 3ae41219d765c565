/* arguments.h -- the arguments of a vectorcall, put in the order of the signature.
 *
 * No exception here: what does not fit is handed over, and the Python method of the same signature says what is wrong. */
#ifndef SMPY_SURFACE_ARGUMENTS_H
#define SMPY_SURFACE_ARGUMENTS_H
#include "surface.h"

typedef struct {
    PyObject *const *at;            /* positional ones, then the values of the keywords */
    Py_ssize_t n_positional;
    PyObject *keywords;             /* tuple of names, or NULL */
} arguments;

/* Fills out[0 .. n_parameters), NULL where nothing was passed: 1, or 0 when they do not fit. */
int arguments_sort(const arguments *given, PyObject *const *parameter, int n_parameters, int n_required, PyObject **out);

/* self.name(...) with the same arguments. */
PyObject *arguments_hand_over(PyObject *self, PyObject *name, const arguments *given);

/* A plain int, neither a subclass nor out of a C int's range: 1, or 0. */
int arguments_int(PyObject *argument, int *out);
#endif
