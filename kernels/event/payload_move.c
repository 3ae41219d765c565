#include <stdlib.h>
#include <string.h>

#include "world.h"

/* Moves the payload of a transfer that ended. Copies made at the send are freed here, or with the delivery that carries them. */

char *payload_copy(sim *s, const char *data, int64_t bytes, const strided *layout)
{
    char *copy = malloc((size_t)bytes);
    if (!copy) return NULL;
    if (layout)
        strided_pack(layout, data, copy, bytes);
    else
        memcpy(copy, data, (size_t)bytes);
    s->stats.copied_bytes += bytes;
    return copy;
}

/* Room for the deliveries of both sides, and for a copy that is freed with them: 0, or an error. */
static int make_room(sim *s)
{
    if (s->n_deliveries + 2 > s->delivery_room) {
        int room = s->delivery_room ? 2 * s->delivery_room : 64;
        delivery *grown = realloc(s->delivery, (size_t)room * sizeof *grown);
        if (!grown) return SIM_OUT_OF_MEMORY;
        s->delivery = grown;
        s->delivery_room = room;
    }
    if (s->n_loose == s->loose_room) {
        int room = s->loose_room ? 2 * s->loose_room : 64;
        char **grown = realloc(s->loose, (size_t)room * sizeof *grown);
        if (!grown) return SIM_OUT_OF_MEMORY;
        s->loose = grown;
        s->loose_room = room;
    }
    return 0;
}

static void add_delivery(sim *s, int id, const payload *p, char *data, int64_t bytes, int is_cancelled)
{
    s->delivery[s->n_deliveries++] = (delivery){id, p->token, p->object, data, bytes, is_cancelled};
}

static void put(const payload *to, const char *data, int64_t bytes)
{
    if (to->layout)
        strided_unpack(to->layout, to->data, data, bytes);
    else
        memcpy(to->data, data, (size_t)bytes);
}

int payload_move(sim *s, slot *send, slot *recv)
{
    if (!send->payload && !recv->payload) return 0;
    const payload *from = payload_of(s, send), *to = payload_of(s, recv);
    int64_t bytes = send->is.bytes < recv->is.bytes ? send->is.bytes : recv->is.bytes;
    int send_id = (int)(send - s->requests.at), recv_id = (int)(recv - s->requests.at), is_kept = 0;
    int tells_send = from->token || from->object, tells_recv = to->kind == PAYLOAD_PYTHON || to->token || to->object;
    if ((tells_send || tells_recv) && make_room(s) < 0) return SIM_OUT_OF_MEMORY;
    if (from->kind != PAYLOAD_NONE && to->kind == PAYLOAD_BORROWED) put(to, from->data, bytes);
    if (tells_recv) {
        char *data = to->kind == PAYLOAD_PYTHON ? from->data : NULL;
        is_kept = data && from->kind == PAYLOAD_OWNED;
        add_delivery(s, recv_id, to, data, bytes, 0);
    }
    if (tells_send) add_delivery(s, send_id, from, NULL, 0, 0);
    if (from->kind == PAYLOAD_OWNED) {
        s->stats.copied_bytes -= from->bytes;
        if (is_kept)
            s->loose[s->n_loose++] = from->data;
        else
            free(from->data);
    }
    return 0;
}

int payload_drop(sim *s, int id)
{
    payload *p = payload_of(s, &s->requests.at[id]);
    int is_told = p->token || p->object;
    if (is_told && make_room(s) < 0) return SIM_OUT_OF_MEMORY;
    if (p->kind == PAYLOAD_OWNED) {
        s->stats.copied_bytes -= p->bytes;
        free(p->data);
    }
    if (is_told) add_delivery(s, id, p, NULL, 0, 1);
    *p = (payload){0};
    return 0;
}

int sim_deliveries(const sim *s, const delivery **list)
{
    *list = s->delivery;
    return s->n_deliveries;
}

void sim_deliveries_done(sim *s)
{
    for (int i = 0; i < s->n_loose; i++) free(s->loose[i]);
    s->n_deliveries = s->n_loose = 0;
}
