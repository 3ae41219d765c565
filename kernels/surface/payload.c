#include "payload.h"

#include <string.h>

/* Numbers, characters and truth values as `struct` and PEP 3118 write them; byte order is ours or irrelevant. */
static int is_basic(const char *format)
{
    if (!format) return 1; /* bytes */
    if (*format == '@' || *format == '=') format++;
#if PY_LITTLE_ENDIAN
    if (*format == '<') format++;
#else
    if (*format == '>' || *format == '!') format++;
#endif
    if (*format == 'Z') return format[1] && strchr("fdg", format[1]) && !format[2];
    return *format && strchr("bBchHiIlLqQfdg?", *format) && !format[1];
}

/* Size of a basic contiguous datatype, 0 of everything else. */
static Py_ssize_t basic_bytes(PyObject *datatype)
{
    if (PyLong_CheckExact(datatype) || PyUnicode_CheckExact(datatype)) return 0; /* a count, a type string */
    PyObject *size = PyObject_GetAttr(datatype, surface.name._size);
    const Py_ssize_t bytes = size && PyLong_CheckExact(size) ? PyLong_AsSsize_t(size) : 0;
    Py_XDECREF(size);
    PyErr_Clear();
    return bytes > 0 ? bytes : 0;
}

/* A folded array has a length and no bytes: its elements are all one element, and its class says that they mean nothing. */
static int is_folded(const Py_buffer *view)
{
    for (int i = 0; i < view->ndim; i++)
        if (view->strides[i] != 0) return 0;
    PyObject *mark = PyObject_GetAttr((PyObject *)Py_TYPE(view->obj), surface.name.__smpy_folded__);
    Py_XDECREF(mark);
    PyErr_Clear();
    return mark != NULL;
}

static int take_buffer(PyObject *what, int is_writable, Py_buffer *view, payload *out)
{
    if (PyObject_GetBuffer(what, view, PyBUF_STRIDES | PyBUF_FORMAT | (is_writable ? PyBUF_WRITABLE : 0)) < 0) {
        PyErr_Clear();
        return 0;
    }
    if (!view->obj) return 0; /* memory of nobody: a special buffer */
    const int has_bytes = PyBuffer_IsContiguous(view, 'C');
    if (!is_basic(view->format) || (!has_bytes && !is_folded(view))) {
        PyBuffer_Release(view);
        return 0;
    }
    *out = (payload){has_bytes && view->len ? view->buf : NULL, view->len};
    return 1;
}

/* Only a buffer of whole entries: what is left over is an error that smpy.mpi words. */
static int take_entries(PyObject *what, Py_ssize_t entry_bytes, int is_writable, Py_buffer *view, payload *out)
{
    if (!entry_bytes || !take_buffer(what, is_writable, view, out)) return 0;
    if (out->bytes % entry_bytes == 0) return 1;
    PyBuffer_Release(view);
    return 0;
}

int payload_take(PyObject *what, int is_writable, Py_buffer *view, payload *out)
{
    view->obj = NULL;
    if (!PyList_CheckExact(what) && !PyTuple_CheckExact(what)) return take_buffer(what, is_writable, view, out);
    if (PySequence_Fast_GET_SIZE(what) != 2) return 0;
    PyObject *buffer = Py_NewRef(PySequence_Fast_GET_ITEM(what, 0)); /* the list may change under an exporter's code */
    const Py_ssize_t entry_bytes = basic_bytes(PySequence_Fast_GET_ITEM(what, 1));
    const int is_taken = take_entries(buffer, entry_bytes, is_writable, view, out);
    Py_DECREF(buffer);
    return is_taken;
}

int payload_lend(int request, payload load)
{
    if (!load.data) return 0;
    parcel *parcel = surface.calls->parcel_of(surface.sim, request);
    if (!parcel) return PyErr_NoMemory(), -1;
    parcel->kind = PARCEL_BORROWED;
    parcel->data = load.data;
    parcel->bytes = load.bytes;
    return 0;
}

int payload_copy(int request, payload load)
{
    if (!load.data) return 0;
    char *copy = surface.calls->copy(surface.sim, load.data, load.bytes);
    parcel *parcel = copy ? surface.calls->parcel_of(surface.sim, request) : NULL;
    if (!parcel) return PyErr_NoMemory(), -1;
    parcel->kind = PARCEL_OWNED;
    parcel->data = copy;
    parcel->bytes = load.bytes;
    return 0;
}
