/* rank_memory.h -- blocks of Python and numpy: those that a measured rank takes while it computes lie in its heap (rank_heap.h).
 *
 * Other blocks stay glibc's: what smpy takes, what is imported for all ranks, small blocks, what other libraries take. glibc's own
 * limits begin anew with the ranks, and blocks of ranks and of imports raise them, as they do in a process of the rank's own.
 * numpy has thread-local data of 46 kB, for which glibc takes a block when numpy first looks whether an operator may reuse an
 * operand. It stays for good: memory below it is never at the end of the heap. Here that happens once for all ranks, so each
 * rank's heap gets such a block: when the rank makes its first array of a size that numpy reuses and that becomes an operand.
 * Laws: (1) a limit never falls until limits begin anew;
 *       (2) a block goes back to whom it is from, whoever runs, with Python's lock or without. */
#ifndef SMPY_SURFACE_RANK_MEMORY_H
#define SMPY_SURFACE_RANK_MEMORY_H
#include "surface.h"

/* begin_rank_heaps(): heaps and limits begin anew; False where the C library is not glibc, or Python's memory has debug marks. */
PyObject *rank_memory_begin(PyObject *module, PyObject *nothing);
/* place_arrays(numpy's _ARRAY_API, has_huge_pages, becomes_operand, /): data of arrays lies in heaps, too. */
PyObject *rank_memory_place_arrays(PyObject *module, PyObject *arguments);
/* heap_limit(): bytes from which a block of the running rank is mapped by itself; 0: heaps have not begun. */
PyObject *rank_memory_limit(PyObject *module, PyObject *nothing);
#endif
