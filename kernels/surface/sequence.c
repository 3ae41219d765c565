#include "sequence.h"

#include <stddef.h>
#include <structmember.h>

#include "call.h"
#include "comm.h"

static int refuse(const char *what)
{
    PyErr_SetString(PyExc_ValueError, what);
    return -1;
}

/* ---- writing it down ---- */

static sequence_object *sequence_of(PyObject *self)
{
    return (sequence_object *)self;
}

static PyObject *Sequence_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    (void)args, (void)keywords;
    return type->tp_alloc(type, 0);
}

static int Sequence_traverse(PyObject *self, visitproc visit, void *arg)
{
    const sequence_object *q = sequence_of(self);
    Py_VISIT(Py_TYPE(self));
    for (int i = 0; i < q->n_objects; i++) Py_VISIT(q->object[i]);
    return 0;
}

static int Sequence_clear(PyObject *self)
{
    sequence_object *q = sequence_of(self);
    q->n = 0; /* none refers to an object that is gone */
    while (q->n_objects) Py_DECREF(q->object[--q->n_objects]);
    return 0;
}

static void Sequence_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    Sequence_clear(self);
    PyMem_Free(sequence_of(self)->step);
    PyMem_Free(sequence_of(self)->object);
    PyMem_Free(sequence_of(self)->number);
    type->tp_free(self);
    Py_DECREF(type);
}

/* Room for `more` behind the `n` entries of an array: the array, or NULL with an exception. */
static void *grown(void *array, int n, int more, int *room, size_t entry_bytes)
{
    if (n + more <= *room) return array;
    int wanted = *room ? 2 * *room : 4;
    while (wanted < n + more) wanted *= 2;
    void *larger = PyMem_Realloc(array, (size_t)wanted * entry_bytes);
    if (!larger) return PyErr_NoMemory();
    *room = wanted;
    return larger;
}

static int make_room(sequence_object *q, int n_objects, int n_numbers)
{
    void *step = grown(q->step, q->n, 1, &q->room, sizeof *q->step);
    if (step) q->step = step;
    void *object = step ? grown(q->object, q->n_objects, n_objects, &q->object_room, sizeof *q->object) : NULL;
    if (object) q->object = object;
    if (!step || (n_objects && !object)) return -1;
    void *number = grown(q->number, q->n_numbers, n_numbers, &q->number_room, sizeof *q->number);
    if (number) q->number = number;
    return n_numbers && !number ? -1 : 0;
}

static int may_change(const sequence_object *q)
{
    return q->has_begun ? refuse("the sequence has been performed: it does not change any more") : 0;
}

enum { STEP_NUMBERS = 7 };

/* A step from (kind, array, first, end, peer, tag, of): 1, or 0 when these are no plain integers. is_sound() refuses a kind or an
 * array that there is not. */
static int read_step(PyObject *const *at, sequence_step *out)
{
    int kind, array;
    Py_ssize_t row[2];
    for (int i = 0; i < 2; i++) {
        if (!PyLong_CheckExact(at[2 + i])) return 0;
        row[i] = PyLong_AsSsize_t(at[2 + i]);
        if (row[i] == -1 && PyErr_Occurred()) return PyErr_Clear(), 0;
    }
    *out = (sequence_step){.first = row[0], .end = row[1]};
    if (!arguments_int(at[0], &kind) || !arguments_int(at[1], &array) || !arguments_int(at[4], &out->peer)) return 0;
    if (!arguments_int(at[5], &out->tag) || !arguments_int(at[6], &out->of)) return 0;
    out->kind = (uint8_t)(kind >= 0 && kind < STEP_KINDS ? kind : STEP_KINDS);
    out->array = (uint8_t)(array >= 0 && array < SEQUENCE_ARRAYS ? array : SEQUENCE_ARRAYS);
    return 1;
}

static int is_sound(const sequence_object *q, const sequence_step *s)
{
    if (may_change(q) < 0) return -1;
    if (s->kind > STEP_LOOK) return refuse("there is no such step");
    if (s->array >= SEQUENCE_ARRAYS) return refuse("a part is (array, first row, end), with at most 16 arrays");
    if (s->end != WHOLE && (s->first < 0 || s->end < s->first))
        return refuse("a part's rows begin at 0, and end where they begin or later");
    const int is_started = s->of >= 0 && s->of < q->n && q->step[s->of].kind == STEP_IRECV;
    if (s->kind == STEP_WAIT && !is_started) return refuse("Wait: the step that it waits for is an Irecv before it");
    return 0;
}

/* Does the next step wait, whether or not sends are complete at once? An Irecv is waited for at the end, if not before. */
static int surely_waits(const sequence_object *q, const sequence_step *s)
{
    if (s->kind == STEP_RECV || s->kind == STEP_IRECV) return 1;
    return s->kind == STEP_WAIT && !q->step[s->of].is_waited_for;
}

static void append(sequence_object *q, const sequence_step *s)
{
    q->step[q->n] = *s;
    if (s->kind < STEP_WAIT && q->n_arrays <= s->array) q->n_arrays = s->array + 1;
    if (surely_waits(q, s)) q->n_until_last_wait = q->n + 1;
    if (s->kind == STEP_WAIT) q->step[s->of].is_waited_for = 1;
    if (s->kind == STEP_RECV || s->kind == STEP_IRECV) q->receives |= 1u << s->array;
    q->n++;
}

/* _add(kind, array, first, end, peer, tag, of): the number of the step. */
static PyObject *Sequence_add(PyObject *self, PyObject *const *at, Py_ssize_t n)
{
    sequence_object *q = sequence_of(self);
    sequence_step step;
    if (n != STEP_NUMBERS) return PyErr_Format(PyExc_TypeError, "_add(kind, array, first, end, peer, tag, of)");
    if (!read_step(at, &step)) return PyErr_Format(PyExc_TypeError, "plain integers are required");
    if (is_sound(q, &step) < 0 || make_room(q, 0, 0) < 0) return NULL;
    append(q, &step);
    return PyLong_FromLong(q->n - 1);
}

static PyObject *append_with(sequence_object *q, int kind, PyObject *object, int first_number)
{
    q->step[q->n] = (sequence_step){.kind = (uint8_t)kind, .of = q->n_objects, .first = first_number, .end = q->n_numbers};
    q->object[q->n_objects++] = Py_NewRef(object);
    return PyLong_FromLong(q->n++);
}

static PyObject *Sequence_add_sequence(PyObject *self, PyObject *other)
{
    sequence_object *q = sequence_of(self), *inner = sequence_of(other);
    if (!PyObject_TypeCheck(other, surface.sequence_base)) return PyErr_Format(PyExc_TypeError, "Perform: a MessageProgram");
    if (may_change(q) < 0) return NULL;
    if (q == inner) return refuse("a sequence does not perform itself"), NULL;
    if (inner->depth + 1 >= SEQUENCE_DEPTH) return refuse("sequences within one another are at most 16"), NULL;
    if (make_room(q, 1, 0) < 0) return NULL;
    inner->has_begun = 1;
    if (q->depth <= inner->depth) q->depth = inner->depth + 1;
    if (q->n_arrays < inner->n_arrays) q->n_arrays = inner->n_arrays;
    if (q->n_given < inner->n_given) q->n_given = inner->n_given;
    if (inner->n_until_last_wait) q->n_until_last_wait = q->n + 1;
    q->receives |= inner->receives;
    return append_with(q, STEP_PERFORM, other, q->n_numbers);
}

/* A step with an object and numbers (place, plus, place, plus, ...): each is `plus` and the one at a place of those given, unless
 * the place is negative. */
static PyObject *add_with_numbers(sequence_object *q, int kind, PyObject *const *at, Py_ssize_t n)
{
    const int n_numbers = (int)((n - 1) / 2), first = q->n_numbers;
    if (n < 1 || n % 2 == 0) return PyErr_Format(PyExc_TypeError, "an object is required, and pairs of place and summand");
    if (may_change(q) < 0) return NULL;
    if (n_numbers > STEP_NUMBERS_MAX) return refuse("a step has at most 8 numbers"), NULL;
    sequence_number read[STEP_NUMBERS_MAX];
    for (int i = 0; i < n_numbers; i++) {
        if (!arguments_int(at[1 + 2 * i], &read[i].place)) return PyErr_Format(PyExc_TypeError, "plain integers are required");
        int overflows;
        read[i].plus = PyLong_AsLongLongAndOverflow(at[2 + 2 * i], &overflows);
        if (read[i].plus == -1 && PyErr_Occurred()) return NULL;
        if (overflows) return refuse("a step's numbers have at most 64 bits"), NULL;
    }
    if (make_room(q, 1, n_numbers) < 0) return NULL;
    for (int i = 0; i < n_numbers; i++) {
        q->number[q->n_numbers++] = read[i];
        if (q->n_given <= read[i].place) q->n_given = read[i].place + 1;
    }
    return append_with(q, kind, at[0], first);
}

static PyObject *Sequence_add_call(PyObject *self, PyObject *const *at, Py_ssize_t n)
{
    return add_with_numbers(sequence_of(self), STEP_CALL, at, n);
}

static int is_work(PyObject *work)
{
    return PyTuple_CheckExact(work) && PyTuple_GET_SIZE(work) == 2 && PyUnicode_CheckExact(PyTuple_GET_ITEM(work, 0)) &&
           PyFloat_CheckExact(PyTuple_GET_ITEM(work, 1));
}

static PyObject *Sequence_add_execution(PyObject *self, PyObject *const *at, Py_ssize_t n)
{
    if (n < 1 || !is_work(at[0])) return PyErr_Format(PyExc_TypeError, "a tuple of a kernel's name and a float is required");
    return add_with_numbers(sequence_of(self), STEP_EXECUTE, at, n);
}

static PyObject *numbers_of(const sequence_object *q, const sequence_step *s)
{
    PyObject *all = PyTuple_New(s->end - s->first);
    for (Py_ssize_t i = s->first; all && i < s->end; i++) {
        const sequence_number *number = &q->number[i];
        PyObject *one = Py_BuildValue("iL", number->place, number->plus);
        if (!one) Py_CLEAR(all);
        if (one) PyTuple_SET_ITEM(all, i - s->first, one);
    }
    return all;
}

/* (kind, ...) of one step, as smpy.engine.sequences keeps it. */
static PyObject *told(const sequence_object *q, const sequence_step *s)
{
    if (s->kind == STEP_PERFORM) return Py_BuildValue("iO", s->kind, q->object[s->of]);
    if (s->kind == STEP_CALL || s->kind == STEP_EXECUTE) return Py_BuildValue("iON", s->kind, q->object[s->of], numbers_of(q, s));
    return Py_BuildValue("iinniii", s->kind, s->array, s->first, s->end, s->peer, s->tag, s->of);
}

static PyObject *Sequence_steps(PyObject *self, PyObject *unused)
{
    (void)unused;
    const sequence_object *q = sequence_of(self);
    PyObject *list = PyList_New(q->n);
    for (int i = 0; list && i < q->n; i++) {
        PyObject *step = told(q, &q->step[i]);
        if (!step) Py_CLEAR(list);
        if (step) PyList_SET_ITEM(list, i, step);
    }
    return list;
}

/* ---- performing it ---- */

/* A receive may be of any tag. */
static int takes_tag(PyObject *given, int *tag)
{
    *tag = 0;
    return is_none(given) || (arguments_int(given, tag) && *tag >= SIM_ANY);
}

/* perform(comm, *arrays, tag=None, arrival=None, numbers=()) */
static PyObject *perform(PyObject *self, const arguments *given)
{
    PyObject *tag = NULL, *arrival = NULL, *numbers = NULL;
    sequence_gifts gifts = {.is_timed = surface.clock.was_running};
    const Py_ssize_t n_keywords = given->keywords ? PyTuple_GET_SIZE(given->keywords) : 0;
    for (Py_ssize_t k = 0; k < n_keywords; k++) {
        PyObject *name = PyTuple_GET_ITEM(given->keywords, k);
        PyObject **to = name == surface.name.tag       ? &tag
                        : name == surface.name.arrival ? &arrival
                        : name == surface.name.numbers ? &numbers
                                                       : NULL;
        if (!to) return NULL;
        *to = given->at[given->n_positional + k];
    }
    if (given->n_positional < 1 || !takes_tag(tag, &gifts.tag)) return NULL;
    gifts.arrival = is_none(arrival) ? NULL : (arrival_object *)arrival;
    if (gifts.arrival && !PyObject_TypeCheck(arrival, surface.arrival_base)) return NULL;
    gifts.comm = given->at[0];
    gifts.array = given->at + 1;
    gifts.n_arrays = given->n_positional - 1;
    gifts.numbers = numbers;
    return sequence_perform(sequence_of(self), &gifts) <= 0 ? NULL : Py_NewRef(Py_None);
}

static PyObject *Sequence_perform(PyObject *self, PyObject *const *at, Py_ssize_t n, PyObject *keywords)
{
    const arguments given = {at, n, keywords};
    return call_perform(self, COMM_NULL, &given, surface.name.perform, surface.name._perform, perform);
}

static PyMethodDef sequence_methods[] = {
    {"_add", (PyCFunction)(void (*)(void))Sequence_add, METH_FASTCALL,
     PyDoc_STR("_add($self, kind, array, first, end, peer, tag, of, /)\n--\n\nOne more step: its number.")},
    {"_add_sequence", Sequence_add_sequence, METH_O,
     PyDoc_STR("_add_sequence($self, sequence, /)\n--\n\nOne more step, which performs another sequence: its number.")},
    {"_add_call", (PyCFunction)(void (*)(void))Sequence_add_call, METH_FASTCALL,
     PyDoc_STR("_add_call($self, function, /, *places_and_summands)\n--\n\nOne more step, which calls a function: its number.")},
    {"_add_execution", (PyCFunction)(void (*)(void))Sequence_add_execution, METH_FASTCALL,
     PyDoc_STR("_add_execution($self, work, /, *places_and_summands)\n--\n\nOne more step, which computes: its number.")},
    {"_steps", Sequence_steps, METH_NOARGS, PyDoc_STR("_steps($self)\n--\n\nThe steps, as the `_add` of each was given it.")},
    {"perform", (PyCFunction)(void (*)(void))Sequence_perform, METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("perform($self, comm, *arrays, tag=None, arrival=None, numbers=())\n--\n\n"
               "Make all the calls, one after the other.")},
    {0},
};

static PyType_Slot sequence_slots[] = {
    {Py_tp_doc, (void *)PyDoc_STR("Sends and receives that one call performs.")},
    {Py_tp_new, (void *)Sequence_new},
    {Py_tp_traverse, (void *)Sequence_traverse},
    {Py_tp_clear, (void *)Sequence_clear},
    {Py_tp_dealloc, (void *)Sequence_dealloc},
    {Py_tp_methods, sequence_methods},
    {0},
};

static PyType_Spec sequence_spec = {
    .name = "smpy.engine._surface.SequenceBase",
    .basicsize = sizeof(sequence_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = sequence_slots,
};

/* ---- awaited messages ---- */

static arrival_object *arrival_of(PyObject *self)
{
    return (arrival_object *)self;
}

/* AwaitedMessage(comm, source, tag, sequence, *arrays) */
static PyObject *Arrival_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    const Py_ssize_t n = PyTuple_GET_SIZE(args);
    if (n < 4 || (keywords && PyDict_GET_SIZE(keywords)))
        return PyErr_Format(PyExc_TypeError, "AwaitedMessage(comm, source, tag, sequence, *arrays)");
    if (!PyObject_TypeCheck(PyTuple_GET_ITEM(args, 3), surface.sequence_base))
        return PyErr_Format(PyExc_TypeError, "AwaitedMessage: what is performed is a MessageProgram");
    arrival_object *self = (arrival_object *)type->tp_alloc(type, 0);
    if (!self) return NULL;
    self->comm = Py_NewRef(PyTuple_GET_ITEM(args, 0));
    self->source = Py_NewRef(PyTuple_GET_ITEM(args, 1));
    self->tag = Py_NewRef(PyTuple_GET_ITEM(args, 2));
    self->sequence = Py_NewRef(PyTuple_GET_ITEM(args, 3));
    self->arrays = PyTuple_GetSlice(args, 4, n);
    if (!self->arrays) Py_CLEAR(self);
    return (PyObject *)self;
}

static int Arrival_traverse(PyObject *object, visitproc visit, void *arg)
{
    const arrival_object *self = arrival_of(object);
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->comm);
    Py_VISIT(self->source);
    Py_VISIT(self->tag);
    Py_VISIT(self->sequence);
    Py_VISIT(self->arrays);
    return 0;
}

static int Arrival_clear(PyObject *object)
{
    arrival_object *self = arrival_of(object);
    Py_CLEAR(self->comm);
    Py_CLEAR(self->source);
    Py_CLEAR(self->tag);
    Py_CLEAR(self->sequence);
    Py_CLEAR(self->arrays);
    return 0;
}

static void Arrival_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    Arrival_clear(self);
    type->tp_free(self);
    Py_DECREF(type);
}

/* Is the message there? 1, 0 if it is not, -1 with an exception. It will be when the rank looks until it is: what follows is
 * appended behind that, without waiting for the kernel. */
static int probe(PyObject *source, PyObject *tag, int comm, int until_there)
{
    int peer, number;
    if (!arguments_int(source, &peer) || !arguments_int(tag, &number)) return refuse("AwaitedMessage: source and tag are integers");
    int (*append)(sim *, int, int, int, int) = until_there ? surface.calls->append_iprobe_until : surface.calls->append_iprobe;
    const int code = append(surface.sim, surface.timeline, comm, peer, number);
    if (code < 0) return surface_kernel_error(code);
    if (until_there) return 1;
    if (block_on(surface.name.Iprobe) < 0) return -1;
    return surface.calls->answer(surface.sim, surface.timeline) != 0;
}

/* A message that can be looked for here: its number in the kernel is right, and its tag. */
static int can_probe(const arrival_object *self, int comm)
{
    int peer, tag;
    if (is_none(self->source)) return 1;
    if (!arguments_int(self->source, &peer) || !arguments_int(self->tag, &tag)) return 0;
    return peer >= SIM_ANY && peer < comm_peers_of(comm) && tag >= SIM_ANY;
}

/* Writes the arguments that its sequences are performed with: 1; 0: its tag is not for us. */
static int gifts_of(const arrival_object *self, int is_timed, sequence_gifts *out)
{
    *out = (sequence_gifts){.comm = self->comm, .array = &PyTuple_GET_ITEM(self->arrays, 0),
                            .n_arrays = PyTuple_GET_SIZE(self->arrays), .is_timed = is_timed};
    return takes_tag(self->tag, &out->tag);
}

static int follow(arrival_object *self, const sequence_gifts *gifts)
{
    self->is_done = 1;
    const int result = sequence_perform(sequence_of(self->sequence), gifts);
    if (result) return result;
    PyObject *answer = PyObject_CallMethodNoArgs((PyObject *)self, surface.name._follow);
    Py_XDECREF(answer);
    return answer ? 1 : -1;
}

int arrival_look(arrival_object *self, int until_there, int is_timed)
{
    sequence_gifts gifts;
    const int comm = comm_number_of_plain(self->comm);
    if (comm < 0 || !can_probe(self, comm) || !gifts_of(self, is_timed, &gifts)) return 0;
    if (!is_none(self->source)) {
        const int is_there = probe(self->source, self->tag, comm, until_there);
        if (is_there <= 0) return is_there < 0 ? -1 : 1;
    }
    return follow(self, &gifts);
}

static PyObject *perform_look(PyObject *self, const arguments *given)
{
    (void)given;
    if (arrival_look(arrival_of(self), 0, surface.clock.was_running) <= 0) return NULL;
    return PyBool_FromLong(arrival_of(self)->is_done);
}

static PyObject *perform_wait(PyObject *self, const arguments *given)
{
    (void)given;
    const arrival_object *arrival = arrival_of(self);
    if (arrival_look(arrival_of(self), 1, surface.clock.was_running) <= 0) return NULL;
    const int has_waited = is_none(arrival->source) || sequence_of(arrival->sequence)->receives;
    return !has_waited && block_on(surface.name.Iprobe) < 0 ? NULL : Py_NewRef(Py_None);
}

/* overlap(sequence, times, numbers=()) */
static PyObject *perform_overlap(PyObject *self, const arguments *given)
{
    PyObject *const parameters[] = {surface.name.sequence, surface.name.times, surface.name.numbers};
    PyObject *in[3];
    sequence_gifts gifts;
    int times;
    arrival_object *arrival = arrival_of(self);
    const int comm = comm_number_of_plain(arrival->comm), is_timed = surface.clock.was_running;
    if (!arguments_sort(given, parameters, 3, 2, in) || !arguments_int(in[1], &times)) return NULL;
    if (!PyObject_TypeCheck(in[0], surface.sequence_base) || comm < 0 || !can_probe(arrival, comm)) return NULL;
    if (!gifts_of(arrival, is_timed, &gifts)) return NULL;
    gifts.arrival = arrival;
    gifts.numbers = in[2];
    const int n = sequence_overlap(sequence_of(in[0]), &gifts, times);
    return n < 0 ? NULL : PyLong_FromLong(n);
}

static PyObject *Arrival_overlap(PyObject *self, PyObject *const *at, Py_ssize_t n, PyObject *keywords)
{
    const arguments given = {at, n, keywords};
    return call_perform(self, COMM_NULL, &given, surface.name.Iprobe, surface.name._overlap, perform_overlap);
}

static PyObject *Arrival_look(PyObject *self, PyObject *unused)
{
    (void)unused;
    const arguments given = {NULL, 0, NULL};
    if (arrival_of(self)->is_done) Py_RETURN_TRUE;
    return call_perform(self, COMM_NULL, &given, surface.name.Iprobe, surface.name._look, perform_look);
}

static PyObject *Arrival_wait(PyObject *self, PyObject *unused)
{
    (void)unused;
    const arguments given = {NULL, 0, NULL};
    if (arrival_of(self)->is_done) Py_RETURN_NONE;
    return call_perform(self, COMM_NULL, &given, surface.name.Iprobe, surface.name._wait, perform_wait);
}

static PyMethodDef arrival_methods[] = {
    {"overlap", (PyCFunction)(void (*)(void))Arrival_overlap, METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("overlap($self, sequence, times, numbers=())\n--\n\n"
               "Perform a sequence and look, up to so many times, until it is there: how often.")},
    {"look", Arrival_look, METH_NOARGS,
     PyDoc_STR("look($self)\n--\n\nLook whether it is there, and go on if so; whether it is, or was before.")},
    {"wait", Arrival_wait, METH_NOARGS, PyDoc_STR("wait($self)\n--\n\nLook until it is there, and go on.")},
    {0},
};

static PyMemberDef arrival_members[] = {
    {"is_done", T_BOOL, offsetof(arrival_object, is_done), 0, PyDoc_STR("Whether it was there, and what follows is done.")},
    {"_comm", T_OBJECT, offsetof(arrival_object, comm), READONLY, PyDoc_STR("Where it comes from.")},
    {"_source", T_OBJECT, offsetof(arrival_object, source), READONLY, PyDoc_STR("Who sends it.")},
    {"_tag", T_OBJECT, offsetof(arrival_object, tag), READONLY, PyDoc_STR("Its tag.")},
    {"_sequence", T_OBJECT, offsetof(arrival_object, sequence), READONLY, PyDoc_STR("What follows.")},
    {"_arrays", T_OBJECT, offsetof(arrival_object, arrays), READONLY, PyDoc_STR("The arrays of what follows.")},
    {0},
};

static PyType_Slot arrival_slots[] = {
    {Py_tp_doc, (void *)PyDoc_STR("A message that is awaited while other things go on.")},
    {Py_tp_new, (void *)Arrival_new},
    {Py_tp_traverse, (void *)Arrival_traverse},
    {Py_tp_clear, (void *)Arrival_clear},
    {Py_tp_dealloc, (void *)Arrival_dealloc},
    {Py_tp_methods, arrival_methods},
    {Py_tp_members, arrival_members},
    {0},
};

static PyType_Spec arrival_spec = {
    .name = "smpy.engine._surface.ArrivalBase",
    .basicsize = sizeof(arrival_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = arrival_slots,
};

static int add_type(PyObject *module, PyType_Spec *spec, PyTypeObject **kept)
{
    PyObject *type = PyType_FromModuleAndSpec(module, spec, NULL);
    if (!type || PyModule_AddType(module, (PyTypeObject *)type) < 0) return -1;
    Py_XSETREF(*kept, (PyTypeObject *)type);
    return 0;
}

int sequence_add_types(PyObject *module)
{
    if (add_type(module, &sequence_spec, &surface.sequence_base) < 0) return -1;
    return add_type(module, &arrival_spec, &surface.arrival_base);
}
