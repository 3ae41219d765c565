/* fair_filling.c -- weighted max-min fair shares by progressive filling from zero, of a part of the network.
 *
 * It fills as SimGrid does, with SimGrid's tolerances. A flow is fixed once its share is known.
 *   1. The saturation level of a link is what remains of its capacity, divided by the use (the sum of coefficient / penalty,
 *      FATPIPE: the largest) of its flows that are not fixed.
 *   2. The links of the lowest saturation level are saturated. Their flows that are not fixed are the candidates.
 *   3. If a candidate's bound level is below that level, the candidates of the lowest bound level get their bounds; otherwise all
 *      get level / penalty. These flows are fixed.
 *   4. The links of the fixed flows are charged. A link is left out when at most FAIR_PRECISION of its capacity remains, or its
 *      use is at most FAIR_PRECISION. Go on with 2.
 * A flow all of whose links were left out has the share 0.
 *
 * Invariant: no flow outside the part uses a link of the part. So its shares are those that filling the whole network gives: each
 * step looks at one link and its flows, except that step 3 takes together the candidates of all links of one level. A candidate
 * that waits there because one in another part has a lower bound gets its own in the next round. */
#include "solver/fair_link.h"

static bool is_shared(const fair_filling *s, int link)
{
    return s->f->link[s->link[link].number].policy == FAIR_SHARED;
}

static double capacity(const fair_filling *s, int link)
{
    return s->f->link[s->link[link].number].capacity;
}

static double left(const fair_filling *s, int link)
{
    return fair_sum_left(capacity(s, link), &s->link[link].spent);
}

static void add_use(const fair_filling *s, int link, double use)
{
    fair_filling_link *k = &s->link[link];
    if (is_shared(s, link))
        fair_sum_add(&k->use, use);
    else
        k->use.hi = fmax(k->use.hi, use);
}

/* Place in the part of the flow, and of the link, of an element. */
static int flow_at(const fair_filling *s, int element)
{
    return s->f->flow[s->f->element[element].flow].place;
}

static int link_at(const fair_filling *s, int element)
{
    return s->f->link[s->f->element[element].link].place;
}

static void find_largest_use(fair_filling *s, int link)
{
    fair_filling_link *k = &s->link[link];
    k->use.hi = 0;
    s->work += k->end - k->first;
    for (int i = k->first; i < k->end; i++)
        if (!s->flow[flow_at(s, s->element[i])].is_fixed)
            k->use.hi = fmax(k->use.hi, s->f->element[s->element[i]].use);
}

static void queue_link(fair_filling *s, int link)
{
    fair_filling_link *k = &s->link[link];
    const double level = left(s, link) / (k->use.hi + k->use.lo);
    if (k->is_queued && k->level == level)
        return;
    k->level = level;
    k->is_queued = true;
    s->is_out_of_memory |= !fair_queue_push(&s->queue, k->level, link);
}

/* Step 1; sorts the elements by link. */
void fair_filling_open(fair_filling *s)
{
    int n = 0;
    for (int flow = 0; flow < s->n_flows; flow++) {
        const fair_flow *g = &s->f->flow[s->flow[flow].number];
        for (int e = g->first; e < g->first + g->n; e++)
            s->link[link_at(s, e)].n_unfixed++;
    }
    for (int link = 0; link < s->n_links; link++) {
        s->link[link].first = s->link[link].end = n;
        n += s->link[link].n_unfixed;
        s->link[link].level = INFINITY;
    }
    for (int flow = 0; flow < s->n_flows; flow++) {
        const fair_flow *g = &s->f->flow[s->flow[flow].number];
        for (int e = g->first; e < g->first + g->n; e++) {
            const int link = link_at(s, e);
            s->element[s->link[link].end++] = e;
            add_use(s, link, s->f->element[e].use);
        }
    }
    for (int link = 0; link < s->n_links; link++)
        if (s->link[link].n_unfixed > 0)
            queue_link(s, link);
}

/* Step 2: fills `next` and `saturated`. Returns the number of candidates. */
static int saturate(fair_filling *s, double level, int *n_saturated)
{
    int n = 0;
    *n_saturated = 0;
    while (s->queue.n && s->queue.entry[0].key == level) {
        const int link = s->queue.entry[0].link;
        fair_filling_link *k = &s->link[link];
        fair_queue_pop(&s->queue);
        if (k->level != level || !k->is_queued)
            continue;
        k->is_queued = false;
        s->saturated[(*n_saturated)++] = link;
        s->work += k->end - k->first;
        for (int i = k->first; i < k->end; i++) {
            const int flow = flow_at(s, s->element[i]);
            fair_filling_flow *g = &s->flow[flow];
            if (g->is_fixed || g->seen == s->round)
                continue;
            g->seen = s->round;
            g->bottleneck = s->link[link].number;
            s->next[n++] = flow;
        }
    }
    return n;
}

static bool is_limited_by_shared(const fair_filling *s, int flow)
{
    const int bottleneck = s->flow[flow].bottleneck;
    return bottleneck >= 0 && s->f->link[bottleneck].policy == FAIR_SHARED;
}

/* Step 4 for one flow: charges its links. */
static void charge(fair_filling *s, int flow)
{
    const fair *f = s->f;
    fair_filling_flow *answer = &s->flow[flow];
    const fair_flow *g = &f->flow[answer->number];
    answer->is_fixed = true;
    s->work += g->n;
    for (int e = g->first; e < g->first + g->n; e++) {
        const fair_element *at = &f->element[e];
        const int link = link_at(s, e);
        fair_filling_link *k = &s->link[link];
        k->n_unfixed--;
        if (is_shared(s, link)) {
            const double spent = at->coefficient * answer->share;
            fair_sum_add(&k->spent, spent);
            fair_sum_add(&k->use, -at->use);
            k->rounding_error += spent * (1 + answer->rounding_error);
        } else if (at->use == k->use.hi && k->level < INFINITY) {
            s->is_ambiguous |= is_limited_by_shared(s, flow) && k->level - answer->level <= 1e-9 * k->level;
            find_largest_use(s, link);
        }
    }
}

/* Step 4 for a link, after all flows of the round: is it left out, or what is its saturation level now? */
static void update_link(fair_filling *s, int link)
{
    fair_filling_link *k = &s->link[link];
    if (k->level == INFINITY)
        return;
    if (k->use.hi + k->use.lo <= FAIR_PRECISION || left(s, link) <= FAIR_PRECISION * capacity(s, link)) {
        k->is_left_out = k->n_unfixed > 0;
        k->level = INFINITY;
    } else if (k->n_unfixed == 0)
        k->level = INFINITY;
    else
        queue_link(s, link);
}

static void fix(fair_filling *s, int flow, double level, bool is_at_bound)
{
    fair_filling_flow *answer = &s->flow[flow];
    const fair_flow *g = &s->f->flow[answer->number];
    const int link = s->f->link[answer->bottleneck].place;
    if (is_at_bound) {
        answer->bottleneck = FAIR_NONE;
        answer->share = g->bound;
        answer->level = g->bound_level;
    } else {
        answer->share = level / g->penalty;
        answer->level = level;
        answer->rounding_error = 2 + (capacity(s, link) + s->link[link].rounding_error) / left(s, link);
    }
}

/* Would the flow, at its bound, saturate a FATPIPE link other than `link`? */
static bool saturates_other(const fair_filling *s, int flow, int link)
{
    const fair_flow *g = &s->f->flow[s->flow[flow].number];
    for (int e = g->first; e < g->first + g->n; e++) {
        const fair_element *at = &s->f->element[e];
        if (link_at(s, e) != link && link_is_saturated_by(&s->f->link[at->link], at->use, g->bound_level))
            return true;
    }
    return false;
}

static void fill_round(fair_filling *s, double level)
{
    const fair *f = s->f;
    int n_saturated, n_fixed = 0;
    s->round++;
    const int n = saturate(s, level, &n_saturated);
    double lowest = level;
    for (int i = 0; i < n; i++)
        lowest = fmin(lowest, f->flow[s->flow[s->next[i]].number].bound_level);
    for (int i = 0; i < n; i++) {
        const int flow = s->next[i];
        const bool is_at_bound = lowest < level;
        if (is_at_bound && !(fabs(f->flow[s->flow[flow].number].bound_level - lowest) < FAIR_PRECISION))
            continue;
        s->is_ambiguous |= is_at_bound && saturates_other(s, flow, n_saturated == 1 ? s->saturated[0] : FAIR_NONE);
        fix(s, flow, level, is_at_bound);
        s->next[n_fixed++] = flow;
    }
    for (int i = 0; i < n_fixed; i++)
        charge(s, s->next[i]);
    for (int i = 0; i < n_saturated; i++)
        update_link(s, s->saturated[i]);
    for (int i = 0; i < n_fixed; i++) {
        const fair_flow *g = &f->flow[s->flow[s->next[i]].number];
        for (int e = g->first; e < g->first + g->n; e++)
            update_link(s, link_at(s, e));
    }
}

bool fair_filling_run(fair_filling *s)
{
    s->work = 0;
    while (s->queue.n && !s->is_out_of_memory) {
        const fair_entry first = s->queue.entry[0];
        const fair_filling_link *k = &s->link[first.link];
        if (++s->work > FAIR_PIECE)
            return false;
        if (k->level == first.key && k->is_queued)
            fill_round(s, first.key);
        else
            fair_queue_pop(&s->queue);
    }
    return true;
}

/* Has leaving it out made shares differ from max-min fair ones? */
static bool has_left_out(const fair_filling *s, int link)
{
    const fair_filling_link *k = &s->link[link];
    return k->is_left_out
           && (k->n_unfixed > 0 || left(s, link) < -FAIR_ROUNDING * capacity(s, link) || !is_shared(s, link));
}

/* Could step 3 take flows that a FATPIPE link limits for flows of the lowest bound level, or has it? */
static bool has_close_bounds(const fair_filling *s, int link)
{
    double highest_at_bound = -INFINITY, lowest_limited = INFINITY, level = INFINITY;
    for (int i = s->link[link].first; i < s->link[link].end; i++) {
        const fair_filling_flow *answer = &s->flow[flow_at(s, s->element[i])];
        const double saturation = capacity(s, link) / s->f->element[s->element[i]].use;
        if (answer->bottleneck == FAIR_NONE && answer->level >= saturation)
            return true;
        if (answer->level >= saturation)
            level = fmin(level, saturation);
    }
    for (int i = s->link[link].first; i < s->link[link].end; i++) {
        const fair_filling_flow *answer = &s->flow[flow_at(s, s->element[i])];
        if (answer->bottleneck == FAIR_NONE)
            highest_at_bound = fmax(highest_at_bound, answer->level);
        else if (answer->level >= level)
            lowest_limited = fmin(lowest_limited, s->f->flow[answer->number].bound_level);
    }
    return lowest_limited - highest_at_bound < FAIR_PRECISION;
}

bool fair_filling_is_beyond_repair(const fair_filling *s, int link)
{
    return has_left_out(s, link) || (!is_shared(s, link) && has_close_bounds(s, link));
}
