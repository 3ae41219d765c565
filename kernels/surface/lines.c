#include "lines.h"

#include <stdlib.h>
#include <string.h>

#if PY_VERSION_HEX < 0x030C0000
#define Py_BUILD_CORE /* layout of the frame; later versions have functions for it */
#include <internal/pycore_frame.h>
#endif

enum { IS_OURS = -1 };              /* for a line: a frame of smpy's own, or of Python's waits, whose caller is looked at instead */

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

/* Modules whose calls are their callers', as smpy.engine.thread_ranks.PASSED_OVER has them. */
static int is_passed_over(const char *module)
{
    return strncmp(module, "smpy.", 5) == 0 || strcmp(module, "threading") == 0 || strcmp(module, "queue") == 0 ||
           strncmp(module, "concurrent.futures.", 19) == 0;
}

/* Modules whose accesses to arrays are their callers'. */
static int is_of_arrays(const char *module)
{
    return strncmp(module, "numpy.", 6) == 0 || strcmp(module, "copy") == 0;
}

/* Is its module, by name, one of these? */
static int is_of(PyFrameObject *frame, int (*is_one)(const char *module))
{
    PyObject *globals = PyFrame_GetGlobals(frame);
    PyObject *name = globals ? PyDict_GetItemString(globals, "__name__") : NULL; /* borrowed */
    const char *text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
    const int result = text && is_one(text);
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
    const int line = is_of(frame, is_passed_over) ? IS_OURS : PyCode_Addr2Line(code, offset);
    surface.lines.at[++surface.lines.n] = (program_line){Py_NewRef(code->co_linetable), Py_NewRef(code->co_filename),
                                                         code->co_firstlineno, offset, line, *bucket, NULL, 0, 0};
    return *bucket = surface.lines.n;
}

static int is_at(const program_line *known, const PyCodeObject *code, int offset)
{
    return known->offset == offset && known->table == code->co_linetable && known->first_line == code->co_firstlineno;
}

static int *bucket_of(const PyCodeObject *code, int offset)
{
    const uintptr_t key = ((uintptr_t)code->co_linetable >> 4) + (uintptr_t)offset * 31 + (uintptr_t)code->co_firstlineno;
    return &surface.lines.bucket[(key ^ key >> 10) % LINE_BUCKETS];
}

/* Number of a line, or 0: it has none yet. */
static int find(const PyCodeObject *code, int offset, const int *bucket)
{
    int number = *bucket;
    while (number && !is_at(&surface.lines.at[number], code, offset)) number = surface.lines.at[number].next;
    return number;
}

static int number_of(PyFrameObject *frame)
{
    PyCodeObject *code = PyFrame_GetCode(frame);
    const int offset = PyFrame_GetLasti(frame);
    int *bucket = bucket_of(code, offset), number = find(code, offset, bucket);
    if (!number) number = add(frame, code, offset, bucket);
    Py_DECREF(code);
    return number;
}

/* Number of the innermost frame's line, or 0: it has none yet. Makes no frame object: at thousands of ranks it would miss the near
 * caches. */
static int find_innermost(void)
{
#if PY_VERSION_HEX < 0x030C0000
    const struct _PyInterpreterFrame *frame = PyThreadState_Get()->cframe->current_frame;
    if (!frame) return 0;
    const PyCodeObject *code = frame->f_code;
    const int offset = _PyInterpreterFrame_LASTI(frame) * (int)sizeof(_Py_CODEUNIT);
#else
#if PY_VERSION_HEX < 0x030D0000
    struct _PyInterpreterFrame *frame = PyThreadState_Get()->cframe->current_frame;
#else
    struct _PyInterpreterFrame *frame = PyThreadState_Get()->current_frame;
#endif
    if (!frame) return 0;
    PyObject *held = PyUnstable_InterpreterFrame_GetCode(frame);
    Py_DECREF(held); /* the frame keeps its own reference */
    if (!PyCode_Check(held)) return 0;
    const PyCodeObject *code = (const PyCodeObject *)held;
    const int offset = PyUnstable_InterpreterFrame_GetLasti(frame);
#endif
    return find(code, offset, bucket_of(code, offset));
}

int lines_here(void)
{
    const int known = find_innermost();
    if (known && surface.lines.at[known].line != IS_OURS) return known;
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

int lines_are_one(int a, int b)
{
    const program_line *one = surface.lines.at + a, *other = surface.lines.at + b;
    return a == b || (a && b && one->line == other->line && PyUnicode_Compare(one->file, other->file) == 0);
}

int lines_of_access(void)
{
    PyFrameObject *frame = PyThreadState_GetFrame(PyThreadState_Get());
    while (frame && is_of(frame, is_of_arrays)) {
        PyFrameObject *back = PyFrame_GetBack(frame);
        Py_DECREF(frame);
        frame = back;
    }
    const int number = frame ? number_of(frame) : 0;
    Py_XDECREF(frame);
    return number && surface.lines.at[number].line == IS_OURS ? LINE_OF_OURS : number;
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
