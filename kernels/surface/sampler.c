#define _GNU_SOURCE
#include "sampler.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

static const long INTERVAL_NS = 2000000; /* such a timer expires at a tick of the system: at each, or at each second one */

enum { FRAMES_MAX = 1000, PLACES = 96, FOLDERS_MAX = 16, FILE_BYTES = 1024, FUNCTION_BYTES = 256, N_WORDS = 8 };

/* Words of an interpreter's frame: the code, the caller's frame, the instruction. */
#if PY_VERSION_HEX < 0x030C0000
enum { CODE = 4, PREVIOUS = 6, INSTRUCTION = 7 };
#else
enum { CODE = 0, PREVIOUS = 1, INSTRUCTION = 7 };
#endif
static const uintptr_t TAGS = 3; /* low bits of a reference to the code, from Python 3.14 on */

typedef struct {
    uintptr_t word[N_WORDS];
} frame_words;

typedef struct {
    int kind, length;               /* PyUnicode_KIND; number of characters */
} text_size;

typedef struct {
    const PyCodeObject *code;       /* only compared */
    int line, count;
    text_size file_size, function_size;
    char file[FILE_BYTES], function[FUNCTION_BYTES];
} place;

typedef struct sampler {
    pid_t pid;
    timer_t timer;
    PyThreadState *thread;
    int n_folders;
    struct {
        PyObject *path;             /* owned */
        int is_program;
    } folder[FOLDERS_MAX];          /* the innermost folder of a file counts; a file in none is the program's */
    int n;
    place at[PLACES];
} sampler;

static int read_memory(const sampler *self, void *to, uintptr_t from, size_t size)
{
    const struct iovec mine = {to, size}, other = {(void *)from, size};
    return process_vm_readv(self->pid, &mine, 1, &other, 1, 0) == (ssize_t)size;
}

static uintptr_t innermost(const sampler *self)
{
#if PY_VERSION_HEX < 0x030D0000
    uintptr_t frame = 0;
    return read_memory(self, &frame, (uintptr_t)&self->thread->cframe->current_frame, sizeof frame) ? frame : 0;
#else
    return (uintptr_t)self->thread->current_frame;
#endif
}

/* Code that a frame executes, borrowed; NULL: no code of Python. */
static PyCodeObject *code_of(const sampler *self, const frame_words *frame)
{
    const uintptr_t code = frame->word[CODE] & ~TAGS;
    PyObject head;
    return code && read_memory(self, &head, code, sizeof head) && Py_IS_TYPE(&head, &PyCode_Type) ? (PyCodeObject *)code : NULL;
}

static int offset_of(const frame_words *frame, const PyCodeObject *code)
{
    return (int)(frame->word[INSTRUCTION] - (uintptr_t)code->co_code_adaptive);
}

static int begins_with(PyObject *text, PyObject *prefix)
{
    const Py_ssize_t n = PyUnicode_GET_LENGTH(prefix);
    if (PyUnicode_GET_LENGTH(text) < n) return 0;
    for (Py_ssize_t i = 0; i < n; i++)
        if (PyUnicode_READ_CHAR(text, i) != PyUnicode_READ_CHAR(prefix, i)) return 0;
    return 1;
}

static int is_of_program(const sampler *self, const PyCodeObject *code)
{
    PyObject *file = code->co_filename;
    if (!PyUnicode_GET_LENGTH(file) || PyUnicode_READ_CHAR(file, 0) == '<') return 0; /* code that a library made at run time */
    Py_ssize_t longest = -1;
    int is_program = 1;
    for (int i = 0; i < self->n_folders; i++) {
        const Py_ssize_t n = PyUnicode_GET_LENGTH(self->folder[i].path);
        if (n > longest && begins_with(file, self->folder[i].path)) longest = n, is_program = self->folder[i].is_program;
    }
    return is_program;
}

static int copy_text(PyObject *text, text_size *size, char *to, size_t room)
{
    const size_t bytes = (size_t)PyUnicode_GET_LENGTH(text) * (size_t)PyUnicode_KIND(text);
    if (bytes > room) return 0;
    *size = (text_size){(int)PyUnicode_KIND(text), (int)PyUnicode_GET_LENGTH(text)};
    memcpy(to, PyUnicode_DATA(text), bytes);
    return 1;
}

static void count_line(sampler *self, PyCodeObject *code, int line, int count)
{
    int i = 0;
    while (i < self->n && (self->at[i].code != code || self->at[i].line != line)) i++;
    if (i == PLACES) return;
    place *here = &self->at[i];
    if (i == self->n) {
        *here = (place){.code = code, .line = line};
        if (!copy_text(code->co_filename, &here->file_size, here->file, sizeof here->file)) return;
        if (!copy_text(code->co_qualname, &here->function_size, here->function, sizeof here->function)) return;
        self->n++;
    }
    here->count += count;
}

static void take_sample(sampler *self, int count)
{
    frame_words frame;
    uintptr_t at = innermost(self);
    for (int depth = 0; at && depth < FRAMES_MAX && read_memory(self, &frame, at, sizeof frame); depth++) {
        PyCodeObject *code = code_of(self, &frame);
        if (code && is_of_program(self, code)) {
            const int line = PyCode_Addr2Line(code, offset_of(&frame, code));
            if (line > 0) count_line(self, code, line, count);
            return;
        }
        at = frame.word[PREVIOUS];
    }
}

static void on_timer(int number, siginfo_t *info, void *context)
{
    (void)number, (void)context;
    const int error = errno;
    if (surface.sampler && surface.clock.is_running && surface_is_here() && info->si_code == SI_TIMER)
        take_sample(surface.sampler, 1 + info->si_overrun);
    errno = error;
}

/* ---- beginning and end ---- */

/* Do the words of the caller's frame agree with the public functions? */
static int knows_frames(const sampler *self)
{
    PyFrameObject *known = PyThreadState_GetFrame(self->thread);
    frame_words frame;
    const uintptr_t at = innermost(self);
    if (!known || !at || !read_memory(self, &frame, at, sizeof frame)) {
        Py_XDECREF(known);
        return 0;
    }
    PyCodeObject *code = PyFrame_GetCode(known);
    int is_known = code_of(self, &frame) == code && offset_of(&frame, code) == PyFrame_GetLasti(known);
    PyFrameObject *back = PyFrame_GetBack(known);
    if (is_known && back) { /* the caller's caller; the interpreter may put a frame of its own between */
        PyCodeObject *expected = PyFrame_GetCode(back), *seen = NULL;
        for (int i = 0; i < 2 && !seen && read_memory(self, &frame, frame.word[PREVIOUS], sizeof frame); i++)
            seen = code_of(self, &frame);
        is_known = seen == expected;
        Py_DECREF(expected);
    }
    Py_XDECREF(back);
    Py_DECREF(code);
    Py_DECREF(known);
    return is_known;
}

/* A real-time signal that nobody handles; 0: there is none. The handler stays for good: a late signal must not end the process. */
static int free_signal(void)
{
    for (int number = SIGRTMAX; number >= SIGRTMIN; number--) {
        struct sigaction action;
        if (sigaction(number, NULL, &action)) continue;
        const int is_ours = (action.sa_flags & SA_SIGINFO) && action.sa_sigaction == on_timer;
        if (is_ours || (!(action.sa_flags & SA_SIGINFO) && action.sa_handler == SIG_DFL)) return number;
    }
    return 0;
}

/* Starts the timer: the number of its signal, or 0. */
static int start_timer(sampler *self)
{
    const int number = free_signal();
    struct sigaction action = {.sa_sigaction = on_timer, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigemptyset(&action.sa_mask);
    if (!number || sigaction(number, &action, NULL)) return 0;
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = number};
    event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
    if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &self->timer)) return 0;
    const struct itimerspec each = {{0, INTERVAL_NS}, {0, INTERVAL_NS}};
    if (timer_settime(self->timer, 0, &each, NULL) == 0) return number;
    timer_delete(self->timer);
    return 0;
}

static void drop(sampler *self)
{
    while (self->n_folders) Py_DECREF(self->folder[--self->n_folders].path);
    free(self);
}

void sampler_stop(void)
{
    sampler *self = surface.sampler;
    surface.sampler = NULL;
    if (!self) return;
    if (self->pid == getpid()) timer_delete(self->timer); /* a child process has no such timer, but may have its number */
    drop(self);
}

PyObject *sampler_start(PyObject *module, PyObject *folders)
{
    (void)module;
    const Py_ssize_t n = PySequence_Length(folders);
    if (n < 0) return NULL;
    sampler_stop();
    sampler *self = n <= FOLDERS_MAX && PY_VERSION_HEX < 0x030F0000 ? calloc(1, sizeof *self) : NULL;
    if (!self) return PyLong_FromLong(0);
    self->pid = getpid();
    self->thread = PyThreadState_Get();
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *pair = PySequence_GetItem(folders, i), *path;
        int is_program;
        if (!pair || !PyArg_ParseTuple(pair, "Up", &path, &is_program)) {
            Py_XDECREF(pair);
            drop(self);
            return NULL;
        }
        self->folder[self->n_folders].path = Py_NewRef(path);
        self->folder[self->n_folders++].is_program = is_program;
        Py_DECREF(pair);
    }
    const int number = knows_frames(self) ? start_timer(self) : 0;
    if (number) surface.sampler = self;
    else drop(self);
    return PyLong_FromLong(number);
}

PyObject *sampler_end(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    sampler_stop();
    Py_RETURN_NONE;
}

static PyObject *text_from(const text_size *size, const char *data)
{
    return PyUnicode_FromKindAndData(size->kind, data, size->length);
}

PyObject *sampler_take(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    sampler *self = surface.sampler;
    if (!self) return PyList_New(0);
    PyObject *list = PyList_New(self->n);
    for (int i = 0; list && i < self->n; i++) {
        const place *here = &self->at[i];
        PyObject *row = Py_BuildValue("NNii", text_from(&here->file_size, here->file),
                                      text_from(&here->function_size, here->function), here->line, here->count);
        if (!row) Py_CLEAR(list);
        else PyList_SET_ITEM(list, i, row);
    }
    if (list) self->n = 0;
    return list;
}

int sampler_has_samples(void)
{
    return surface.sampler && surface.sampler->n > 0;
}
