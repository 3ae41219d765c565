/* window_part.h -- a rank's part of a window, as smpy.mpi.rma keeps it, and the rank that a call names.
 *
 * Law: what is borrowed here lives as long as `part`, but for the dicts and sets of a rank's epochs: smpy.mpi may replace these
 * whenever another rank runs, so they are read anew. */
#ifndef SMPY_SURFACE_WINDOW_PART_H
#define SMPY_SURFACE_WINDOW_PART_H
#include "slot.h"

enum { ALL_RANKS = -1 };            /* place of Lock_all among the locked ranks */

typedef struct {
    PyObject *part;                 /* owned */
    PyObject *epochs, *window;
    PyObject *checked, *notes;      /* in a world with checks: the rank's state in them, and access_notes.h; else NULL */
    PyObject *target;               /* the argument */
    int comm, own, rank;            /* the window's number; own rank, and the target's, or ALL_RANKS */
} part_access;

/* The part of a handle: 1, and `part` is the caller's to drop; 0: not for us. */
int window_part_take(PyObject *self, part_access *a);
/* Likewise, with a rank of the window. */
int window_part_take_target(PyObject *self, PyObject *target, part_access *a);

int window_part_is_locked(const part_access *a); /* the target, by its own lock or by that of all ranks */
int64_t window_part_number_in(PyObject *of, python_slot *slot); /* a number that is not negative; -1: there is none */
PyObject *window_part_item(PyObject *dict, PyObject *key); /* borrowed; NULL without an exception */
#endif
