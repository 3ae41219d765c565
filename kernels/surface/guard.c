#define _GNU_SOURCE /* REG_ERR */
#include "guard.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "array_memory.h"
#include "lines.h"

/* A guard costs more than a small message: of a line's receives the first are guarded, and of the others a share. */
enum { FIRST = 256, SHARE = 16 };
enum { AT_ONCE_MAX = 1 << 13 };     /* each parts a mapping in three, and a process has 65,530 of them */

typedef struct guard {
    char *begin, *end;              /* NULL: no memory any more */
    guard_touch touch;
    int is_open;
    int64_t serial;
} guard;

typedef struct guard_table {
    atomic_flag lock;               /* of all that the handler of faults reads */
    guard *at;                      /* numbered from 1 */
    int room, free;
    int *order, n;                  /* numbers of those that have pages, in the order of their addresses */
    int *opened;                    /* numbers of those that smpy's own code has opened */
    int is_on;
    pid_t pid;
    int64_t n_serials;
    int64_t n_gone, n_gone_at_fault; /* guards that have ended; and as a fault was last found to be of none */
    struct sigaction before;        /* the handler before ours */
} guard_table;

static void lock(void)
{
    while (atomic_flag_test_and_set_explicit(&surface.guards->lock, memory_order_acquire)) {}
}

static void unlock(void)
{
    atomic_flag_clear_explicit(&surface.guards->lock, memory_order_release);
}

/* ---- the table: under its lock ---- */

/* Place in the order of the first guard that ends behind an address. */
static int first_behind(const char *address)
{
    int low = 0, high = surface.guards->n;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (surface.guards->at[surface.guards->order[middle]].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Number of the guard that has a byte of a range; 0: there is none. */
static int overlapping(const char *begin, const char *end)
{
    const int i = first_behind(begin);
    return i < surface.guards->n && surface.guards->at[surface.guards->order[i]].begin < end ? surface.guards->order[i] : 0;
}

static int open_pages(guard *g)
{
    g->is_open = 1;
    return mprotect(g->begin, (size_t)(g->end - g->begin), PROT_READ | PROT_WRITE);
}

static void take_out(int number)
{
    guard *g = &surface.guards->at[number];
    if (!g->begin) return;
    const int i = first_behind(g->begin);
    memmove(surface.guards->order + i, surface.guards->order + i + 1, (size_t)(--surface.guards->n - i) * sizeof(int));
    if (!g->is_open) open_pages(g);
    g->begin = g->end = NULL;
    surface.guards->n_gone++;
}

static int make_room(void)
{
    if (surface.guards->free) return 1;
    const int before = surface.guards->room, room = before ? 2 * before : 64;
    guard *at = realloc(surface.guards->at, (size_t)room * sizeof *at);
    if (at) surface.guards->at = at;
    int *order = realloc(surface.guards->order, (size_t)room * sizeof *order);
    if (order) surface.guards->order = order;
    int *opened = realloc(surface.guards->opened, (size_t)room * sizeof *opened);
    if (opened) surface.guards->opened = opened;
    if (!at || !order || !opened) return 0;
    surface.guards->room = room;
    for (int i = room - 1; i >= (before ? before : 1); i--) { /* numbered from 1 */
        at[i] = (guard){.touch.line = surface.guards->free};
        surface.guards->free = i;
    }
    return 1;
}

/* ---- faults ---- */

static int how_of(const void *context)
{
#if defined(__x86_64__)
    return ((const ucontext_t *)context)->uc_mcontext.gregs[REG_ERR] & 2 ? GUARD_WRITTEN : GUARD_READ;
#else
    (void)context;
    return GUARD_USED;
#endif
}

/* Line of the program that this thread executes; 0: not known; LINE_OF_OURS. The interpreter collects no garbage meanwhile. */
static int line_of_this_thread(void)
{
    if (!PyGILState_GetThisThreadState()) return 0;
    const PyGILState_STATE state = PyGILState_Ensure();
    PyObject *type, *value, *trace;
    const int collects = PyGC_Disable();
    PyErr_Fetch(&type, &value, &trace);
    const int line = lines_of_access();
    PyErr_Restore(type, value, trace);
    if (collects) PyGC_Enable();
    PyGILState_Release(state);
    return line;
}

/* Opens the guard of an address: its number, or 0: there is none. */
static int open_at(const char *address, int64_t *serial, int *was_open)
{
    lock();
    int number = overlapping(address, address + 1);
    guard *g = &surface.guards->at[number];
    if (number) {
        *serial = g->serial;
        *was_open = g->is_open;
        if (!g->is_open && open_pages(g)) number = 0;
    }
    unlock();
    return number;
}

/* Was it an access to a guarded buffer, which may go on? */
static int take_fault(const char *address, const void *context)
{
    int64_t serial = 0;
    int was_open = 0;
    const int number = open_at(address, &serial, &was_open);
    if (!number) { /* another thread may have opened it for good since */
        const int is_new = surface.guards->n_gone != surface.guards->n_gone_at_fault;
        surface.guards->n_gone_at_fault = surface.guards->n_gone;
        return is_new;
    }
    if (was_open || getpid() != surface.guards->pid) return 1;
    const int line = surface.access.is_own ? LINE_OF_OURS : line_of_this_thread();
    lock();
    guard *g = &surface.guards->at[number];
    if (g->serial == serial && g->begin) {
        if (line != LINE_OF_OURS)
            g->touch = (guard_touch){how_of(context), line};
        else if (surface.access.n_opened < surface.guards->room)
            surface.guards->opened[surface.access.n_opened++] = number;
    }
    unlock();
    return 1;
}

/* The first fault that is not ours goes to the handler before, another one to the system. */
static void pass_on(int number, siginfo_t *info, void *context)
{
    const struct sigaction before = surface.guards->before;
    surface.guards->before = (struct sigaction){.sa_handler = SIG_DFL};
    if (before.sa_flags & SA_SIGINFO)
        before.sa_sigaction(number, info, context);
    else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
        before.sa_handler(number);
    else
        sigaction(number, &surface.guards->before, NULL); /* the access is made again, or the signal sent */
    if (info->si_code <= 0 && before.sa_handler == SIG_DFL) raise(number);
}

static void on_fault(int number, siginfo_t *info, void *context)
{
    const int error = errno;
    const int is_ours = info->si_code == SEGV_ACCERR && take_fault(info->si_addr, context);
    errno = error;
    if (!is_ours) pass_on(number, info, context);
}

/* A program may have put a handler of its own in front. */
static int listen(void)
{
    struct sigaction now, ours = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    if (sigaction(SIGSEGV, NULL, &now)) return 0;
    if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_fault) return 1;
    sigemptyset(&ours.sa_mask);
    surface.guards->before = now;
    return sigaction(SIGSEGV, &ours, NULL) == 0;
}

/* ---- the life of a guard ---- */

int guard_start(void)
{
    if (!surface.guards && !(surface.guards = calloc(1, sizeof *surface.guards))) return PyErr_NoMemory(), -1;
    surface.guards->pid = getpid();
    surface.guards->is_on = 1;
    return 0;
}

void guard_stop(void)
{
    struct sigaction now;
    if (!surface.guards || !surface.guards->is_on) return;
    surface.guards->is_on = 0;
    lock();
    while (surface.guards->n) take_out(surface.guards->order[0]);
    surface.access.n_opened = 0;
    unlock();
    if (sigaction(SIGSEGV, NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_fault)
        sigaction(SIGSEGV, &surface.guards->before, NULL);
}

/* The share is spread as evenly as multiples of the golden ratio are. */
static int is_drawn(int line)
{
    const int n = line > 0 && line <= surface.lines.n ? surface.lines.at[line].n_guarded++ : 0;
    return n < FIRST || (uint64_t)n * 0x9E3779B97F4A7C15u < UINT64_MAX / SHARE;
}

/* Under the lock. */
static int add(page_range pages)
{
    if (surface.guards->n >= AT_ONCE_MAX || overlapping(pages.begin, pages.end) || !make_room()) return 0;
    const int number = surface.guards->free, i = first_behind(pages.begin);
    guard *g = &surface.guards->at[number];
    surface.guards->free = g->touch.line;
    *g = (guard){.begin = pages.begin, .end = pages.end, .serial = ++surface.guards->n_serials};
    memmove(surface.guards->order + i + 1, surface.guards->order + i, (size_t)(surface.guards->n++ - i) * sizeof(int));
    surface.guards->order[i] = number;
    return number;
}

int guard_begin(const char *data, int64_t bytes, int line, int *is_whole)
{
    *is_whole = 0;
    const page_range pages = array_memory_pages(data, bytes);
    if (pages.begin == pages.end || !surface.guards || !surface.guards->is_on || !is_drawn(line) || !listen()) return 0;
    lock();
    const int number = add(pages);
    unlock();
    if (!number) return 0;
    if (mprotect(pages.begin, (size_t)(pages.end - pages.begin), PROT_NONE)) {
        guard_end(number);
        return 0;
    }
    *is_whole = pages.is_whole;
    return number;
}

guard_touch guard_end(int number)
{
    if (!surface.guards || number <= 0 || number >= surface.guards->room) return (guard_touch){GUARD_UNTOUCHED, 0};
    lock();
    take_out(number);
    const guard_touch touch = surface.guards->at[number].touch;
    surface.guards->at[number] = (guard){.touch.line = surface.guards->free};
    surface.guards->free = number;
    unlock();
    return touch;
}

void guard_forget(const char *begin, const char *end)
{
    if (!surface.guards || !surface.guards->n) return;
    lock();
    for (int number; (number = overlapping(begin, end));) take_out(number);
    unlock();
}

void guard_close_opened(void)
{
    lock();
    for (int i = 0; i < surface.access.n_opened; i++) {
        guard *g = &surface.guards->at[surface.guards->opened[i]];
        if (!g->begin || !g->is_open || g->touch.how) continue;
        if (mprotect(g->begin, (size_t)(g->end - g->begin), PROT_NONE) == 0) g->is_open = 0;
    }
    surface.access.n_opened = 0;
    unlock();
}

/* ---- functions of the module ---- */

PyObject *guard_from_python(PyObject *module, PyObject *args)
{
    unsigned long long address;
    long long bytes;
    int line, is_whole;
    (void)module;
    if (!PyArg_ParseTuple(args, "KLi:guard", &address, &bytes, &line)) return NULL;
    const int number = guard_begin((const char *)(uintptr_t)address, bytes, line, &is_whole);
    return Py_BuildValue("iO", number, is_whole ? Py_True : Py_False);
}

PyObject *guard_end_from_python(PyObject *module, PyObject *number)
{
    (void)module;
    const long n = PyLong_AsLong(number);
    if (n == -1 && PyErr_Occurred()) return NULL;
    const guard_touch touch = guard_end((int)n);
    return Py_BuildValue("ii", touch.how, touch.line);
}
