#include "world.h"

/* Cores of a host shared by the ranks that compute on it (SMPI's Cas01): one execution uses at most one core; when there are
 * more executions than cores each gets cores / executions of one. All executions of a host therefore progress at one rate, and
 * the host only counts what one of them has been served: an execution ends when that reaches its own mark. */

static double rate_flop_per_s(const processor *h)
{
    return h->n_running > h->cores ? h->speed_flop_per_s * h->cores / h->n_running : h->speed_flop_per_s;
}

static void serve(processor *h, double now_s)
{
    if (h->n_running) h->served_flop += rate_flop_per_s(h) * (now_s - h->since_s);
    h->since_s = now_s;
}

static int reschedule(sim *s, int host)
{
    processor *h = &s->host[host];
    heap_remove(&s->cores, host);
    if (!h->n_running) return 0;
    double left = h->running.item[0].date_s - h->served_flop;
    double date_s = s->now_s + (left > 0 ? left / rate_flop_per_s(h) : 0);
    return heap_push(&s->cores, date_s, 0, host) < 0 ? SIM_OUT_OF_MEMORY : 0;
}

int cpu_start(sim *s, int host, int line, double flop)
{
    processor *h = &s->host[host];
    serve(h, s->now_s);
    if (!h->n_running) h->served_flop = 0;
    if (heap_push(&h->running, h->served_flop + flop, -s->order++, line) < 0) return SIM_OUT_OF_MEMORY;
    h->n_running++;
    return reschedule(s, host);
}

int cpu_ended(sim *s, int host)
{
    processor *h = &s->host[host];
    if (!h->n_running) return -1;
    serve(h, s->now_s);
    heap_item first = h->running.item[0];
    double left_s = (first.date_s - h->served_flop) / rate_flop_per_s(h);
    if (left_s >= SAME_DATE_S && s->now_s + left_s > s->now_s) {
        keep_error(s, reschedule(s, host));
        return -1;
    }
    heap_pop(&h->running);
    h->n_running--;
    keep_error(s, reschedule(s, host));
    return first.id;
}
