/* site.h -- tells the kernel which call the program makes, in which line (account.h). */
#ifndef SMPY_SURFACE_SITE_H
#define SMPY_SURFACE_SITE_H
#include "surface.h"

/* Begin and end a call of the running rank. `comm` is the communicator's number in its handle, or COMM_NULL; -1: an exception. */
int site_open(PyObject *name, int comm);
void site_close(void);
int site_number(PyObject *name);   /* number of a call in accounts; -1 with an exception */

/* ---- functions of the module ---- */
PyObject *site_begin_call(PyObject *module, PyObject *const *at, Py_ssize_t n);
PyObject *site_end_call(PyObject *module, PyObject *unused);
#endif
