/* actions.h -- the kinds of actions that others turn into or choose. */
#ifndef SMPY_ACTIONS_H
#define SMPY_ACTIONS_H
#include "action.h"

extern const action_kind wait_collective_kind; /* the request is `wait_collective` */
extern const action_kind test_collective_kind; /* the request is `test_collective` */
#endif
