#include "world/memory.h"

#include <math.h>
#include <stdlib.h>

#include "world/world.h"

int memories_init(memories *all)
{
    heap_init(&all->hosts, 1);
    return all->hosts.place ? 0 : SIM_OUT_OF_MEMORY;
}

void memories_free(memories *all)
{
    heap_free(&all->hosts);
}

int sim_host_memory(sim *s, int id, double bytes_per_s, double core_bytes_per_s)
{
    if (id < 0 || id >= s->hosts.n) return SIM_BAD_RANK;
    host *h = &s->hosts.at[id];
    const int knows_host = bytes_per_s > 0, knows_core = core_bytes_per_s > 0;
    if (h->memory || !(knows_host || knows_core)) return 0;
    h->memory = calloc(1, sizeof *h->memory);
    if (!h->memory) return SIM_OUT_OF_MEMORY;
    h->memory->unit_per_s = !knows_host ? core_bytes_per_s : !knows_core ? bytes_per_s : fmin(core_bytes_per_s, bytes_per_s);
    h->memory->n_units = knows_host ? bytes_per_s / h->memory->unit_per_s : h->cores.n_units;
    return 0;
}

double memory_alone_s(const host *h, double bytes, int n_cores)
{
    return h->memory ? bytes / (h->memory->unit_per_s * fmin(n_cores, h->memory->n_units)) : 0;
}

/* Its date anew, after somebody came or left. */
static int date(sim *s, int id)
{
    heap *all = &s->memories.hosts;
    const resource *memory = s->hosts.at[id].memory;
    heap_remove(all, id);
    if (!resource_n_users(memory)) return 0;
    return heap_push(all, resource_next_s(memory, s->clock.now_s), 0, id) < 0 ? SIM_OUT_OF_MEMORY : 0;
}

int memory_join(sim *s, int id, double bytes)
{
    const int at = s->timelines.at[id].host, n_threads = s->timelines.at[id].n_threads;
    const int error = resource_join(s->hosts.at[at].memory, id, n_threads, bytes / n_threads, 0, s->order++, s->clock.now_s);
    return error < 0 ? error : date(s, at);
}

double memory_next_s(const memories *all)
{
    return all->hosts.n ? all->hosts.item[0].date_s : INFINITY;
}

int memory_take_served(sim *s, int id)
{
    const int served = resource_take_served(s->hosts.at[id].memory, s->clock.now_s, CLOCK_SAME_DATE_S);
    const int error = date(s, id);
    return error < 0 ? error : served;
}

#ifdef SMPY_CHECK
#include <assert.h>

void memories_check(const sim *s)
{
    assert(heap_check(&s->memories.hosts));
    for (int h = 0; h < s->hosts.n; h++) {
        const resource *memory = s->hosts.at[h].memory;
        assert(heap_has(&s->memories.hosts, h) == (memory && resource_n_users(memory) > 0));
        assert(!memory || (heap_check(&memory->free.users) && memory->n_units >= 1));
    }
}
#endif
