/* payload.h -- from what a program passes as a buffer to the bytes the kernel will move.
 *
 * Taken here: one C-contiguous buffer of a basic type in the machine's byte order, a folded array (smpy.compute.folded), or
 * [buffer, datatype] and [buffer, count, datatype] with one of these and a committed datatype without gaps or with regular
 * strides (strided.h), whose entries lie within the buffer. Everything else is left to smpy.mpi, which also says what is wrong
 * with it.
 * Laws:
 *   (1) payload_take() leaves no exception, and no reference unless it succeeds;
 *   (2) `view` is the caller's: it must stay where it is until it is released, for a view may point into itself;
 *   (3) what is sent with a layout is packed when it is posted, whatever its size. */
#ifndef SMPY_SURFACE_PAYLOAD_H
#define SMPY_SURFACE_PAYLOAD_H
#include "surface.h"

typedef struct {
    char *data;                     /* NULL: folded, or no bytes at all; with a layout the address of the first entry */
    int64_t bytes;
    const strided *layout;          /* NULL: one stretch */
    PyObject *owner;                /* of the layout: a reference, which payload_release() drops with the view */
} payload;

int payload_take(PyObject *what, int is_writable, Py_buffer *view, payload *out); /* 1, or 0: not for us */
void payload_release(Py_buffer *view, payload *taken);

/* What the kernel is to move: memory that is kept alive until the transfer ends, or a copy made now. 0, or -1 with an
 * exception. */
int payload_lend(int request, payload load);
int payload_copy(int request, payload load);
#endif
