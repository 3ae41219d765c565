/* comm.h -- CommBase: the hot calls of a communicator, as long as they are plain.
 *
 * Plain is: this thread runs a rank; plain ints in range; a buffer user_buffer.h takes.
 * A rank's own place in a communicator is asked of the kernel each time: a handle is shared by all ranks and knows none. */
#ifndef SMPY_SURFACE_COMM_H
#define SMPY_SURFACE_COMM_H
#include "surface.h"

int comm_add_type(PyObject *module); /* 0, or -1 with an exception */

/* poll_until(question, ...): has the kernel repeat a communicator's Iprobe until it finds a message. False when the question is
 * something else, or was answered by smpy.mpi and its answer was no: then the caller asks again. */
PyObject *comm_poll_until(PyObject *module, PyObject *const *at, Py_ssize_t n, PyObject *keywords);
#endif
