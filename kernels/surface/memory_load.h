/* memory_load.h -- MemoryLoad: a thread that moves memory of its own while it is told to, as a neighbour of what is timed.
 *
 *   (1) The thread touches no object of Python and nothing of `surface`. All signals are blocked in it.
 *   (2) It sleeps until start(), and after stop() or at the date that start() has set. In between it computes y += x over two
 *       arrays, again and again.
 *   (3) It ends when its object is freed, or with the process, however that ends. A child process has the object without the
 *       thread: there all methods but stop() raise. */
#ifndef SMPY_SURFACE_MEMORY_LOAD_H
#define SMPY_SURFACE_MEMORY_LOAD_H
#include "surface.h"

int memory_load_add_type(PyObject *module); /* 0, or -1 with an exception */
#endif
