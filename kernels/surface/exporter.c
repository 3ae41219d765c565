#include "exporter.h"

#include <structmember.h>

#include "surface.h"

typedef struct {
    PyObject_HEAD
    PyObject *view; /* NULL until it is set; a subclass may have a property in its place */
} exporter_object;

static int Exporter_getbuffer(PyObject *self, Py_buffer *out, int flags)
{
    PyObject *own = ((exporter_object *)self)->view, *view = own ? Py_NewRef(own) : PyObject_GetAttr(self, surface.name._view);
    out->obj = NULL;
    if (!view) {
        if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return -1;
        PyErr_Clear();
        return PyBuffer_FillInfo(out, NULL, "", 0, 0, flags);
    }
    const int result = PyObject_GetBuffer(view, out, flags);
    Py_DECREF(view);
    return result;
}

static int Exporter_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(((exporter_object *)self)->view);
    Py_VISIT(Py_TYPE(self));
    return 0;
}

static int Exporter_clear(PyObject *self)
{
    Py_CLEAR(((exporter_object *)self)->view);
    return 0;
}

static void Exporter_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    Exporter_clear(self);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMemberDef members[] = {
    {"_view", T_OBJECT_EX, offsetof(exporter_object, view), 0, PyDoc_STR("What owns the memory: it exports a buffer.")},
    {0},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, (void *)PyDoc_STR("An object that lends the memory of its `_view`.")},
    {Py_tp_members, members},
    {Py_tp_traverse, (void *)Exporter_traverse},
    {Py_tp_clear, (void *)Exporter_clear},
    {Py_tp_dealloc, (void *)Exporter_dealloc},
    {Py_bf_getbuffer, (void *)Exporter_getbuffer},
    {0},
};

static PyType_Spec spec = {
    .name = "smpy.engine._surface.Exporter",
    .basicsize = sizeof(exporter_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .slots = slots,
};

int exporter_add_type(PyObject *module)
{
    PyObject *type = PyType_FromModuleAndSpec(module, &spec, NULL);
    const int result = type ? PyModule_AddType(module, (PyTypeObject *)type) : -1;
    Py_XDECREF(type);
    return result;
}
