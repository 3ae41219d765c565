#include "mpi/device_message.h"

#include "basics/dates.h"
#include "basics/reserve.h"
#include "mpi/mpi_world.h"

/* Steps, in order: a copy to the sender's host, the latency of direct links, the way to the other host, a copy from there. */
enum { BEGUN, COPIED_OUT, AT_LINKS, CROSSED, COPIED_IN };

void device_messages_free(device_messages *all)
{
    free(all->at);
}

static int message_new(sim *s, const transfer_owner *owner, int send, int recv, int step)
{
    device_messages *all = &mpi_of(s)->device_messages;
    int id = all->free;
    if (id) {
        all->free = all->at[id].next;
    } else {
        void *list = all->at;
        if (reserve(&list, &all->room, all->n + 2, sizeof *all->at) < 0) return SIM_OUT_OF_MEMORY;
        all->at = list;
        id = ++all->n;
    }
    all->at[id] = (device_message){.owner = owner, .send = send, .recv = recv, .step = step};
    mpi_of(s)->requests.at[send].device_message = id;
    return id;
}

/* The device that a side of the message has its memory on; NULL: the side is not known, or in the memory of the host. */
static const device *device_of(sim *s, int request)
{
    const slot *x = &mpi_of(s)->requests.at[request];
    return request && x->is_on_device ? &s->devices.at[sim_device_of(s, x->is.rank)] : NULL;
}

static int number_of(const sim *s, const device *d)
{
    return (int)(d - s->devices.at);
}

/* ---- parts: each is a transfer to watchers ---- */

static int go_on(sim *s, int id);

static void part_ended(sim *s, const transfer *t)
{
    device_message *m = &mpi_of(s)->device_messages.at[t->number[0]];
    if (m->step == CROSSED) { /* beside the network */
        m->owner->ended(s, &(transfer){.owner = m->owner, .number = {m->send, m->recv}});
        return;
    }
    keep_error(s, go_on(s, t->number[0]));
}

static const transfer_owner part_owner = {.ended = part_ended};

/* An operation of devices that is a transfer from one host to another: 0, or an error. */
static int carry(sim *s, const transfer *what, double delay_s, int n_parts, const device_part *part)
{
    const int id = transfer_begin(s, what);
    if (id < 0) return id;
    device_work work = {.delay_s = delay_s, .n_parts = n_parts, .stream = -1, .ended = transfer_end, .number = id};
    for (int i = 0; i < n_parts; i++) work.part[i] = part[i];
    return device_begin(s, &work);
}

static int carry_part(sim *s, int id, const device *d, double delay_s, int n_parts, const device_part *part)
{
    const transfer what = {.source_host = d->host, .target_host = d->host, .owner = &part_owner, .number = {id}, .is_bare = 1};
    mpi_of(s)->device_messages.at[id].n_left++;
    return carry(s, &what, delay_s, n_parts, part);
}

static int copy(sim *s, int id, const device *d, int server)
{
    const double bytes = (double)mpi_of(s)->requests.at[mpi_of(s)->device_messages.at[id].send].is.bytes;
    return carry_part(s, id, d, d->is.link_latency_s, 1, &(device_part){number_of(s, d), server, bytes});
}

/* Between two direct devices of one host. */
static int cross_host(sim *s, const device_message *m, const device *from, const device *to)
{
    const int64_t n_bytes = mpi_of(s)->requests.at[m->send].is.bytes;
    const double bytes = (double)n_bytes;
    const int out = number_of(s, from), in = number_of(s, to);
    const transfer what = {.source_host = from->host, .target_host = to->host, .bytes = n_bytes, .owner = m->owner,
                           .number = {m->send, m->recv}};
    if (out == in) {
        const device_part own = {out, DEVICE_COMPUTES, device_alone_s(from, DEVICE_64, 0, 2 * bytes)};
        return carry(s, &what, 0, 1, &own);
    }
    if (from->is.peer_bytes_per_s > 0 && to->is.peer_bytes_per_s > 0) {
        const device_part peers[] = {{out, DEVICE_TO_PEERS, bytes}, {in, DEVICE_FROM_PEERS, bytes}};
        return carry(s, &what, larger(from->is.peer_latency_s, to->is.peer_latency_s), 2, peers);
    }
    const device_part links[] = {{out, DEVICE_TO_HOST, bytes}, {in, DEVICE_FROM_HOST, bytes}};
    return carry(s, &what, from->is.link_latency_s + to->is.link_latency_s, 2, links);
}

/* Over the network, and the links of direct devices. */
static int cross(sim *s, int id, const device *from, const device *to)
{
    const device_message m = mpi_of(s)->device_messages.at[id];
    const slot *send = &mpi_of(s)->requests.at[m.send];
    const int source_host = s->timelines.rank[send->is.rank].host, target_host = s->timelines.rank[send->target].host;
    const double bytes = (double)send->is.bytes;
    device_part part[2];
    int n = 0;
    if (from) part[n++] = (device_part){number_of(s, from), DEVICE_TO_HOST, bytes};
    if (to) part[n++] = (device_part){number_of(s, to), DEVICE_FROM_HOST, bytes};
    mpi_of(s)->device_messages.at[id].n_left = 1;
    const int error = n ? carry_part(s, id, from ? from : to, 0, n, part) : 0;
    return error < 0 ? error : transfer_start(s, source_host, target_host, send->is.bytes, m.owner, m.send, m.recv);
}

/* ---- steps ---- */

/* Begins the next step of a message, whose present one is over: 0, or an error. */
static int go_on(sim *s, int id)
{
    device_message *m = &mpi_of(s)->device_messages.at[id];
    const slot *send = &mpi_of(s)->requests.at[m->send];
    const device *from = device_of(s, m->send), *to = device_of(s, m->recv);
    const device *direct_from = from && from->is.is_direct ? from : NULL;
    const device *direct_to = to && to->is.is_direct && !send->is_early ? to : NULL;
    m->n_left = 0;
    m->step++;
    if (m->step == COPIED_OUT) return from && !direct_from ? copy(s, id, from, DEVICE_TO_HOST) : go_on(s, id);
    if (m->step == AT_LINKS) {
        const double delay_s = (direct_from ? direct_from->is.link_latency_s : 0) + (direct_to ? direct_to->is.link_latency_s : 0);
        const int stay = direct_from && direct_to && direct_from->host == direct_to->host;
        return delay_s > 0 && !stay ? carry_part(s, id, direct_from ? direct_from : direct_to, delay_s, 0, NULL) : go_on(s, id);
    }
    if (m->step == CROSSED) {
        const int stay = direct_from && direct_to && direct_from->host == direct_to->host;
        if (!stay) return cross(s, id, direct_from, direct_to);
        m->n_left = 1;
        return cross_host(s, m, direct_from, direct_to);
    }
    if (m->step == COPIED_IN && to && !direct_to) return copy(s, id, to, DEVICE_FROM_HOST);
    const device_message over = *m;
    m->next = mpi_of(s)->device_messages.free;
    mpi_of(s)->device_messages.free = id;
    mpi_of(s)->requests.at[over.send].device_message = 0;
    over.owner->ended(s, &(transfer){.owner = over.owner, .number = {over.send, over.recv}});
    return 0;
}

int device_message_set_out(sim *s, const transfer_owner *owner, int send, int recv)
{
    const int id = message_new(s, owner, send, recv, BEGUN);
    return id < 0 ? id : go_on(s, id);
}

int device_message_bring(sim *s, const transfer_owner *owner, int send, int recv)
{
    const int id = message_new(s, owner, send, recv, CROSSED);
    return id < 0 ? id : go_on(s, id);
}

int device_message_is_over(sim *s, int send)
{
    const int id = mpi_of(s)->requests.at[send].device_message;
    if (!id) return 1;
    if (--mpi_of(s)->device_messages.at[id].n_left == 0) keep_error(s, go_on(s, id));
    return 0;
}
