/* noise.h -- noise on computing: each computation of a timeline takes longer or shorter than it would, by the next draw of the
 * timeline's stream.
 *
 * Invariants: (1) the n-th draw of a timeline depends on the seed, the timeline and n, and on nothing that others do;
 *             (2) a factor is finite and at least 0, and scales operations and bytes alike. */
#ifndef SMPY_NOISE_H
#define SMPY_NOISE_H
#include "world/row_kind.h"

typedef struct noise noise;

/* cdef */
enum {
    NOISE_NORMAL = 0, /* a normal factor of mean 1 and standard deviation `size`; below 0: 0 */
    NOISE_PARETO = 1, /* a Pareto factor of at least 1 and mean 1 + `size` */
    NOISE_TICKS = 2   /* `size` seconds more whenever a timeline has computed for `period_s`, first after a drawn part of that */
};
/* Computing from now on has noise; before the run, and once: 0, or an error. */
int sim_use_noise(sim *s, int kind, double size, double period_s, uint64_t seed);
/* end cdef */

/* Factor on the next computation of a timeline, which would take `seconds` > 0: 0, or SIM_OUT_OF_MEMORY. */
int noise_draw(noise *n, int timeline, double seconds, double *factor);
void noise_free(noise *n);

extern const row_kind noise_free_row; /* a computation without noise, in the row before the one with it */
#endif
