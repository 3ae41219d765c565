/* block.h -- the one switch: how a rank waits for the kernel.
 *
 * Laws:
 *   (1) the blocked rank's greenlet switches straight to the next rank's; to the hub only for what is the hub's: a rank not yet
 *       started (started from another's stack, ranks would nest without bound), air, the end, a deadlock;
 *   (2) payload that arrived and notes that are due are dealt with before anyone is resumed;
 *   (3) a failure in (2) is the run's, not that of the rank which happened to wait: the hub's next step raises it;
 *   (4) whoever is switched back to has its answer: block_on() never asks twice;
 *   (5) a rank comes back in the greenlet in which it blocked, which its program may have made: surface.greenlets has it. */
#ifndef SMPY_SURFACE_BLOCK_H
#define SMPY_SURFACE_BLOCK_H
#include "surface.h"

int block_import_greenlet(void); /* once: 0, or -1 with an exception */

/* One crossing into the kernel: 0 and who runs next (a rank, or SIM_*), or -1 with an exception. */
int block_step(int *next);

/* Returns when the kernel has executed the running rank's timeline: 0, or -1 with the exception thrown into its greenlet. */
int block_on(PyObject *call);
#endif
