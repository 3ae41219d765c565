#include "world/noise.h"

#include <math.h>
#include <stdlib.h>

#include "basics/reserve.h"
#include "basics/seeded_choice.h"
#include "world/tell.h"

typedef struct {
    uint64_t n_drawn;
    double until_tick_s; /* computing left until the next tick */
} stream;

struct noise {
    int kind;
    double size, period_s;
    uint64_t seed;
    stream *of; /* [n] of each timeline that has computed, and of those with smaller numbers */
    int n, room;
};

/* The next number of a stream, uniform in (0, 1). */
static double uniform(noise *n, int timeline)
{
    return seeded_uniform(n->seed, (uint64_t)timeline, ++n->of[timeline].n_drawn);
}

static int begin_streams(noise *n, int timeline)
{
    void *list = n->of;
    const int error = reserve(&list, &n->room, timeline + 1, sizeof *n->of);
    n->of = list;
    if (error) return error;
    while (n->n <= timeline) {
        const int i = n->n++;
        n->of[i] = (stream){0};
        if (n->kind == NOISE_TICKS) n->of[i].until_tick_s = n->period_s * uniform(n, i);
    }
    return 0;
}

/* Box and Muller (1958). */
static double normal(noise *n, int timeline)
{
    const double radius = sqrt(-2 * log(uniform(n, timeline)));
    return radius * cos(2 * acos(-1) * uniform(n, timeline));
}

static double ticks(noise *n, stream *of, double seconds)
{
    const double beyond_s = seconds - of->until_tick_s;
    if (beyond_s < 0) {
        of->until_tick_s = -beyond_s;
        return 0;
    }
    of->until_tick_s = n->period_s - fmod(beyond_s, n->period_s);
    return 1 + floor(beyond_s / n->period_s);
}

int noise_draw(noise *n, int timeline, double seconds, double *factor)
{
    if (timeline >= n->n) {
        const int error = begin_streams(n, timeline);
        if (error) return error;
    }
    if (n->kind == NOISE_NORMAL)
        *factor = fmax(1 + n->size * normal(n, timeline), 0);
    else if (n->kind == NOISE_PARETO)
        *factor = pow(uniform(n, timeline), -n->size / (1 + n->size)); /* shape (1 + size) / size */
    else
        *factor = 1 + ticks(n, &n->of[timeline], seconds) * n->size / seconds;
    return 0;
}

int sim_use_noise(sim *s, int kind, double size, double period_s, uint64_t seed)
{
    if (s->noise) return SIM_TOO_LATE;
    noise *n = calloc(1, sizeof *n);
    if (!n) return SIM_OUT_OF_MEMORY;
    *n = (noise){.kind = kind, .size = size, .period_s = period_s, .seed = seed};
    s->noise = n;
    return 0;
}

void noise_free(noise *n)
{
    if (!n) return;
    free(n->of);
    free(n);
}

static int perform(sim *s, int id, const trace_action *row, int n)
{
    (void)n;
    if (is_watched(s)) tell_appended(s, id, &(appended_action){.kind = &noise_free_row, .row = *row});
    return 0;
}

const row_kind noise_free_row = {
    {"noise_free", "with noise: the `compute` in the row after it would have `amount` flop, and `bytes` if it has noise, without",
     "1; 0: no `compute` follows, as the noise leaves nothing of it", ROW_AMOUNT | ROW_BYTES | ROW_DETAIL}, perform, 0, 0};
