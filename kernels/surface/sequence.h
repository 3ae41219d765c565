/* sequence.h -- SequenceBase: sends and receives that one call performs; ArrivalBase: a message that is awaited meanwhile.
 *
 * A sequence is what a program has written down: steps, each with a part of one of the arrays that the program gives when it has
 * the sequence performed. It has no communicator and no memory of its own, so ranks may share it.
 * Laws:
 *   (1) performing it is making its calls one by one: the same actions are appended to the timeline, in the same order. They are
 *       appended together, without waiting in between, as far as nothing has to be known before:
 *   (2) bytes that a step is to send are read when they are there, after the receives before it, and a function is called when
 *       all that was waited for is over: it may read what was received, and write to what was sent;
 *   (3) all steps are checked before the first is performed: what does not fit is handed over as a whole, and smpy.engine's
 *       own loop over the steps says what is wrong with it;
 *   (4) a sequence that has been performed does not change any more;
 *   (5) what a sequence run needs is in memory of its own (sequence_run.c), for ranks share the sequence;
 *   (6) a sequence within another is there because it did not change any more when it was added: none contains itself. */
#ifndef SMPY_SURFACE_SEQUENCE_H
#define SMPY_SURFACE_SEQUENCE_H
#include <limits.h>

#include "surface.h"

enum { STEP_SEND, STEP_RECV, STEP_IRECV, STEP_WAIT, STEP_LOOK, STEP_PERFORM, STEP_CALL, STEP_EXECUTE, STEP_KINDS };
enum { TAG_OF_CALL = INT_MIN, WHOLE = -1 }; /* a step's tag: the sequence run's; a step's end: the array's */
enum { SEQUENCE_ARRAYS = 16 };          /* most arrays that the parts of a sequence may be of */
enum { STEP_NUMBERS_MAX = 8, SEQUENCE_DEPTH = 16 }; /* numbers of a function or an execution; sequences within one another */

typedef struct {
    uint8_t kind;                   /* STEP_* */
    uint8_t array;
    uint8_t is_waited_for;          /* STEP_IRECV: by a Wait */
    int peer, tag;
    int of;                         /* STEP_WAIT: the step that it waits for; STEP_PERFORM, _CALL, _EXECUTE: number of the object */
    Py_ssize_t first, end;          /* rows of the array; STEP_CALL, STEP_EXECUTE: numbers of the sequence */
} sequence_step;

/* A number that a function is called with, or so many times so much is computed: `plus`, and the one that a sequence run is
 * given at `place`, unless that is negative. */
typedef struct {
    int place;
    long long plus;
} sequence_number;

typedef struct {
    PyObject_HEAD
    sequence_step *step;
    int n, room;
    PyObject **object;              /* owned: sequences, functions, (kernel, flop) to compute */
    int n_objects, object_room;
    sequence_number *number;
    int n_numbers, number_room;
    int depth;                      /* sequences within one another, this one included, less one */
    int n_given;                    /* numbers that a sequence run has to give at least */
    int n_until_last_wait;          /* steps up to the last one that waits, but for sends: they may be complete at once */
    int n_arrays;                   /* arrays that a sequence run has to give at least */
    unsigned receives;              /* bit k: some step receives into array k */
    int has_begun;                  /* it has been performed */
} sequence_object;

typedef struct {
    PyObject_HEAD
    PyObject *comm, *source, *tag;  /* source: None when there is nothing to look for */
    PyObject *sequence, *arrays;    /* sequence performed when it is there, and its arrays */
    char is_done;
} arrival_object;

int sequence_add_types(PyObject *module); /* 0, or -1 with an exception */

/* Arguments of a sequence run. */
typedef struct {
    PyObject *comm;
    PyObject *const *array;
    Py_ssize_t n_arrays;
    int tag;
    PyObject *numbers;              /* a tuple, or none */
    arrival_object *arrival;        /* or NULL */
    int is_timed;                   /* the rank's own code is: functions that are called are */
} sequence_gifts;

/* Performs a sequence: 1; 0: not for us, and nothing has happened; -1 with an exception. */
int sequence_perform(sequence_object *self, const sequence_gifts *given);
/* Performs it again and again, and looks for the arrival after each time, until that is done, or so many times: how often; -1 with
 * an exception; -2: not for us, and nothing has happened. */
int sequence_overlap(sequence_object *self, const sequence_gifts *given, int times);

/* step_waited_for(rank, request): the call and the number of the step for which a rank, blocked in a sequence, waits; or None. */
PyObject *sequence_step_waited_for(PyObject *module, PyObject *const *at, Py_ssize_t n);
int sequence_add_timelines(int n);        /* there are n by now: 0, or -1 with an exception */
int sequence_attach(int n_timelines);     /* a world has so many, none of them in a sequence: 0, or -1 with an exception */

/* Looks for an arrival once, or until it is there, and then performs what follows: as above. */
int arrival_look(arrival_object *self, int until_there, int is_timed);
#endif
