/* lines.h -- lines of the program as small numbers: what an account says of where its calls are.
 *
 * A line is known by its code's line table, which the ranks' copies of the code share, the first line of its function, because
 * functions that look alike share their table, too, and the offset of an instruction: there are as many as the program has calls,
 * and looking one up again is cheap. Numbers begin with 1 and hold until another world is attached. */
#ifndef SMPY_LINES_H
#define SMPY_LINES_H
#include "surface.h"

int lines_here(void);           /* line of the innermost frame that is not ours; 0: not known */

enum { LINE_OF_OURS = -1 };
/* Line whose code touches memory, with functions of numpy and copy passed over; LINE_OF_OURS: the code is ours. 0: not known. */
int lines_of_access(void);
int lines_are_one(int a, int b); /* one line of one file, though they may have different numbers */
void lines_forget(void);

/* ---- functions of the module ---- */
PyObject *lines_situation(PyObject *module, PyObject *unused); /* the running rank, the line, and whether it polls in vain */
PyObject *lines_at(PyObject *module, PyObject *number); /* (file, line) */
#endif
