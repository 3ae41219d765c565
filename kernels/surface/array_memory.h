/* array_memory.h -- memory of numpy's arrays on pages of their own, while a world with checks runs.
 *
 * numpy asks one handler for the data of all arrays (NEP 49); ours takes the place of its own, for good, and asks that one while no
 * world is checked. A block is a power of two of pages in a chunk of such blocks; from LARGE_BYTES on it is a mapping alone.
 * Laws: (1) a page of a block holds bytes of one array and of nothing else;
 *       (2) memory that no chunk has is numpy's own;
 *       (3) the caller holds the interpreter's lock. */
#ifndef SMPY_SURFACE_ARRAY_MEMORY_H
#define SMPY_SURFACE_ARRAY_MEMORY_H
#include "surface.h"

typedef struct {
    char *begin, *end;              /* whole pages; none: begin == end */
    int is_whole;                   /* they have all of the bytes */
} page_range;

/* Pages that hold bytes of this stretch alone. */
page_range array_memory_pages(const char *data, int64_t bytes);
void array_memory_stop(void);       /* arrays get numpy's memory again, */
void array_memory_resume(void);     /* and pages of their own */

/* use_own_pages(numpy's _ARRAY_API, /): arrays get pages of their own, in worlds with checks. */
PyObject *array_memory_start(PyObject *module, PyObject *api);
#endif
