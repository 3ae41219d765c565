#include "plain_array.h"

#include <string.h>

/* The beginnings of numpy's objects: its binary interface keeps them since numpy 1.0. */
typedef struct {
    PyObject_HEAD
    PyTypeObject *scalar;
    char kind, type, byteorder, unused;
    int number;
} array_type;

typedef struct {
    PyObject_HEAD
    char *data;
    int n_dimensions;
    Py_ssize_t *shape, *strides;
    PyObject *base;
    const array_type *type;
    unsigned flags;
} array_object;

enum { IS_CONTIGUOUS = 0x1, IS_ALIGNED = 0x100, IS_WRITABLE = 0x400 };
static const unsigned WARNS_ON_WRITE = 1U << 31;

/* Formats in the order of numpy's types, and sizes. */
static const struct {
    char format[3];
    unsigned char bytes;
} types[] = {{"?", 1}, {"b", 1}, {"B", 1}, {"h", sizeof(short)}, {"H", sizeof(short)}, {"i", sizeof(int)}, {"I", sizeof(int)},
             {"l", sizeof(long)}, {"L", sizeof(long)}, {"q", sizeof(long long)}, {"Q", sizeof(long long)}, {"f", sizeof(float)},
             {"d", sizeof(double)}, {"g", sizeof(long double)}, {"Zf", 2 * sizeof(float)}, {"Zd", 2 * sizeof(double)},
             {"Zg", 2 * sizeof(long double)}};

/* Only an extension can make a class that is not on the heap. */
static int is_array_class(PyTypeObject *type)
{
    if (type == surface.array_class) return 1;
    if (surface.array_class || PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) || strcmp(type->tp_name, "numpy.ndarray") != 0)
        return 0;
    surface.array_class = type;
    return 1;
}

int plain_array_take(PyObject *what, int is_writable, Py_buffer *view)
{
    if (!is_array_class(Py_TYPE(what))) return 0;
    const array_object *array = (const array_object *)what;
    const unsigned required = IS_CONTIGUOUS | IS_ALIGNED | (is_writable ? IS_WRITABLE : 0);
    const size_t number = (size_t)array->type->number;
    const char order = array->type->byteorder;
    if ((array->flags & (required | WARNS_ON_WRITE)) != required || (order != '=' && order != '|')) return 0;
    if (number >= sizeof types / sizeof *types) return 0;
    const Py_ssize_t item_bytes = types[number].bytes;
    Py_ssize_t bytes = item_bytes;
    for (int i = 0; i < array->n_dimensions; i++) bytes *= array->shape[i];
    *view = (Py_buffer){.buf = array->data, .obj = Py_NewRef(what), .len = bytes, .itemsize = item_bytes,
                        .readonly = !(array->flags & IS_WRITABLE), .ndim = array->n_dimensions, .shape = array->shape,
                        .strides = array->strides, .format = (char *)(uintptr_t)types[number].format};
    return 1;
}
