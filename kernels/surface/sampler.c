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

enum { FRAMES_MAX = 500, PAGE_BYTES = 4096, DEPTH_MAX = 48, CALLS_MAX = 512, FUNCTIONS_MAX = 96, FOLDERS_MAX = 16,
       FILE_BYTES = 1024, FUNCTION_BYTES = 256, N_WORDS = 8 };

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
    text_size file_size, name_size;
    char file[FILE_BYTES], name[FUNCTION_BYTES];
} function;

typedef struct {
    int caller, function;           /* indices into `call` and `function`; caller -1: none */
    int line, count;                /* samples that were taken in a line; line 0: a call of further functions, without samples */
} call;

typedef struct sampler {
    pid_t pid;
    timer_t timer;
    PyThreadState *thread;
    struct {
        uintptr_t begin, end;       /* addresses of what was read of a page; end 0: nothing */
        char bytes[PAGE_BYTES];
    } page;
    frame_words frame[FRAMES_MAX];  /* of the sample under way, the innermost first */
    PyObject head[FRAMES_MAX];      /* of their code */
    struct iovec mine[FRAMES_MAX], other[FRAMES_MAX];
    int n_folders;
    struct {
        PyObject *path;             /* owned */
        int is_program;
    } folder[FOLDERS_MAX];          /* the innermost folder of a file counts; a file in none is the program's */
    int n_calls, n_functions;
    call call[CALLS_MAX];           /* each after its caller */
    function function[FUNCTIONS_MAX];
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

/* Frames of callers are mostly in the same page: one read has them. */
static int read_frame(sampler *self, frame_words *frame, uintptr_t at)
{
    if (at < self->page.begin || at + sizeof *frame > self->page.end) {
        const uintptr_t begin = at & ~(uintptr_t)(PAGE_BYTES - 1);
        if (at + sizeof *frame > begin + PAGE_BYTES) return read_memory(self, frame, at, sizeof *frame);
        self->page.end = 0;
        if (!read_memory(self, self->page.bytes, begin, PAGE_BYTES)) return 0;
        self->page.begin = begin, self->page.end = begin + PAGE_BYTES;
    }
    memcpy(frame, self->page.bytes + (at - self->page.begin), sizeof *frame);
    return 1;
}

static uintptr_t address_of_code(const frame_words *frame)
{
    return frame->word[CODE] & ~TAGS;
}

/* Reads frames from an address on, and heads of their code: their number. The head of what is no code has no type. */
static int read_frames(sampler *self, uintptr_t at, int n_max)
{
    int n = 0;
    self->page.end = 0;
    for (; at && n < n_max && read_frame(self, &self->frame[n], at); n++) {
        at = self->frame[n].word[PREVIOUS];
        self->head[n] = (PyObject){0};
        self->mine[n] = (struct iovec){&self->head[n], sizeof(PyObject)};
        self->other[n] = (struct iovec){(void *)address_of_code(&self->frame[n]), sizeof(PyObject)};
    }
    for (int from = 0; from < n;) { /* a read ends at the first address that is none */
        const size_t count = (size_t)(n - from);
        const ssize_t got = process_vm_readv(self->pid, &self->mine[from], count, &self->other[from], count, 0);
        from += got > 0 ? (int)((size_t)got / sizeof(PyObject)) : 0;
        if (from < n) self->head[from++] = (PyObject){0};
    }
    return n;
}

/* Code that a frame of the sample under way executes, borrowed; NULL: no code of Python. */
static PyCodeObject *code_of(const sampler *self, int frame)
{
    return Py_IS_TYPE(&self->head[frame], &PyCode_Type) ? (PyCodeObject *)address_of_code(&self->frame[frame]) : NULL;
}

static int offset_of(const frame_words *frame, const PyCodeObject *code)
{
    return (int)(frame->word[INSTRUCTION] - (uintptr_t)code->co_code_adaptive);
}

static int begins_with(PyObject *text, PyObject *prefix)
{
    const Py_ssize_t n = PyUnicode_GET_LENGTH(prefix);
    if (PyUnicode_GET_LENGTH(text) < n) return 0;
    if (PyUnicode_KIND(text) == PyUnicode_KIND(prefix))
        return !memcmp(PyUnicode_DATA(text), PyUnicode_DATA(prefix), (size_t)n * (size_t)PyUnicode_KIND(prefix));
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

/* Copies a text, or as much of it as there is room for. */
static void copy_text(PyObject *text, text_size *size, char *to, size_t room)
{
    const size_t kind = (size_t)PyUnicode_KIND(text), whole = (size_t)PyUnicode_GET_LENGTH(text);
    const size_t length = whole * kind <= room ? whole : room / kind;
    *size = (text_size){(int)kind, (int)length};
    memcpy(to, PyUnicode_DATA(text), length * kind);
}

/* Index of the function of a code; -1: there is no room. */
static int function_of(sampler *self, PyCodeObject *code)
{
    int i = 0;
    while (i < self->n_functions && self->function[i].code != code) i++;
    if (i < self->n_functions) return i;
    if (i == FUNCTIONS_MAX) return -1;
    function *here = &self->function[i];
    here->code = code;
    copy_text(code->co_filename, &here->file_size, here->file, sizeof here->file);
    copy_text(code->co_qualname, &here->name_size, here->name, sizeof here->name);
    return self->n_functions++;
}

/* Index of a call; -1: there is no room. */
static int call_of(sampler *self, int caller, PyCodeObject *code, int line)
{
    const int of = function_of(self, code);
    int i = 0;
    while (i < self->n_calls && (self->call[i].caller != caller || self->call[i].function != of || self->call[i].line != line)) i++;
    if (of < 0 || i == CALLS_MAX) return -1;
    if (i == self->n_calls) self->call[self->n_calls++] = (call){caller, of, line, 0};
    return i;
}

static void count_stack(sampler *self, PyCodeObject *const *stack, int depth, int line, int count)
{
    int at = -1;
    for (int i = depth - 1; i >= 0; i--)
        if ((at = call_of(self, at, stack[i], 0)) < 0) return;
    at = call_of(self, at, stack[0], line);
    if (at >= 0) self->call[at].count += count;
}

static void take_sample(sampler *self, int count)
{
    PyCodeObject *stack[DEPTH_MAX]; /* the innermost first */
    int depth = 0, line = 0;
    const int n = read_frames(self, innermost(self), FRAMES_MAX);
    for (int i = 0; i < n && depth < DEPTH_MAX; i++) {
        PyCodeObject *code = code_of(self, i);
        if (!code || !is_of_program(self, code)) continue;
        if (!depth) line = PyCode_Addr2Line(code, offset_of(&self->frame[i], code));
        if (!depth || stack[depth - 1] != code) stack[depth++] = code; /* a function that calls itself is one */
    }
    if (line > 0) count_stack(self, stack, depth, line, count);
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
static int knows_frames(sampler *self)
{
    PyFrameObject *known = PyThreadState_GetFrame(self->thread);
    const int n = read_frames(self, innermost(self), 3); /* the interpreter may put a frame of its own between two */
    if (!known || !n) {
        Py_XDECREF(known);
        return 0;
    }
    PyCodeObject *code = PyFrame_GetCode(known);
    int is_known = code_of(self, 0) == code && offset_of(&self->frame[0], code) == PyFrame_GetLasti(known);
    PyFrameObject *back = PyFrame_GetBack(known);
    if (is_known && back) {
        PyCodeObject *expected = PyFrame_GetCode(back), *seen = NULL;
        for (int i = 1; i < n && !seen; i++) seen = code_of(self, i);
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
    PyObject *list = PyList_New(self->n_calls);
    for (int i = 0; list && i < self->n_calls; i++) {
        const call *here = &self->call[i];
        const function *of = &self->function[here->function];
        PyObject *row = Py_BuildValue("iNNii", here->caller, text_from(&of->file_size, of->file),
                                      text_from(&of->name_size, of->name), here->line, here->count);
        if (!row) Py_CLEAR(list);
        else PyList_SET_ITEM(list, i, row);
    }
    if (list) self->n_calls = self->n_functions = 0;
    return list;
}

int sampler_has_samples(void)
{
    return surface.sampler && surface.sampler->n_calls > 0;
}
