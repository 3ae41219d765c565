/* open_collective.h -- joining an Allreduce that another rank has opened: the same call, on plain buffers of one format
 * and length, with the same operation.
 *
 * smpy.mpi.collectives.open_collective counts the collectives that each rank has entered, and keeps those that are open. The first
 * rank enters there, and leaves in `plain` what the others must match: (format, bytes, operation, fold). The others are entered
 * here, in the same count; whoever does not match is left to smpy.mpi, before anything has changed. */
#ifndef SMPY_SURFACE_OPEN_COLLECTIVE_H
#define SMPY_SURFACE_OPEN_COLLECTIVE_H
#include "surface.h"

/* know_collectives(comm, entered, open): where the collectives of a communicator are counted (array of int64) and open (dict). */
PyObject *open_collective_know(PyObject *module, PyObject *const *at, Py_ssize_t n);
/* Result of the call, NULL with an exception, or NULL without: not for us. `operation` NULL: the one of use_sum(). */
PyObject *open_collective_join(int comm, PyObject *sendbuf, PyObject *recvbuf, PyObject *op);
PyObject *open_collective_use_sum(PyObject *module, PyObject *operation);
#endif
