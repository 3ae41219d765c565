/* heap_limits.h -- limits of glibc's heap, as a process with no other program than the simulated one would have them.
 *
 * glibc maps a block from a limit on by itself, and gives the end of its heap back from another limit on, twice the first. It
 * raises both when a mapped block is freed. What smpy takes and frees would raise them, too: then an array that is made again and
 * again costs no page faults here, and costs them in a real run. So the limits begin anew with the ranks, and only blocks that
 * Python and numpy have taken since then raise them, as glibc would.
 * Laws: (1) the limits never fall until they begin anew;
 *       (2) a block that is not in the table, such as one from before, moves no limit. */
#ifndef SMPY_SURFACE_HEAP_LIMITS_H
#define SMPY_SURFACE_HEAP_LIMITS_H
#include "surface.h"

/* begin_heap_limits(): limits begin anew; False where the C library is not glibc, or Python's memory has debug marks. */
PyObject *heap_limits_begin(PyObject *module, PyObject *nothing);
/* watch_arrays(numpy's _ARRAY_API, /): arrays raise limits, too. */
PyObject *heap_limits_watch_arrays(PyObject *module, PyObject *api);
/* heap_limit(): bytes from which a block is mapped by itself; 0: nobody has begun limits. */
PyObject *heap_limit(PyObject *module, PyObject *nothing);
#endif
