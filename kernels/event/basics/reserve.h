/* reserve.h -- lists that grow. */
#ifndef SMPY_RESERVE_H
#define SMPY_RESERVE_H
#include <stdlib.h>

#include "basics/errors.h"

/* Room for n: 0, or SIM_OUT_OF_MEMORY. */
static inline int reserve(void **list, int *room, int n, size_t bytes)
{
    if (n <= *room) return 0;
    int grown_room = *room ? 2 * *room : 16;
    while (grown_room < n) grown_room *= 2;
    void *grown = realloc(*list, (size_t)grown_room * bytes);
    if (!grown) return SIM_OUT_OF_MEMORY;
    *list = grown;
    *room = grown_room;
    return 0;
}
#endif
