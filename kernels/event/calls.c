#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

/* The MPI calls that a rank appends to its timeline. A wait or test of a group (collective.c) is an action of its own. */

static int is_member(const sim *s, int comm, int rank)
{
    return is_line(s, rank) && sim_comm_rank(s, comm, rank) >= 0;
}

static int append_post(sim *s, int rank, int id)
{
    action *a = timeline_append(s, rank, DO_POST);
    if (!a) {
        request_free(s, id);
        return SIM_OUT_OF_MEMORY;
    }
    a->id = id;
    return id;
}

int sim_append_send(sim *s, int rank, int comm, int dest, int tag, int64_t bytes, int mode, int blocking)
{
    const model *m = &s->model;
    int other = sim_comm_other(s, comm);
    if (!is_member(s, comm, rank)) return SIM_BAD_RANK;
    if (dest < 0 || dest >= sim_comm_size(s, other)) return SIM_BAD_RANK;
    if (mode == SEND_STANDARD && s->sends_are_synchronous) mode = SEND_SYNCHRONOUS;
    uint8_t is_detached = mode != SEND_SYNCHRONOUS && (mode == SEND_BUFFERED || bytes < m->detached_below_bytes);
    double overhead_s = 0;
    if (!blocking)
        overhead_s = piecewise(m->isend_overhead, m->n_isend_overhead, bytes);
    else if (is_detached || mode == SEND_SYNCHRONOUS || m->rendezvous_overheads)
        overhead_s = piecewise(m->send_overhead, m->n_send_overhead, bytes);
    if (sim_append_overhead(s, rank, overhead_s) < 0) return SIM_OUT_OF_MEMORY;
    int id = request_new(s, (request){.rank = rank, .comm = comm, .peer = dest, .tag = tag, .bytes = bytes, .is_send = 1,
                                      .is_detached = is_detached});
    if (id < 0) return id;
    slot *x = &s->requests.at[id];
    x->context = 2 * other;
    x->target = sim_comm_world_rank(s, other, dest);
    x->is.matched_source = sim_comm_rank(s, comm, rank);
    x->is_released = is_detached && mode != SEND_BUFFERED;
    id = append_post(s, rank, id);
    if (id > 0 && is_detached) s->line[rank].ahead_bytes += bytes;
    return id;
}

static int is_source(const sim *s, int comm, int source)
{
    return source == SIM_ANY || (source >= 0 && source < sim_comm_peers(s, comm));
}

int sim_append_recv(sim *s, int rank, int comm, int source, int tag, int64_t capacity_bytes)
{
    if (!is_member(s, comm, rank) || !is_source(s, comm, source)) return SIM_BAD_RANK;
    int id = request_new(s, (request){.rank = rank, .comm = comm, .peer = source, .tag = tag, .bytes = capacity_bytes});
    if (id < 0) return id;
    slot *x = &s->requests.at[id];
    x->context = 2 * comm;
    x->target = rank;
    return append_post(s, rank, id);
}

int sim_append_mrecv(sim *s, int rank, int send, int64_t capacity_bytes)
{
    if (!is_request(s, send) || !s->requests.at[send].is.is_send) return SIM_BAD_REQUEST;
    const slot found = s->requests.at[send];
    int id = sim_append_recv(s, rank, found.context / 2, found.is.matched_source, found.is.tag, capacity_bytes);
    if (id > 0) s->requests.at[id].partner = send;
    return id;
}

void sim_make_sends_synchronous(sim *s)
{
    s->sends_are_synchronous = 1;
}

/* ---- completion ---- */

/* A rank completes its own requests. */
static int is_own(const sim *s, int rank, int id)
{
    return is_request(s, id) && s->requests.at[id].is.rank == rank;
}

static int are_own(const sim *s, int rank, int n, const int *request)
{
    for (int i = 0; i < n; i++)
        if (request[i] > 0 && !is_own(s, rank, request[i])) return 0;
    return 1;
}

static int append_blocking(sim *s, int rank, int what, int id, int n, const int *list)
{
    if (!is_line(s, rank)) return SIM_BAD_RANK;
    if (!are_own(s, rank, n, list)) return SIM_BAD_REQUEST;
    int *copy = NULL;
    if (list && n > 0) {
        copy = malloc((size_t)n * sizeof *copy);
        if (!copy) return SIM_OUT_OF_MEMORY;
        memcpy(copy, list, (size_t)n * sizeof *copy);
    }
    action *a = timeline_append(s, rank, what);
    if (!a) {
        free(copy);
        return SIM_OUT_OF_MEMORY;
    }
    a->id = list ? n : id;
    a->with.list = copy;
    s->line[rank].tail_s = NAN;
    return 0;
}

static int is_group(const sim *s, int id)
{
    return id > 0 && s->requests.at[id].is_group;
}

int sim_append_wait(sim *s, int rank, int request)
{
    if (!is_own(s, rank, request)) return SIM_BAD_REQUEST;
    return append_blocking(s, rank, is_group(s, request) ? DO_WAIT_GROUP : DO_WAIT, request, 0, NULL);
}

/* The peer waits for groups first, for each as a whole. */
int sim_append_wait_all(sim *s, int rank, int n, const int *request)
{
    int n_groups = 0, error = are_own(s, rank, n, request) ? 0 : SIM_BAD_REQUEST;
    for (int i = 0; i < n && error == 0; i++) {
        if (!is_group(s, request[i])) continue;
        n_groups++;
        error = sim_append_wait(s, rank, request[i]);
    }
    if (error < 0 || n_groups == n) return error;
    error = append_blocking(s, rank, DO_WAIT_ALL, 0, n, request);
    if (error < 0 || n_groups == 0) return error;
    int *list = timeline_last(&s->line[rank])->with.list;
    for (int i = 0; i < n; i++)
        if (is_group(s, list[i])) list[i] = 0;
    return 0;
}

int sim_append_wait_any(sim *s, int rank, int n, const int *request)
{
    return append_blocking(s, rank, DO_WAIT_ANY, 0, n, request);
}

int sim_append_test(sim *s, int rank, int request)
{
    if (request != 0 && !is_own(s, rank, request)) return SIM_BAD_REQUEST;
    return append_blocking(s, rank, is_group(s, request) ? DO_TEST_GROUP : DO_TEST, request, 0, NULL);
}

int sim_append_test_any(sim *s, int rank, int n, const int *request)
{
    return append_blocking(s, rank, DO_TEST_ANY, 0, n, request);
}

int sim_append_get_status(sim *s, int rank, int request)
{
    if (!is_own(s, rank, request)) return SIM_BAD_REQUEST;
    return append_blocking(s, rank, DO_GET_STATUS, request, 0, NULL);
}

int sim_append_cancel(sim *s, int rank, int request)
{
    if (!is_own(s, rank, request)) return SIM_BAD_REQUEST;
    action *a = timeline_append(s, rank, DO_CANCEL);
    if (!a) return SIM_OUT_OF_MEMORY;
    a->id = request;
    s->requests.at[request].n_cancels++;
    return 0;
}

/* ---- probes ---- */

static int append_look(sim *s, int rank, int what, int comm, int source, int tag)
{
    if (!is_member(s, comm, rank) || !is_source(s, comm, source)) return SIM_BAD_RANK;
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

int sim_append_improbe(sim *s, int rank, int comm, int source, int tag)
{
    return append_look(s, rank, DO_IMPROBE, comm, source, tag);
}

int sim_append_mprobe(sim *s, int rank, int comm, int source, int tag)
{
    return append_look(s, rank, DO_MPROBE, comm, source, tag);
}

/* ---- collectives ---- */

static performance *performance_new(sim *s, int rank, int comm, int schedule, int root, int64_t bytes, const rank_tables *given)
{
    performance *p = s->free_show;
    if (p)
        s->free_show = p->next;
    else if (!(p = malloc(sizeof *p)))
        return NULL;
    *p = (performance){.comm = comm};
    comm_use(s, comm);
    schedule_tables *tables = NULL;
    if (given && given->n > 0 && !(tables = schedule_tables_new(given->n, given->table, given->n_entries))) {
        performance_free(s, p);
        return NULL;
    }
    schedule_start(&p->frame, s->schedule[schedule], sim_comm_rank(s, comm, rank), sim_comm_size(s, comm), root, bytes, tables);
    return p;
}

static int are_tables(const rank_tables *given)
{
    if (!given) return 1;
    if (given->n < 0 || given->n > SCHEDULE_TABLES) return 0;
    for (int k = 0; k < given->n; k++)
        if (given->n_entries[k] < 0) return 0;
    return 1;
}

static int append_show(sim *s, int rank, performance *p)
{
    action *a = timeline_append(s, rank, DO_COLLECTIVE);
    if (!a) return SIM_OUT_OF_MEMORY;
    a->with.show = p;
    s->line[rank].tail_s = NAN;
    return 0;
}

int sim_append_collective(sim *s, int rank, int comm, int schedule, int root, int64_t bytes, const rank_tables *given)
{
    if (!is_member(s, comm, rank)) return SIM_BAD_RANK;
    if (schedule < 0 || schedule >= s->n_schedules || !are_tables(given)) return SIM_BAD_SCHEDULE;
    performance *p = performance_new(s, rank, comm, schedule, root, bytes, given);
    if (!p) return SIM_OUT_OF_MEMORY;
    int error = append_show(s, rank, p);
    if (error < 0) performance_free(s, p);
    return error;
}

int sim_append_start(sim *s, int rank, int comm, int schedule, int root, int64_t bytes, const rank_tables *given, int latch)
{
    if (!is_member(s, comm, rank)) return SIM_BAD_RANK;
    if (schedule < 0 || schedule >= s->n_schedules || !are_tables(given)) return SIM_BAD_SCHEDULE;
    if (latch < 0 || latch > s->n_latches || (latch && s->latch[latch].n_to_come <= 0)) return SIM_BAD_SCHEDULE;
    int id = request_new(s, (request){.rank = rank, .comm = comm, .peer = root, .matched_source = SIM_ANY,
                                      .matched_tag = SIM_ANY});
    if (id < 0) return id;
    performance *p = performance_new(s, rank, comm, schedule, root, bytes, given);
    int error = p ? append_show(s, rank, p) : SIM_OUT_OF_MEMORY;
    s->requests.at[id].is_group = 1;
    s->requests.at[id].show = p;
    if (error < 0) {
        request_free(s, id);
        return error;
    }
    p->group = id;
    p->latch = latch;
    if (latch) s->latch[latch].n_to_come--;
    return id;
}
