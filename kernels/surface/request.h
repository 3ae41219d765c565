/* request.h -- RequestBase: a transfer under way, and the memory it reads or writes.
 *
 * Isend and Irecv make requests here; smpy.mpi makes its own (of objects, of derived datatypes) by _refer_to().
 * Laws:
 *   (1) number > 0: under way; 0: the kernel is through with it, but nobody has waited; NO_NUMBER: null;
 *   (2) `view` is held exactly while the kernel may touch the user's memory: a completed request refers to nothing of the user's;
 *   (3) a request with a view, its own or in `memory`, that the program drops while the transfer goes on is held: it becomes
 *       the `object` of the kernel's request and joins the list surface.held, until the delivery that tells of the end, or
 *       detach();
 *   (4) those with a `message` or a `finish` have more to do on completion than we know: they are handed over. */
#ifndef SMPY_SURFACE_REQUEST_H
#define SMPY_SURFACE_REQUEST_H
#include "user_buffer.h"

enum { NO_NUMBER = -1, PENDING_ELSEWHERE = -1 };

typedef struct request_object {
    PyObject_HEAD
    int number;                     /* the kernel's */
    unsigned epoch;                 /* the world of the number, when there is a view */
    int is_held;
    int pending;                    /* 1 + the rank that has it in its list (pending.h), PENDING_ELSEWHERE, or 0 */
    Py_buffer view;                 /* .obj is NULL when there is none */
    PyObject *layout;               /* layout of a receive with strides: kept alive as the view is */
    PyObject *buffer;               /* object that smpy.mpi keeps alive in its place */
    PyObject *memory;               /* holder of the view in its place: the sequence run of a sequence that failed; or NULL */
    PyObject *message, *finish;
    struct request_object *before, *after; /* among the held ones */
} request_object;

int request_add_type(PyObject *module); /* 0, or -1 with an exception */

/* Complete, of the class smpy.mpi has named, which never sees __new__ or __init__; or NULL with an exception. */
request_object *request_new(void);

/* Result of a request that the kernel has completed, read before it is released. */
typedef struct {
    int is_recv, is_cancelled;
    int source, tag;
    int64_t bytes, capacity;
} message;

message request_collect(int number);
/* Reports a message to `status` (NULL or None: nobody asks) and, when it was truncated, has self._truncated(call, message) raise:
 * 0, or -1 with an exception. */
int request_report(PyObject *self, PyObject *call, const message *m, PyObject *status);
/* Does it look like a Status? One that does not is handed over. */
int request_can_report(PyObject *status);
/* A wait that began in this epoch is broken off: the kernel must not touch the memory any more. */
void request_abandon(int number, unsigned epoch);
/* Nobody will wait for a request of this epoch: it goes on as one that its program drops, and `memory`, which owns its bytes, is
 * kept alive until the transfer ends. 0, or -1 with an exception. */
int request_drop(int number, unsigned epoch, PyObject *memory);

/* Is the request this world's, with no work on completion but the kernel's? */
int request_is_plain(const request_object *r);
void request_become_null(request_object *r);

void request_take_held(void *held, request_object **chain); /* off the list, onto the chain */
void request_drop_chain(request_object *chain);
void request_drop_held(void);       /* all of them: the kernel moves no more bytes */

#ifdef SMPY_CHECK
void request_check(void);           /* law (3) for every held request; aborts where it is broken */
#endif
#endif
