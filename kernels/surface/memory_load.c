#define _GNU_SOURCE
#include "memory_load.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { PIECE = 4096 }; /* words that are added before the thread looks whether it is to go on */
static const double START_S = 0.05; /* the longest wait for the thread to move something */

typedef enum { IDLE, MOVING, ENDING } load_state;

typedef struct {
    PyObject_HEAD
    pthread_t thread;
    pid_t pid;                  /* of the process that has the thread; 0: none has */
    atomic_int tid;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    atomic_int state;           /* like until_s, changed under the mutex */
    double until_s;             /* date at which the thread stops by itself, on the monotonic clock */
    atomic_llong n_pieces;      /* that were added */
    double *x, *y;              /* of n_words */
    size_t n_words;
} load_object;

static void fill(load_object *self)
{
    for (size_t i = 0; i < self->n_words; i++) self->x[i] = 0, self->y[i] = 1;
}

static void add_piece(double *restrict y, const double *restrict x)
{
    for (int i = 0; i < PIECE; i++) y[i] += x[i];
}

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Until when the thread is to move memory, once it is to; less than 0 if it is to end. */
static double wait_for_work(load_object *self)
{
    pthread_mutex_lock(&self->mutex);
    if (atomic_load(&self->state) == MOVING && now_s() >= self->until_s) atomic_store(&self->state, IDLE);
    while (atomic_load(&self->state) == IDLE) pthread_cond_wait(&self->changed, &self->mutex);
    const double until_s = atomic_load(&self->state) == ENDING ? -1 : self->until_s;
    pthread_mutex_unlock(&self->mutex);
    return until_s;
}

static void *live(void *object)
{
    load_object *self = object;
    size_t at = 0;
    double until_s;
    atomic_store(&self->tid, (int)syscall(SYS_gettid));
    fill(self);
    while ((until_s = wait_for_work(self)) >= 0) {
        while (atomic_load_explicit(&self->state, memory_order_relaxed) == MOVING && now_s() < until_s) {
            add_piece(self->y + at, self->x + at);
            at = at + PIECE < self->n_words ? at + PIECE : 0;
            atomic_fetch_add_explicit(&self->n_pieces, 1, memory_order_relaxed);
        }
    }
    return NULL;
}

static void change(load_object *self, load_state state, double until_s)
{
    pthread_mutex_lock(&self->mutex);
    self->until_s = until_s;
    atomic_store(&self->state, state);
    pthread_cond_signal(&self->changed);
    pthread_mutex_unlock(&self->mutex);
}

static int has_thread(const load_object *self)
{
    return self->pid && self->pid == getpid();
}

/* Waits until the thread has done something more, or too long. */
static void wait_for_piece(const load_object *self, long long n_before)
{
    const double end_s = now_s() + START_S;
    while (atomic_load(&self->n_pieces) == n_before && now_s() < end_s) sched_yield();
}

static int begin_thread(load_object *self)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    const int error = pthread_create(&self->thread, NULL, live, self);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!error) self->pid = getpid();
    return error ? -1 : 0;
}

static PyObject *MemoryLoad_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"nbytes", NULL};
    Py_ssize_t nbytes;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "n:MemoryLoad", names, &nbytes)) return NULL;
    const size_t piece_bytes = 2 * PIECE * sizeof(double);
    if (nbytes < (Py_ssize_t)piece_bytes) return PyErr_Format(PyExc_ValueError, "a load of %zd bytes is too small", nbytes);
    load_object *self = (load_object *)type->tp_alloc(type, 0);
    if (!self) return NULL;
    self->n_words = (size_t)nbytes / piece_bytes * PIECE;
    self->x = malloc(self->n_words * sizeof(double));
    self->y = malloc(self->n_words * sizeof(double));
    pthread_mutex_init(&self->mutex, NULL);
    pthread_cond_init(&self->changed, NULL);
    if (!self->x || !self->y || begin_thread(self) < 0) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    return (PyObject *)self;
}

static void MemoryLoad_dealloc(PyObject *object)
{
    load_object *self = (load_object *)object;
    PyTypeObject *type = Py_TYPE(object);
    if (has_thread(self)) {
        change(self, ENDING, 0);
        pthread_join(self->thread, NULL);
    }
    free(self->x);
    free(self->y);
    type->tp_free(object);
    Py_DECREF(type);
}

static int must_have_thread(const load_object *self)
{
    if (has_thread(self)) return 1;
    PyErr_SetString(PyExc_RuntimeError, "a child process has no load");
    return 0;
}

/* Lets the thread run on these processors alone; anywhere, if the system has taken them from the process. */
static int confine(const load_object *self, PyObject *processors)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    PyObject *all = PySequence_Fast(processors, "processors are a sequence of numbers");
    if (!all) return -1;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(all); i++) {
        const long number = PyLong_AsLong(PySequence_Fast_GET_ITEM(all, i));
        if (number >= 0 && number < CPU_SETSIZE) CPU_SET((size_t)number, &set);
    }
    Py_DECREF(all);
    if (PyErr_Occurred()) return -1;
    sched_setaffinity(atomic_load(&self->tid), sizeof set, &set);
    return 0;
}

static PyObject *MemoryLoad_start(PyObject *object, PyObject *args)
{
    load_object *self = (load_object *)object;
    PyObject *processors;
    double most_s;
    if (!PyArg_ParseTuple(args, "Od:start", &processors, &most_s)) return NULL;
    if (!must_have_thread(self)) return NULL;
    while (!atomic_load(&self->tid)) sched_yield();
    if (confine(self, processors) < 0) return NULL;
    const long long n_before = atomic_load(&self->n_pieces);
    change(self, MOVING, now_s() + most_s);
    Py_BEGIN_ALLOW_THREADS
    wait_for_piece(self, n_before);
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

static PyObject *MemoryLoad_stop(PyObject *object, PyObject *unused)
{
    (void)unused;
    if (has_thread((load_object *)object)) change((load_object *)object, IDLE, 0);
    Py_RETURN_NONE;
}

static PyObject *MemoryLoad_processor_s(PyObject *object, PyObject *unused)
{
    (void)unused;
    load_object *self = (load_object *)object;
    clockid_t clock;
    struct timespec used;
    if (!must_have_thread(self)) return NULL;
    if (pthread_getcpuclockid(self->thread, &clock) || clock_gettime(clock, &used)) return PyErr_SetFromErrno(PyExc_OSError);
    return PyFloat_FromDouble((double)used.tv_sec + 1e-9 * (double)used.tv_nsec);
}

static PyObject *MemoryLoad_moved_bytes(PyObject *object, PyObject *unused)
{
    (void)unused;
    const long long n_pieces = atomic_load(&((load_object *)object)->n_pieces);
    return PyLong_FromLongLong(n_pieces * PIECE * 3 * (long long)sizeof(double));
}

static PyObject *MemoryLoad_here(PyObject *type, PyObject *unused)
{
    (void)type, (void)unused;
    return PyLong_FromLong(sched_getcpu());
}

static PyMethodDef methods[] = {
    {"start", MemoryLoad_start, METH_VARARGS,
     PyDoc_STR("start($self, processors, most_s, /)\n--\n\n"
               "Move memory from now on, on one of these processors, until stop() but at most for so long.")},
    {"stop", MemoryLoad_stop, METH_NOARGS, PyDoc_STR("stop($self)\n--\n\nMove no more.")},
    {"processor_s", MemoryLoad_processor_s, METH_NOARGS,
     PyDoc_STR("processor_s($self)\n--\n\nProcessor time of the thread, in seconds.")},
    {"moved_bytes", MemoryLoad_moved_bytes, METH_NOARGS,
     PyDoc_STR("moved_bytes($self)\n--\n\nBytes moved so far: two reads and one write of each word.")},
    {"here", MemoryLoad_here, METH_NOARGS | METH_STATIC,
     PyDoc_STR("here()\n--\n\nProcessor that the caller runs on; -1: not known.")},
    {0},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, (void *)PyDoc_STR("MemoryLoad(nbytes)\n--\n\nA thread that can move memory beside what is timed.")},
    {Py_tp_new, (void *)MemoryLoad_new},
    {Py_tp_dealloc, (void *)MemoryLoad_dealloc},
    {Py_tp_methods, methods},
    {0},
};

static PyType_Spec spec = {
    .name = "smpy.engine._surface.MemoryLoad",
    .basicsize = sizeof(load_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};

int memory_load_add_type(PyObject *module)
{
    PyObject *type = PyType_FromModuleAndSpec(module, &spec, NULL);
    const int result = type ? PyModule_AddType(module, (PyTypeObject *)type) : -1;
    Py_XDECREF(type);
    return result;
}
