/* comm.h -- CommBase: the hot calls of a communicator, as long as they are plain.
 *
 * Plain is: this thread runs a rank; plain ints in range; a buffer user_buffer.h takes.
 * A rank's own place in a communicator is asked of the kernel each time: a handle is shared by all ranks and knows none. */
#ifndef SMPY_SURFACE_COMM_H
#define SMPY_SURFACE_COMM_H
#include "arguments.h"
#include "user_buffer.h"

/* The other end of a message. */
typedef struct {
    int comm, peer, tag;
} envelope;

int comm_add_type(PyObject *module); /* 0, or -1 with an exception */

/* poll_until(question, ...): has the kernel repeat a communicator's Iprobe until it finds a message. False when the question is
 * something else, or was answered by smpy.mpi and its answer was no: then the caller asks again. */
PyObject *comm_poll_until(PyObject *module, PyObject *const *at, Py_ssize_t n, PyObject *keywords);

/* The communicator that a handle names: a number of the kernel's, COMM_SELF, or COMM_NULL for anything else. */
int comm_number_as_named(PyObject *handle);
/* The kernel's number of a communicator that the running rank may use, or COMM_NULL. */
int comm_number(PyObject *handle);
/* Likewise, when its Send, Recv, Isend, Irecv, Sendrecv and Iprobe are CommBase's: a program's own class, or a handle of that, may
 * have others, which are to be called. */
int comm_number_of_plain(PyObject *handle);
/* Number of ranks the peer of a message may be: the other side's, if there is one. */
int comm_peers_of(int comm);
/* Is a send, together with a receive, an exchange with oneself alone? It takes no time, and is nothing to the kernel. */
int comm_is_with_itself(const envelope *to, const envelope *from);

/* Posting: the number of the request, or -1 with an exception.
 * A send that is complete when it is posted has its bytes copied, and 0 for a number; copied are also those that have to be
 * packed, and those that must not be looked at later. */
/* The bodies of Isend and Irecv: a request, or NULL. */
PyObject *comm_isend(PyObject *self, const arguments *given);
PyObject *comm_irecv(PyObject *self, const arguments *given);
int comm_post_send(const envelope *to, user_buffer load, int blocking, int must_copy);
int comm_post_recv(const envelope *from, user_buffer room);
#endif
