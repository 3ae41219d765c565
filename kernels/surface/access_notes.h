/* access_notes.h -- AccessNotes: plain accesses to the parts of a window, and their buffers, in a world with checks.
 *
 * smpy.mpi.checks.windows takes what it looks at itself; from then on accesses to that target are its own, until it gives the
 * target back. Fields of a rank's state there are read, and kept up as its methods would.
 * Laws: (1) accesses to a target that are not complete are all here or all there, and so are the buffers of a rank's accesses
 *           to one target;
 *       (2) no two accesses here conflict;
 *       (3) a buffer's memory lives, and stays where it is, as long as it is here. */
#ifndef SMPY_SURFACE_ACCESS_NOTES_H
#define SMPY_SURFACE_ACCESS_NOTES_H
#include "window_part.h"

int access_notes_add_type(PyObject *module); /* 0, or -1 with an exception */
/* Notes of the rank's window, in its state there; borrowed. NULL: there are none. */
PyObject *access_notes_of(PyObject *checked);

/* An access to bytes of the target's part, in an epoch that allows it: 1, it is noted; 0: it is not for us; -1: an exception. */
int access_notes_begin(const part_access *a, int is_read, int64_t begin, int64_t bytes);
/* Its buffer, of an object: 0, or -1 with an exception. */
int access_notes_hold(const part_access *a, int is_written, PyObject *object, const char *data, int64_t bytes);

/* A call has completed what was under way between the rank and the target, on this side alone or at both. */
void access_notes_complete(const part_access *a, PyObject *call, int is_local);
#endif
