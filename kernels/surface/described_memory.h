/* described_memory.h -- memory that an object describes by DLPack or by the CUDA array interface, without exporting a buffer.
 *
 * Taken here: items of a basic type in C order, without gaps, in memory that may be written if a message is put there. Everything
 * else is left to smpy.mpi.data (dlpack.py, cuda_arrays.py), which also says what is wrong with it.
 * Laws:
 *   (1) described_memory_take() leaves no exception, and no reference unless it succeeds;
 *   (2) `view` then holds the owner of the memory: the capsule of DLPack, or the object itself. */
#ifndef SMPY_SURFACE_DESCRIBED_MEMORY_H
#define SMPY_SURFACE_DESCRIBED_MEMORY_H
#include "surface.h"

/* 1, or 0: not for us. `is_host`: the memory is the processor's, not an accelerator's. */
int described_memory_take(PyObject *exporter, int is_writable, Py_buffer *view, int *is_host);

/* described_memory(exporter, is_written, /): view of the bytes, format of an item, owner and `is_host`; None: not for us. */
PyObject *described_memory_lend(PyObject *module, PyObject *const *at, Py_ssize_t n);
#endif
