/* completion.h -- a request is done: who is told, and what its waiter knows of the time it waited. */
#ifndef SMPY_COMPLETION_H
#define SMPY_COMPLETION_H
#include "sim.h"

void request_complete(sim *s, int id);
#endif
