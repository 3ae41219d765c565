/* user_buffer.h -- from what a program passes as a buffer to the bytes the kernel will move.
 *
 * Taken here: one C-contiguous buffer of a basic type in the machine's byte order, exported or described (described_memory.h); a
 * folded array (smpy.compute.folded); or a specification with one of these, a count, a displacement and a datatype, some of which
 * may be missing. The datatype is committed, without gaps or with regular strides (strided.h); the entries lie within the buffer,
 * all of which has a content. Everything else is left to smpy.mpi, which also says what is wrong with it.
 * Laws:
 *   (1) user_buffer_take() leaves no exception, and no reference unless it succeeds;
 *   (2) `view` is the caller's: it must stay where it is until it is released, for a view may point into itself;
 *   (3) what is sent with a layout is packed when it is posted, whatever its size. */
#ifndef SMPY_SURFACE_USER_BUFFER_H
#define SMPY_SURFACE_USER_BUFFER_H
#include "surface.h"

typedef struct {
    char *data;                     /* NULL: folded, or no bytes at all; with a layout the address of the first entry */
    int64_t bytes;
    const strided *layout;          /* NULL: one stretch */
    PyObject *owner;                /* owner of the layout: a reference, which user_buffer_release() drops with the view */
} user_buffer;

int user_buffer_take(PyObject *what, int is_writable, Py_buffer *view, user_buffer *out); /* 1, or 0: not for us */
/* Bytes of an entry of a basic contiguous datatype; 0 of everything else. */
Py_ssize_t user_buffer_entry_bytes(PyObject *datatype);
void user_buffer_release(Py_buffer *view, user_buffer *taken);
/* FOLDED_*: share of its bytes without content; FOLDED_NONE if no world runs, as in a child process. */
int user_buffer_folded_share(const user_buffer *what);

/* Gives the kernel the bytes to move: memory that is kept alive until the transfer ends, or a copy made now. 0, or -1 with an
 * exception. */
int user_buffer_lend(int request, user_buffer load);
int user_buffer_copy(int request, user_buffer load);
#endif
