/* kernel_calls.h -- the calls that the compiled surface needs, so that it shares the one kernel of the process. */
#ifndef SMPY_KERNEL_CALLS_H
#define SMPY_KERNEL_CALLS_H
#include "sim.h"
#include "watchers/message_checks.h"

typedef struct {
    __typeof__(sim_append_send) *append_send;
    __typeof__(sim_append_recv) *append_recv;
    __typeof__(sim_append_wait) *append_wait;
    __typeof__(sim_append_wait_all) *append_wait_all;
    __typeof__(sim_append_test) *append_test;
    __typeof__(sim_append_iprobe) *append_iprobe;
    __typeof__(sim_append_iprobe_until) *append_iprobe_until;
    __typeof__(sim_append_compute) *append_compute;
    __typeof__(sim_append_compute_of) *append_compute_of;
    __typeof__(sim_append_collective) *append_collective;
    __typeof__(sim_append_access) *append_access;
    __typeof__(sim_append_complete) *append_complete;
    __typeof__(sim_append_lock) *append_lock;
    __typeof__(sim_append_unlock) *append_unlock;
    __typeof__(sim_is_far_ahead) *is_far_ahead;
    __typeof__(sim_sends_at_once) *sends_at_once;
    __typeof__(sim_clock_s) *clock_s;
    __typeof__(sim_speed_flop_per_s) *speed_flop_per_s;
    __typeof__(sim_rank_has_one_core) *rank_has_one_core;
    __typeof__(sim_next) *next;
    __typeof__(sim_now_s) *now_s;
    __typeof__(sim_answer) *answer;
    __typeof__(sim_begin_call) *begin_call;
    __typeof__(sim_end_call) *end_call;
    __typeof__(sim_request) *request_of;
    __typeof__(sim_probed) *probed;
    __typeof__(sim_payload) *payload_of;
    __typeof__(sim_release) *release;
    __typeof__(sim_work_of_request_s) *work_of_request_s;
    __typeof__(sim_page_faults_s) *page_faults_s;
    __typeof__(sim_blocks_s) *blocks_s;
    __typeof__(sim_own_copy_s) *own_copy_s;
    __typeof__(sim_append_overhead) *append_overhead;
    __typeof__(payload_fill) *fill;
    __typeof__(payload_folded_share) *folded_share;
    __typeof__(strided_lies_within) *lies_within;
    __typeof__(sim_deliveries) *deliveries;
    __typeof__(sim_deliveries_done) *deliveries_done;
    __typeof__(sim_notes) *notes;
    __typeof__(sim_comm_size) *comm_size;
    __typeof__(sim_comm_peers) *comm_peers;
    __typeof__(sim_comm_other) *comm_other;
    __typeof__(sim_comm_rank) *comm_rank;
    __typeof__(sim_comm_self) *comm_self;
    __typeof__(sim_matches_itself) *matches_itself;
    __typeof__(sim_rank_of) *rank_of;
    __typeof__(sim_polls_in_vain) *polls_in_vain;
    __typeof__(sim_check_buffer) *check_buffer;
    __typeof__(sim_buffer_has_changed) *buffer_has_changed;
    __typeof__(checked_sum) *sum_of;
} kernel_calls;

/* cdef */
const void *sim_kernel_calls(void);   /* a kernel_calls */
/* end cdef */
#endif
