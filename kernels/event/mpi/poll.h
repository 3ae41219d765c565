/* poll.h -- polling: a poll takes time, then a call, and the rank learns the answer in its next turn.
 *
 * A failed poll makes the next one longer, for all ranks together, as the peer has it.
 *
 * If polls notice, the polls that a rank repeats in the same order, with nothing else in between and all in vain, are a
 * round. A failed poll of the k-th round stands for k^2 polls; an arrival for the rank, or the completion of a request of
 * its, cuts it short at the next multiple of the first poll's length, and the rounds begin anew. So a wait of many polls is few
 * events and ends when it would have ended; a program that counts its polls sees fewer of them.
 *
 * Invariants: (1) tests_in_a_row and the like, the cost of the next poll as a multiple of the first one's, are at least 1;
 *             (2) n_probes_up_to_date counts the blocking probes that have looked since the last send was queued. */
#ifndef SMPY_POLL_H
#define SMPY_POLL_H
#include "world/timeline.h"

typedef struct {
    int tests_in_a_row, test_anys_in_a_row, iprobes_in_a_row; /* polls of all ranks together */
    int64_t n_sends_queued;      /* a probe that has looked since will not find one */
    int n_probes_up_to_date;
    int n_awaiting;              /* timelines in poll_await */
} polling;

/* The timeline spends what its poll costs, `each_s` times the polls it stands for: BLOCKED, or an error. */
int poll_begin(sim *s, int timeline, const poll_question *asked, double each_s, int in_a_row);
void poll_end(sim *s, int timeline, const poll_question *asked, int *in_a_row, int is_success, int grows);
int poll_await(sim *s, int timeline);            /* a poll of no length waits for the next poll_notice: BLOCKED */
int poll_spends(timeline *t);                    /* SPENT_POLLING or SPENT_PROBING */
void poll_notice(sim *s, int rank);              /* a message has come to the rank, or a request of its is complete */
void poll_forget(sim *s, int timeline, int is_progress); /* after another action: forgets the rounds; after progress: all */
#endif
