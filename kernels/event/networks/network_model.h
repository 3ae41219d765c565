/* network_model.h -- the network of a world: its kind, and its numbers. */
#ifndef SMPY_NETWORK_MODEL_H
#define SMPY_NETWORK_MODEL_H
#include "networks/network_kind.h"

/* cdef */
/* A network model: its kind, and the kind's own block of parameters, which sim_new reads before it returns. */
typedef struct {
    const network_kind *kind;
    const void *parameters;
} network_model;

const network_kind *sim_network_named(const char *name);         /* NULL: no kind of the kernel has that name */
/* The parameters of a kind after those of the one that it extends (or NULL), and the size of its whole block. */
const network_parameter *sim_network_parameters(const network_kind *kind, const network_kind **extends, int64_t *block_bytes);
/* end cdef */
#endif
