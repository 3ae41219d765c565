#include <stdlib.h>

#include "mpi/completion.h"
#include "mpi/mpi_world.h"
#include "mpi/protocol.h"
#include "world/tell.h"

/* Starting an access to a file: a request, which is complete when the access is over. */

/* The access comes first in its queue, or has none: watchers hear of its posting now. */
static void begins(sim *s, int request)
{
    tell_posted(s, request);
}

static int step(sim *s, int id, action *a)
{
    const storage_range range = *a->file_access.range;
    const int request = a->file_access.request;
    action_end(s, id);
    mpi_of(s)->requests.at[request].date_s = s->clock.now_s;
    const int error = storage_access(s, &range, begins, request_complete, request);
    return error < 0 ? error : MADE_A_CALL;
}

static void free_range(sim *s, action *a)
{
    (void)s;
    free(a->file_access.range);
}

static const action_kind kind = {.name = "file_access", .step = step, .free = free_range, .keeps_tail = 1};

enum { PLACES = 2 };                             /* detail: the place, from 1, times two, plus whether it writes */

static int start(sim *s, int id, const trace_action *row)
{
    const int64_t offset = row->amount >= 0 && row->amount < 9e15 ? (int64_t)row->amount : -1;
    return sim_append_file_access(s, id, row->detail / PLACES - 1, row->detail % PLACES, offset, row->bytes, row->tag);
}

static int perform_start(sim *s, int id, const trace_action *row, int n)
{
    const int request = start(s, id, row);
    (void)n;
    return request < 0 ? request : perform_name(s, id, row->request, request);
}

static int perform_awaited(sim *s, int id, const trace_action *row, int n)
{
    const int request = start(s, id, row);
    (void)n;
    if (request < 0) return request;
    const int error = sim_append_wait(s, id, request);
    return error < 0 ? error : perform_due(s, id, request);
}

enum { ACCESS = ROW_TAG | ROW_BYTES | ROW_AMOUNT | ROW_REQUEST | ROW_STARTS | ROW_DETAIL };

const row_kind file_access_row = {
    {"file_access", "reads or writes `bytes` of a file from byte `amount` on, and waits for it; those with one `tag` above 0 "
     "follow one another", "place of files on its host, from 1, or 0, times 2; plus 1 when it writes", ACCESS},
    perform_awaited, 0, 0};
const row_kind file_iaccess_row = {
    {"file_iaccess", "starts an access as `request`", "that of `file_access`", ACCESS}, perform_start, 0, &file_access_row};

int sim_append_file_access(sim *s, int id, int place, int is_write, int64_t offset, int64_t bytes, int queue)
{
    if (!is_timeline(&s->timelines, id)) return SIM_BAD_RANK;
    if (place < -1 || offset < 0 || bytes < 0 || offset > INT64_MAX - bytes) return SIM_BAD_SIZE;
    if (queue < 0 || queue >= STORAGE_QUEUES_MAX) return SIM_BAD_SIZE;
    const timeline *t = &s->timelines.at[id];
    const int request = request_new(s, (struct request){.rank = t->rank, .comm = SIM_COMM_WORLD, .peer = SIM_ANY, .tag = SIM_ANY,
                                                        .bytes = bytes});
    if (request < 0) return request;
    mpi_of(s)->requests.at[request].access = ACCESSES_FILE;
    storage_range *range = malloc(sizeof *range);
    action *a = range ? action_append(s, id, &kind) : NULL;
    if (!a) {
        free(range);
        request_free(s, request);
        return SIM_OUT_OF_MEMORY;
    }
    *range = (storage_range){.host = s->timelines.at[id].host, .place = place, .is_write = is_write != 0, .queue = queue,
                             .offset = offset, .bytes = bytes};
    a->file_access.request = request;
    a->file_access.range = range;
    request_belongs(s, request, id);
    if (is_watched(s)) {
        const trace_action row = {.amount = (double)offset, .bytes = bytes, .tag = queue, .request = request,
                                  .detail = PLACES * (place + 1) + (is_write != 0)};
        tell_appended(s, id, &(appended_action){.kind = &file_iaccess_row, .row = row});
    }
    return request;
}
