/* plain_array.h -- the buffer of an array of numpy's own class, read without asking numpy, which describes it anew each time.
 *
 * Taken here: C-contiguous arrays of a basic type in the machine's byte order, aligned. `shape` and `strides` of the view are the
 * array's own, and may go when its shape is changed. */
#ifndef SMPY_SURFACE_PLAIN_ARRAY_H
#define SMPY_SURFACE_PLAIN_ARRAY_H
#include "surface.h"

int plain_array_take(PyObject *what, int is_writable, Py_buffer *view); /* 1, as PyObject_GetBuffer() fills it; or 0 */
#endif
