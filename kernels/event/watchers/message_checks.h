/* message_checks.h -- messages that cannot be as their programs mean them: types that differ, receives that race, and buffers that
 * are written before a message comes.
 *
 * Types are keys of the outside, equal or to be compared by it; 0 is unknown and agrees with all. The outside keeps an array of
 * CHECKED_ENDS words for whoever posts next, which a posting reads and clears; `sim_check_message` says it of a posted one.
 *
 * A receive from any source races when another rank has sent a message that it could have taken, and that does not follow from
 * its match: it waits at the match, or its sender knows of no such match so late. A probe that finds a message counts as a receive
 * (PROBED). What a rank knows is one number, the last of all matches from any source that a message it has received follows from.
 * So each race is one, if ranks hear of each other by messages alone, and some are missed: a sender may know of a later match
 * elsewhere, and of a receiver's matches CHECKED_RECENT are kept.
 *
 * This watcher changes one thing, and only when it is told to: a receive from any source that is chosen a message, before it is
 * posted. */
#ifndef SMPY_MESSAGE_CHECKS_H
#define SMPY_MESSAGE_CHECKS_H
#include <stdint.h>

#include "world/ranks.h"

/* cdef */
enum { CHECKED_SEND = 0, CHECKED_RECV = 1, CHECKED_ASKS = 2, CHECKED_ENDS = 3 }; /* types, and: the receive asks for its source */
enum { CHECK_TYPES = 1, CHECK_RACE = 2, CHECK_WRITTEN = 3, CHECK_PROBED = 4 }; /* WRITTEN has one line, that of the receive */

/* Messages between two lines, or three, that are alike. */
typedef struct {
    uint64_t type[2];                 /* TYPES: sent, received */
    int64_t bytes, n;                 /* of the largest message; number of messages, up to 2^31 - 1 */
    int kind;
    int rank[3], line[3];             /* receiver, sender; RACE: sender of the other message. Of the first such message */
    int asks;                         /* RACE: some receive has asked for its source, as posted */
    int nth, source, tag;             /* RACE: of the receiver's receives from any source the nth, from 1; the other message */
} checked_messages;

/* Begins to check; before the first message. The words of whoever posts next outlive the world; NULL: it has none. */
int sim_check_messages(sim *s, uint64_t *next);
void sim_check_message(sim *s, int request, uint64_t type); /* the type of a request that was appended last */
/* Notes what a receive's buffer holds; before its message comes, and afterwards, what it holds is compared with that. */
void sim_check_buffer(sim *s, int request, const char *data, int64_t bytes);
/* Has the buffer of a receive that is complete changed since its message came? 0 when a later one has its number already. */
int sim_buffer_has_changed(sim *s, int request, const char *data);
uint64_t checked_sum(const char *data, int64_t bytes);
int sim_checked_messages(const sim *s, const checked_messages **list);
/* Has a rank's nth receive from any source, from 1, take a message of this source and tag. SIM_BAD_RANK: nothing is checked. */
int sim_choose_message(sim *s, int rank, int nth, int source, int tag);
/* end cdef */
#endif
