/* clock.h -- Clock: what the running rank computes between two calls becomes simulated time.
 *
 * The compiled twin of smpy.compute.clock.measured_clock.Clock, with its methods.
 * Laws:
 *   (1) smpy's own time is never the rank's: a call stops the clock as it enters and starts it as it leaves; only the call that
 *       found it running starts it again, so calls nest, and a rank that is switched away from has its clock stopped. A pause is
 *       for what happens under a program without being its work: the burst goes on behind it, calls in it find the clock stopped;
 *   (2) a burst shorter than the threshold is nothing, and costs one reading of the monotonic clock at each end;
 *   (3) the thread's processor clock, some twenty times dearer, is read at the end of longer bursts only. What the thread did not
 *       run since that clock was last read (the anchor) is taken off the burst. A burst starts with an anchor younger than
 *       ANCHOR_AGE_S, which bounds what it can lose for time that passed before it;
 *   (4) it is the running rank's: another thread that starts, stops or pauses it does nothing;
 *   (5) where bursts are kept (smpy.compute.clock.bursts), every burst that ends is told, short ones too, and its answer is
 *       charged;
 *   (6) a burst of at least OBSERVED_S moves the bytes that `memory` tells through the memory of its host, while it computes for
 *       the seconds that `memory` tells. */
#ifndef SMPY_SURFACE_CLOCK_H
#define SMPY_SURFACE_CLOCK_H
#include "surface.h"

int clock_add_type(PyObject *module); /* 0, or -1 with an exception */

/* compute(flop): whether the running rank was told to compute so much; else nothing has happened. */
PyObject *clock_compute(PyObject *module, PyObject *const *at, Py_ssize_t n);

int clock_charge(void);             /* charges a clock that ran and was just stopped: 0, or -1 with an exception */
void clock_start(void);

/* A pause: seconds of the burst so far, negative if the clock did not run; then the burst goes on. */
double clock_pause(void);
void clock_resume(double computed_s);

/* 1 when it ran, 0 when it did not, -1 with an exception. */
static inline int clock_stop(void)
{
    if (!surface.clock.is_running) return 0;
    surface.clock.is_running = 0;
    return clock_charge() < 0 ? -1 : 1;
}
#endif
