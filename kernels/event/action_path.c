#include "critical_path.h"
#include "world.h"

/* The action that adds to a sum over the critical path; it takes no time and no turn. */

static int step(sim *s, int id, action *a)
{
    const int error = path_add(s, id, a->path.sum, a->path.amount, a->path.variance);
    action_end(s, id);
    return error < 0 ? error : FREE_OF_CHARGE;
}

static const action_kind kind = {.name = "path", .step = step, .nature = ACTION_TIME, .keeps_tail = 1};

int sim_append_to_path(sim *s, int id, int sum, double amount, double variance)
{
    if (!is_timeline(&s->timelines, id)) return SIM_BAD_RANK;
    if (sum < 0 || sum >= PATH_VARIANCE) return SIM_BAD_SIZE;
    action *a = action_append(s, id, &kind);
    if (!a) return SIM_OUT_OF_MEMORY;
    a->path.sum = sum;
    a->path.amount = amount;
    a->path.variance = variance;
    return 0;
}
