/* window.h -- WindowBase: Put, Get, Rput and Rget of a window, flushes and locks, as long as they are plain.
 *
 * Plain is: this thread runs a rank; the target is a plain int and in the window; an epoch allows
 * the call. Accesses: of one contiguous buffer all of which has a content (user_buffer.h), to or from as many bytes of the
 * memory of another rank. In a world with checks, accesses without a request that conflict with none
 * (access_notes.h).
 * Law: the state of a window is smpy.mpi.rma's; here its fields (surface_bases.py) are read, and kept up as its methods would. */
#ifndef SMPY_SURFACE_WINDOW_H
#define SMPY_SURFACE_WINDOW_H
#include "surface.h"

int window_add_type(PyObject *module); /* 0, or -1 with an exception */
#endif
