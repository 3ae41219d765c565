/* module.c -- smpy.engine._surface: the hot MPI calls, compiled.
 *
 * smpy.mpi is complete in Python; the calls that a program makes a million times are here once more, over the same kernel. They
 * do the plain case and hand everything else to the Python method that would have been called without them.
 *
 * Why C and not Cython, in which mpi4py is written:
 *   - what is measured here is nanoseconds around a greenlet switch: the C stack between the user's call and the switch is copied
 *     at every switch, and holds only what we put there;
 *   - a buffer's life must be exact (held while the kernel may touch it, not one instant longer), and a request that is dropped
 *     has to come back from its deallocator: plain in C, hidden behind generated code in Cython;
 *   - a build needs a C compiler and nothing more; what the compiler warns of is what we wrote.
 * The price, reference counts by hand, is paid in a few short files and checked by tests that count references. The module is
 * built for one Python version (no abi3): vectorcall bodies, PyList_GET_ITEM and tp_alloc called directly are its point. */
#include "access_notes.h"
#include "array_memory.h"
#include "block.h"
#include "call.h"
#include "clock.h"
#include "comm.h"
#include "contents.h"
#include "described_memory.h"
#include "exporter.h"
#include "guard.h"
#include "lines.h"
#include "memory_load.h"
#include "open_collective.h"
#include "pending.h"
#include "put.h"
#include "rank_memory.h"
#include "request.h"
#include "sampler.h"
#include "sequence.h"
#include "site.h"
#include "window.h"

#include <string.h>

surface_state surface = {.rank = -1};

int surface_kernel_error(int code)
{
    if (code == SIM_OUT_OF_MEMORY)
        PyErr_NoMemory();
    else if (code == SIM_BAD_REQUEST)
        PyErr_SetString(PyExc_RuntimeError,
                        "a request that is over, or that another rank has started: each rank completes its own");
    else
        PyErr_Format(PyExc_SystemError, "the kernel refused a call with checked arguments (error %d)", code);
    return -1;
}

static int intern_names(void)
{
    const struct {
        PyObject **to;
        const char *text;
    } names[] = {
        {&surface.name.buf, "buf"},
        {&surface.name.dest, "dest"},
        {&surface.name.source, "source"},
        {&surface.name.tag, "tag"},
        {&surface.name.status, "status"},
        {&surface.name.statuses, "statuses"},
        {&surface.name.requests, "requests"},
        {&surface.name.sendbuf, "sendbuf"},
        {&surface.name.sendtag, "sendtag"},
        {&surface.name.recvbuf, "recvbuf"},
        {&surface.name.recvtag, "recvtag"},
        {&surface.name.Send, "Send"},
        {&surface.name.Recv, "Recv"},
        {&surface.name.Isend, "Isend"},
        {&surface.name.Irecv, "Irecv"},
        {&surface.name.Sendrecv, "Sendrecv"},
        {&surface.name.Sendrecv_replace, "Sendrecv_replace"},
        {&surface.name.Wait, "Wait"},
        {&surface.name.Waitall, "Waitall"},
        {&surface.name.Test, "Test"},
        {&surface.name.Iprobe, "Iprobe"},
        {&surface.name.Allreduce, "Allreduce"},
        {&surface.name.op, "op"},
        {&surface.name._Send, "_Send"},
        {&surface.name._Recv, "_Recv"},
        {&surface.name._Isend, "_Isend"},
        {&surface.name._Irecv, "_Irecv"},
        {&surface.name._Sendrecv, "_Sendrecv"},
        {&surface.name._Sendrecv_replace, "_Sendrecv_replace"},
        {&surface.name._Wait, "_Wait"},
        {&surface.name._Waitall, "_Waitall"},
        {&surface.name._Test, "_Test"},
        {&surface.name._Iprobe, "_Iprobe"},
        {&surface.name._Allreduce, "_Allreduce"},
        {&surface.name.perform, "MessageProgram.perform"},
        {&surface.name._perform, "_perform"},
        {&surface.name._look, "_look"},
        {&surface.name._wait, "_wait"},
        {&surface.name._follow, "_follow"},
        {&surface.name._overlap, "_overlap"},
        {&surface.name.arrival, "arrival"},
        {&surface.name.numbers, "numbers"},
        {&surface.name.sequence, "sequence"},
        {&surface.name.times, "times"},
        {&surface.name._Get_rank, "_Get_rank"},
        {&surface.name._Get_size, "_Get_size"},
        {&surface.name._hub, "_hub"},
        {&surface.name._run_deliveries, "_run_deliveries"},
        {&surface.name._run_notes, "_run_notes"},
        {&surface.name._collective, "_collective"},
        {&surface.name.must_be_here, "must_be_here"},
        {&surface.name._truncated, "_truncated"},
        {&surface.name.__smpy_folded__, "__smpy_folded__"},
        {&surface.name._is_on_device, "_is_on_device"},
        {&surface.name.compute, "compute"},
        {&surface.name.execute, "execute"},
        {&surface.name.plain, "plain_allreduce"},
        {&surface.name.schedule, "schedule"},
        {&surface.name.put, "put"},
        {&surface.name.result, "result"},
        {&surface.name.leave, "leave"},
        {&surface.name.fill, "fill"},
        {&surface.name._operation, "_operation_or_null"},
        {&surface.name.take, "take"},
        {&surface.name.look, "look"},
        {&surface.name.split, "split"},
        {&surface.name.origin, "origin"},
        {&surface.name.target, "target"},
        {&surface.name.target_rank, "target_rank"},
        {&surface.name.Put, "Put"},
        {&surface.name.Get, "Get"},
        {&surface.name.Rput, "Rput"},
        {&surface.name.Rget, "Rget"},
        {&surface.name.Flush, "Flush"},
        {&surface.name.Flush_local, "Flush_local"},
        {&surface.name._Put, "_Put"},
        {&surface.name._Get, "_Get"},
        {&surface.name._Rput, "_Rput"},
        {&surface.name._Rget, "_Rget"},
        {&surface.name._Flush, "_Flush"},
        {&surface.name._Flush_local, "_Flush_local"},
        {&surface.name.Win_Get, "Win.Get"},
        {&surface.name.Win_Rget, "Win.Rget"},
        {&surface.name.Win_Flush, "Win.Flush"},
        {&surface.name.Win_Flush_local, "Win.Flush_local"},
        {&surface.name.Lock, "Lock"},
        {&surface.name.Unlock, "Unlock"},
        {&surface.name.Lock_all, "Lock_all"},
        {&surface.name.Unlock_all, "Unlock_all"},
        {&surface.name._Lock, "_Lock"},
        {&surface.name._Unlock, "_Unlock"},
        {&surface.name._Lock_all, "_Lock_all"},
        {&surface.name._Unlock_all, "_Unlock_all"},
        {&surface.name.Win_Lock, "Win.Lock"},
        {&surface.name.Win_Unlock, "Win.Unlock"},
        {&surface.name.Win_Lock_all, "Win.Lock_all"},
        {&surface.name.Win_Unlock_all, "Win.Unlock_all"},
        {&surface.name.lock_type, "lock_type"},
        {&surface.name.assertion, "assertion"},
        {&surface.name.write_puts, "write_puts"},
        {&surface.name.lent_memory, "lent_memory"},
        {&surface.name.piece, "piece"},
        {&surface.name._view, "_view"},
        {&surface.slot._membership.name, "_membership"},
        {&surface.slot.is_over.name, "is_over"},
        {&surface.slot.communicator.name, "communicator"},
        {&surface.slot.number.name, "number"},
        {&surface.name.rank, "rank"},
        {&surface.slot.rank.name, "rank"},
        {&surface.slot.epochs.name, "epochs"},
        {&surface.slot.is_fenced.name, "is_fenced"},
        {&surface.slot.locks.name, "locks"},
        {&surface.slot.started.name, "started"},
        {&surface.slot.accessed.name, "accessed"},
        {&surface.slot._date_s.name, "_date_s"},
        {&surface.slot._n_at_date.name, "_n_at_date"},
        {&surface.name._count_wait, "_count_wait"},
        {&surface.slot.window.name, "window"},
        {&surface.slot.pieces.name, "pieces"},
        {&surface.slot.puts.name, "puts"},
        {&surface.slot.address.name, "address"},
        {&surface.slot.nbytes.name, "nbytes"},
        {&surface.slot.disp_unit.name, "disp_unit"},
        {&surface.slot.checked.name, "checked"},
        {&surface.slot.notes.name, "notes"},
        {&surface.slot.n_fences.name, "n_fences"},
        {&surface.slot.has_accessed.name, "has_accessed"},
        {&surface.slot.lock_lines.name, "lock_lines"},
        {&surface.slot.buffers.name, "buffers"},
        {&surface.slot._by_target.name, "_by_target"},
        {&surface.name.__dlpack__, "__dlpack__"},
        {&surface.name.__dlpack_device__, "__dlpack_device__"},
        {&surface.name.__cuda_array_interface__, "__cuda_array_interface__"},
        {&surface.name.max_version, "max_version"},
        {&surface.name.copy, "copy"},
        {&surface.name.stream, "stream"},
        {&surface.name._size, "_size"},
        {&surface.name._strided, "_strided"},
        {&surface.name._source, "_source"},
        {&surface.name._tag, "_tag"},
        {&surface.name._error, "_error"},
        {&surface.name._nbytes, "_nbytes"},
        {&surface.name._cancelled, "_cancelled"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!*names[i].to && !(*names[i].to = PyUnicode_InternFromString(names[i].text))) return -1;
    return 0;
}

/* ---- the world ---- */

static PyObject *surface_detach(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    request_drop_held();
    put_drop_all();
    pending_end_checks();
    surface.sim = NULL;
    surface.rank = surface.timeline = -1;
    surface.is_watched = 0;
    surface.clock.is_running = 0;
    surface.epoch++;
    sampler_stop();
    Py_CLEAR(surface.clock.bursts);
    Py_CLEAR(surface.clock.memory);
    Py_CLEAR(surface.clock.observer);
    Py_CLEAR(surface.open_collectives);
    Py_CLEAR(surface.failure.type);
    Py_CLEAR(surface.failure.value);
    Py_CLEAR(surface.failure.trace);
    Py_CLEAR(surface.greenlets);
    Py_CLEAR(surface.waits_in);
    Py_CLEAR(surface.call_numbers);
    Py_CLEAR(surface.engine);
    PyMem_Free(surface.world_of_added);
    surface.world_of_added = NULL;
    surface.n_added = 0;
    Py_RETURN_NONE;
}

static PyObject *surface_add_ranks(PyObject *module, PyObject *args)
{
    (void)module;
    int n, world;
    if (!PyArg_ParseTuple(args, "ii:add_ranks", &n, &world)) return NULL;
    if (!surface.sim || n < 0) return PyErr_Format(PyExc_RuntimeError, "no world is attached");
    int *grown = PyMem_Realloc(surface.world_of_added, (size_t)(surface.n_added + n) * sizeof *grown);
    if (!grown) return PyErr_NoMemory();
    surface.world_of_added = grown;
    if (sequence_add_timelines((int)PyList_GET_SIZE(surface.greenlets)) < 0) return NULL;
    for (int i = 0; i < n; i++) grown[surface.n_added + i] = world;
    surface.n_added += n;
    Py_RETURN_NONE;
}

static PyObject *surface_add_timelines(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    if (!surface.sim) return PyErr_Format(PyExc_RuntimeError, "no world is attached");
    return sequence_add_timelines((int)PyList_GET_SIZE(surface.greenlets)) < 0 ? NULL : Py_NewRef(Py_None);
}

static PyObject *list_of_engine(PyObject *engine, const char *name, Py_ssize_t n)
{
    PyObject *list = PyObject_GetAttrString(engine, name);
    if (list && (!PyList_CheckExact(list) || PyList_GET_SIZE(list) != n)) {
        PyErr_Format(PyExc_TypeError, "the engine's %s must be a list with an item for each of the %zd ranks", name, n);
        Py_CLEAR(list);
    }
    return list;
}

static PyObject *surface_attach(PyObject *module, PyObject *args)
{
    unsigned long long sim_address, calls_address;
    PyObject *engine;
    if (!PyArg_ParseTuple(args, "KKO:attach", &sim_address, &calls_address, &engine)) return NULL;
    if (surface.sim) {
        PyErr_SetString(PyExc_RuntimeError, "another world is running in this process: detach() it first");
        return NULL;
    }
    surface.sim = (sim *)(uintptr_t)sim_address;
    surface.calls = (const kernel_calls *)(uintptr_t)calls_address;
    surface.n_ranks = surface.calls->comm_size(surface.sim, 0);
    surface.thread = PyThread_get_thread_ident();
    surface.rank = surface.timeline = -1;
    surface.is_watched = 0;
    surface.epoch++;
    lines_forget();
    surface.engine = Py_NewRef(engine);
    surface.greenlets = list_of_engine(engine, "_greenlets", surface.n_ranks);
    surface.waits_in = surface.greenlets ? list_of_engine(engine, "_waits_in", surface.n_ranks) : NULL;
    surface.call_numbers = surface.waits_in ? PyObject_GetAttrString(engine, "call_numbers") : NULL;
    if (surface.call_numbers && sequence_attach(surface.n_ranks) == 0) Py_RETURN_NONE;
    Py_XDECREF(surface_detach(module, NULL));
    return NULL;
}

static PyObject *surface_watch(PyObject *module, PyObject *whether)
{
    (void)module;
    surface.is_watched = whether == Py_True;
    Py_RETURN_NONE;
}

static PyObject *surface_taken(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyLong_FromUnsignedLongLong((uintptr_t)surface.taken);
}

static PyObject *surface_rank(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyLong_FromLong(surface.rank);
}

static PyObject *surface_step(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    int next;
    if (!surface.sim) {
        PyErr_SetString(PyExc_RuntimeError, "no world is attached");
        return NULL;
    }
    return block_step(&next) < 0 ? NULL : PyLong_FromLong(next);
}

static PyObject *surface_block(PyObject *module, PyObject *call)
{
    (void)module;
    if (!surface_is_here()) {
        PyObject *may = surface.engine ? PyObject_CallMethodNoArgs(surface.engine, surface.name.must_be_here) : Py_NewRef(Py_None);
        if (may) PyErr_Format(PyExc_RuntimeError, "%S: called where no rank runs", call);
        Py_XDECREF(may);
        return NULL;
    }
    return block_on(call) < 0 ? NULL : Py_NewRef(Py_None);
}

enum { TABLES = 4, NOT_OURS = 1 };

static int take_table(PyObject *table, Py_buffer *view)
{
    if (PyObject_GetBuffer(table, view, PyBUF_ND | PyBUF_FORMAT) < 0) {
        PyErr_Clear();
        return 0;
    }
    if (view->ndim == 1 && view->format && strcmp(view->format, "q") == 0) return 1;
    PyBuffer_Release(view);
    return 0;
}

/* Appends a collective, whose tables the kernel copies: 0, an error of the kernel's, or NOT_OURS: a table is no array of 64-bit
 * integers. A function of its own: the views are no part of the stack that a switch copies. */
Py_NO_INLINE static int append_collective(int comm, int schedule, int root, int64_t bytes, PyObject *tables)
{
    Py_buffer view[TABLES];
    rank_tables given = {.n = 0};
    const int n = tables ? (int)PyTuple_GET_SIZE(tables) : 0;
    while (given.n < n && take_table(PyTuple_GET_ITEM(tables, given.n), &view[given.n])) {
        given.table[given.n] = view[given.n].buf;
        given.n_entries[given.n] = (int)view[given.n].shape[0];
        given.n++;
    }
    const int code = given.n < n ? NOT_OURS
                                 : surface.calls->append_collective(surface.sim, surface.timeline, comm, schedule, root, bytes,
                                                                    n ? &given : NULL);
    while (given.n) PyBuffer_Release(&view[--given.n]);
    return code;
}

static PyObject *surface_collective(PyObject *module, PyObject *const *at, Py_ssize_t n, PyObject *keywords)
{
    (void)module;
    const arguments given = {at, n, keywords};
    PyObject *tables = n == 6 ? at[5] : NULL;
    const int has_few = !tables || (PyTuple_CheckExact(tables) && PyTuple_GET_SIZE(tables) <= TABLES);
    const int is_plain = (n == 5 || n == 6) && has_few && !keywords && surface_is_here();
    if (!surface.engine) return PyErr_Format(PyExc_RuntimeError, "no world is attached");
    if (!is_plain) return arguments_hand_over(surface.engine, surface.name._collective, &given);
    const long comm = PyLong_AsLong(at[0]), schedule = PyLong_AsLong(at[1]), root = PyLong_AsLong(at[2]);
    const long long bytes = PyLong_AsLongLong(at[3]);
    if (PyErr_Occurred()) return NULL;
    const int code = append_collective((int)comm, (int)schedule, (int)root, bytes, tables);
    if (code == NOT_OURS) return arguments_hand_over(surface.engine, surface.name._collective, &given);
    if (code < 0) return surface_kernel_error(code), NULL;
    return block_on(at[4]) < 0 ? NULL : Py_NewRef(Py_None);
}

static PyObject *surface_use_request_class(PyObject *module, PyObject *given)
{
    (void)module;
    if (!PyType_Check(given) || !PyType_IsSubtype((PyTypeObject *)given, surface.request_base)) {
        PyErr_SetString(PyExc_TypeError, "the class of requests must derive from RequestBase");
        return NULL;
    }
    PyObject *before = (PyObject *)surface.request_class;
    surface.request_class = (PyTypeObject *)Py_NewRef(given);
    return before;
}

/* ---- the module ---- */

static PyMethodDef functions[] = {
    {"attach", surface_attach, METH_VARARGS,
     PyDoc_STR("attach(sim, calls, engine, /)\n--\n\nMake this world, two addresses and its Python face, the running one.")},
    {"detach", surface_detach, METH_NOARGS, PyDoc_STR("detach()\n--\n\nThe world is over: its kernel will move no more bytes.")},
    {"add_ranks", surface_add_ranks, METH_VARARGS,
     PyDoc_STR("add_ranks(n, world, /)\n--\n\nThere are n ranks more, whose COMM_WORLD has this number.")},
    {"add_timelines", surface_add_timelines, METH_NOARGS,
     PyDoc_STR("add_timelines()\n--\n\nThe engine's lists have items for further timelines.")},
    {"watch", surface_watch, METH_O,
     PyDoc_STR("watch(whether, /)\n--\n\nFrom now on, whether the running world's calls are all smpy.mpi's own.")},
    {"taken", surface_taken, METH_NOARGS,
     PyDoc_STR("taken()\n--\n\nAddress of the types of the buffers that calls have taken last, for the checks of a world.")},
    {"check", pending_check, METH_O,
     PyDoc_STR("check(checks, /)\n--\n\nHave the buffers of started operations looked at; `checks` hears of what is found.")},
    {"checked_methods", (PyCFunction)pending_methods, METH_NOARGS,
     PyDoc_STR("checked_methods()\n--\n\nMethods that look at buffers, by name: of communicators, of requests.")},
    {"guard", guard_from_python, METH_VARARGS,
     PyDoc_STR("guard(address, bytes, line, /)\n--\n\n(number, is_whole) of a guard of pages that hold these bytes alone; 0: "
               "there is none.")},
    {"end_guard", guard_end_from_python, METH_O,
     PyDoc_STR("end_guard(number, /)\n--\n\n(how, line) of the first touch: 0, read, written, used; 0 or number of the line.")},
    {"use_own_pages", array_memory_start, METH_O,
     PyDoc_STR("use_own_pages(api, /)\n--\n\nGive arrays pages of their own in worlds with checks, given numpy's _ARRAY_API.")},
    {"begin_rank_heaps", rank_memory_begin, METH_NOARGS,
     PyDoc_STR("begin_rank_heaps()\n--\n\nBegin the heaps of ranks, and glibc's limits, anew; whether they can be.")},
    {"place_arrays", rank_memory_place_arrays, METH_VARARGS,
     PyDoc_STR("place_arrays(api, has_huge_pages, becomes_operand, /)\n--\n\n"
               "Have data of arrays lie in the heaps of ranks, given numpy's _ARRAY_API.")},
    {"heap_limit", rank_memory_limit, METH_NOARGS,
     PyDoc_STR("heap_limit()\n--\n\nBytes from which a block of the running rank is mapped by itself; 0: no heap has begun.")},
    {"pending_completed", pending_completed, METH_VARARGS,
     PyDoc_STR("pending_completed(call, requests, asks, /)\n--\n\nA call has returned: look at the buffers of requests that are "
               "null now, among all of the rank with None.")},
    {"pending_forget", pending_forget, METH_O,
     PyDoc_STR("pending_forget(request, /)\n--\n\nThe program has freed a request: nobody looks at its buffer any more.")},
    {"pending_overlaps", pending_overlaps, METH_VARARGS,
     PyDoc_STR("pending_overlaps(address, bytes, is_written, /)\n--\n\nLines, and whether they write, of operations of the rank "
               "whose buffers have bytes there.")},
    {"pending_mark", pending_mark, METH_O,
     PyDoc_STR("pending_mark(request, /)\n--\n\nThe request is in the caller's own lists: leave its completion to it.")},
    {"pending_elsewhere", pending_elsewhere, METH_O,
     PyDoc_STR("pending_elsewhere(more, /)\n--\n\nSo many buffers more are in the caller's own lists.")},
    {"rank", surface_rank, METH_NOARGS, PyDoc_STR("rank()\n--\n\nThe running world rank, -1 when there is none.")},
    {"step", surface_step, METH_NOARGS,
     PyDoc_STR("step()\n--\n\nAsk the kernel who runs next, for the hub; deliveries and notes are done on return.")},
    {"block", surface_block, METH_O,
     PyDoc_STR("block(call, /)\n--\n\nReturn when the kernel has executed everything the running rank appended.")},
    {"compute", (PyCFunction)(void (*)(void))clock_compute, METH_FASTCALL,
     PyDoc_STR("compute(flop, kernel='execute', /)\n--\n\n"
               "Have the running rank compute so many operations; False: there is none, or it has several cores.")},
    {"poll_until", (PyCFunction)(void (*)(void))comm_poll_until, METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("poll_until(question, ...)\n--\n\nIprobe with these arguments until it finds a message; False: ask once more.")},
    {"described_memory", (PyCFunction)(void (*)(void))described_memory_lend, METH_FASTCALL,
     PyDoc_STR("described_memory(exporter, is_written, /)\n--\n\n(view of the bytes, format of an item, owner, whether it is the "
               "processor's) of memory described by DLPack or the CUDA array interface; None: ask in Python.")},
    {"contents", (PyCFunction)(void (*)(void))contents_take, METH_FASTCALL,
     PyDoc_STR("contents(sendbuf, recvbuf)\n--\n\n(format, bytes) of two plain buffers that are alike, or None.")},
    {"replace", (PyCFunction)(void (*)(void))contents_replace, METH_FASTCALL,
     PyDoc_STR("replace(recvbuf, content)\n--\n\nWhether the bytes went into a plain buffer of their length.")},
    {"collective", (PyCFunction)(void (*)(void))surface_collective, METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("collective(comm, schedule, root, nbytes, call, tables=())\n--\n\nThe engine's method of that name.")},
    {"step_waited_for", (PyCFunction)(void (*)(void))sequence_step_waited_for, METH_FASTCALL,
     PyDoc_STR("step_waited_for(timeline, request)\n--\n\n(call, step) for which a timeline is blocked in a sequence, or None.")},
    {"situation", lines_situation, METH_NOARGS,
     PyDoc_STR("situation()\n--\n\nrank << 32 | line << 1 | whether it polls in vain, of the running rank.")},
    {"start_sampler", sampler_start, METH_O,
     PyDoc_STR("start_sampler(folders, /)\n--\n\nSample lines of the program from now on, given pairs of a folder and whether "
               "its files are the program's: the number of the signal that does it, or 0 where there is none.")},
    {"stop_sampler", sampler_end, METH_NOARGS, PyDoc_STR("stop_sampler()\n--\n\nSample no more.")},
    {"take_samples", sampler_take, METH_NOARGS,
     PyDoc_STR("take_samples()\n--\n\n[(caller, file, function, line, count)] of the burst that has ended: calls, each after "
               "its caller;\nline 0: a call of further functions, without samples.")},
    {"line_at", lines_at, METH_O, PyDoc_STR("line_at(number)\n--\n\nThe file and line that have a number.")},
    {"begin_call", (PyCFunction)(void (*)(void))site_begin_call, METH_FASTCALL,
     PyDoc_STR("begin_call(name, arguments, /)\n--\n\nWhether the running rank's call of this name has begun; then, it will end.")},
    {"end_call", site_end_call, METH_NOARGS, PyDoc_STR("end_call()\n--\n\nThe call that has begun is over.")},
    {"know_collectives", (PyCFunction)(void (*)(void))open_collective_know, METH_FASTCALL,
     PyDoc_STR("know_collectives(comm, entered, open)\n--\n\nWhere a communicator's collectives are counted, and which are open.")},
    {"use_sum", open_collective_use_sum, METH_O,
     PyDoc_STR("use_sum(operation, /)\n--\n\nThe operation of an Allreduce that names none.")},
    {"use_request_class", surface_use_request_class, METH_O,
     PyDoc_STR("use_request_class(request_class, /)\n--\n\nWhat Isend and Irecv make: a subclass of RequestBase. "
               "Returned is what they made before.")},
    {0},
};

static int surface_start(PyObject *module)
{
    if (block_import_greenlet() < 0 || intern_names() < 0) return -1;
    if (clock_add_type(module) < 0 || memory_load_add_type(module) < 0) return -1;
    if (comm_add_type(module) < 0 || request_add_type(module) < 0) return -1;
    if (exporter_add_type(module) < 0 || sequence_add_types(module) < 0) return -1;
    if (put_add_type(module) < 0 || window_add_type(module) < 0 || access_notes_add_type(module) < 0) return -1;
    if (!surface.request_class) surface.request_class = (PyTypeObject *)Py_NewRef(surface.request_base);
    return 0;
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, (void *)surface_start},
#if PY_VERSION_HEX >= 0x030C0000
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
    {0},
};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "smpy.engine._surface",
    .m_doc = PyDoc_STR("The hot MPI calls, compiled: the plain cases; smpy.mpi has all the others."),
    .m_size = 0,
    .m_methods = functions,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__surface(void);
PyMODINIT_FUNC PyInit__surface(void)
{
    return PyModuleDef_Init(&definition);
}
