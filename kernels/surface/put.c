#include "put.h"

#include <string.h>

static void link_to_list(put_object *p)
{
    p->before = NULL;
    p->after = surface.puts;
    if (surface.puts) surface.puts->before = p;
    surface.puts = p;
}

static void take_off_list(put_object *p)
{
    if (p->before)
        p->before->after = p->after;
    else
        surface.puts = p->after;
    if (p->after) p->after->before = p->before;
}

/* Whether it was still under way: 1, or 0. */
static int leave(put_object *p)
{
    PyObject *under_way = p->under_way;
    if (!under_way) return 0;
    p->under_way = NULL;
    if (PyDict_DelItem(under_way, (PyObject *)p) < 0) PyErr_Clear(); /* the dict was emptied */
    Py_DECREF(under_way);
    return 1;
}

static void put_write(put_object *p)
{
    if (leave(p)) memcpy(p->to, p->data, (size_t)Py_SIZE(p));
}

put_object *put_new(PyObject *under_way, PyObject *piece, char *to, const char *data, int64_t bytes)
{
    put_object *p = PyObject_NewVar(put_object, surface.put_type, (Py_ssize_t)bytes);
    if (!p) return NULL;
    p->under_way = NULL;
    p->piece = Py_NewRef(piece);
    p->to = to;
    memcpy(p->data, data, (size_t)bytes);
    if (PyDict_SetItem(under_way, (PyObject *)p, Py_None) < 0) {
        Py_DECREF(p);
        return NULL;
    }
    p->under_way = Py_NewRef(under_way);
    link_to_list(p);
    return p;
}

int put_is(PyObject *object)
{
    return Py_IS_TYPE(object, surface.put_type);
}

void put_arrive(PyObject *object, put_object **chain)
{
    put_object *p = (put_object *)object;
    put_write(p);
    take_off_list(p);
    p->after = *chain;
    *chain = p;
}

void put_drop_chain(put_object *chain)
{
    while (chain) {
        put_object *p = chain;
        chain = p->after;
        Py_DECREF(p);
    }
}

void put_drop(put_object *p)
{
    take_off_list(p);
    leave(p);
    Py_DECREF(p);
}

void put_drop_all(void)
{
    while (surface.puts) put_drop(surface.puts);
}

/* ---- the Python type ---- */

static PyObject *Put_call(PyObject *self, PyObject *args, PyObject *keywords)
{
    (void)args, (void)keywords;
    put_write((put_object *)self);
    Py_RETURN_NONE;
}

static void Put_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(((put_object *)self)->under_way);
    Py_XDECREF(((put_object *)self)->piece);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyType_Slot slots[] = {
    {Py_tp_doc, (void *)PyDoc_STR("Bytes of a Put under way; a call writes them before their message arrives.")},
    {Py_tp_dealloc, (void *)Put_dealloc},
    {Py_tp_call, (void *)Put_call},
    {0},
};

static PyType_Spec spec = {
    .name = "smpy.engine._surface.PutUnderWay",
    .basicsize = sizeof(put_object),
    .itemsize = 1,
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};

int put_add_type(PyObject *module)
{
    PyObject *type = PyType_FromModuleAndSpec(module, &spec, NULL);
    if (!type || PyModule_AddType(module, (PyTypeObject *)type) < 0) return -1;
    Py_XSETREF(surface.put_type, (PyTypeObject *)type);
    return 0;
}
