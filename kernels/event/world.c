#include <math.h>
#include <stdlib.h>

#include "world.h"

/* How a world comes to be, and how it goes. */

sim *sim_new(const platform *p, const model *m, int n_ranks, const int *host_of_rank)
{
    int n_hosts = platform_n_hosts(p);
    size_t n = (size_t)n_ranks;
    sim *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->machine = p;
    s->model = *m;
    s->n_ranks = n_ranks;
    s->running = -1;
    s->free_flow = -1;
    s->tests_in_a_row = s->test_anys_in_a_row = s->iprobes_in_a_row = 1;
    heap_init(&s->sleeps, s->model.polls_notice);
    lanes_init(&s->latencies);
    heap_init(&s->cores, 1);
    heap_init(&s->transfers, 1);
    s->line = calloc(n, sizeof *s->line);
    s->turn = malloc(n * sizeof *s->turn);
    s->next_turn = malloc(n * sizeof *s->next_turn);
    s->finish_s = malloc(n * sizeof *s->finish_s);
    s->host = calloc((size_t)n_hosts, sizeof *s->host);
    s->shares = fair_new(platform_n_links(p), platform_bandwidth_bytes_per_s(p), platform_policy(p));
    if ((m->polls_notice && !s->sleeps.place) || !s->cores.place || !s->transfers.place || !s->line || !s->turn ||
        !s->next_turn || !s->finish_s || !s->host || !s->shares ||
        match_init(&s->match, n_ranks) < 0 || comm_tables_init(s) < 0) {
        sim_free(s);
        return NULL;
    }
    for (int h = 0; h < n_hosts; h++) {
        s->host[h].speed_flop_per_s = platform_speed_flop_per_s(p, h);
        s->host[h].cores = platform_cores(p, h);
        s->host[h].touched = -1;
    }
    for (int r = 0; r < n_ranks; r++) {
        s->line[r] = (timeline){.rank = r, .host = host_of_rank[r], .news = -1};
        s->host[host_of_rank[r]].n_ranks++;
        s->finish_s[r] = NAN;
        s->turn[r] = r;
    }
    s->n_turn = n_ranks;
    return s;
}

static void show_free(performance *p)
{
    free((void *)p->frame.tables);
    free(p->made);
    free(p->owed_of_s);
    free(p);
}

static void free_actions(timeline *t)
{
    for (int i = 0; i < t->n; i++) {
        action *a = &t->queue[(t->first + i) & (t->room - 1)];
        if (a->what == DO_WAIT_ALL || a->what == DO_WAIT_ANY || a->what == DO_TEST_ANY) free(a->with.list);
        if (a->what == DO_COLLECTIVE && !a->with.show->group) show_free(a->with.show);
    }
    free(t->queue);
}

static void free_requests(sim *s)
{
    slot_pool *pool = &s->requests;
    for (int id = 1; id <= pool->n; id++) {
        slot *x = &pool->at[id];
        if (x->payload && s->payloads.at[x->payload].kind == PAYLOAD_OWNED && !x->is.is_done) free(s->payloads.at[x->payload].data);
        if (x->is_group) show_free(x->show);
    }
    free(s->payloads.at);
    free(pool->at);
}

void sim_free(sim *s)
{
    if (!s) return;
    for (int r = 0; s->line && r < s->n_ranks; r++) free_actions(&s->line[r]);
    for (int h = 0; s->host && h < platform_n_hosts(s->machine); h++) heap_free(&s->host[h].running);
    for (int i = 0; i < s->n_schedules; i++) schedule_free(s->schedule[i]);
    for (performance *p = s->free_show, *next; p; p = next) {
        next = p->next;
        free(p);
    }
    sim_deliveries_done(s);
    free_requests(s);
    if (s->comm) comm_tables_free(s);
    match_free(&s->match);
    fair_free(s->shares);
    heap_free(&s->sleeps);
    heap_free(&s->cores);
    lanes_free(&s->latencies);
    heap_free(&s->transfers);
    free(s->path.link);
    free(s->way_back.link);
    free(s->links.link);
    free(s->links.coefficient);
    free(s->line);
    free(s->turn);
    free(s->next_turn);
    free(s->due);
    free(s->flow_due);
    free(s->flow);
    free(s->host);
    free(s->schedule);
    free(s->delivery);
    free(s->loose);
    free(s->note);
    free(s->latch);
    free(s->instance);
    free(s->finish_s);
    free(s);
}
