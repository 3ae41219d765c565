#include <stddef.h>

#include "world/row_kind.h"

/* The kernel's kinds of rows, in the order of their numbers: the schema of traces has them in this order. */
#define ROW_KINDS(ROW) \
    ROW(compute) ROW(noise_free) ROW(sleep) ROW(overhead) ROW(send) ROW(isend) ROW(recv) ROW(irecv) ROW(irecv_held) ROW(wait) \
    ROW(wait_all) ROW(wait_any) ROW(and) ROW(test) ROW(test_any) ROW(get_status) ROW(iprobe) ROW(improbe) ROW(probe) ROW(mprobe) \
    ROW(cancel) ROW(collective) ROW(start) ROW(entry) ROW(latch) ROW(free) ROW(took) ROW(begin_region) ROW(end_region) ROW(end) \
    ROW(access) ROW(rget) ROW(complete) ROW(lock) ROW(unlock) ROW(file_access) ROW(file_iaccess) \
    ROW(launch) ROW(launched) ROW(host_state) ROW(work) ROW(reach) ROW(after) ROW(skip) \
    ROW(device_kernel) ROW(device_copy) ROW(device_memory)

#define DECLARED(NAME) extern const row_kind NAME##_row;
#define ADDRESS(NAME) &NAME##_row,
ROW_KINDS(DECLARED)
static const row_kind *const OWN[] = {ROW_KINDS(ADDRESS)};

enum { N_OWN = (int)(sizeof OWN / sizeof *OWN) };

void row_kinds_begin(row_kinds *all)
{
    for (int i = 0; i < N_OWN; i++) all->at[i] = OWN[i];
    all->n = N_OWN;
}

const row_words *sim_row_words(int number)
{
    return number >= 0 && number < N_OWN ? &OWN[number]->is : NULL;
}
