/* network_constant.h -- every transfer takes the same time, whatever its size, its route and what else is under way. */
#ifndef SMPY_NETWORK_CONSTANT_H
#define SMPY_NETWORK_CONSTANT_H
#include "networks/network.h"
#include "networks/network_model.h"

extern const network_kind network_constant;

typedef struct {
    double takes_s;
} constant_parameters;
#endif
