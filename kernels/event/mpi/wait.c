#include "mpi/wait.h"

#include <stdlib.h>
#include <string.h>

#include "basics/dates.h"
#include "mpi/mpi_world.h"
#include "mpi/protocol.h"
#include "world/clock_events.h"

static int are_own(const sim *s, int rank, int n, const int *list)
{
    for (int i = 0; i < n; i++)
        if (list[i] > 0 && !is_own_request(&mpi_of(s)->requests, rank, list[i])) return 0;
    return 1;
}

action *wait_append(sim *s, int id, const action_kind *kind, int request, int n, const int *list, int *error)
{
    int *copy = NULL;
    *error = SIM_BAD_RANK;
    if (!is_timeline(&s->timelines, id)) return NULL;
    *error = SIM_BAD_REQUEST;
    if (!are_own(s, s->timelines.at[id].rank, n, list)) return NULL;
    *error = SIM_OUT_OF_MEMORY;
    if (n > 0) {
        copy = malloc((size_t)n * sizeof *copy);
        if (!copy) return NULL;
        memcpy(copy, list, (size_t)n * sizeof *copy);
    }
    action *a = action_append(s, id, kind);
    if (!a) {
        free(copy);
        return NULL;
    }
    a->wait.list = copy;
    a->wait.one = request;
    a->wait.n = request > 0 ? 1 : n;
    *error = 0;
    return a;
}

void wait_free(sim *s, action *a)
{
    (void)s;
    free(a->wait.list);
}

void wait_register(sim *s, int id, action *a)
{
    const int *list = wait_list(a);
    a->wait.n_pending = a->wait.n_ended = 0;
    s->timelines.at[id].busy_until_s = 0;
    for (int i = 0; i < a->wait.n; i++) {
        if (list[i] <= 0) continue;
        slot *x = &mpi_of(s)->requests.at[list[i]];
        if (x->is.is_done) {
            a->wait.n_ended++;
        } else if (x->waiter != id) { /* else it is in the list twice */
            x->waiter = id;
            x->waiter_index = i;
            a->wait.n_pending++;
        }
    }
}

void wait_begin(sim *s, int id, int is_for_one)
{
    timeline *t = &s->timelines.at[id];
    timeline_enter(s, id, WAITING, SPENT_WAITING);
    t->waits_for_one = (uint8_t)is_for_one;
    if (is_for_one) host_entered(s, t->host);
    t->waits_since = s->order++;
}

void wait_pay(sim *s, int id, double seconds)
{
    timeline *t = &s->timelines.at[id];
    if (seconds > 0) t->busy_until_s = larger(t->busy_until_s, s->clock.now_s) + seconds;
}

void wait_pay_for(sim *s, int id, const slot *recv)
{
    wait_pay(s, id, protocol_receive_overhead_s(s, s->timelines.at[id].rank, recv));
}

int wait_after_overheads(sim *s, int id)
{
    timeline *t = &s->timelines.at[id];
    const double until_s = larger(t->busy_until_s, s->timelines.rank[t->rank].cpu_from_s);
    if (until_s <= s->clock.now_s) return MADE_A_CALL;
    t->busy_until_s = 0;
    return clock_events_sleep_until(s, id, until_s, SPENT_OVERHEAD);
}

void wait_wake(sim *s, int id)
{
    timeline *t = &s->timelines.at[id];
    if (t->waits_for_one) host_left(s, t->host, 0);
    t->waits_for_one = 0;
    const int result = wait_after_overheads(s, id);
    if (result == MADE_A_CALL) timeline_runs_next(s, id);
    keep_error(s, result);
}
