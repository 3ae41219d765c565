#include "user_buffer.h"

#include <string.h>

#include "arguments.h"

/* Numbers, characters and truth values as `struct` and PEP 3118 write them; byte order is ours or irrelevant. */
static int is_basic(const char *format)
{
    static const char is_number[256] = {['b'] = 1, ['B'] = 1, ['c'] = 1, ['h'] = 1, ['H'] = 1, ['i'] = 1, ['I'] = 1, ['l'] = 1,
                                        ['L'] = 1, ['q'] = 1, ['Q'] = 1, ['f'] = 1, ['d'] = 1, ['g'] = 1, ['?'] = 1};
    if (!format) return 1; /* bytes */
    if (*format == '@' || *format == '=') format++;
#if PY_LITTLE_ENDIAN
    if (*format == '<') format++;
#else
    if (*format == '>' || *format == '!') format++;
#endif
    if (*format == 'Z') return format[1] && strchr("fdg", format[1]) && !format[2];
    return is_number[(unsigned char)*format] && !format[1];
}

/* Key of a basic type, for the checks of a world: the characters of its format, which are three at most. */
static uint64_t key_of(const char *format)
{
    if (!format) return 'B'; /* bytes */
    uint64_t key = (unsigned char)format[0];
    for (int i = 1; format[i]; i++) key |= (uint64_t)(unsigned char)format[i] << 8 * i;
    return key;
}

Py_ssize_t user_buffer_entry_bytes(PyObject *datatype)
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

int user_buffer_folded_share(const user_buffer *what)
{
    return surface.sim ? surface.calls->folded_share(surface.sim, what->data, what->bytes) : FOLDED_NONE;
}

/* One element of a folded array is contiguous, too. Only a class of Python's can say that it is folded. */
static int is_folded_element(const Py_buffer *view)
{
    if (view->len != view->itemsize || !PyType_HasFeature(Py_TYPE(view->obj), Py_TPFLAGS_HEAPTYPE)) return 0;
    PyObject *mark = PyObject_GetAttr(view->obj, surface.name.__smpy_folded__);
    const int is_folded = mark == Py_True;
    Py_XDECREF(mark);
    PyErr_Clear();
    return is_folded;
}

static int take_buffer(PyObject *what, int is_writable, Py_buffer *view, user_buffer *out)
{
    if (PyObject_GetBuffer(what, view, PyBUF_STRIDES | PyBUF_FORMAT | (is_writable ? PyBUF_WRITABLE : 0)) < 0) {
        PyErr_Clear();
        return 0;
    }
    if (!view->obj) return 0; /* memory of nobody: a special buffer */
    const int has_bytes = PyBuffer_IsContiguous(view, 'C') && !is_folded_element(view);
    if (!is_basic(view->format) || (!has_bytes && !is_folded_element(view) && !is_folded(view))) {
        PyBuffer_Release(view);
        return 0;
    }
    *out = (user_buffer){.data = has_bytes && view->len ? view->buf : NULL, .bytes = view->len};
    surface.taken[is_writable] = key_of(view->format);
    return 1;
}

static int decline(Py_buffer *view, user_buffer *out)
{
    user_buffer_release(view, out);
    return 0;
}

/* Entries without gaps: a number of them (negative: not given), or as many as the buffer holds, none of them in part. */
static int take_dense(PyObject *what, int count, Py_ssize_t entry_bytes, int is_writable, Py_buffer *view, user_buffer *out)
{
    int64_t bytes;
    if (!take_buffer(what, is_writable, view, out)) return 0;
    if (count < 0) return out->bytes % entry_bytes == 0 ? 1 : decline(view, out);
    if (__builtin_mul_overflow((int64_t)count, (int64_t)entry_bytes, &bytes) || bytes > out->bytes) return decline(view, out);
    *out = (user_buffer){.data = bytes ? out->data : NULL, .bytes = bytes};
    return 1;
}

static int take_strided(PyObject *what, int count, PyObject *datatype, int is_writable, Py_buffer *view, user_buffer *out)
{
    PyObject *owner = PyObject_GetAttr(datatype, surface.name._strided);
    PyErr_Clear();
    if (!owner || !PyBytes_CheckExact(owner) || !take_buffer(what, is_writable, view, out)) {
        Py_XDECREF(owner);
        return 0;
    }
    out->owner = owner;
    const strided *layout = out->layout = (const strided *)(const void *)PyBytes_AS_STRING(owner);
    int64_t n = count;
    if (!out->data) return decline(view, out);
    if (count < 0) {
        if (layout->extent_bytes <= 0 || out->bytes % layout->extent_bytes) return decline(view, out);
        n = out->bytes / layout->extent_bytes;
    }
    if (n == 0 || !surface.calls->lies_within(layout, 0, n, out->bytes)) return decline(view, out);
    if (user_buffer_folded_share(out) != FOLDED_NONE) return decline(view, out);
    return __builtin_mul_overflow(n, layout->size_bytes, &out->bytes) ? decline(view, out) : 1;
}

static int take_specification(PyObject *what, int is_writable, Py_buffer *view, user_buffer *out)
{
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(what);
    int count = -1;
    if (n < 2 || n > 3 || (n == 3 && (!arguments_int(PySequence_Fast_GET_ITEM(what, 1), &count) || count < 0))) return 0;
    PyObject *buffer = Py_NewRef(PySequence_Fast_GET_ITEM(what, 0)); /* the list may change under an exporter's code */
    PyObject *datatype = Py_NewRef(PySequence_Fast_GET_ITEM(what, n - 1));
    const Py_ssize_t entry_bytes = user_buffer_entry_bytes(datatype);
    const int is_taken = entry_bytes ? take_dense(buffer, count, entry_bytes, is_writable, view, out)
                                     : take_strided(buffer, count, datatype, is_writable, view, out);
    if (is_taken) surface.taken[is_writable] = (uintptr_t)datatype; /* compared, never followed */
    Py_DECREF(buffer);
    Py_DECREF(datatype);
    return is_taken;
}

int user_buffer_take(PyObject *what, int is_writable, Py_buffer *view, user_buffer *out)
{
    view->obj = NULL;
    const int is_plain = !PyList_CheckExact(what) && !PyTuple_CheckExact(what);
    if (!(is_plain ? take_buffer(what, is_writable, view, out) : take_specification(what, is_writable, view, out))) return 0;
    surface.taken_from[is_writable].data = out->data;
    surface.taken_from[is_writable].bytes = out->bytes;
    return 1;
}

void user_buffer_release(Py_buffer *view, user_buffer *taken)
{
    PyBuffer_Release(view);
    Py_CLEAR(taken->owner);
}

/* Is there nothing to move: no bytes, or a content in none of them? */
static int is_void(const user_buffer *load)
{
    return !load->data ||
           (!load->layout && user_buffer_folded_share(load) == FOLDED_ALL);
}

int user_buffer_lend(int request, user_buffer load)
{
    if (is_void(&load)) return 0;
    payload *payload = surface.calls->payload_of(surface.sim, request);
    if (!payload) return PyErr_NoMemory(), -1;
    payload->kind = PAYLOAD_BORROWED;
    payload->data = load.data;
    payload->bytes = load.bytes;
    payload->layout = load.layout;
    return 0;
}

int user_buffer_copy(int request, user_buffer load)
{
    if (is_void(&load)) return 0;
    payload *payload = surface.calls->payload_of(surface.sim, request);
    if (!payload || surface.calls->fill(surface.sim, payload, load.data, load.bytes, load.layout) < 0) return PyErr_NoMemory(), -1;
    return 0;
}
