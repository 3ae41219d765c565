#include <math.h>

#include "mpi/completion.h"
#include "mpi/mpi_world.h"
#include "world/performing.h"
#include "world/tell.h"

/* Starting an operation of the rank's device, in one of its streams: a request, which is complete when the operation is over. */

enum { TO_HOST, TO_DEVICE };     /* detail of a copy */

/* The operation comes first in its stream: watchers hear of its posting now. */
static void begins(sim *s, int request)
{
    tell_posted(s, request);
}

static int step(sim *s, int id, action *a)
{
    const int rank = s->timelines.at[id].rank, number = sim_device_of(s, rank);
    const device *d = &s->devices.at[number];
    device_work work = {.n_parts = 1, .rank = rank, .stream = a->device.stream, .begins = begins, .ended = request_complete,
                        .number = a->device.request};
    if (a->device.is_copy) {
        const int server = a->device.detail == TO_HOST ? DEVICE_TO_HOST : DEVICE_FROM_HOST;
        work.delay_s = d->is.link_latency_s;
        work.part[0] = (device_part){number, server, a->device.bytes};
    } else {
        const double alone_s = device_alone_s(d, a->device.detail, a->device.flop, a->device.bytes);
        work.part[0] = (device_part){number, DEVICE_COMPUTES, alone_s};
    }
    mpi_of(s)->requests.at[work.number].date_s = s->clock.now_s;
    action_end(s, id);
    const int error = device_begin(s, &work);
    return error < 0 ? error : MADE_A_CALL;
}

static const action_kind kind = {.name = "device", .step = step, .keeps_tail = 1};

/* ---- rows ---- */

static int perform_name_of(sim *s, int id, const trace_action *row, int request)
{
    return request < 0 ? request : perform_name(s, id, row->request, request);
}

static int perform_kernel(sim *s, int id, const trace_action *row, int n)
{
    (void)n;
    return perform_name_of(s, id, row, sim_append_device_kernel(s, id, row->tag, row->detail, row->amount, (double)row->bytes));
}

static int perform_copy(sim *s, int id, const trace_action *row, int n)
{
    (void)n;
    return perform_name_of(s, id, row, sim_append_device_copy(s, id, row->tag, row->detail, row->bytes));
}

static int perform_memory(sim *s, int id, const trace_action *row, int n)
{
    (void)row, (void)n;
    return sim_name_device(s, id);
}

enum { OPERATION = ROW_TAG | ROW_BYTES | ROW_REQUEST | ROW_STARTS | ROW_DETAIL };

const row_kind device_kernel_row = {
    {"device_kernel", "starts `request`: a kernel of `amount` flop and `bytes` of memory in stream `tag` of the rank's device",
     "type of its numbers: 0, 1, 2 for 64, 32, 16 bits", OPERATION | ROW_AMOUNT}, perform_kernel, 0, 0};
const row_kind device_copy_row = {
    {"device_copy", "starts `request`: a copy of `bytes` between the rank's device and its host, in stream `tag`",
     "0 to the host, 1 to the device", OPERATION}, perform_copy, 0, 0};
const row_kind device_memory_row = {
    {"device_memory", "the send or receive of the next row has its memory on the rank's device", "", 0}, perform_memory, 0, 0};

/* ---- appended from outside ---- */

/* The rank is told with the error. */
static int refused(sim *s, int id, int error)
{
    s->network.lost = (loss){.host = -1, .rank = s->timelines.at[id].rank, .link = -1, .transfer = -1};
    return error;
}

/* Can the timeline's rank use a stream of its device? 0, or an error. */
static int check(sim *s, int id, int stream)
{
    if (!is_timeline(&s->timelines, id)) return SIM_BAD_RANK;
    if (stream < 0 || stream >= DEVICE_STREAMS) return SIM_BAD_SIZE;
    const int number = sim_device_of(s, s->timelines.at[id].rank);
    return number == -1 ? refused(s, id, SIM_NO_DEVICE) : number < -1 ? number : 0;
}

static int append(sim *s, int id, const row_kind *row, const action *what)
{
    const int64_t bytes = (int64_t)what->device.bytes;
    const int request = request_new(s, (struct request){.rank = s->timelines.at[id].rank, .comm = SIM_COMM_WORLD, .peer = SIM_ANY,
                                                        .tag = SIM_ANY, .bytes = bytes});
    if (request < 0) return request;
    mpi_of(s)->requests.at[request].access = ACCESSES_DEVICE;
    action *a = action_append(s, id, &kind);
    if (!a) {
        request_free(s, request);
        return SIM_OUT_OF_MEMORY;
    }
    a->device = what->device;
    a->device.request = request;
    request_belongs(s, request, id);
    if (is_watched(s)) {
        const trace_action told = {.amount = what->device.flop, .bytes = bytes, .tag = what->device.stream, .request = request,
                                   .detail = what->device.detail};
        tell_appended(s, id, &(appended_action){.kind = row, .row = told});
    }
    return request;
}

int sim_append_device_kernel(sim *s, int id, int stream, int type, double flop, double bytes)
{
    const int error = check(s, id, stream);
    if (error < 0) return error;
    if (type < 0 || type >= DEVICE_TYPES || !(flop >= 0) || !(bytes >= 0) || bytes >= 9e18) return SIM_BAD_SIZE;
    const device *d = &s->devices.at[sim_device_of(s, s->timelines.at[id].rank)];
    if (device_alone_s(d, type, flop, bytes) < 0) return refused(s, id, SIM_NO_DEVICE_SPEED);
    const action what = {.device = {.stream = (uint8_t)stream, .detail = (uint8_t)type, .flop = flop, .bytes = rint(bytes)}};
    return append(s, id, &device_kernel_row, &what);
}

int sim_append_device_copy(sim *s, int id, int stream, int to_device, int64_t bytes)
{
    const int error = check(s, id, stream);
    if (error < 0) return error;
    if (bytes < 0) return SIM_BAD_SIZE;
    const int detail = to_device ? TO_DEVICE : TO_HOST;
    const action what = {.device = {.stream = (uint8_t)stream, .is_copy = 1, .detail = (uint8_t)detail, .bytes = (double)bytes}};
    return append(s, id, &device_copy_row, &what);
}

int sim_name_device(sim *s, int id)
{
    const int error = check(s, id, 0);
    if (error < 0) return error;
    s->timelines.at[id].names_device = 1;
    if (is_watched(s)) tell_appended(s, id, &(appended_action){.kind = &device_memory_row});
    return 0;
}
