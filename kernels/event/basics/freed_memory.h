/* freed_memory.h -- memory that a process has freed: the C library keeps it for later, or gives it back to the system. */
#ifndef SMPY_FREED_MEMORY_H
#define SMPY_FREED_MEMORY_H
#include <stdint.h>

/* cdef */
/* Keeps freed blocks below so many bytes, and gives larger ones back; less than 0: keeps all. 0, or -1: the library refuses. */
int freed_memory_keep(int64_t bytes);
/* end cdef */
#endif
