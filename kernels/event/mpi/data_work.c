#include "mpi/data_work.h"

#include "basics/pages.h"
#include "mpi/mpi_world.h"
#include "mpi/protocol.h"

static double work_s(const call_costs *costs, const char *data, int64_t bytes, int64_t n_blocks)
{
    double seconds = (double)n_blocks * costs->block_s;
    if (data && costs->page_fault_s > 0) {
        const page_counts untouched = pages_untouched(data, bytes);
        const double huge_s = costs->huge_page_fault_s > 0 ? costs->huge_page_fault_s
                                                           : HUGE_PAGE_BYTES / PAGE_BYTES * costs->page_fault_s;
        seconds += (double)untouched.n_small * costs->page_fault_s + (double)untouched.n_huge * huge_s;
    }
    return seconds;
}

static int64_t blocks_of(const payload *to, int64_t bytes)
{
    if (to->layout) return (bytes + to->layout->block_bytes - 1) / to->layout->block_bytes;
    return to->bytes > 0 ? (int64_t)((double)to->n_blocks * ((double)bytes / (double)to->bytes)) : 0;
}

double data_work_of_receive_s(const call_costs *costs, const payload *to, int64_t bytes)
{
    if (costs->page_fault_s <= 0 && costs->block_s <= 0) return 0;
    const int is_one_stretch = to->kind == PAYLOAD_BORROWED && !to->layout;
    return work_s(costs, is_one_stretch ? to->data : NULL, bytes, blocks_of(to, bytes));
}

double sim_work_of_request_s(const sim *s, int id)
{
    const slot *x = &mpi_of(s)->requests.at[id];
    return x->payload && !x->is.is_send && x->is.is_done && !x->is.is_cancelled ? mpi_of(s)->payloads.at[x->payload].work_s : 0;
}

double sim_data_work_s(const sim *s, int id, const char *data, int64_t bytes, int64_t n_blocks)
{
    return work_s(costs_of(s, s->timelines.at[id].rank), data, bytes, n_blocks);
}

double sim_own_copy_s(const sim *s, int id, int64_t bytes)
{
    return (double)bytes * costs_of(s, s->timelines.at[id].rank)->own_copy_byte_s;
}

double sim_reduction_s(const sim *s, int id, int64_t bytes)
{
    return (double)bytes * costs_of(s, s->timelines.at[id].rank)->reduction_byte_s;
}
