/* guard.h -- buffers that nobody may touch until their receive is complete: pages without access, and the faults of who does.
 *
 * A fault opens its pages, is noted with its line, and the access goes on. The kernel and smpy's own code touch such buffers, too:
 * theirs is no mistake, and the pages are closed again as the kernel's step ends. The table's lock is held by code that touches no
 * such buffer, so that the handler may wait for it.
 * Laws: (1) guards have no page in common; (2) pages of a guard are closed unless it was touched or is in `opened`;
 *       (3) a guard of memory that is freed is open and touches nothing any more: its number stays its caller's until guard_end;
 *       (4) faults elsewhere are those of the handler before ours; a child process notes nothing. */
#ifndef SMPY_SURFACE_GUARD_H
#define SMPY_SURFACE_GUARD_H
#include "surface.h"

enum { GUARD_UNTOUCHED = 0, GUARD_READ = 1, GUARD_WRITTEN = 2, GUARD_USED = 3 }; /* the last one: the machine does not say how */

typedef struct {
    int how;                        /* GUARD_* */
    int line;                       /* number (lines.h); 0: not known */
} guard_touch;

int guard_start(void);              /* 0, or -1 with an exception */
void guard_stop(void);              /* all are open; their touches are known until the next start */
/* Number of a guard of a receive's buffer, or 0: it has no pages of its own, or others of its line have been guarded. `is_whole`:
 * every byte is guarded. */
int guard_begin(const char *data, int64_t bytes, int line, int *is_whole);
guard_touch guard_end(int number);
void guard_forget(const char *begin, const char *end); /* the memory is about to be freed */

void guard_close_opened(void);

/* Begins code that touches buffers for smpy; guard_leave_own takes the value. */
static inline int guard_enter_own(void)
{
    return surface.access.is_own++;
}

static inline void guard_leave_own(int before)
{
    surface.access.is_own = before;
    if (!before && surface.access.n_opened) guard_close_opened();
}

/* ---- functions of the module ---- */
PyObject *guard_from_python(PyObject *module, PyObject *args);  /* (address, bytes, line) -> (number, is_whole) */
PyObject *guard_end_from_python(PyObject *module, PyObject *number); /* -> (how, line) */
#endif
