#include "user_buffer.h"

#include <string.h>

#include "arguments.h"
#include "described_memory.h"
#include "plain_array.h"

/* Bytes of a number, character or truth value that `struct` and PEP 3118 write with this letter; 0 of any other. */
static int bytes_of(unsigned char letter)
{
    static const unsigned char bytes[256] = {
        ['b'] = 1,           ['B'] = 1,            ['c'] = 1,           ['?'] = 1,           ['h'] = sizeof(short),
        ['H'] = sizeof(short), ['i'] = sizeof(int), ['I'] = sizeof(int), ['l'] = sizeof(long), ['L'] = sizeof(long),
        ['q'] = sizeof(long long), ['Q'] = sizeof(long long), ['f'] = sizeof(float), ['d'] = sizeof(double),
        ['g'] = sizeof(long double)};
    return bytes[letter];
}

/* Is it a basic type, or a complex number? Its byte order is ours or irrelevant. */
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
    return bytes_of((unsigned char)*format) && !format[1];
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

/* The Python side says of a folded array's message that it lies on a device. */
static int is_on_device(const Py_buffer *view)
{
    PyObject *mark = PyObject_GetAttr(view->obj, surface.name._is_on_device);
    const int is_there = mark == Py_True;
    Py_XDECREF(mark);
    PyErr_Clear();
    return is_there;
}

static int take_buffer(PyObject *what, int is_writable, Py_buffer *view, user_buffer *out)
{
    if (plain_array_take(what, is_writable, view)) {
        *out = (user_buffer){.data = view->len ? view->buf : NULL, .bytes = view->len};
        surface.taken[is_writable] = key_of(view->format);
        return 1;
    }
    if (!PyObject_CheckBuffer(what)) {
        int is_host; /* or not: ranks have no accelerators, all memory can be read */
        if (!described_memory_take(what, is_writable, view, &is_host)) return 0;
    } else if (PyObject_GetBuffer(what, view, PyBUF_STRIDES | PyBUF_FORMAT | (is_writable ? PyBUF_WRITABLE : 0)) < 0) {
        PyErr_Clear();
        return 0;
    }
    if (!view->obj) return 0; /* memory of nobody: a special buffer */
    const int has_bytes = PyBuffer_IsContiguous(view, 'C') && !is_folded_element(view);
    const int has_none = !has_bytes && (is_folded_element(view) || is_folded(view));
    if (!is_basic(view->format) || (!has_bytes && !has_none) || (has_none && is_on_device(view))) {
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

/* The items of a specification. */
typedef struct {
    PyObject *buffer, *datatype;    /* owned: the list may change under an exporter's code; None: the type of the buffer */
    int count;                      /* negative: as many as the buffer holds */
    int displacement;               /* of the first entry, in entries */
} specification;

/* Entries without gaps: a number of them, or as many as the buffer holds behind the displacement, none of them in part.
 * `entry_bytes` is 0 for those of the buffer's own type. */
static int take_dense(const specification *given, Py_ssize_t entry_bytes, int is_writable, Py_buffer *view, user_buffer *out)
{
    int64_t start, bytes;
    if (!take_buffer(given->buffer, is_writable, view, out)) return 0;
    const int64_t size = entry_bytes ? entry_bytes : view->itemsize;
    if (__builtin_mul_overflow((int64_t)given->displacement, size, &start) || start > out->bytes) return decline(view, out);
    bytes = out->bytes - start;
    if (given->count < 0 && bytes % size) return decline(view, out);
    if (given->count >= 0) {
        const int64_t room = bytes;
        if (__builtin_mul_overflow((int64_t)given->count, size, &bytes) || bytes > room) return decline(view, out);
    }
    *out = (user_buffer){.data = bytes && out->data ? out->data + start : NULL, .bytes = bytes};
    return 1;
}

static int take_strided(const specification *given, int is_writable, Py_buffer *view, user_buffer *out)
{
    if (given->displacement) return 0;
    PyObject *owner = PyObject_GetAttr(given->datatype, surface.name._strided);
    PyErr_Clear();
    if (!owner || !PyBytes_CheckExact(owner) || !take_buffer(given->buffer, is_writable, view, out)) {
        Py_XDECREF(owner);
        return 0;
    }
    out->owner = owner;
    const strided *layout = out->layout = (const strided *)(const void *)PyBytes_AS_STRING(owner);
    int64_t n = given->count;
    if (!out->data) return decline(view, out);
    if (n < 0) {
        if (layout->extent_bytes <= 0 || out->bytes % layout->extent_bytes) return decline(view, out);
        n = out->bytes / layout->extent_bytes;
    }
    if (n == 0 || !surface.calls->lies_within(layout, 0, n, out->bytes)) return decline(view, out);
    if (user_buffer_folded_share(out) != FOLDED_NONE) return decline(view, out);
    return __builtin_mul_overflow(n, layout->size_bytes, &out->bytes) ? decline(view, out) : 1;
}

static int is_list_or_tuple(PyObject *what)
{
    return PyList_CheckExact(what) || PyTuple_CheckExact(what);
}

/* [buffer, datatype], or a buffer with a count or a pair of count and displacement, and perhaps a datatype; or all four. */
static int take_apart(PyObject *what, specification *out)
{
    PyObject *const *item = PySequence_Fast_ITEMS(what);
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(what);
    if (n < 2 || n > 4) return 0;
    PyObject *count = item[1], *displacement = n == 4 ? item[2] : Py_None, *datatype = n > 2 ? item[n - 1] : Py_None;
    if (n < 4 && is_list_or_tuple(count)) {
        if (PySequence_Fast_GET_SIZE(count) != 2) return 0;
        displacement = PySequence_Fast_GET_ITEM(count, 1);
        count = PySequence_Fast_GET_ITEM(count, 0);
    } else if (n == 2 && !is_none(count) && !PyLong_CheckExact(count)) {
        datatype = count;
        count = Py_None;
    }
    *out = (specification){.count = -1};
    if (!is_none(count) && (!arguments_int(count, &out->count) || out->count < 0)) return 0;
    if (!is_none(displacement) && (!arguments_int(displacement, &out->displacement) || out->displacement < 0)) return 0;
    out->buffer = Py_NewRef(item[0]);
    out->datatype = Py_NewRef(datatype);
    return 1;
}

static int take_entries(const specification *given, int is_writable, Py_buffer *view, user_buffer *out)
{
    PyObject *datatype = given->datatype;
    if (is_none(datatype)) return take_dense(given, 0, is_writable, view, out);
    if (PyUnicode_CheckExact(datatype)) {
        const Py_UCS4 letter = PyUnicode_GET_LENGTH(datatype) == 1 ? PyUnicode_READ_CHAR(datatype, 0) : 0;
        const int entry_bytes = letter < 128 ? bytes_of((unsigned char)letter) : 0;
        if (!entry_bytes || !take_dense(given, entry_bytes, is_writable, view, out)) return 0;
        surface.taken[is_writable] = letter;
        return 1;
    }
    const Py_ssize_t entry_bytes = user_buffer_entry_bytes(datatype);
    const int is_taken = entry_bytes ? take_dense(given, entry_bytes, is_writable, view, out)
                                     : take_strided(given, is_writable, view, out);
    if (is_taken) surface.taken[is_writable] = (uintptr_t)datatype; /* compared, never followed */
    return is_taken;
}

static int take_specification(PyObject *what, int is_writable, Py_buffer *view, user_buffer *out)
{
    specification given;
    if (!take_apart(what, &given)) return 0;
    const int is_taken = take_entries(&given, is_writable, view, out);
    Py_DECREF(given.buffer);
    Py_DECREF(given.datatype);
    return is_taken;
}

int user_buffer_take(PyObject *what, int is_writable, Py_buffer *view, user_buffer *out)
{
    view->obj = NULL;
    if (!(is_list_or_tuple(what) ? take_specification(what, is_writable, view, out) : take_buffer(what, is_writable, view, out)))
        return 0;
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
