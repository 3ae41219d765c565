/* payload.h -- from what a program passes as a buffer to the bytes the kernel will move.
 *
 * Taken here: one C-contiguous buffer of a basic type in the machine's byte order, a folded array (smpy.compute.folded), or
 * [buffer, datatype] with one of these and a basic datatype whose size divides it. Everything else is left to smpy.mpi, which
 * also says what is wrong with it.
 * Laws:
 *   (1) payload_take() leaves no exception, and no reference unless it succeeds;
 *   (2) `view` is the caller's: it must stay where it is until it is released, for a view may point into itself. */
#ifndef SMPY_SURFACE_PAYLOAD_H
#define SMPY_SURFACE_PAYLOAD_H
#include "surface.h"

typedef struct {
    char *data;                     /* NULL: folded, or no bytes at all */
    int64_t bytes;
} payload;

int payload_take(PyObject *what, int is_writable, Py_buffer *view, payload *out); /* 1, or 0: not for us */

/* What the kernel is to move: memory that is kept alive until the transfer ends, or a copy made now. 0, or -1 with an
 * exception. */
int payload_lend(int request, payload load);
int payload_copy(int request, payload load);
#endif
