#include "mpi/payload.h"

#include <stdlib.h>
#include <string.h>

#include "mpi/mpi_world.h"


void payloads_free(payloads *all)
{
    for (int i = 0; i < all->n_delivered; i++) free(all->delivered[i]);
    free(all->delivered);
    free(all->delivery);
    free(all->at);
}

int payload_new(payloads *all)
{
    int number = all->free;
    if (number) {
        all->free = all->at[number].kind;
    } else {
        if (all->n + 1 >= all->room) {
            int room = all->room ? 2 * all->room : 64;
            payload *grown = realloc(all->at, (size_t)room * sizeof *grown);
            if (!grown) return SIM_OUT_OF_MEMORY;
            all->at = grown;
            all->room = room;
        }
        number = ++all->n;
    }
    all->at[number] = (payload){.kind = PAYLOAD_NONE};
    return number;
}

void payload_free(payloads *all, int number)
{
    all->at[number].kind = all->free;
    all->free = number;
}

static payload *payload_at(payloads *all, int number)
{
    if (number) return &all->at[number];
    all->nothing = (payload){.kind = PAYLOAD_NONE};
    return &all->nothing;
}

char *payload_copy(sim *s, const char *data, int64_t bytes, const strided *layout)
{
    char *copy = malloc((size_t)bytes);
    if (!copy) return NULL;
    if (layout)
        strided_pack(layout, data, copy, bytes);
    else
        memcpy(copy, data, (size_t)bytes);
    mpi_of(s)->payloads.copied_bytes += bytes;
    return copy;
}

/* ---- memory without a content ---- */

static int is_any_folded(const folded_table *t)
{
    return t && folded_table_n(t) > 0;
}

int payload_folded_share(const sim *s, const char *data, int64_t bytes)
{
    const folded_table *t = mpi_of(s)->payloads.folded;
    return is_any_folded(t) ? folded_table_share(t, data, bytes) : FOLDED_NONE;
}

int payload_restrict(payload *p, int64_t n, const byte_range *carried)
{
    byte_ranges *list = malloc(sizeof *list + (size_t)n * sizeof *list->at);
    if (!list) return SIM_OUT_OF_MEMORY;
    list->n = n;
    if (n) memcpy(list->at, carried, (size_t)n * sizeof *carried);
    free(p->carried);
    p->carried = list;
    return 0;
}

/* The first stretch at or behind `from` that has a content, as folded_table_next says it. */
static int64_t next_carried(const folded_table *t, const payload *p, int64_t bytes, int64_t from, int64_t *end)
{
    *end = bytes;
    if (!p->carried) return p->kind == PAYLOAD_BORROWED && t ? folded_table_next(t, p->data, bytes, from, end) : from;
    int64_t low = 0, high = p->carried->n;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (p->carried->at[middle].end <= from)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == p->carried->n || p->carried->at[low].start >= bytes) return bytes;
    const byte_range found = p->carried->at[low];
    if (found.end < bytes) *end = found.end;
    return found.start > from ? found.start : from;
}

static int carries_all(const folded_table *t, const payload *p, int64_t bytes)
{
    int64_t end;
    return next_carried(t, p, bytes, 0, &end) == 0 && end == bytes;
}

/* A list of what a payload carries: 0, or SIM_OUT_OF_MEMORY. */
static int list_carried(const folded_table *t, payload *p, int64_t bytes)
{
    int64_t n = 0, end;
    for (int64_t at = 0; (at = next_carried(t, p, bytes, at, &end)) < bytes; at = end) n++;
    byte_ranges *list = malloc(sizeof *list + (size_t)n * sizeof *list->at);
    if (!list) return SIM_OUT_OF_MEMORY;
    list->n = 0;
    for (int64_t at = 0; (at = next_carried(t, p, bytes, at, &end)) < bytes; at = end)
        list->at[list->n++] = (byte_range){at, end};
    p->carried = list;
    return 0;
}

int payload_fill(sim *s, payload *p, const char *data, int64_t bytes, const strided *layout)
{
    const folded_table *t = mpi_of(s)->payloads.folded;
    const int share = layout ? FOLDED_NONE : payload_folded_share(s, data, bytes);
    if (share == FOLDED_ALL) return 0;
    char *copy = share == FOLDED_SOME ? malloc((size_t)bytes) : payload_copy(s, data, bytes, layout);
    if (!copy) return SIM_OUT_OF_MEMORY;
    if (share == FOLDED_SOME) {
        payload borrowed = {.data = (char *)data, .kind = PAYLOAD_BORROWED};
        if (list_carried(t, &borrowed, bytes) < 0) {
            free(copy);
            return SIM_OUT_OF_MEMORY;
        }
        p->carried = borrowed.carried;
        for (int64_t i = 0; i < p->carried->n; i++) {
            const byte_range r = p->carried->at[i];
            memcpy(copy + r.start, data + r.start, (size_t)(r.end - r.start));
        }
        mpi_of(s)->payloads.copied_bytes += bytes;
    }
    p->kind = PAYLOAD_OWNED;
    p->data = copy;
    p->bytes = bytes;
    return 0;
}

/* ---- deliveries ---- */

/* Room for the deliveries of both sides, and for two allocations that are freed with them: 0, or an error. */
static int make_room(payloads *all)
{
    if (all->n_deliveries + 2 > all->delivery_room) {
        int room = all->delivery_room ? 2 * all->delivery_room : 64;
        delivery *grown = realloc(all->delivery, (size_t)room * sizeof *grown);
        if (!grown) return SIM_OUT_OF_MEMORY;
        all->delivery = grown;
        all->delivery_room = room;
    }
    if (all->n_delivered + 2 > all->delivered_room) {
        int room = all->delivered_room ? 2 * all->delivered_room : 64;
        char **grown = realloc(all->delivered, (size_t)room * sizeof *grown);
        if (!grown) return SIM_OUT_OF_MEMORY;
        all->delivered = grown;
        all->delivered_room = room;
    }
    return 0;
}

static void deliver(payloads *all, int request, const payload *p, char *data, int64_t bytes, int is_cancelled)
{
    all->delivery[all->n_deliveries++] = (delivery){request, p->token, p->object, data, bytes, is_cancelled, NULL};
}

/* Some bytes into the entries of a layout: those that are not carried are written back as they are. */
static int put_some(const folded_table *t, const payload *to, const payload *from, int64_t bytes)
{
    char *merged = malloc((size_t)bytes);
    int64_t end;
    if (!merged) return SIM_OUT_OF_MEMORY;
    strided_pack(to->layout, to->data, merged, bytes);
    for (int64_t at = 0; (at = next_carried(t, from, bytes, at, &end)) < bytes; at = end)
        memcpy(merged + at, from->data + at, (size_t)(end - at));
    strided_unpack(to->layout, to->data, merged, bytes);
    free(merged);
    return 0;
}

/* Moves the bytes that have a content on both sides: 0, or SIM_OUT_OF_MEMORY. */
static int put(const folded_table *t, const payload *to, const payload *from, int64_t bytes)
{
    const int carries = from->carried || is_any_folded(t) ? !carries_all(t, from, bytes) : 0;
    if (to->layout && carries) return put_some(t, to, from, bytes);
    if (to->layout) {
        strided_unpack(to->layout, to->data, from->data, bytes);
        return 0;
    }
    if (!carries && !is_any_folded(t)) {
        memcpy(to->data, from->data, (size_t)bytes);
        return 0;
    }
    const payload into = {.data = to->data, .kind = PAYLOAD_BORROWED};
    int64_t end, stop;
    for (int64_t at = 0; (at = next_carried(t, from, bytes, at, &end)) < bytes; at = end)
        for (int64_t part = at; (part = next_carried(t, &into, end, part, &stop)) < end; part = stop)
            memcpy(to->data + part, from->data + part, (size_t)(stop - part));
    return 0;
}

int payload_move(payloads *all, int send, int send_payload, int recv, int recv_payload, int64_t bytes)
{
    if (!send_payload && !recv_payload) return 0;
    payload *from = payload_at(all, send_payload);
    const payload *to = payload_at(all, recv_payload);
    const int tells_send = from->token || from->object;
    const int tells_recv = to->kind == PAYLOAD_PYTHON || to->token || to->object;
    int is_kept = 0;
    if ((tells_send || tells_recv) && make_room(all) < 0) return SIM_OUT_OF_MEMORY;
    if (from->kind != PAYLOAD_NONE && to->kind == PAYLOAD_BORROWED && put(all->folded, to, from, bytes) < 0)
        return SIM_OUT_OF_MEMORY;
    if (tells_recv) {
        char *data = to->kind == PAYLOAD_PYTHON ? from->data : NULL;
        is_kept = data && from->kind == PAYLOAD_OWNED;
        const int is_whole = !data || (!from->carried && !is_any_folded(all->folded)) || carries_all(all->folded, from, bytes);
        if (!is_whole && !from->carried && list_carried(all->folded, from, bytes) < 0) return SIM_OUT_OF_MEMORY;
        deliver(all, recv, to, data, bytes, 0);
        if (!is_whole) {
            all->delivery[all->n_deliveries - 1].carried = from->carried;
            all->delivered[all->n_delivered++] = (char *)from->carried;
            from->carried = NULL;
        }
    }
    if (tells_send) deliver(all, send, from, NULL, 0, 0);
    free(from->carried);
    from->carried = NULL;
    if (from->kind == PAYLOAD_OWNED) {
        all->copied_bytes -= from->bytes;
        if (is_kept)
            all->delivered[all->n_delivered++] = from->data;
        else
            free(from->data);
    }
    return 0;
}

int payload_drop(payloads *all, int request, int number)
{
    payload *p = payload_at(all, number);
    const int is_told = p->token || p->object;
    if (is_told && make_room(all) < 0) return SIM_OUT_OF_MEMORY;
    if (p->kind == PAYLOAD_OWNED) {
        all->copied_bytes -= p->bytes;
        free(p->data);
    }
    free(p->carried);
    if (is_told) deliver(all, request, p, NULL, 0, 1);
    *p = (payload){.kind = PAYLOAD_NONE};
    return 0;
}

/* ---- queries from outside ---- */

void sim_use_folded_table(sim *s, const folded_table *t)
{
    mpi_of(s)->payloads.folded = t;
}

int sim_deliveries(const sim *s, const delivery **list)
{
    *list = mpi_of(s)->payloads.delivery;
    return mpi_of(s)->payloads.n_deliveries;
}

void sim_deliveries_done(sim *s)
{
    payloads *all = &mpi_of(s)->payloads;
    for (int i = 0; i < all->n_delivered; i++) free(all->delivered[i]);
    all->n_deliveries = all->n_delivered = 0;
}

#ifdef SMPY_CHECK
#include <assert.h>

void payloads_check(const payloads *all)
{
    int n_free = 0;
    for (int number = all->free; number; number = all->at[number].kind) {
        assert(number > 0 && number <= all->n);
        assert(++n_free <= all->n);
    }
    assert(all->copied_bytes >= 0);
}
#endif
