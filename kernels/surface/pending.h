/* pending.h -- buffers of started operations, in a world with checks: they do not overlap, and stay as they are.
 *
 * A request that Isend or Irecv has made is pending from its start until it is null. A guard (guard.h) tells who touches a
 * receive's buffer. Of bytes without one, what they hold is noted at the start, and by the kernel when a message has come
 * (message_checks.h).
 *
 * Laws: (1) a request is pending in the list of its rank once at most, and its memory is kept alive as long;
 *       (2) who completes a request elsewhere tells of it (pending_completed), before the rank posts anything else. */
#ifndef SMPY_SURFACE_PENDING_H
#define SMPY_SURFACE_PENDING_H
#include "request.h"

void pending_drop(request_object *r);   /* it is about to be freed */
void pending_end_checks(void);
/* Calls a method of the checks, with a tuple that this takes; what goes wrong there is theirs. */
void pending_tell(const char *method, PyObject *arguments);

PyObject *pending_check(PyObject *module, PyObject *checks);
PyObject *pending_methods(PyObject *module, PyObject *unused);
PyObject *pending_completed(PyObject *module, PyObject *args);
PyObject *pending_forget(PyObject *module, PyObject *request);
PyObject *pending_overlaps(PyObject *module, PyObject *args);
PyObject *pending_elsewhere(PyObject *module, PyObject *more);
PyObject *pending_mark(PyObject *module, PyObject *request);
#endif
