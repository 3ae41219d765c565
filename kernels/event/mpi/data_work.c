#include "mpi/data_work.h"

#include "basics/pages.h"
#include "mpi/mpi_world.h"

static double blocks_s(const call_costs *costs, int64_t n_blocks, int64_t span_bytes)
{
    return n_blocks ? (double)n_blocks * cost_by_size_s(costs->block, costs->n_block, span_bytes) : 0;
}

static double page_faults_s(const call_costs *costs, const char *data, int64_t bytes)
{
    if (costs->page_fault_s <= 0) return 0;
    const page_counts untouched = pages_untouched(data, bytes);
    const double huge_s = costs->huge_page_fault_s > 0 ? costs->huge_page_fault_s
                                                       : HUGE_PAGE_BYTES / PAGE_BYTES * costs->page_fault_s;
    return (double)untouched.n_small * costs->page_fault_s + (double)untouched.n_huge * huge_s;
}

double data_work_of_receive_s(const call_costs *costs, const payload *to, int64_t bytes)
{
    if (to->layout) return blocks_s(costs, strided_n_blocks(to->layout, bytes), strided_span_bytes(to->layout, bytes));
    if (to->kind == PAYLOAD_BORROWED) return page_faults_s(costs, to->data, bytes);
    if (to->bytes <= 0) return 0;
    return blocks_s(costs, (int64_t)((double)to->n_blocks * ((double)bytes / (double)to->bytes)), to->span_bytes);
}

double sim_work_of_request_s(const sim *s, int id)
{
    const slot *x = &mpi_of(s)->requests.at[id];
    return x->payload && !x->is.is_send && x->is.is_done && !x->is.is_cancelled ? mpi_of(s)->payloads.at[x->payload].work_s : 0;
}

double sim_page_faults_s(const sim *s, int id, const char *data, int64_t bytes)
{
    return page_faults_s(costs_of(s, s->timelines.at[id].rank), data, bytes);
}

double sim_blocks_s(const sim *s, int id, int64_t n_blocks, int64_t span_bytes)
{
    return blocks_s(costs_of(s, s->timelines.at[id].rank), n_blocks, span_bytes);
}

double sim_own_copy_s(const sim *s, int id, int64_t bytes)
{
    const call_costs *costs = costs_of(s, s->timelines.at[id].rank);
    return cost_by_size_s(costs->own_copy, costs->n_own_copy, bytes);
}

double sim_reduction_s(const sim *s, int id, int64_t bytes)
{
    return (double)bytes * costs_of(s, s->timelines.at[id].rank)->reduction_byte_s;
}
