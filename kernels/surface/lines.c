#include "lines.h"

#include <stdlib.h>
#include <string.h>

enum { IS_OURS = -1 };              /* for a line: a frame of smpy's own, whose caller is looked at instead */

void lines_forget(void)
{
    for (int i = 1; i <= surface.lines.n; i++) {
        Py_DECREF(surface.lines.at[i].table);
        Py_DECREF(surface.lines.at[i].file);
        Py_XDECREF(surface.lines.at[i].call_name);
    }
    surface.lines.n = 0;
    memset(surface.lines.bucket, 0, sizeof surface.lines.bucket);
}

static int is_ours(PyFrameObject *frame)
{
    PyObject *globals = PyFrame_GetGlobals(frame);
    PyObject *name = globals ? PyDict_GetItemString(globals, "__name__") : NULL; /* borrowed */
    const char *text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
    const int result = text && strncmp(text, "smpy.", 5) == 0;
    Py_XDECREF(globals);
    PyErr_Clear();
    return result;
}

static int add(PyFrameObject *frame, PyCodeObject *code, int offset, int *bucket)
{
    if (surface.lines.n + 1 >= surface.lines.room) {
        const int room = surface.lines.room ? 2 * surface.lines.room : 64;
        program_line *grown = realloc(surface.lines.at, (size_t)room * sizeof *grown);
        if (!grown) return 0;
        surface.lines.at = grown;
        surface.lines.room = room;
    }
    const int line = is_ours(frame) ? IS_OURS : PyCode_Addr2Line(code, offset);
    surface.lines.at[++surface.lines.n] = (program_line){Py_NewRef(code->co_linetable), Py_NewRef(code->co_filename),
                                                         code->co_firstlineno, offset, line, *bucket, NULL, 0};
    return *bucket = surface.lines.n;
}

static int is_at(const program_line *known, const PyCodeObject *code, int offset)
{
    return known->offset == offset && known->table == code->co_linetable && known->first_line == code->co_firstlineno;
}

static int number_of(PyFrameObject *frame)
{
    PyCodeObject *code = PyFrame_GetCode(frame);
    const int offset = PyFrame_GetLasti(frame);
    const uintptr_t key = ((uintptr_t)code->co_linetable >> 4) + (uintptr_t)offset * 31 + (uintptr_t)code->co_firstlineno;
    int *bucket = &surface.lines.bucket[(key ^ key >> 10) % LINE_BUCKETS], number = *bucket;
    while (number && !is_at(&surface.lines.at[number], code, offset)) number = surface.lines.at[number].next;
    if (!number) number = add(frame, code, offset, bucket);
    Py_DECREF(code);
    return number;
}

int lines_here(void)
{
    PyFrameObject *frame = PyThreadState_GetFrame(PyThreadState_Get());
    int number = frame ? number_of(frame) : 0;
    while (number && surface.lines.at[number].line == IS_OURS) {
        PyFrameObject *back = PyFrame_GetBack(frame);
        Py_DECREF(frame);
        frame = back;
        number = frame ? number_of(frame) : 0;
    }
    Py_XDECREF(frame);
    return number;
}

PyObject *lines_situation(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    if (!surface_is_here()) return PyErr_Format(PyExc_RuntimeError, "no rank runs here");
    const int polls = surface.calls->polls_in_vain(surface.sim, surface.timeline);
    return PyLong_FromLongLong((long long)surface.rank << 32 | (long long)lines_here() << 1 | polls);
}

PyObject *lines_at(PyObject *module, PyObject *number)
{
    (void)module;
    const long i = PyLong_AsLong(number);
    if (i < 1 || i > surface.lines.n) return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_IndexError, "no line has number %ld", i);
    return Py_BuildValue("Oi", surface.lines.at[i].file, surface.lines.at[i].line);
}
