#include "described_memory.h"

#include <string.h>

enum { CPU = 1, READ_ONLY = 1, DIMENSIONS = 8 };

/* The C structures of DLPack (https://dmlc.github.io/dlpack/latest/c_api.html). */
typedef struct {
    char *data;
    int32_t device_type, device_id, n_dimensions;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} dl_tensor;

typedef struct {
    uint32_t major, minor;
    void *context, *deleter;
    uint64_t flags;
    dl_tensor tensor;
} dl_versioned;

/* Items of memory; strides count in units. */
typedef struct {
    char *data;
    const char *format;
    int item_bytes, is_readonly;
    int n_dimensions;
    const int64_t *shape, *strides; /* strides may be NULL */
} items;

static const char *format_of(char kind, int item_bytes)
{
    static const char *const formats[5][4] = {
        {"b", "h", "i", "l"}, {"B", "H", "I", "L"}, {NULL, NULL, "f", "d"}, {NULL, NULL, NULL, "Zf"}, {"?", NULL, NULL, NULL}};
    const char *const kinds = "iufcb", *at = kind ? strchr(kinds, kind) : NULL;
    if (!at) return NULL;
    for (int i = 0; i < 4; i++)
        if (item_bytes == 1 << i) return formats[at - kinds][i];
    if (item_bytes == 16) return kind == 'f' ? "g" : kind == 'c' ? "Zd" : NULL;
    return NULL;
}

/* Number of items when they fill the memory in C order, `step` units apart; -1 when they do not. */
static int64_t count_of(const items *what, int64_t step)
{
    int64_t count = 1;
    for (int i = what->n_dimensions - 1; i >= 0; i--) {
        const int64_t length = what->shape[i];
        if (length < 0 || (what->strides && length > 1 && what->strides[i] != step)) return -1;
        if (__builtin_mul_overflow(count, length, &count) || __builtin_mul_overflow(step, length, &step)) return -1;
    }
    return count;
}

static int fill(Py_buffer *view, PyObject *owner, const items *what, int64_t step, int is_writable)
{
    const int64_t count = what->format ? count_of(what, step) : -1;
    int64_t bytes;
    if (count < 0 || (is_writable && what->is_readonly)) return 0;
    if (__builtin_mul_overflow(count, (int64_t)what->item_bytes, &bytes)) return 0;
    if (PyBuffer_FillInfo(view, owner, what->data, bytes, what->is_readonly, PyBUF_SIMPLE) < 0) return 0;
    view->format = (char *)(uintptr_t)what->format;
    view->itemsize = what->item_bytes;
    return 1;
}

/* ---- DLPack ---- */

static int is_on_host(PyObject *exporter, int *out)
{
    PyObject *device = PyObject_CallMethodNoArgs(exporter, surface.name.__dlpack_device__);
    PyObject *type = device && PyTuple_CheckExact(device) && PyTuple_GET_SIZE(device) == 2 &&
                             PyIndex_Check(PyTuple_GET_ITEM(device, 1))
                         ? PyNumber_Index(PyTuple_GET_ITEM(device, 0))
                         : NULL;
    *out = type && PyLong_AsLong(type) == CPU;
    const int is_known = type && !PyErr_Occurred();
    Py_XDECREF(type);
    Py_XDECREF(device);
    return is_known;
}

/* The capsule of version 1, or of version 0 from a producer that takes no parameter of version 1; or NULL. */
static PyObject *capsule_of(PyObject *exporter, int is_host)
{
    PyObject *const self_only[] = {exporter};
    PyObject *newest = Py_BuildValue("(ii)", 1, 0), *any_stream = PyLong_FromLong(-1), *capsule = NULL;
    PyObject *const arguments[] = {exporter, newest, Py_False, any_stream};
    PyObject *of_version_1 = is_host ? PyTuple_Pack(2, surface.name.max_version, surface.name.copy)
                                     : PyTuple_Pack(3, surface.name.max_version, surface.name.copy, surface.name.stream);
    PyObject *of_version_0 = is_host ? NULL : PyTuple_Pack(1, surface.name.stream);
    if (newest && any_stream && of_version_1 && (is_host || of_version_0)) {
        capsule = PyObject_VectorcallMethod(surface.name.__dlpack__, arguments, 1, of_version_1);
        if (!capsule && PyErr_ExceptionMatches(PyExc_TypeError)) {
            PyErr_Clear();
            PyObject *const at_stream[] = {exporter, any_stream};
            capsule = PyObject_VectorcallMethod(surface.name.__dlpack__, is_host ? self_only : at_stream, 1, of_version_0);
        }
    }
    Py_XDECREF(newest);
    Py_XDECREF(any_stream);
    Py_XDECREF(of_version_1);
    Py_XDECREF(of_version_0);
    return capsule;
}

static const dl_tensor *tensor_in(PyObject *capsule, int *is_readonly)
{
    *is_readonly = 0;
    if (PyCapsule_IsValid(capsule, "dltensor")) return PyCapsule_GetPointer(capsule, "dltensor");
    if (!PyCapsule_IsValid(capsule, "dltensor_versioned")) return NULL;
    const dl_versioned *versioned = PyCapsule_GetPointer(capsule, "dltensor_versioned");
    *is_readonly = (versioned->flags & READ_ONLY) != 0;
    return versioned->major >= 1 ? &versioned->tensor : NULL;
}

static int take_tensor(PyObject *exporter, int is_writable, Py_buffer *view, int *is_host)
{
    static const char kinds[] = {'i', 'u', 'f', 0, 0, 'c', 'b'};
    int is_readonly, is_taken = 0;
    PyObject *capsule = is_on_host(exporter, is_host) ? capsule_of(exporter, *is_host) : NULL;
    const dl_tensor *tensor = capsule ? tensor_in(capsule, &is_readonly) : NULL;
    if (tensor && tensor->n_dimensions >= 0 && (tensor->shape || !tensor->n_dimensions) && tensor->lanes == 1) {
        const char kind = tensor->code < sizeof kinds ? kinds[tensor->code] : 0;
        const items what = {tensor->data + tensor->byte_offset, format_of(kind, tensor->bits / 8), tensor->bits / 8, is_readonly,
                            tensor->n_dimensions, tensor->shape, tensor->strides};
        is_taken = fill(view, capsule, &what, 1, is_writable);
    }
    Py_XDECREF(capsule);
    return is_taken;
}

/* ---- the CUDA array interface ---- */

/* Integers of a tuple; their number, or -1. */
static int numbers_of(PyObject *tuple, int64_t *out)
{
    if (!tuple || !PyTuple_CheckExact(tuple) || PyTuple_GET_SIZE(tuple) > DIMENSIONS) return -1;
    const int n = (int)PyTuple_GET_SIZE(tuple);
    for (int i = 0; i < n; i++) {
        if (!PyLong_CheckExact(PyTuple_GET_ITEM(tuple, i))) return -1;
        out[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(tuple, i));
    }
    return PyErr_Occurred() ? -1 : n;
}

/* Does a list of fields say no more than the type string? */
static int says_no_more(PyObject *fields, PyObject *type)
{
    if (is_none(fields)) return 1;
    PyObject *field = PyList_CheckExact(fields) && PyList_GET_SIZE(fields) == 1 ? PyList_GET_ITEM(fields, 0) : NULL;
    if (!field || !PyTuple_CheckExact(field) || PyTuple_GET_SIZE(field) != 2) return 0;
    PyObject *name = PyTuple_GET_ITEM(field, 0), *named = PyTuple_GET_ITEM(field, 1);
    return PyUnicode_CheckExact(name) && PyUnicode_GET_LENGTH(name) == 0 && PyUnicode_CheckExact(named) &&
           PyUnicode_Compare(named, type) == 0;
}

static int take_interface(PyObject *exporter, int is_writable, Py_buffer *view)
{
    static const char native = PY_LITTLE_ENDIAN ? '<' : '>';
    int is_taken = 0;
    int64_t shape[DIMENSIONS], strides[DIMENSIONS];
    PyObject *described = PyObject_GetAttr(exporter, surface.name.__cuda_array_interface__);
    if (!described || !PyDict_CheckExact(described)) goto end;
    PyObject *data = PyDict_GetItemString(described, "data"), *type = PyDict_GetItemString(described, "typestr");
    PyObject *distances = PyDict_GetItemString(described, "strides");
    if (!data || !PyTuple_CheckExact(data) || PyTuple_GET_SIZE(data) != 2 || !type || !PyUnicode_CheckExact(type)) goto end;
    if (!is_none(PyDict_GetItemString(described, "mask"))) goto end;
    if (!says_no_more(PyDict_GetItemString(described, "descr"), type)) goto end;
    PyObject *address = PyTuple_GET_ITEM(data, 0), *readonly = PyTuple_GET_ITEM(data, 1);
    const char *letters = PyUnicode_AsUTF8(type);
    if (!letters || !PyLong_CheckExact(address) || !PyBool_Check(readonly)) goto end;
    if ((letters[0] != native && letters[0] != '|') || !letters[1] || letters[2] < '1' || letters[2] > '9') goto end;
    if (letters[3] && (letters[3] < '0' || letters[3] > '9' || letters[4])) goto end;
    const int n = numbers_of(PyDict_GetItemString(described, "shape"), shape);
    if (n < 0 || (!is_none(distances) && numbers_of(distances, strides) != n)) goto end;
    const int item_bytes = letters[2] - '0' + (letters[3] ? 9 * (letters[2] - '0') + letters[3] - '0' : 0);
    const items what = {PyLong_AsVoidPtr(address), format_of(letters[1], item_bytes), item_bytes, readonly == Py_True, n, shape,
                        is_none(distances) ? NULL : strides};
    is_taken = !PyErr_Occurred() && fill(view, exporter, &what, item_bytes, is_writable);
end:
    Py_XDECREF(described);
    return is_taken;
}

static int has(PyObject *exporter, PyObject *name)
{
    PyObject *value = PyObject_GetAttr(exporter, name);
    Py_XDECREF(value);
    PyErr_Clear();
    return value != NULL;
}

int described_memory_take(PyObject *exporter, int is_writable, Py_buffer *view, int *is_host)
{
    *is_host = 0;
    const int is_taken = has(exporter, surface.name.__dlpack__) ? take_tensor(exporter, is_writable, view, is_host)
                                                                : take_interface(exporter, is_writable, view);
    PyErr_Clear();
    return is_taken;
}

PyObject *described_memory_lend(PyObject *module, PyObject *const *at, Py_ssize_t n)
{
    (void)module;
    Py_buffer view;
    int is_host;
    if (n != 2) return PyErr_Format(PyExc_TypeError, "an exporter and whether it is written are required");
    if (!described_memory_take(at[0], at[1] == Py_True, &view, &is_host)) Py_RETURN_NONE;
    const char *format = view.format;
    view.format = NULL; /* a view of bytes */
    view.itemsize = 1;
    PyObject *bytes = view.buf ? PyMemoryView_FromBuffer(&view) : Py_NewRef(Py_None); /* which does not own them */
    PyObject *lent = bytes == Py_None ? Py_NewRef(Py_None) : NULL;
    if (bytes && !lent) lent = Py_BuildValue("(OsOO)", bytes, format, view.obj, is_host ? Py_True : Py_False);
    Py_XDECREF(bytes);
    PyBuffer_Release(&view);
    return lent;
}
