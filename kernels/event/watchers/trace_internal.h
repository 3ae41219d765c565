/* trace_internal.h -- tables of a trace (trace_tables.c), for intervals and messages (trace.c) and for actions (trace_actions.c).
 *
 * Invariant: each function that needs memory and gets none breaks the world (keep_error) and says so in its result. */
#ifndef SMPY_TRACE_INTERNAL_H
#define SMPY_TRACE_INTERNAL_H
#include "watchers/trace.h"

trace *trace_of(const sim *s);                           /* NULL: the world has none */
void *trace_new_row(sim *s, int table);                  /* a row more, of zeros; or NULL */
/* Room for entry `index` of a list, of zeros: 0, or SIM_OUT_OF_MEMORY. */
int trace_reach(sim *s, void **list, int *room, int index, size_t bytes);
trace_request *trace_request_of(sim *s, int request);    /* or NULL */
int trace_name_of_comm(sim *s, int comm);                /* a communicator is written when it is named first */

/* Functions of the watcher that write rows of actions. */
void trace_appended(sim *s, void *own, int id, const appended_action *did);
void trace_polled(sim *s, void *own, int id, const poll_question *asked, int is_found);
void trace_matched(sim *s, void *own, int send, int recv);
#endif
