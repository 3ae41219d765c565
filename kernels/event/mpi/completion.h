/* completion.h -- completes a request, and tells the timeline that waits for it: also from when on that waited for nobody. */
#ifndef SMPY_COMPLETION_H
#define SMPY_COMPLETION_H
#include "mpi/messages.h"

void request_complete(sim *s, int id);
#endif
