#include "contents.h"

#include <string.h>

#include "user_buffer.h"

static int is_alone(PyObject *what)
{
    return !PyList_CheckExact(what) && !PyTuple_CheckExact(what);
}

static int have_one_format(const Py_buffer *a, const Py_buffer *b)
{
    return a->format && b->format ? strcmp(a->format, b->format) == 0 : a->format == b->format;
}

/* Are there bytes, and do all of them mean something? */
static int has_content(const user_buffer *what)
{
    return what->data && user_buffer_folded_share(what) == FOLDED_NONE;
}

static PyObject *taken(PyObject *from, PyObject *into)
{
    Py_buffer mine, room;
    user_buffer carried, wanted;
    PyObject *result = NULL;
    if (!user_buffer_take(from, 0, &mine, &carried)) return Py_NewRef(Py_None);
    if (!user_buffer_take(into, 1, &room, &wanted)) {
        PyBuffer_Release(&mine);
        return Py_NewRef(Py_None);
    }
    if (has_content(&carried) && has_content(&wanted) && carried.bytes == wanted.bytes && have_one_format(&mine, &room))
        result = Py_BuildValue("sy#", mine.format ? mine.format : "B", carried.data, (Py_ssize_t)carried.bytes);
    else
        result = Py_NewRef(Py_None);
    PyBuffer_Release(&mine);
    PyBuffer_Release(&room);
    return result;
}

PyObject *contents_take(PyObject *module, PyObject *const *at, Py_ssize_t n)
{
    (void)module;
    if (n == 2 && is_alone(at[0]) && is_alone(at[1])) return taken(at[0], at[1]);
    return Py_NewRef(Py_None);
}

PyObject *contents_replace(PyObject *module, PyObject *const *at, Py_ssize_t n)
{
    Py_buffer view;
    user_buffer room;
    (void)module;
    if (n != 2 || !PyBytes_CheckExact(at[1]) || !is_alone(at[0]) || !user_buffer_take(at[0], 1, &view, &room)) Py_RETURN_FALSE;
    const int fits = room.data && room.bytes == PyBytes_GET_SIZE(at[1]);
    if (fits) memcpy(room.data, PyBytes_AS_STRING(at[1]), (size_t)room.bytes);
    PyBuffer_Release(&view);
    return PyBool_FromLong(fits);
}
