/* surface.h -- state of the compiled surface: the one running world, and the Python objects around it.
 *
 * A process runs one world at a time, so the extension has one variable, `surface`; everything that changes is in it.
 * Laws:
 *   (1) `sim` is NULL outside attach() .. detach(); every entry asks surface_is_here() before it uses any of the rest;
 *   (2) while a world is attached, block_step() alone asks the kernel who runs next: `rank` is then always the running rank;
 *   (3) the greenlets of all ranks live on one C stack: what is switched away from has its part of it moved, so no address of
 *       a C variable may be kept anywhere across a switch;
 *   (4) the kernel knows no Python object but the held requests (request.h) and the puts under way (put.h). */
#ifndef SMPY_SURFACE_H
#define SMPY_SURFACE_H
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>

#include "kernel_calls.h"

enum { COMM_NULL = -1, COMM_SELF = -2 }; /* a handle's `comm` when it is not a number of the kernel's */

/* The compute clock: see clock.h. */
typedef struct {
    int is_running;
    int was_running;                /* state when the call was entered whose body begins: the body may ask for it first */
    double flop_per_s;              /* 0: that of the rank's simulated core */
    double started_s, carried_s;    /* the burst under way: its beginning, and the time before a pause */
    double anchor_s, anchor_cpu_s;  /* one instant on both clocks */
    PyObject *bursts;               /* owned: tells the charge of a burst (smpy.compute.clock.bursts); NULL: its time */
    PyObject *memory;               /* owned: tells the bytes of a long burst (smpy.engine.clocks.BurstMemory), or NULL */
    PyObject *observer;             /* owned: called with long and with sampled bursts (compute.clock.observed_bursts), or NULL */
} compute_clock;

/* A line of the program: see lines.h. */
typedef struct {
    PyObject *table, *file;         /* owned */
    int first_line, offset;         /* line of the function; offset of the instruction */
    int line;
    int next;                       /* in its bucket */
    PyObject *call_name;            /* owned: name of the call last made there, or NULL */
    int call;                       /* number of that call */
    int n_guarded;                  /* receives that guard.h was asked for */
} program_line;

enum { LINE_BUCKETS = 1024 };

/* A slot of a Python class: see slot.h. */
typedef struct {
    PyObject *name;                 /* interned */
    PyTypeObject *type;             /* owned, or NULL */
    Py_ssize_t offset;              /* in objects of that class */
} python_slot;

struct guard_table;
struct array_memory;
struct put_object;
struct request_object;
struct sequence_run;
struct sampler;

typedef struct {
    /* the running world */
    sim *sim;
    const kernel_calls *calls;
    PyObject *engine;
    PyObject *greenlets;            /* list: where each timeline runs or waits; None until the hub has started it */
    PyObject *waits_in;             /* list: name of the call each timeline last blocked in */
    PyObject *call_numbers;         /* dict: those of the calls that were made, by name */
    struct sequence_run **performed; /* by timeline: the sequence in which it is blocked, or NULL; like the lines below, until
                                     * another world is attached, */
    int performed_room;
    unsigned performed_epoch;       /* epoch of the world whose timelines these are */
    int n_ranks;                    /* of the first world */
    int *world_of_added, n_added;   /* COMM_WORLD of each rank that was added to them, and how many were */
    int rank, timeline;             /* the running one; -1 before the first */
    unsigned epoch;                 /* number of this world: a request of another one is nothing to its kernel */
    unsigned long thread;
    int is_watched;                 /* every call goes to smpy.mpi, which asks before it and hears of its errors */
    struct request_object *held;    /* requests that only the kernel refers to */
    struct put_object *puts;        /* those that the kernel refers to: see put.h */
    struct {
        PyObject *type, *value, *trace;
    } failure;                      /* error of a delivery or a note, until the hub raises it */
    uint64_t taken[CHECKED_ENDS];   /* for the checks of a world (message_checks.h): of the next send, of the next receive; */
    struct {
        char *data;
        int64_t bytes;
    } taken_from[2];                /* their buffers */
    PyObject *checks;               /* who hears of mistakes (smpy.mpi.checks.calls); NULL: the world has no checks */
    struct pending_buffers *pending; /* then by rank: see pending.h */
    int pending_room, n_pending_elsewhere; /* ranks; buffers that smpy.mpi itself has in its lists */
    struct guard_table *guards;     /* see guard.h; NULL, like the next, until a world is checked */
    struct array_memory *arrays;    /* of numpy: see array_memory.h */
    struct {
        int is_own;                 /* smpy's own code runs, which may touch guarded buffers */
        int n_opened;               /* guards that it has opened */
    } access;
    compute_clock clock;
    struct sampler *sampler;        /* NULL: there is none */

    struct {
        program_line *at;           /* numbered from 1 */
        int n, room;
        int bucket[LINE_BUCKETS];
    } lines;

    PyObject *open_collectives;     /* comm -> (entered, open): see open_collective.h */

    PyObject *sum;                  /* the operation of an Allreduce that names none */
    PyTypeObject *request_class;    /* class of requests of Isend and Irecv; NULL until smpy.mpi has told */
    const PyTypeObject *array_class; /* numpy's, once one of its arrays was seen (plain_array.h); only compared */
    PyTypeObject *request_base, *comm_base, *sequence_base, *arrival_base, *put_type, *notes_type;

    struct {
        const PyTypeObject *type;   /* only compared */
        unsigned version;           /* not 0; that of a class is 0, or another one, once it or a base has changed */
    } plain_comm;                   /* the class last seen that has no hot calls of its own (comm.h) */

    struct {                        /* interned: parameters, calls, what calls are handed over to, attributes */
        PyObject *buf, *dest, *source, *tag, *status, *statuses, *requests;
        PyObject *sendbuf, *sendtag, *recvbuf, *recvtag;
        PyObject *Send, *Recv, *Isend, *Irecv, *Sendrecv, *Wait, *Waitall, *Test, *Iprobe, *Allreduce, *op, *Sendrecv_replace;
        PyObject *_Send, *_Recv, *_Isend, *_Irecv, *_Sendrecv, *_Wait, *_Waitall, *_Test, *_Iprobe, *_Allreduce, *_Sendrecv_replace;
        PyObject *_Get_rank, *_Get_size;
        PyObject *perform, *_perform, *_look, *_wait, *_follow, *_overlap, *arrival, *numbers, *sequence, *times;
        PyObject *_hub, *_run_deliveries, *_run_notes, *_collective, *must_be_here, *_truncated, *__smpy_folded__, *compute;
        PyObject *_is_on_device;
        PyObject *plain, *schedule, *put, *result, *leave, *fill, *execute, *_operation;
        PyObject *take, *look, *split;
        PyObject *origin, *target, *target_rank, *Put, *Get, *Rput, *Rget, *Flush, *Flush_local;
        PyObject *_Put, *_Get, *_Rput, *_Rget, *_Flush, *_Flush_local, *Win_Get, *Win_Rget, *Win_Flush, *Win_Flush_local;
        PyObject *Lock, *Unlock, *Lock_all, *Unlock_all, *_Lock, *_Unlock, *_Lock_all, *_Unlock_all;
        PyObject *Win_Lock, *Win_Unlock, *Win_Lock_all, *Win_Unlock_all, *lock_type, *assertion;
        PyObject *write_puts, *lent_memory, *piece, *_view;
        PyObject *rank, *_count_wait;
        PyObject *__dlpack__, *__dlpack_device__, *__cuda_array_interface__, *max_version, *copy, *stream;
        PyObject *_size, *_strided, *_source, *_tag, *_error, *_nbytes, *_cancelled;
    } name;

    struct {                        /* of a window's state in smpy.mpi.rma */
        python_slot _membership, is_over, communicator, number, rank, epochs, is_fenced, locks, started, accessed;
        python_slot _date_s, _n_at_date, window, pieces, puts, address, nbytes, disp_unit;
        python_slot checked, notes, n_fences, has_accessed, lock_lines, buffers, _by_target; /* likewise, in smpy.mpi.checks */
    } slot;
} surface_state;

extern surface_state surface;

/* Is there a world with a running rank, and is this its thread? A thread that a program starts has no timeline to append to. */
static inline int surface_is_here(void)
{
    return surface.sim && surface.rank >= 0 && surface.thread == PyThread_get_thread_ident();
}

/* May a compiled call do its work? */
static inline int surface_may_call(void)
{
    return surface_is_here() && !surface.is_watched;
}

static inline int is_none(const PyObject *object)
{
    return !object || object == Py_None;
}

/* Sets the exception for an error code of the kernel; -1. The arguments were checked: what can be missing is memory. */
int surface_kernel_error(int code);
#endif
