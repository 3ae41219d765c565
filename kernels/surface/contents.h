/* contents.h -- bytes that a reduction takes from a plain buffer and puts into one, with nothing kept in between.
 *
 * Thousands of ranks wait in a reduction at once. One that keeps no view of its buffers while it waits leaves the processor's
 * cache to the others; so the buffers are looked at on entry, and again when the result is there. */
#ifndef SMPY_SURFACE_CONTENTS_H
#define SMPY_SURFACE_CONTENTS_H
#include "surface.h"

/* contents(sendbuf, recvbuf) -> (format, bytes) or None: two plain buffers of one format and length, the second writable. */
PyObject *contents_take(PyObject *module, PyObject *const *at, Py_ssize_t n);
/* replace(recvbuf, bytes) -> bool: whether they went into a plain buffer of that length. */
PyObject *contents_replace(PyObject *module, PyObject *const *at, Py_ssize_t n);
#endif
