/* window_sync.h -- bodies of Flush, Flush_local, Lock, Unlock, Lock_all and Unlock_all of a window, as long as they are plain.
 *
 * Calls for all ranks are in a window of few.
 * Law: a call appends what its method in smpy.mpi.rma.synchronisation does, in the same order. */
#ifndef SMPY_SURFACE_WINDOW_SYNC_H
#define SMPY_SURFACE_WINDOW_SYNC_H
#include "arguments.h"

PyObject *window_sync_flush(PyObject *self, const arguments *given);
PyObject *window_sync_flush_local(PyObject *self, const arguments *given);
PyObject *window_sync_lock(PyObject *self, const arguments *given);
PyObject *window_sync_unlock(PyObject *self, const arguments *given);
PyObject *window_sync_lock_all(PyObject *self, const arguments *given);
PyObject *window_sync_unlock_all(PyObject *self, const arguments *given);
#endif
