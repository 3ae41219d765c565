/* networks.h -- the networks that a model can name. A new one is a line in the table. */
#ifndef SMPY_NETWORKS_H
#define SMPY_NETWORKS_H
#include "sim.h"

int networks_begin(sim *s);      /* the world uses the network that its model names: 0, or an error */
#endif
