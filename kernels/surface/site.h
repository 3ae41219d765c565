/* site.h -- tells the kernel which call the program makes, in which line (account.h). */
#ifndef SMPY_SURFACE_SITE_H
#define SMPY_SURFACE_SITE_H
#include "surface.h"

/* The running rank's call begins, on a communicator that is named so by its handle, or COMM_NULL: -1 with an exception. Then, it
 * ends. */
int site_open(PyObject *name, int comm);
void site_close(void);
int site_number(PyObject *name);   /* of a call, in accounts; -1 with an exception */

/* ---- functions of the module ---- */
PyObject *site_begin_call(PyObject *module, PyObject *const *at, Py_ssize_t n);
PyObject *site_end_call(PyObject *module, PyObject *unused);
#endif
