/* call.h -- work of every compiled MPI call before and after its body.
 *
 * Entry opens the call's account, stops the compute clock, and lets the kernel catch up with a rank far ahead. Exit closes the
 * account and starts the clock.
 * Law: a body that cannot or need not do its work returns NULL without an exception, before it has posted anything; then
 * the Python method of the same signature does it. So the compiled calls are an optimisation that may decline anything. */
#ifndef SMPY_SURFACE_CALL_H
#define SMPY_SURFACE_CALL_H
#include "arguments.h"
#include "block.h"
#include "clock.h"
#include "site.h"

typedef PyObject *call_body(PyObject *self, const arguments *given);

/* `comm` names the communicator in the call's account: a handle's number, or COMM_NULL. */
static inline PyObject *call_perform(PyObject *self, int comm, const arguments *given, PyObject *name, PyObject *general,
                                     call_body *body)
{
    if (!surface_may_call()) return arguments_hand_over(self, general, given);
    if (site_open(name, comm) < 0) return NULL;
    const int was_computing = clock_stop();
    const unsigned epoch = surface.epoch;
    PyObject *result = NULL;
    if (was_computing >= 0) {
        if (!surface.calls->is_far_ahead(surface.sim, surface.timeline) || block_on(name) == 0) {
            surface.clock.was_running = was_computing;
            result = body(self, given);
        }
        if (!result && !PyErr_Occurred()) result = arguments_hand_over(self, general, given);
    }
    if (surface.epoch != epoch) return result;
    site_close();
    if (was_computing > 0) clock_start();
    return result;
}
#endif
