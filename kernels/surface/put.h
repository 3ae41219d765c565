/* put.h -- PutUnderWay: a copy of the bytes of a Put, until they are written.
 *
 * They are written when their message arrives, or before, by a call of the object, when another rank locks the target
 * (smpy.mpi.rma.window_parts).
 * Laws:
 *   (1) bytes are written once: `under_way`, the window's dict of what is under way to the target, has the put until then;
 *   (2) the kernel's payload refers to a put until its delivery, and so does the list surface.puts, until then or detach();
 *   (3) `piece` keeps the target's memory alive as long as the put lives. */
#ifndef SMPY_SURFACE_PUT_H
#define SMPY_SURFACE_PUT_H
#include "surface.h"

typedef struct put_object {
    PyObject_VAR_HEAD               /* ob_size: bytes */
    struct put_object *before, *after; /* among those that the kernel refers to */
    PyObject *under_way;            /* owned dict; NULL once the bytes are written */
    PyObject *piece;                /* owned */
    char *to;
    char data[];
} put_object;

int put_add_type(PyObject *module); /* 0, or -1 with an exception */

/* A put in the list and under way; the reference is for the kernel's payload. NULL: an exception. */
put_object *put_new(PyObject *under_way, PyObject *piece, char *to, const char *data, int64_t bytes);
int put_is(PyObject *object);       /* or is it a held request? */
/* The message has arrived: its bytes are written if they were not before; then the put is off the list, on the chain. */
void put_arrive(PyObject *object, put_object **chain);
void put_drop_chain(put_object *chain);
void put_drop(put_object *p);       /* off the list; its bytes are not written any more */
void put_drop_all(void);            /* the kernel moves no more bytes */
#endif
