/* test_fair.c -- flows come, change and go at random, and so do capacities. In this build each fair_solve() checks the invariants,
 * compares every share with that of a full solve, and aborts with a message where they differ. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include "failing_memory.h"

enum { MOST_LINKS = 64, MOST_FLOWS = 256, LONGEST = 12 };

typedef struct {
    uint64_t state;
    int n_links, n_parts;     /* a flow uses links of one part: those of one number modulo n_parts */
    double capacity[MOST_LINKS];
    uint8_t policy[MOST_LINKS];
    int flow[MOST_FLOWS];
    int n_flows;
    double share[MOST_FLOWS]; /* [number], as fair_changed() has told of it */
    int has_failures;         /* some allocations fail */
    fair *f;
} world;

static int below(world *w, int n) /* xorshift64* */
{
    w->state ^= w->state >> 12;
    w->state ^= w->state << 25;
    w->state ^= w->state >> 27;
    return (int)((w->state * UINT64_C(0x2545F4914F6CDD1D) >> 33) % (uint64_t)n);
}

static double between(world *w, double low, double high)
{
    return low + (high - low) * below(w, 1 << 20) / (1 << 20);
}

/* Few different numbers make ties, many make none: both are tested. */
static double draw(world *w, int has_ties, double low, double high)
{
    return has_ties ? low * (1 << below(w, 3)) : between(w, low, high);
}

static void let_allocations_fail(world *w)
{
    fails_at = w->has_failures && below(w, 2) ? n_asked + 1 + below(w, 12) : 0;
    fails_for_good = w->has_failures && below(w, 2);
}

/* Solves, again if it fails where it may; then all shares that differ from before must have been reported. */
static int solve(world *w)
{
    int n, n_wrong = 0;
    let_allocations_fail(w);
    while ((n = fair_solve(w->f)) == FAIR_NOT_YET || (n == -1 && w->has_failures))
        if (n == -1)
            let_allocations_fail(w);
    fails_at = 0;
    if (n < 0)
        return n;
    for (int i = 0; i < n; i++)
        w->share[fair_changed(w->f)[i]] = fair_share_bytes_per_s(w->f, fair_changed(w->f)[i]);
    for (int i = 0; i < w->n_flows; i++) {
        const double share = fair_share_bytes_per_s(w->f, w->flow[i]);
        n_wrong += !(share >= 0 && share == w->share[w->flow[i]]);
    }
    return n_wrong ? -2 : n;
}

static void arrive(world *w, int has_ties, int has_bounds, int has_extremes)
{
    int link[LONGEST];
    double coefficient[LONGEST];
    const int wanted = 1 + below(w, LONGEST);
    const int part = w->n_parts > 1 ? below(w, w->n_parts) : 0;
    int n = 0;
    for (int i = 0; i < wanted; i++) {
        const int l = below(w, (w->n_links - part + w->n_parts - 1) / w->n_parts) * w->n_parts + part;
        int j = 0;
        while (j < n && link[j] != l)
            j++;
        if (j < n)
            continue;
        link[n] = l;
        coefficient[n++] = below(w, 2) ? 1.0 : below(w, 4) ? 0.05 : 1.05;
    }
    const double penalty = has_extremes && below(w, 4) == 0 ? 10.0 : draw(w, has_ties, 1e-4, 1e-3);
    double bound = has_bounds && below(w, 2) ? draw(w, has_ties, 1e7, 1e9) : -1;
    if (w->n_parts > 1 && below(w, 8) == 0)
        bound = (1 - 4e-6) * w->capacity[link[0]] / coefficient[0]; /* leaves nearly nothing of a link */
    let_allocations_fail(w);
    w->flow[w->n_flows] = fair_add(w->f, penalty, bound, n, link, coefficient, w->n_flows);
    fails_at = 0;
    w->n_flows += w->flow[w->n_flows] >= 0 || !w->has_failures;
}

static void leave(world *w)
{
    const int i = below(w, w->n_flows);
    fair_remove(w->f, w->flow[i]);
    w->flow[i] = w->flow[--w->n_flows];
}

static void change(world *w, int has_ties, int has_bounds)
{
    if (below(w, 2)) {
        const int link = below(w, w->n_links);
        w->capacity[link] = draw(w, has_ties, 6e7, 2e9);
        fair_set_capacity(w->f, link, w->capacity[link]);
    } else if (w->n_flows) {
        const double bound = has_bounds && below(w, 2) ? draw(w, has_ties, 1e7, 1e9) : -1;
        fair_change(w->f, w->flow[below(w, w->n_flows)], draw(w, has_ties, 1e-4, 1e-3), bound);
    }
}

/* Random links: all mixtures of ties, bounds, FATPIPE links and penalties far apart. */
static int any_network(uint64_t seed)
{
    world w = {.state = seed * 0x9E3779B97F4A7C15ULL + 1};
    const int has_ties = below(&w, 2), has_bounds = below(&w, 2), has_fatpipes = below(&w, 2);
    const int has_extremes = below(&w, 4) == 0, most = 2 + below(&w, MOST_FLOWS - 2);
    const int has_changes = seed % 4 == 1;
    w.has_failures = below(&w, 3) == 0;
    w.n_links = 1 + below(&w, MOST_LINKS);
    w.n_parts = seed % 3 && w.n_links >= 8 ? 1 + (int)(seed % 5) : 1;
    for (int l = 0; l < w.n_links; l++) {
        w.capacity[l] = draw(&w, has_ties, 1.25e8, 1e9);
        w.policy[l] = has_fatpipes && below(&w, 5) == 0;
    }
    w.f = fair_new(w.n_links, w.capacity, w.policy);
    int failures = w.f == NULL;
    for (int date = 0; date < 60 && !failures; date++) {
        const int burst = below(&w, 4) ? 1 : 1 + below(&w, most), arrivals = 1 + below(&w, 4);
        for (int i = 0; i < burst; i++) {
            if (has_changes && below(&w, 3) == 0)
                change(&w, has_ties, has_bounds);
            else if (w.n_flows < most && (w.n_flows == 0 || below(&w, 5) < arrivals))
                arrive(&w, has_ties, has_bounds, has_extremes);
            else if (w.n_flows)
                leave(&w);
        }
        failures += solve(&w) < 0;
        failures += solve(&w) != 0; /* nothing happened */
    }
    while (w.n_flows)
        leave(&w);
    failures += solve(&w) != 0;
    fair_free(w.f);
    return failures;
}

/* A ring over a flat cluster, coupled by its acknowledgements and a backbone that may be what is full: every level is a tie. */
static int ring(uint64_t seed)
{
    world w = {.state = seed * 0x9E3779B97F4A7C15ULL + 1};
    const int n = 2 + below(&w, MOST_LINKS / 2 - 2), backbone = 2 * n;
    int flow[MOST_LINKS];
    w.n_links = backbone + 1;
    for (int l = 0; l < w.n_links; l++)
        w.capacity[l] = 1.25e9;
    w.capacity[backbone] = 1.25e9 / 2 * (1 + below(&w, 3)) * (below(&w, 2) ? n : 1);
    w.f = fair_new(w.n_links, w.capacity, w.policy);
    int failures = w.f == NULL;
    for (int i = 0; i < n; i++)
        flow[i] = -1;
    for (int date = 0; date < 200 && !failures; date++) {
        const int burst = below(&w, 3) ? 1 : 1 + below(&w, n), first = below(&w, n);
        for (int i = first; i < first + burst; i++) {
            const int from = i % n, to = (i + 1) % n;
            const int link[5] = {2 * from, backbone, 2 * to + 1, 2 * to, 2 * from + 1};
            const double coefficient[5] = {1.0, 1.05, 1.0, 0.05, 0.05};
            if (flow[from] >= 0) {
                fair_remove(w.f, flow[from]);
                flow[from] = -1;
            } else
                flow[from] = fair_add(w.f, 4e-5, 1.25e9, 5, link, coefficient, from);
        }
        if (seed % 4 == 1 && below(&w, 3) == 0)
            fair_set_capacity(w.f, below(&w, w.n_links), 1.25e9 * (1 + below(&w, 3)));
        const int n_changed = solve(&w);
        failures += n_changed < 0;
        for (int i = 0; i < n_changed; i++)
            failures += flow[fair_owner(w.f, fair_changed(w.f)[i])] != fair_changed(w.f)[i];
    }
    fair_free(w.f);
    return failures;
}

/* Flows whose bound is their narrowest link, most links FATPIPE: the last bit of a penalty decides whether such a link limits one
 * flow or all, and flows whose penalties differ by a last bit are many. */
static int pipes(uint64_t seed)
{
    world w = {.state = seed * 0x9E3779B97F4A7C15ULL + 1};
    const int n_penalties = 1 + below(&w, 6), most = 2 + below(&w, 40);
    double penalty[6];
    w.n_links = 1 + below(&w, 12);
    w.n_parts = 1;
    for (int i = 0; i < 6; i++)
        penalty[i] = between(&w, 1e-5, 1e-3);
    for (int l = 0; l < w.n_links; l++) {
        w.policy[l] = below(&w, 4) > 0;
        const double any = between(&w, 1e8, 1e10);
        w.capacity[l] = l == 0 || !w.policy[l] || below(&w, 2) ? any : w.capacity[below(&w, l)];
    }
    w.f = fair_new(w.n_links, w.capacity, w.policy);
    int failures = w.f == NULL;
    for (int date = 0; date < 100 && !failures; date++) {
        const int burst = below(&w, 4) ? 1 : 1 + below(&w, 8);
        for (int i = 0; i < burst; i++) {
            if (w.n_flows && (w.n_flows == most || below(&w, 2))) {
                leave(&w);
                continue;
            }
            int link[4], n = 0;
            double coefficient[4], bound = INFINITY;
            for (int l = 0; l < w.n_links && n < 4; l++) {
                if (below(&w, w.n_links) > 2)
                    continue;
                link[n] = l;
                coefficient[n++] = below(&w, 4) ? 1.0 : 0.05;
                if (coefficient[n - 1] == 1.0)
                    bound = fmin(bound, w.capacity[l]);
            }
            const double last_bits = 1 + 0x1p-52 * below(&w, 4);
            w.flow[w.n_flows] = fair_add(w.f, penalty[below(&w, n_penalties)] * last_bits, bound, n, link, coefficient, 0);
            failures += w.flow[w.n_flows++] < 0;
        }
        failures += solve(&w) < 0;
    }
    fair_free(w.f);
    return failures;
}

enum { TWO_BOTTLENECKS = 2856 }; /* seed: a flow of small share, two of whose links have the same level but for rounding */

int main(int argc, char **argv)
{
    const uint64_t n_seeds = argc > 1 ? strtoull(argv[1], NULL, 10) : 300;
    const uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
    for (uint64_t seed = first; seed < first + n_seeds; seed++)
        if (any_network(seed) || ring(seed) || pipes(seed)) {
            fprintf(stderr, "test_fair: seed %llu failed\n", (unsigned long long)seed);
            return 1;
        }
    return any_network(TWO_BOTTLENECKS);
}
