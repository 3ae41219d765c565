/* sampler.h -- call stacks of the program at which a timer of processor time interrupts the bursts that the compute clock measures.
 *
 *   (1) A sample is taken in a signal handler, in the thread of the ranks, while the compute clock runs. It has the functions of
 *       the program on the stack and the line of the innermost one: frames of smpy and of libraries stand for the line that called
 *       them. A long call of C gets its samples where it was made: the handler does not wait for the interpreter.
 *   (2) The handler allocates nothing, takes no lock and changes no object. It reads frames by process_vm_readv, which returns an
 *       error for a frame that a switch of greenlets has left half made. The layout of frames is private to Python: sampler_start
 *       compares it with the public functions, and starts no sampler where it differs.
 *   (3) Samples are counted in a tree of calls, for the burst under way alone; sampler_take clears it when the burst is charged. A
 *       function that calls itself stands there once in a row; of a deeper stack the innermost functions are kept. A burst with
 *       more calls or functions than there is room for loses the samples of the rest.
 *   (4) The signal is one of the real-time signals that nobody handles; timers of the program and SIGPROF are untouched. A program
 *       that handles this signal has sampler_stop called first. A child process has no timer. */
#ifndef SMPY_SAMPLER_H
#define SMPY_SAMPLER_H
#include "surface.h"

int sampler_has_samples(void);
void sampler_stop(void);

/* ---- functions of the module ---- */
PyObject *sampler_start(PyObject *module, PyObject *folders); /* the signal; 0: there is no sampler */
PyObject *sampler_end(PyObject *module, PyObject *unused);
PyObject *sampler_take(PyObject *module, PyObject *unused); /* [(caller, file, function, line, count)] of the last burst */
#endif
