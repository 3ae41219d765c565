#include "clock.h"

#include <math.h>
#include <time.h>

#include "block.h"
#include "sampler.h"
#include "site.h"

static const double THRESHOLD_S = 1e-6; /* SMPI's cpu-threshold */
static const double ANCHOR_AGE_S = 50e-6;
enum { ANCHORS_MAX = 10 };
static const double OBSERVED_S = 100e-6; /* smpy.compute.clock.measured_clock.OBSERVED_S */

static double read_s(clockid_t which)
{
    struct timespec now;
    clock_gettime(which, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Always after the monotonic clock was read, so that the time this reading takes cancels in differences. */
static void drop_anchor(double now_s)
{
    surface.clock.anchor_s = now_s;
    surface.clock.anchor_cpu_s = read_s(CLOCK_THREAD_CPUTIME_ID);
}

/* Time the rank has computed since the clock was started: processor time, or below the threshold the time that passed. */
static double burst_s(void)
{
    compute_clock *clock = &surface.clock;
    const double now_s = read_s(CLOCK_MONOTONIC), passed_s = now_s - clock->started_s;
    if (passed_s < THRESHOLD_S) return passed_s;
    const double since_anchor_s = now_s - clock->anchor_s, processor_s = clock->anchor_cpu_s;
    drop_anchor(now_s);
    const double away_s = since_anchor_s - (clock->anchor_cpu_s - processor_s);
    return away_s <= 0 ? passed_s : away_s < passed_s ? passed_s - away_s : 0;
}

static void start_after(double computed_s)
{
    double now_s = read_s(CLOCK_MONOTONIC);
    for (int i = 0; i < ANCHORS_MAX && now_s - surface.clock.anchor_s > ANCHOR_AGE_S; i++) { /* a preempted thread measures again */
        drop_anchor(now_s);
        now_s = read_s(CLOCK_MONOTONIC);
    }
    surface.clock.started_s = now_s;
    surface.clock.carried_s = computed_s;
    surface.clock.is_running = 1;
}

void clock_start(void)
{
    start_after(0);
}

/* Asks whoever keeps bursts, by one of its methods; -1 with an exception. */
static double answer_of(PyObject *bursts, PyObject *method, double seconds)
{
    PyObject *asked = PyFloat_FromDouble(seconds);
    PyObject *answer = asked ? PyObject_CallMethodOneArg(bursts, method, asked) : NULL;
    const double answer_s = answer ? PyFloat_AsDouble(answer) : -1;
    Py_XDECREF(asked);
    Py_XDECREF(answer);
    return answer_s;
}

static int observe(double computed_s)
{
    if (!surface.clock.observer || !surface_is_here() || (computed_s < OBSERVED_S && !sampler_has_samples())) return 0;
    PyObject *seconds = PyFloat_FromDouble(computed_s);
    PyObject *answer = seconds ? PyObject_CallOneArg(surface.clock.observer, seconds) : NULL;
    Py_XDECREF(seconds);
    Py_XDECREF(answer);
    return answer ? 0 : -1;
}

/* Asks for the time of a long burst and for the bytes that it moved. */
static int split(double *computed_s, double *bytes)
{
    PyObject *asked = PyFloat_FromDouble(*computed_s);
    PyObject *answer = asked ? PyObject_CallMethodOneArg(surface.clock.memory, surface.name.split, asked) : NULL;
    const int is_split = answer && PyArg_ParseTuple(answer, "dd:split", computed_s, bytes);
    Py_XDECREF(asked);
    Py_XDECREF(answer);
    return is_split ? 0 : -1;
}

int clock_charge(void)
{
    double computed_s = surface.clock.carried_s + burst_s(), bytes = 0;
    if (surface.clock.memory && computed_s >= OBSERVED_S && surface_is_here() && split(&computed_s, &bytes) < 0) return -1;
    if (observe(computed_s) < 0) return -1;
    if (surface.clock.bursts && surface_is_here()) {
        computed_s = answer_of(surface.clock.bursts, surface.name.take, computed_s);
        if (computed_s < 0) return -1;
    }
    if (computed_s < THRESHOLD_S || !surface_is_here()) return 0;
    const double given = surface.clock.flop_per_s;
    const double flop_per_s = given > 0 ? given : surface.calls->speed_flop_per_s(surface.sim, surface.timeline);
    const int code = surface.calls->append_compute_of(surface.sim, surface.timeline, 0, 0, 1, computed_s * flop_per_s, bytes);
    return code < 0 ? surface_kernel_error(code) : 0;
}

static int is_plain_number(PyObject *flop, double *out)
{
    if (PyFloat_CheckExact(flop))
        *out = PyFloat_AS_DOUBLE(flop);
    else if (PyLong_CheckExact(flop))
        *out = PyLong_AsDouble(flop);
    else
        return 0;
    PyErr_Clear(); /* too long an integer: -1 */
    return *out >= 0 && isfinite(*out);
}

static int compute(double flop)
{
    const int code = surface.calls->append_compute(surface.sim, surface.timeline, flop, 0);
    if (code < 0) return surface_kernel_error(code);
    return surface.calls->is_far_ahead(surface.sim, surface.timeline) ? block_on(surface.name.compute) : 0;
}

PyObject *clock_compute(PyObject *module, PyObject *const *at, Py_ssize_t n)
{
    (void)module;
    double flop;
    if (n < 1 || n > 2) return PyErr_Format(PyExc_TypeError, "compute takes a number of operations and the name of a kernel");
    if (!surface_may_call() || !surface.calls->rank_has_one_core(surface.sim) || !is_plain_number(at[0], &flop)) Py_RETURN_FALSE;
    if (site_open(n == 2 ? at[1] : surface.name.execute, COMM_NULL) < 0) return NULL;
    const int was_computing = clock_stop();
    const unsigned epoch = surface.epoch;
    const int result = was_computing < 0 ? -1 : compute(flop);
    if (surface.epoch == epoch) {
        site_close();
        if (was_computing > 0) clock_start();
    }
    return result < 0 ? NULL : Py_NewRef(Py_True);
}

/* ---- the Python type: an instance knows a speed; the clock is the surface's, for the rank that runs ---- */

typedef struct {
    PyObject_HEAD
    double flop_per_s;
    PyObject *bursts, *observer, *memory; /* owned, or NULL */
} clock_object;

static PyObject *Clock_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"engine", "flop_per_s", "bursts", "observer", "memory", NULL};
    PyObject *engine, *bursts = Py_None, *observer = Py_None, *memory = Py_None;
    double flop_per_s;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "Od|OOO:Clock", names, &engine, &flop_per_s, &bursts, &observer, &memory))
        return NULL;
    clock_object *self = (clock_object *)type->tp_alloc(type, 0);
    if (!self) return NULL;
    self->flop_per_s = flop_per_s;
    self->bursts = bursts == Py_None ? NULL : Py_NewRef(bursts);
    self->observer = observer == Py_None ? NULL : Py_NewRef(observer);
    self->memory = memory == Py_None ? NULL : Py_NewRef(memory);
    return (PyObject *)self;
}

static void Clock_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(((clock_object *)self)->bursts);
    Py_XDECREF(((clock_object *)self)->observer);
    Py_XDECREF(((clock_object *)self)->memory);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyObject *Clock_start(PyObject *self, PyObject *unused)
{
    (void)unused;
    if (!surface_is_here()) Py_RETURN_NONE;
    surface.clock.flop_per_s = ((clock_object *)self)->flop_per_s;
    Py_XSETREF(surface.clock.bursts, Py_XNewRef(((clock_object *)self)->bursts));
    Py_XSETREF(surface.clock.observer, Py_XNewRef(((clock_object *)self)->observer));
    Py_XSETREF(surface.clock.memory, Py_XNewRef(((clock_object *)self)->memory));
    clock_start();
    Py_RETURN_NONE;
}

static PyObject *Clock_stop(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    const int was_running = surface_is_here() ? clock_stop() : 0;
    return was_running < 0 ? NULL : PyBool_FromLong(was_running);
}

/* The mark is what the burst has come to, so that it belongs to the rank and not to the clock. */
double clock_pause(void)
{
    if (!surface.clock.is_running || !surface_is_here()) return -1;
    surface.clock.is_running = 0;
    return surface.clock.carried_s + burst_s();
}

void clock_resume(double computed_s)
{
    if (computed_s >= 0) start_after(computed_s);
}

static PyObject *Clock_pause(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    return PyFloat_FromDouble(clock_pause());
}

static PyObject *Clock_resume(PyObject *self, PyObject *mark)
{
    (void)self;
    const double computed_s = PyFloat_AsDouble(mark);
    if (computed_s == -1 && PyErr_Occurred()) return NULL;
    clock_resume(computed_s);
    Py_RETURN_NONE;
}

static PyObject *Clock_charge_s(PyObject *self, PyObject *mark)
{
    const clock_object *clock = (clock_object *)self;
    const double flop_per_s = clock->flop_per_s;
    double computed_s = PyFloat_AsDouble(mark);
    if (computed_s == -1 && PyErr_Occurred()) return NULL;
    if (computed_s < 0 || !surface_is_here()) return PyFloat_FromDouble(0);
    if (clock->bursts) computed_s = answer_of(clock->bursts, surface.name.look, computed_s);
    if (computed_s < 0) return NULL;
    if (computed_s < THRESHOLD_S) return PyFloat_FromDouble(0);
    const double host_flop_per_s = surface.calls->speed_flop_per_s(surface.sim, surface.timeline);
    return PyFloat_FromDouble(flop_per_s > 0 ? computed_s * flop_per_s / host_flop_per_s : computed_s);
}

static PyMethodDef methods[] = {
    {"start", Clock_start, METH_NOARGS, PyDoc_STR("start($self)\n--\n\nThe rank's own code begins.")},
    {"stop", Clock_stop, METH_NOARGS,
     PyDoc_STR("stop($self)\n--\n\nThe rank's own code ends: charge it. Whether the clock ran.")},
    {"pause", Clock_pause, METH_NOARGS,
     PyDoc_STR("pause($self)\n--\n\nWhat follows is not the rank's: the mark to give to `resume`.")},
    {"resume", Clock_resume, METH_O, PyDoc_STR("resume($self, mark_s, /)\n--\n\nThe rank's own code goes on.")},
    {"charge_s", Clock_charge_s, METH_O,
     PyDoc_STR("charge_s($self, mark_s, /)\n--\n\nWhat a mark of `pause` comes to, in simulated seconds.")},
    {0},
};

static PyType_Slot slots[] = {
    {Py_tp_doc,
     (void *)PyDoc_STR("Clock(engine, flop_per_s, bursts=None, observer=None, memory=None)\n--\n\n"
                       "Measures the running rank of the attached world.")},
    {Py_tp_new, (void *)Clock_new},
    {Py_tp_dealloc, (void *)Clock_dealloc},
    {Py_tp_methods, methods},
    {0},
};

static PyType_Spec spec = {
    .name = "smpy.engine._surface.Clock",
    .basicsize = sizeof(clock_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};

int clock_add_type(PyObject *module)
{
    PyObject *type = PyType_FromModuleAndSpec(module, &spec, NULL);
    const int result = type ? PyModule_AddType(module, (PyTypeObject *)type) : -1;
    Py_XDECREF(type);
    return result;
}
