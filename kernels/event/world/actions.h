/* actions.h -- the actions that others turn into, choose, or append with theirs. */
#ifndef SMPY_ACTIONS_H
#define SMPY_ACTIONS_H
#include "world/action.h"

extern const action_kind wait_collective_kind; /* the request is `wait_collective` */
int test_collective_step(sim *s, int timeline, action *a); /* the request is `test_collective` */
int sleep_append_overhead(sim *s, int timeline, double seconds); /* overhead that follows from another action: 0, or an error */
#endif
