#include "mpi/request.h"

#include <stdlib.h>

#include "basics/cache_lines.h"
#include "mpi/mpi_world.h"
#include "world/tell.h"

int request_new(sim *s, request is)
{
    slot_pool *pool = &mpi_of(s)->requests;
    int id = pool->free;
    if (id) {
        pool->free = pool->at[id].next;
    } else {
        if (pool->n + 1 >= pool->room) {
            int room = pool->room ? 2 * pool->room : 256;
            const size_t used = pool->room ? ((size_t)pool->n + 1) * sizeof *pool->at : 0;
            slot *at = cache_lines_grow(&pool->memory, pool->at, used, (size_t)room * sizeof *at);
            if (!at) return SIM_OUT_OF_MEMORY;
            pool->at = at;
            pool->room = room;
        }
        id = ++pool->n;
    }
    pool->at[id] = (slot){.is = is, .waiter = -1, .date_s = s->clock.now_s};
    comm_use(&mpi_of(s)->comms, is.comm);
    return id;
}

void request_belongs(sim *s, int id, int timeline)
{
    slot *x = &mpi_of(s)->requests.at[id];
    x->account = s->timelines.at[timeline].account_at_tail;
    x->is.line = s->timelines.at[timeline].line_at_tail;
}

void request_free(sim *s, int id)
{
    mpi_state *mpi = mpi_of(s);
    slot *x = &mpi->requests.at[id];
    if (x->is_collective && x->run) collective_run_free(&mpi->runs, &mpi->comms, x->run);
    if (x->payload) payload_free(&mpi->payloads, x->payload);
    x->is_collective = 0;
    x->is_free = 1;
    x->payload = 0;
    x->next = mpi->requests.free;
    mpi->requests.free = id;
    comm_leave(&mpi->comms, x->is.comm);
}

void request_let_go(sim *s, int id)
{
    const slot *x = &mpi_of(s)->requests.at[id];
    if (x->is.is_done && x->is_released && !x->n_cancels) request_free(s, id);
}

void requests_free(sim *s)
{
    slot_pool *pool = &mpi_of(s)->requests;
    for (int id = 1; id <= pool->n; id++) {
        slot *x = &pool->at[id];
        if (x->is_free) continue;
        const payload *p = x->payload ? &mpi_of(s)->payloads.at[x->payload] : NULL;
        if (p && p->kind == PAYLOAD_OWNED && !x->is.is_done) free(p->data);
        if (p) free(p->carried);
        request_free(s, id);
    }
    free(pool->memory);
}

waiting request_describe(const slot_pool *pool, int id, int n_requests)
{
    const slot *x = &pool->at[id];
    if (x->is_collective) return (waiting){.kind = WAIT_COLLECTIVE, .comm = x->is.comm};
    const int kind = x->access == ACCESSES_FILE ? WAIT_STORAGE : WAIT_DEVICE;
    if (x->access) return (waiting){.kind = kind, .bytes = x->is.bytes, .n_requests = n_requests, .request = id};
    return (waiting){x->is.is_send ? WAIT_SEND : WAIT_RECV, x->is.comm, x->is.peer, x->is.tag, x->is.bytes, n_requests, id};
}

/* ---- queries from outside ---- */

const request *sim_request(const sim *s, int id)
{
    static const request nobody = {.rank = -1, .is_done = 1};
    return is_request(&mpi_of(s)->requests, id) ? &mpi_of(s)->requests.at[id].is : &nobody;
}

static int perform_free(sim *s, int rank, const trace_action *row, int n)
{
    const int request = perform_request(s, rank, row->request);
    (void)n;
    perform_forget(s, rank, row->request);
    if (request) sim_release(s, request);
    return 0;
}

const row_kind free_row = {{"free", "nobody will ask for `request`", "", ROW_REQUEST}, perform_free, 0, 0};

void sim_release(sim *s, int id)
{
    if (!is_request(&mpi_of(s)->requests, id)) return;
    if (is_watched(s)) tell_appended(s, -1, &(appended_action){.kind = &free_row, .row = {.request = id}});
    mpi_of(s)->requests.at[id].is_released = 1;
    request_let_go(s, id);
}

payload *sim_payload(sim *s, int id)
{
    mpi_state *mpi = mpi_of(s);
    if (!is_request(&mpi->requests, id)) return NULL;
    slot *x = &mpi->requests.at[id];
    if (!x->payload) {
        const int number = payload_new(&mpi->payloads);
        if (number < 0) return NULL;
        x->payload = number;
    }
    return &mpi->payloads.at[x->payload];
}

/* Why a live request is left over; 0: it is not. */
static int left_over(const slot *x)
{
    if (x->is_collective) return x->is_released ? 0 : LEFT_COLLECTIVE;
    if (x->context & 1) return x->is_released || x->is.is_done ? 0 : LEFT_REQUEST; /* an access to a window, which completes it */
    if (x->access == ACCESSES_DEVICE) return x->is.is_done ? 0 : LEFT_REQUEST;
    if (x->access) return x->is_released ? 0 : LEFT_REQUEST;
    if (!x->has_matched && !x->is.is_done) return x->is.is_send ? LEFT_SEND : LEFT_RECV;
    return x->is_released || x->is.is_detached ? 0 : LEFT_REQUEST;
}

int sim_left_over(const sim *s, int after, int *kind)
{
    for (int id = after + 1; id <= mpi_of(s)->requests.n; id++) {
        const slot *x = &mpi_of(s)->requests.at[id];
        *kind = x->is_free ? 0 : left_over(x);
        if (*kind) return id;
    }
    return 0;
}

double sim_request_date_s(const sim *s, int id)
{
    return mpi_of(s)->requests.at[id].date_s;
}

#ifdef SMPY_CHECK
#include <assert.h>

void requests_check(const sim *s)
{
    const slot_pool *pool = &mpi_of(s)->requests;
    int n_free = 0;
    for (int id = pool->free; id; id = pool->at[id].next) {
        assert(id > 0 && id <= pool->n && pool->at[id].is_free);
        n_free++;
    }
    for (int id = 1; id <= pool->n; id++) {
        const slot *x = &pool->at[id];
        n_free -= x->is_free;
        if (x->is_free) continue;
        assert(x->is.rank >= 0 && x->is.rank < s->timelines.n_ranks);
        assert(x->waiter >= -1 && x->waiter < s->timelines.n);
        assert(!(x->is_queued && (x->is.is_done && !x->is.is_detached)));
        assert(x->payload >= 0 && x->payload <= mpi_of(s)->payloads.n);
    }
    assert(n_free == 0);
}
#endif
