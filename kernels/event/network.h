/* network.h -- the network of a world: what carries transfers in simulated time.
 *
 * A network is a state, five functions, some that it may do without, and a check for debug builds; network_flow.c is the default
 * one. A new one is a file beside it, with a line in the table of networks.c, or outside: it calls nothing but this header,
 * transfer.h, clock.h and the structures (heap.h, ...), and a world is told with sim_use_network.
 * tests/extending/network_constant.c is one to copy.
 *
 * Laws: (1) transfers that end at one date end in order of creation (transfer.order), by transfer_end, which only `fire` calls; the
 *           owner may then start others: `start` must expect to be called from there;
 *       (2) a date that next_date tells is not in the past; when the clock stands there, `fire` ends what is due;
 *       (3) no function works for more than some milliseconds: next_date may say "not yet" instead. */
#ifndef SMPY_NETWORK_H
#define SMPY_NETWORK_H
#include "clock.h"
#include "platform.h"
#include "transfer.h"

typedef struct {
    const char *name;
    void *(*begin)(sim *s, const void *parameters);             /* the state, or NULL without memory */
    int (*start)(sim *s, void *state, int transfer);            /* 0, or an error: then it keeps nothing of it */
    int (*next_date)(sim *s, void *state, double *date_s);      /* INFINITY: none. 0; 1: not yet, call again; or an error */
    int (*fire)(sim *s, void *state);                           /* fires the events due now: their number, or an error */
    void (*free)(void *state);
    void (*check)(const sim *s, const void *state);             /* the invariants, in a debug build; NULL: none */
    /* A link's `kind` (PROFILE_BANDWIDTH, ...: profile.h) has changed from `before`: 0, or an error. Called between next_date
     * and fire. NULL: machines whose links change are refused. */
    int (*link_changed)(sim *s, void *state, int kind, int link, double before);
    /* Does the same as sim_link_loads. NULL: links are not shared. */
    int (*link_loads)(const sim *s, const void *state, link_load *list);
    /* Time of a message with nothing else on its links as they are now, or NaN. NULL: not known. */
    double (*alone_s)(sim *s, void *state, int source_host, int target_host, int64_t bytes);
} network_kind;

typedef struct {
    const network_kind *kind;
    void *state;
} network;

/* Before the first transfer: 0, or an error. `parameters` are the kind's own, and read before it returns. */
int sim_use_network(sim *s, const network_kind *kind, const void *parameters);

/* For networks: */
const sim_clock *network_clock(const sim *s);
const platform *network_platform(const sim *s);
int network_counts_links(const sim *s);   /* do callers want link loads? Known when the first transfer starts */
/* Present values of the links. If profiles change them, another world of the same platform has other arrays. */
const double *network_bandwidth_bytes_per_s(const sim *s);
const double *network_latency_s(const sim *s);
int network_link_is_on(const sim *s, int link);
/* The route between two hosts with its present latency, into `path`, which the caller keeps for reuse: 0, SIM_NO_ROUTE (the user is
 * told between which hosts), SIM_LINK_OFF, or SIM_OUT_OF_MEMORY. */
int network_route(sim *s, int source_host, int target_host, platform_path *path);
int network_lose(sim *s, int transfer, int link); /* the link that it needs is off: SIM_LINK_OFF */
void network_worked(sim *s, int n_changed, int n_solves); /* for statistics, and for law 3 of sim.h */
#endif
