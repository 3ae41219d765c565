#include <string.h>

#include "networks/network_constant.h"
#include "networks/network_dimemas.h"
#include "networks/network_flow.h"
#include "networks/network_ib.h"
#include "networks/network_loggp.h"
#include "networks/network_model.h"

/* The network models of the kernel: a new one is a line in the table. */
static const network_kind *const kinds[] = {&network_flow, &network_ib, &network_constant, &network_loggp, &network_dimemas};

const network_kind *sim_network_named(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i]->name, name) == 0) return kinds[i];
    return NULL;
}

const network_parameter *sim_network_parameters(const network_kind *kind, const network_kind **extends, int64_t *block_bytes)
{
    *extends = kind->extends;
    *block_bytes = (int64_t)kind->block_bytes;
    return kind->parameters;
}
