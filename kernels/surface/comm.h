/* comm.h -- CommBase: the hot calls of a communicator, as long as they are plain.
 *
 * Plain is: this thread runs a rank; plain ints in range; a buffer user_buffer.h takes.
 * A rank's own place in a communicator is asked of the kernel each time: a handle is shared by all ranks and knows none. */
#ifndef SMPY_SURFACE_COMM_H
#define SMPY_SURFACE_COMM_H
#include "surface.h"

int comm_add_type(PyObject *module); /* 0, or -1 with an exception */
#endif
