/* meeting.h -- how a rank joins an Allreduce that another rank has opened: the same call, on plain buffers of one format and
 * length, with the same operation.
 *
 * smpy.mpi keeps the books (smpy.mpi.meetings.gathering): how many collectives each rank has entered, and those that are open.
 * The first rank enters there, and leaves in `plain` what the others must match: (format, bytes, operation, fold). Those are
 * entered here in the same books; whoever does not match is left to smpy.mpi, before anything has changed. */
#ifndef SMPY_SURFACE_MEETING_H
#define SMPY_SURFACE_MEETING_H
#include "surface.h"

/* know_books(comm, entered, open): where the collectives of a communicator are counted (array of int64) and open (dict). */
PyObject *meeting_know_books(PyObject *module, PyObject *const *at, Py_ssize_t n);
/* Result of the call, NULL with an exception, or NULL without: not for us. `operation` NULL: the one of use_sum(). */
PyObject *meeting_join(int comm, PyObject *sendbuf, PyObject *recvbuf, PyObject *op);
PyObject *meeting_use_sum(PyObject *module, PyObject *operation);
#endif
