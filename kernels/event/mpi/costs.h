/* costs.h -- costs of MPI's calls and polls to their ranks, and the model of a world. */
#ifndef SMPY_COSTS_H
#define SMPY_COSTS_H
#include <stdint.h>

#include "basics/errors.h"
#include "networks/network_model.h"

/* cdef */
/* Costs of MPI's calls to their rank (protocol.h). */
typedef struct {
    int64_t detached_below_bytes;     /* smaller sends complete at once */
    int64_t early_below_bytes;        /* and of these, smaller ones travel when they are posted, received or not */
    int n_send_overhead, n_isend_overhead, n_recv_overhead, n_own_copy, n_block; /* threshold, constant, per byte */
    double send_overhead[3 * 16];
    double isend_overhead[3 * 16];
    double recv_overhead[3 * 16];
    double own_copy[3 * 16];          /* bytes that a rank copies within its memory */
    double block[3 * 16];             /* a contiguous block of a datatype that leaves gaps, on either side, by their span */
    int rendezvous_overheads;         /* sends above the eager limit and their receives cost theirs, too */
    double reduction_byte_s;          /* a byte of an operand of a reduction */
    double page_fault_s;              /* a page of memory that a message is the first to touch */
    double huge_page_fault_s;         /* a huge one (basics/pages.h); 0: as long as its small ones */
} call_costs;

typedef struct {
    double test_s, iprobe_s;          /* a first poll */
    double iprobe_part;               /* most of a core that a probe takes; above 1: its work is as much more; 0: 1 */
    int grow;                         /* the k-th failed poll in a row, of all ranks, costs k times the first */
    int notice;                       /* instead: polls come in rounds, and are cut short by what they wait for (poll.h) */
} poll_costs;

typedef struct {
    network_model network;
    call_costs calls;
    poll_costs polling;
} model;

void sim_make_sends_synchronous(sim *s);             /* all standard sends, from now on */
/* Before the first call: the overheads of ranks on these hosts are not the model's but these: 0, or an error. */
int sim_host_costs(sim *s, int n_hosts, const int *host, const call_costs *costs);
/* end cdef */

const call_costs *costs_of(const sim *s, int rank);  /* those of its host */

/* constant + bytes * per_byte of the last row (threshold, constant, per byte) below; the first row also holds below its own. */
static inline double cost_by_size_s(const double *table, int n, int64_t bytes)
{
    const double *row = table;
    if (!n) return 0;
    for (int i = 0; i < n && table[3 * i] < (double)bytes; i++) row = table + 3 * i;
    return row[1] + row[2] * (double)bytes;
}
#endif
