/* The arithmetic of a reduction, a step of schedules: its soundness, its listing, and the time of its bytes. */
#include <assert.h>
#include <math.h>
#include <stdio.h>

#include "mpi/schedule.h"
#include "small_worlds.h"

static int64_t message_bytes;

static const int64_t reduction[] = {CALL_COMBINE, TERM_BYTES, TERM_CONSTANT, 2, TERM_MUL, TERM_END, CALL_HALT};

enum { REDUCTION = sizeof reduction / sizeof *reduction };

static void reduces(sim *s, int rank, int stage)
{
    if (stage == 0)
        assert(sim_append_collective(s, rank, 0, sim_schedule_new(s, REDUCTION, reduction), 0, message_bytes, NULL) == 0);
    else
        sim_append_end(s, rank);
}

static double reduced_s(const platform *p, const model *m, int64_t bytes, int end)
{
    double date_s;
    message_bytes = bytes;
    sim *s = world(p, m, 1);
    assert(run(s, 1, reduces) == end);
    sim_finish_s(s, &date_s);
    sim_free(s);
    return date_s;
}

static void a_reduction_takes_the_time_of_its_bytes(const platform *p)
{
    model m = plain();
    schedule_call call[2];
    assert(schedule_is_sound(REDUCTION, reduction) && !schedule_is_sound(2, (int64_t[]){CALL_COMBINE, CALL_HALT}));
    assert(!schedule_is_sound(6, (int64_t[]){CALL_COMBINE, TERM_BYTES, TERM_END, TERM_BYTES, TERM_END, CALL_HALT}));
    assert(schedule_list(REDUCTION, reduction, 0, 1, 0, 1500, NULL, 2, call) == 1);
    assert(call[0].code == CALL_COMBINE && call[0].bytes_in == 3000);
    assert(reduced_s(p, &m, 1500, SIM_DONE) == 0);
    m.calls.reduction_byte_s = 1e-9;
    assert(fabs(reduced_s(p, &m, 1500, SIM_DONE) - 3e-6) < 1e-18 && reduced_s(p, &m, 0, SIM_DONE) == 0);
    reduced_s(p, &m, -1, SIM_BROKEN);
}

int main(void)
{
    platform *p = machine();
    a_reduction_takes_the_time_of_its_bytes(p);
    platform_free(p);
    puts("reduction: all well");
    return 0;
}
