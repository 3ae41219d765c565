#include "comm.h"

#include <stddef.h>
#include <string.h>
#include <structmember.h>

#include "call.h"
#include "open_collective.h"
#include "request.h"

typedef struct {
    PyObject_HEAD
    int comm;                       /* the kernel's number, COMM_SELF or COMM_NULL */
} comm_object;

/* COMM_WORLD of a rank that was added is another communicator than that of the first ranks. */
static int number_as_named(PyObject *self)
{
    const int comm = ((comm_object *)self)->comm;
    const int is_added = surface.rank >= surface.n_ranks;
    return comm == SIM_COMM_WORLD && is_added ? surface.world_of_added[surface.rank - surface.n_ranks] : comm;
}

static int number_of(PyObject *self)
{
    const int comm = number_as_named(self);
    return comm >= 0 ? comm : comm == COMM_SELF ? surface.calls->comm_self(surface.sim, surface.rank) : COMM_NULL;
}

int comm_number_as_named(PyObject *handle)
{
    return PyObject_TypeCheck(handle, surface.comm_base) ? number_as_named(handle) : COMM_NULL;
}

int comm_number(PyObject *handle)
{
    return PyObject_TypeCheck(handle, surface.comm_base) ? number_of(handle) : COMM_NULL;
}

static int is_ours(PyTypeObject *type, PyObject *call)
{
    PyObject *method = PyObject_GetAttr((PyObject *)type, call);
    if (!method) PyErr_Clear();
    const int is_of_base = method && Py_IS_TYPE(method, &PyMethodDescr_Type) && PyDescr_TYPE(method) == surface.comm_base;
    const int result = is_of_base && PyDescr_NAME(method) == call;
    Py_XDECREF(method);
    return result;
}

/* Are the hot calls of a class CommBase's? Mostly it is the class that was asked for before. */
static int is_plain(PyTypeObject *type)
{
    PyObject *const call[] = {surface.name.Send, surface.name.Recv, surface.name.Isend, surface.name.Irecv, surface.name.Sendrecv,
                              surface.name.Iprobe};
    if (type == surface.plain_comm.type && type->tp_version_tag == surface.plain_comm.version) return 1;
    if (!PyType_IsSubtype(type, surface.comm_base) || type->tp_getattro != PyObject_GenericGetAttr) return 0;
    for (size_t i = 0; i < sizeof call / sizeof *call; i++)
        if (!is_ours(type, call[i])) return 0;
    if (type->tp_version_tag) {
        surface.plain_comm.type = type;
        surface.plain_comm.version = type->tp_version_tag;
    }
    return 1;
}

static int has_attributes(PyObject *handle)
{
    if (!Py_TYPE(handle)->tp_dictoffset) return 0;
    PyObject *dict = PyObject_GenericGetDict(handle, NULL);
    const int result = !dict || PyDict_GET_SIZE(dict) > 0;
    Py_XDECREF(dict);
    PyErr_Clear();
    return result;
}

int comm_number_of_plain(PyObject *handle)
{
    return is_plain(Py_TYPE(handle)) && !has_attributes(handle) ? number_of(handle) : COMM_NULL;
}

static int size_of(int comm)
{
    return comm == 0 ? surface.n_ranks : surface.calls->comm_size(surface.sim, comm);
}

int comm_peers_of(int comm)
{
    return comm == 0 ? surface.n_ranks : surface.calls->comm_peers(surface.sim, comm);
}

/* ---- the other end of a message ---- */

static int takes_dest(PyObject *self, PyObject *dest, PyObject *tag, envelope *to)
{
    to->comm = number_of(self);
    to->tag = 0;
    if (to->comm < 0 || !arguments_int(dest, &to->peer) || to->peer < 0 || to->peer >= comm_peers_of(to->comm)) return 0;
    return !tag || (arguments_int(tag, &to->tag) && to->tag >= 0);
}

static int takes_source(PyObject *self, PyObject *source, PyObject *tag, envelope *from)
{
    from->comm = number_of(self);
    from->peer = from->tag = SIM_ANY;
    if (from->comm < 0 || (source && !arguments_int(source, &from->peer))) return 0;
    if (from->peer < SIM_ANY || from->peer >= comm_peers_of(from->comm)) return 0;
    return !tag || (arguments_int(tag, &from->tag) && from->tag >= SIM_ANY);
}

/* ---- posting ---- */

static int pay(double work_s)
{
    const int code = work_s > 0 ? surface.calls->append_overhead(surface.sim, surface.timeline, work_s) : 0;
    return code < 0 ? surface_kernel_error(code) : 0;
}

/* The rank gathers the blocks of its message. */
static int pay_for_blocks(const user_buffer *load)
{
    const int64_t n_blocks = strided_n_blocks(load->layout, load->bytes);
    return pay(surface.calls->blocks_s(surface.sim, surface.timeline, n_blocks, strided_span_bytes(load->layout, load->bytes)));
}

int comm_post_send(const envelope *to, user_buffer load, int blocking, int must_copy)
{
    const kernel_calls *calls = surface.calls;
    if (load.layout && pay_for_blocks(&load) < 0) return -1;
    const int number =
        calls->append_send(surface.sim, surface.timeline, to->comm, to->peer, to->tag, load.bytes, SEND_STANDARD, blocking);
    if (number < 0) return surface_kernel_error(number);
    const int is_detached = calls->request_of(surface.sim, number)->is_detached;
    if (is_detached) return user_buffer_copy(number, load);
    if (must_copy || load.layout) return user_buffer_copy(number, load) < 0 ? -1 : number;
    return user_buffer_lend(number, load) < 0 ? -1 : number;
}

int comm_post_recv(const envelope *from, user_buffer room)
{
    const int number =
        surface.calls->append_recv(surface.sim, surface.timeline, from->comm, from->peer, from->tag, room.bytes);
    if (number < 0) return surface_kernel_error(number);
    return user_buffer_lend(number, room) < 0 ? -1 : number;
}

/* The view stays on the C stack: nothing but this rank's own code, which does not run, could look at it there. */
static int wait_for(int number, PyObject *call, message *m)
{
    const unsigned epoch = surface.epoch;
    const int code = surface.calls->append_wait(surface.sim, surface.timeline, number);
    if (code < 0) surface_kernel_error(code);
    if (code < 0 || block_on(call) < 0) {
        request_abandon(number, epoch);
        return -1;
    }
    *m = request_collect(number);
    return 0;
}

/* ---- the calls ---- */

static PyObject *perform_send(PyObject *self, const arguments *given)
{
    PyObject *const parameters[] = {surface.name.buf, surface.name.dest, surface.name.tag};
    PyObject *in[3];
    envelope to;
    user_buffer load;
    Py_buffer view;
    message unused;
    if (!arguments_sort(given, parameters, 3, 2, in) || !takes_dest(self, in[1], in[2], &to)) return NULL;
    if (!user_buffer_take(in[0], 0, &view, &load)) return NULL;
    const int number = comm_post_send(&to, load, 1, 0);
    const int result = number > 0 ? wait_for(number, surface.name.Send, &unused) : number;
    user_buffer_release(&view, &load);
    return result < 0 ? NULL : Py_NewRef(Py_None);
}

static PyObject *perform_recv(PyObject *self, const arguments *given)
{
    PyObject *const parameters[] = {surface.name.buf, surface.name.source, surface.name.tag, surface.name.status};
    PyObject *in[4];
    envelope from;
    user_buffer room;
    Py_buffer view;
    message m;
    if (!arguments_sort(given, parameters, 4, 1, in) || !takes_source(self, in[1], in[2], &from)) return NULL;
    if (!request_can_report(in[3]) || !user_buffer_take(in[0], 1, &view, &room)) return NULL;
    surface.taken[CHECKED_ASKS] = !is_none(in[3]);
    const int number = comm_post_recv(&from, room);
    const int result = number > 0 ? wait_for(number, surface.name.Recv, &m) : -1;
    user_buffer_release(&view, &room);
    if (result < 0 || request_report(self, surface.name.Recv, &m, in[3]) < 0) return NULL;
    Py_RETURN_NONE;
}

PyObject *comm_isend(PyObject *self, const arguments *given)
{
    PyObject *const parameters[] = {surface.name.buf, surface.name.dest, surface.name.tag};
    PyObject *in[3];
    envelope to;
    user_buffer load;
    if (!arguments_sort(given, parameters, 3, 2, in) || !takes_dest(self, in[1], in[2], &to)) return NULL;
    request_object *r = request_new();
    if (!r) return NULL;
    if (user_buffer_take(in[0], 0, &r->view, &load)) {
        r->number = comm_post_send(&to, load, 0, 0);
        Py_CLEAR(load.owner);
        if (r->number == 0) PyBuffer_Release(&r->view);
        if (r->number >= 0) return (PyObject *)r;
    }
    Py_DECREF(r);
    return NULL;
}

PyObject *comm_irecv(PyObject *self, const arguments *given)
{
    PyObject *const parameters[] = {surface.name.buf, surface.name.source, surface.name.tag};
    PyObject *in[3];
    envelope from;
    user_buffer room;
    if (!arguments_sort(given, parameters, 3, 1, in) || !takes_source(self, in[1], in[2], &from)) return NULL;
    request_object *r = request_new();
    if (!r) return NULL;
    if (user_buffer_take(in[0], 1, &r->view, &room)) {
        r->layout = room.owner;
        r->number = comm_post_recv(&from, room);
        if (r->number > 0) return (PyObject *)r;
    }
    Py_DECREF(r);
    return NULL;
}

/* A message to oneself in one call is a copy, and takes no time: 0, or -1 without an exception when it is not for us. */
static int copy_to_itself(const envelope *to, user_buffer load, user_buffer room, message *m)
{
    if (load.layout || room.layout || load.bytes > room.bytes || (load.bytes && (!load.data || !room.data))) return -1;
    if (user_buffer_folded_share(&load) != FOLDED_NONE || user_buffer_folded_share(&room) != FOLDED_NONE) return -1;
    if (pay(surface.calls->page_faults_s(surface.sim, surface.timeline, room.data, load.bytes)) < 0) return -1;
    if (pay(surface.calls->own_copy_s(surface.sim, surface.timeline, load.bytes)) < 0) return -1;
    if (load.bytes) memmove(room.data, load.data, (size_t)load.bytes);
    *m = (message){.is_recv = 1, .source = to->peer, .tag = to->tag, .bytes = load.bytes, .capacity = room.bytes};
    return 0;
}

int comm_is_with_itself(const envelope *to, const envelope *from)
{
    if (surface.calls->comm_other(surface.sim, to->comm) != to->comm) return 0;
    const int me = to->comm == 0 ? surface.rank : surface.calls->comm_rank(surface.sim, to->comm, surface.rank);
    return to->peer == me && (from->peer == me || from->peer == SIM_ANY);
}

static int exchange(const envelope *to, user_buffer load, const envelope *from, user_buffer room, int must_copy, PyObject *call,
                    message *m)
{
    const unsigned epoch = surface.epoch;
    int number[2];
    number[0] = comm_post_send(to, load, 0, must_copy);
    if (number[0] < 0) return -1;
    number[1] = comm_post_recv(from, room);
    if (number[1] < 0) {
        if (number[0]) request_abandon(number[0], epoch);
        return -1;
    }
    if (number[0] == 0) return wait_for(number[1], call, m);
    const int code = surface.calls->append_wait_all(surface.sim, surface.timeline, 2, number);
    if (code < 0) surface_kernel_error(code);
    if (code < 0 || block_on(call) < 0) {
        request_abandon(number[0], epoch);
        request_abandon(number[1], epoch);
        return -1;
    }
    request_collect(number[0]);
    *m = request_collect(number[1]);
    return 0;
}

static PyObject *perform_sendrecv(PyObject *self, const arguments *given)
{
    PyObject *const parameters[] = {surface.name.sendbuf, surface.name.dest,   surface.name.sendtag, surface.name.recvbuf,
                                    surface.name.source,  surface.name.recvtag, surface.name.status};
    PyObject *in[7];
    envelope to, from;
    user_buffer load, room;
    Py_buffer send_view, recv_view;
    message m;
    if (!arguments_sort(given, parameters, 7, 2, in) || !in[3]) return NULL;
    if (!takes_dest(self, in[1], in[2], &to) || !takes_source(self, in[4], in[5], &from)) return NULL;
    const int is_with_itself = comm_is_with_itself(&to, &from);
    if (is_with_itself && (from.peer == SIM_ANY || surface.checks)) return NULL;
    if (is_with_itself && !surface.calls->matches_itself(surface.sim, surface.timeline, to.comm, to.tag, from.tag)) return NULL;
    if (!request_can_report(in[6]) || !user_buffer_take(in[0], 0, &send_view, &load)) return NULL;
    if (!user_buffer_take(in[3], 1, &recv_view, &room)) {
        user_buffer_release(&send_view, &load);
        return NULL;
    }
    surface.taken[CHECKED_ASKS] = !is_none(in[6]);
    const int result = is_with_itself ? copy_to_itself(&to, load, room, &m)
                                      : exchange(&to, load, &from, room, 0, surface.name.Sendrecv, &m);
    user_buffer_release(&send_view, &load);
    user_buffer_release(&recv_view, &room);
    if (result < 0 || request_report(self, surface.name.Sendrecv, &m, in[6]) < 0) return NULL;
    Py_RETURN_NONE;
}

static PyObject *perform_sendrecv_replace(PyObject *self, const arguments *given)
{
    PyObject *const parameters[] = {surface.name.buf,    surface.name.dest,    surface.name.sendtag,
                                    surface.name.source, surface.name.recvtag, surface.name.status};
    PyObject *in[6];
    envelope to, from;
    user_buffer both;
    Py_buffer view;
    message m;
    if (!arguments_sort(given, parameters, 6, 2, in)) return NULL;
    if (!takes_dest(self, in[1], in[2], &to) || !takes_source(self, in[3], in[4], &from)) return NULL;
    if (comm_is_with_itself(&to, &from) || !request_can_report(in[5]) || !user_buffer_take(in[0], 1, &view, &both)) return NULL;
    const int result = exchange(&to, both, &from, both, 1, surface.name.Sendrecv_replace, &m);
    user_buffer_release(&view, &both);
    if (result < 0 || request_report(self, surface.name.Sendrecv_replace, &m, in[5]) < 0) return NULL;
    Py_RETURN_NONE;
}

static PyObject *probe(PyObject *self, const arguments *given, int (*append)(sim *, int, int, int, int))
{
    PyObject *const parameters[] = {surface.name.source, surface.name.tag, surface.name.status};
    PyObject *in[3];
    envelope from;
    if (!arguments_sort(given, parameters, 3, 0, in) || !takes_source(self, in[0], in[1], &from)) return NULL;
    if (!request_can_report(in[2])) return NULL;
    const int code = append(surface.sim, surface.timeline, from.comm, from.peer, from.tag);
    if (code < 0) return surface_kernel_error(code), NULL;
    if (block_on(surface.name.Iprobe) < 0) return NULL;
    if (!surface.calls->answer(surface.sim, surface.timeline)) Py_RETURN_FALSE;
    const message_envelope *found = surface.calls->probed(surface.sim, surface.timeline);
    const message m = {.is_recv = 1, .source = found->source, .tag = found->tag, .bytes = found->bytes, .capacity = found->bytes};
    if (request_report(self, surface.name.Iprobe, &m, in[2]) < 0) return NULL;
    Py_RETURN_TRUE;
}

static PyObject *perform_iprobe(PyObject *self, const arguments *given)
{
    return probe(self, given, surface.calls->append_iprobe);
}

static PyObject *perform_iprobe_until(PyObject *self, const arguments *given)
{
    return probe(self, given, surface.calls->append_iprobe_until);
}

/* ---- the Python type ---- */

static PyObject *perform(PyObject *self, const arguments *given, PyObject *name, PyObject *general, call_body *body)
{
    return call_perform(self, number_as_named(self), given, name, general, body);
}

static PyObject *Comm_Send(PyObject *self, PyObject *const *at, Py_ssize_t n, PyObject *keywords)
{
    const arguments given = {at, n, keywords};
    return perform(self, &given, surface.name.Send, surface.name._Send, perform_send);
}

static PyObject *Comm_Recv(PyObject *self, PyObject *const *at, Py_ssize_t n, PyObject *keywords)
{
    const arguments given = {at, n, keywords};
    return perform(self, &given, surface.name.Recv, surface.name._Recv, perform_recv);
}

static PyObject *Comm_Isend(PyObject *self, PyObject *const *at, Py_ssize_t n, PyObject *keywords)
{
    const arguments given = {at, n, keywords};
    return perform(self, &given, surface.name.Isend, surface.name._Isend, comm_isend);
}

static PyObject *Comm_Irecv(PyObject *self, PyObject *const *at, Py_ssize_t n, PyObject *keywords)
{
    const arguments given = {at, n, keywords};
    return perform(self, &given, surface.name.Irecv, surface.name._Irecv, comm_irecv);
}

static PyObject *Comm_Sendrecv(PyObject *self, PyObject *const *at, Py_ssize_t n, PyObject *keywords)
{
    const arguments given = {at, n, keywords};
    return perform(self, &given, surface.name.Sendrecv, surface.name._Sendrecv, perform_sendrecv);
}

static PyObject *Comm_Sendrecv_replace(PyObject *self, PyObject *const *at, Py_ssize_t n, PyObject *keywords)
{
    const arguments given = {at, n, keywords};
    return perform(self, &given, surface.name.Sendrecv_replace, surface.name._Sendrecv_replace, perform_sendrecv_replace);
}

static PyObject *Comm_Iprobe(PyObject *self, PyObject *const *at, Py_ssize_t n, PyObject *keywords)
{
    const arguments given = {at, n, keywords};
    return perform(self, &given, surface.name.Iprobe, surface.name._Iprobe, perform_iprobe);
}

PyObject *comm_poll_until(PyObject *module, PyObject *const *at, Py_ssize_t n, PyObject *keywords)
{
    (void)module;
    const Py_ssize_t n_given = n ? n - 1 : 0;
    const arguments given = {at + (n - n_given), n_given, keywords};
    if (!n || !PyCFunction_Check(at[0]) || PyCFunction_GetFunction(at[0]) != (PyCFunction)(void (*)(void))Comm_Iprobe)
        Py_RETURN_FALSE;
    return perform(PyCFunction_GetSelf(at[0]), &given, surface.name.Iprobe, surface.name._Iprobe, perform_iprobe_until);
}

static PyObject *perform_allreduce(PyObject *self, const arguments *given)
{
    PyObject *const parameter[] = {surface.name.sendbuf, surface.name.recvbuf, surface.name.op};
    PyObject *argument[3];
    if (!arguments_sort(given, parameter, 3, 2, argument)) return NULL;
    const int comm = number_of(self);
    return comm < 0 ? NULL : open_collective_join(comm, argument[0], argument[1], argument[2]);
}

static PyObject *Comm_Allreduce(PyObject *self, PyObject *const *at, Py_ssize_t n, PyObject *keywords)
{
    const arguments given = {at, n, keywords};
    return perform(self, &given, surface.name.Allreduce, surface.name._Allreduce, perform_allreduce);
}

/* Asking who one is costs no simulated time, and is no reason to read a clock. */
static PyObject *Comm_Get_rank(PyObject *self, PyObject *unused)
{
    (void)unused;
    const int comm = surface_may_call() ? number_of(self) : COMM_NULL;
    if (comm < 0) return PyObject_CallMethodNoArgs(self, surface.name._Get_rank);
    return PyLong_FromLong(comm == 0 ? surface.rank : surface.calls->comm_rank(surface.sim, comm, surface.rank));
}

static PyObject *Comm_Get_size(PyObject *self, PyObject *unused)
{
    (void)unused;
    const int comm = surface_may_call() ? number_of(self) : COMM_NULL;
    if (comm < 0) return PyObject_CallMethodNoArgs(self, surface.name._Get_size);
    return PyLong_FromLong(size_of(comm));
}

static PyObject *Comm_rank(PyObject *self, void *unused)
{
    (void)unused;
    return Comm_Get_rank(self, NULL);
}

static PyObject *Comm_size(PyObject *self, void *unused)
{
    (void)unused;
    return Comm_Get_size(self, NULL);
}

static PyObject *Comm_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    (void)args, (void)keywords;
    comm_object *self = (comm_object *)type->tp_alloc(type, 0);
    if (self) self->comm = COMM_NULL;
    return (PyObject *)self;
}

static PyObject *Comm_refer_to(PyObject *self, PyObject *number)
{
    int comm;
    if (!arguments_int(number, &comm)) return PyErr_Format(PyExc_TypeError, "a number of the kernel's is required");
    ((comm_object *)self)->comm = comm >= COMM_SELF ? comm : COMM_NULL;
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"Send", (PyCFunction)(void (*)(void))Comm_Send, METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("Send($self, buf, dest, tag=0)\n--\n\nSend a message; the buffer may be reused on return.")},
    {"Recv", (PyCFunction)(void (*)(void))Comm_Recv, METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("Recv($self, buf, source=-1, tag=-1, status=None)\n--\n\nReceive a message.")},
    {"Isend", (PyCFunction)(void (*)(void))Comm_Isend, METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("Isend($self, buf, dest, tag=0)\n--\n\nStart to send a message.")},
    {"Irecv", (PyCFunction)(void (*)(void))Comm_Irecv, METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("Irecv($self, buf, source=-1, tag=-1)\n--\n\nStart to receive a message.")},
    {"Sendrecv", (PyCFunction)(void (*)(void))Comm_Sendrecv, METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("Sendrecv($self, sendbuf, dest, sendtag=0, recvbuf=None, source=-1, recvtag=-1, status=None)\n--\n\n"
               "Send a message and receive one.")},
    {"Sendrecv_replace", (PyCFunction)(void (*)(void))Comm_Sendrecv_replace, METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("Sendrecv_replace($self, buf, dest, sendtag=0, source=-1, recvtag=-1, status=None)\n--\n\n"
               "Send what is in a buffer and receive another message into it.")},
    {"Iprobe", (PyCFunction)(void (*)(void))Comm_Iprobe, METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("Iprobe($self, source=-1, tag=-1, status=None)\n--\n\n"
               "Whether there is a message to receive; looking takes simulated time.")},
    {"Allreduce", (PyCFunction)(void (*)(void))Comm_Allreduce, METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("Allreduce($self, sendbuf, recvbuf, op=SUM)\n--\n\n"
               "Reduce the ranks' buffers, entry by entry and from left to right, into every rank's.")},
    {"Get_rank", Comm_Get_rank, METH_NOARGS, PyDoc_STR("Get_rank($self)\n--\n\nRank of the caller in the communicator.")},
    {"_refer_to", Comm_refer_to, METH_O,
     PyDoc_STR("_refer_to($self, number, /)\n--\n\nStand for the communicator with this number of the kernel's.")},
    {"Get_size", Comm_Get_size, METH_NOARGS, PyDoc_STR("Get_size($self)\n--\n\nNumber of ranks of the communicator.")},
    {0},
};

static PyMemberDef members[] = {
    {"_kernel_comm", T_INT, offsetof(comm_object, comm), READONLY,
     PyDoc_STR("The kernel's number; -1: null, -2: the caller alone.")},
    {0},
};

static PyGetSetDef computed[] = {
    {"rank", Comm_rank, NULL, PyDoc_STR("Rank of the caller in the communicator."), NULL},
    {"size", Comm_size, NULL, PyDoc_STR("Number of ranks of the communicator."), NULL},
    {0},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, (void *)PyDoc_STR("The hot calls of a communicator.")},
    {Py_tp_new, (void *)Comm_new},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {Py_tp_getset, computed},
    {0},
};

static PyType_Spec spec = {
    .name = "smpy.engine._surface.CommBase",
    .basicsize = sizeof(comm_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};

int comm_add_type(PyObject *module)
{
    PyObject *type = PyType_FromModuleAndSpec(module, &spec, NULL);
    if (!type || PyModule_AddType(module, (PyTypeObject *)type) < 0) return -1;
    Py_XSETREF(surface.comm_base, (PyTypeObject *)type);
    return 0;
}
