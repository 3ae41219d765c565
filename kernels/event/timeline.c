#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

/* The program's side of a timeline: what a rank appends. Only sends and receives cost memory beyond their action.
 *
 * tail_s is the date at which everything appended so far will have been executed, as long as that is plain arithmetic
 * (sleeps, computing on a core of one's own, posting); whatever waits makes it unknown until the rank runs again. */

enum { MOST_ACTIONS_AHEAD = 256 };
static const int64_t MOST_BYTES_AHEAD = 4 << 20, MOST_BYTES_COPIED = 256 << 20;
static const double SHORTEST_SLEEP_S = 1e-9;

static action *append(sim *s, int rank, int what)
{
    timeline *t = &s->line[rank];
    if (t->n == t->room) {
        int room = t->room ? 2 * t->room : 4;
        action *queue = malloc((size_t)room * sizeof *queue);
        if (!queue) return NULL;
        for (int i = 0; i < t->n; i++) queue[i] = t->queue[(t->first + i) & (t->room - 1)];
        free(t->queue);
        t->queue = queue;
        t->first = 0;
        t->room = room;
    }
    action *a = &t->queue[(t->first + t->n++) & (t->room - 1)];
    *a = (action){.what = what};
    return a;
}

void timeline_drop_first(timeline *t)
{
    t->first = (t->first + 1) & (t->room - 1);
    t->n--;
    t->stage = 0;
}

int sim_append_compute(sim *s, int rank, double flop)
{
    timeline *t = &s->line[rank];
    const processor *h = &s->host[t->host];
    if (!(flop > 0)) return 0;
    action *a = append(s, rank, DO_COMPUTE);
    if (!a) return SIM_OUT_OF_MEMORY;
    a->with.amount = flop;
    t->tail_s += h->n_ranks <= h->cores ? flop / h->speed_flop_per_s : NAN;
    return 0;
}

int sim_append_sleep(sim *s, int rank, double seconds)
{
    if (!(seconds > 0)) return 0;
    action *a = append(s, rank, DO_SLEEP);
    if (!a) return SIM_OUT_OF_MEMORY;
    a->with.amount = seconds > SHORTEST_SLEEP_S ? seconds : SHORTEST_SLEEP_S;
    s->line[rank].tail_s += a->with.amount;
    return 0;
}

static int append_post(sim *s, int rank, int id)
{
    action *a = append(s, rank, DO_POST);
    if (!a) return SIM_OUT_OF_MEMORY;
    a->id = id;
    return id;
}

int sim_append_send(sim *s, int rank, int comm, int dest, int tag, int64_t bytes, int mode, int blocking)
{
    const model *m = &s->model;
    if (dest < 0 || dest >= sim_comm_size(s, comm)) return SIM_BAD_RANK;
    int is_detached = mode != SEND_SYNCHRONOUS && (mode == SEND_BUFFERED || bytes < m->detached_below_bytes);
    double overhead_s = 0;
    if (!blocking)
        overhead_s = piecewise(m->isend_overhead, m->n_isend_overhead, bytes);
    else if (is_detached || mode == SEND_SYNCHRONOUS)
        overhead_s = piecewise(m->send_overhead, m->n_send_overhead, bytes);
    if (sim_append_sleep(s, rank, overhead_s) < 0) return SIM_OUT_OF_MEMORY;
    int id = slot_new(&s->requests);
    if (id < 0) return id;
    slot *x = &s->requests.at[id];
    x->is = (request){.rank = rank, .comm = comm, .peer = dest, .tag = tag, .bytes = bytes, .is_send = 1,
                      .is_detached = is_detached};
    x->context = 2 * comm;
    x->target = sim_comm_world_rank(s, comm, dest);
    x->source = sim_comm_rank(s, comm, rank);
    x->is_released = is_detached;
    x->mode = mode;
    if (is_detached) s->line[rank].ahead_bytes += bytes;
    return append_post(s, rank, id);
}

int sim_append_recv(sim *s, int rank, int comm, int source, int tag, int64_t capacity_bytes)
{
    if (source != SIM_ANY && (source < 0 || source >= sim_comm_size(s, comm))) return SIM_BAD_RANK;
    int id = slot_new(&s->requests);
    if (id < 0) return id;
    slot *x = &s->requests.at[id];
    x->is = (request){.rank = rank, .comm = comm, .peer = source, .tag = tag, .bytes = capacity_bytes};
    x->context = 2 * comm;
    x->target = rank;
    return append_post(s, rank, id);
}

static int append_blocking(sim *s, int rank, int what, int id, int n, const int *list)
{
    int *copy = NULL;
    if (list && n > 0) {
        copy = malloc((size_t)n * sizeof *copy);
        if (!copy) return SIM_OUT_OF_MEMORY;
        memcpy(copy, list, (size_t)n * sizeof *copy);
    }
    action *a = append(s, rank, what);
    if (!a) {
        free(copy);
        return SIM_OUT_OF_MEMORY;
    }
    a->id = list ? n : id;
    a->with.list = copy;
    s->line[rank].tail_s = NAN;
    return 0;
}

int sim_append_wait(sim *s, int rank, int request)
{
    return append_blocking(s, rank, DO_WAIT, request, 0, NULL);
}

int sim_append_wait_all(sim *s, int rank, int n, const int *request)
{
    return append_blocking(s, rank, DO_WAIT_ALL, 0, n, request);
}

int sim_append_wait_any(sim *s, int rank, int n, const int *request)
{
    return append_blocking(s, rank, DO_WAIT_ANY, 0, n, request);
}

int sim_append_test(sim *s, int rank, int request)
{
    return append_blocking(s, rank, DO_TEST, request, 0, NULL);
}

int sim_append_test_any(sim *s, int rank, int n, const int *request)
{
    return append_blocking(s, rank, DO_TEST_ANY, 0, n, request);
}

static int append_look(sim *s, int rank, int what, int comm, int source, int tag)
{
    if (source != SIM_ANY && (source < 0 || source >= sim_comm_size(s, comm))) return SIM_BAD_RANK;
    s->line[rank].probed = (request){.rank = rank, .comm = comm, .peer = source, .tag = tag};
    return append_blocking(s, rank, what, 0, 0, NULL);
}

int sim_append_iprobe(sim *s, int rank, int comm, int source, int tag)
{
    return append_look(s, rank, DO_IPROBE, comm, source, tag);
}

int sim_append_probe(sim *s, int rank, int comm, int source, int tag)
{
    return append_look(s, rank, DO_PROBE, comm, source, tag);
}

int sim_append_collective(sim *s, int rank, int comm, int schedule, int root, int64_t bytes)
{
    if (schedule < 0 || schedule >= s->n_schedules) return SIM_BAD_SCHEDULE;
    performance *p = s->free_show;
    if (p)
        s->free_show = p->next;
    else if (!(p = malloc(sizeof *p)))
        return SIM_OUT_OF_MEMORY;
    *p = (performance){.comm = comm};
    schedule_start(&p->frame, s->schedule[schedule], sim_comm_rank(s, comm, rank), sim_comm_size(s, comm), root, bytes);
    action *a = append(s, rank, DO_COLLECTIVE);
    if (!a) {
        free(p);
        return SIM_OUT_OF_MEMORY;
    }
    a->with.show = p;
    s->line[rank].tail_s = NAN;
    return 0;
}

static int append_mark(sim *s, int rank, int what, int64_t id)
{
    action *a = append(s, rank, what);
    if (!a) return SIM_OUT_OF_MEMORY;
    a->with.note = id;
    return 0;
}

int sim_append_note(sim *s, int rank, int64_t id)
{
    return append_mark(s, rank, DO_NOTE, id);
}

int sim_append_stop(sim *s, int rank, int64_t id)
{
    return append_mark(s, rank, DO_STOP, id);
}

int sim_append_end(sim *s, int rank)
{
    return append_mark(s, rank, DO_END, 0);
}

int sim_is_far_ahead(const sim *s, int rank)
{
    const timeline *t = &s->line[rank];
    return t->n >= MOST_ACTIONS_AHEAD || t->ahead_bytes > MOST_BYTES_AHEAD ||
           (t->n > 0 && s->stats.parcels_bytes > MOST_BYTES_COPIED);
}

double sim_clock_s(const sim *s, int rank)
{
    return s->line[rank].tail_s;
}

double sim_speed_flop_per_s(const sim *s, int rank)
{
    return s->host[s->line[rank].host].speed_flop_per_s;
}
