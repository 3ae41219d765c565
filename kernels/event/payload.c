#include "payload.h"

#include <stdlib.h>
#include <string.h>

#include "world.h"

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
    s->payloads.copied_bytes += bytes;
    return copy;
}

/* Room for the deliveries of both sides, and for a copy that is freed with them: 0, or an error. */
static int make_room(payloads *all)
{
    if (all->n_deliveries + 2 > all->delivery_room) {
        int room = all->delivery_room ? 2 * all->delivery_room : 64;
        delivery *grown = realloc(all->delivery, (size_t)room * sizeof *grown);
        if (!grown) return SIM_OUT_OF_MEMORY;
        all->delivery = grown;
        all->delivery_room = room;
    }
    if (all->n_delivered == all->delivered_room) {
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
    all->delivery[all->n_deliveries++] = (delivery){request, p->token, p->object, data, bytes, is_cancelled};
}

static void put(const payload *to, const char *data, int64_t bytes)
{
    if (to->layout)
        strided_unpack(to->layout, to->data, data, bytes);
    else
        memcpy(to->data, data, (size_t)bytes);
}

int payload_move(payloads *all, int send, int send_payload, int recv, int recv_payload, int64_t bytes)
{
    if (!send_payload && !recv_payload) return 0;
    const payload *from = payload_at(all, send_payload), *to = payload_at(all, recv_payload);
    const int tells_send = from->token || from->object;
    const int tells_recv = to->kind == PAYLOAD_PYTHON || to->token || to->object;
    int is_kept = 0;
    if ((tells_send || tells_recv) && make_room(all) < 0) return SIM_OUT_OF_MEMORY;
    if (from->kind != PAYLOAD_NONE && to->kind == PAYLOAD_BORROWED) put(to, from->data, bytes);
    if (tells_recv) {
        char *data = to->kind == PAYLOAD_PYTHON ? from->data : NULL;
        is_kept = data && from->kind == PAYLOAD_OWNED;
        deliver(all, recv, to, data, bytes, 0);
    }
    if (tells_send) deliver(all, send, from, NULL, 0, 0);
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
    if (is_told) deliver(all, request, p, NULL, 0, 1);
    *p = (payload){.kind = PAYLOAD_NONE};
    return 0;
}

/* ---- what the outside asks ---- */

int sim_deliveries(const sim *s, const delivery **list)
{
    *list = s->payloads.delivery;
    return s->payloads.n_deliveries;
}

void sim_deliveries_done(sim *s)
{
    payloads *all = &s->payloads;
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
