/* wait.h -- Wait, Test and Waitall of requests whose completion the kernel alone decides.
 *
 * Law: a request is null, and its memory is the program's again, before anything of its message is reported. */
#ifndef SMPY_SURFACE_WAIT_H
#define SMPY_SURFACE_WAIT_H
#include "arguments.h"
#include "request.h"

PyObject *wait_one(PyObject *self, PyObject *const *at, Py_ssize_t n, PyObject *keywords);
PyObject *wait_test(PyObject *self, PyObject *const *at, Py_ssize_t n, PyObject *keywords);
PyObject *wait_all(PyObject *type, PyObject *const *at, Py_ssize_t n, PyObject *keywords);
/* Their bodies. */
PyObject *wait_perform_one(PyObject *self, const arguments *given);
PyObject *wait_perform_test(PyObject *self, const arguments *given);
PyObject *wait_perform_all(PyObject *type, const arguments *given);
#endif
