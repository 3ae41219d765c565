#include "world/row_kind.h"

#include <stddef.h>

#include "world/world.h"

const row_kind *row_kind_at(const row_kinds *all, int number)
{
    return number >= 0 && number < all->n ? all->at[number] : NULL;
}

int sim_row_kind_number(sim *s, const row_kind *kind)
{
    row_kinds *all = &s->row_kinds;
    int number = 0;
    while (number < all->n && all->at[number] != kind) number++;
    if (number == ROW_KINDS_MAX) return SIM_OUT_OF_MEMORY;
    if (number == all->n) all->at[all->n++] = kind;
    return number;
}
