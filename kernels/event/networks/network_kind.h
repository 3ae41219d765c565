/* network_kind.h -- the interface between the kernel and a network model: all that a model in a shared library needs.
 *
 * A network model is a `network_kind`: its name, the names of its parameters, and its functions. It owns its parameter block and a
 * state in each world. Those of the kernel are files beside this one, with a line in the table of networks.c; they may call
 * network.h instead of `network_calls`. One from outside includes this header alone, and smpy.platforms.models.network_models says
 * how Python hands it over. tests/extending/own_network/ is one to copy.
 *
 * Laws: (1) transfers that end at one date end in order of creation, by `end_transfer`, which only `fire` calls; the owner may
 *           then start others: `start` must expect to be called from there;
 *       (2) a date that next_date tells is not in the past; when the clock stands there, `fire` ends what is due;
 *       (3) no function works for more than some milliseconds: next_date may say "not yet" instead;
 *       (4) a parameter block is a struct of doubles alone, and of arrays of them: in the order of `parameters`, nothing else. */
#ifndef SMPY_NETWORK_KIND_H
#define SMPY_NETWORK_KIND_H
#include <stddef.h>
#include <stdint.h>

/* cdef */
typedef struct sim sim;
typedef struct network_kind network_kind;

enum { NETWORK_ABI = 3 };                 /* version of this header's structs */
typedef struct {
    int version, kind_bytes;              /* NETWORK_ABI and sizeof(network_kind), as the model was compiled */
} network_abi;                            /* begins a network_kind, in each version */

typedef struct {
    const char *name;                     /* with its unit: latency_s */
    int n;                                /* 1; above: it is an array, and numbers that are not given are 0 */
} network_parameter;

/* end cdef */

enum { NETWORK_OUT_OF_MEMORY = -10 };     /* SIM_OUT_OF_MEMORY, as functions of a kind answer */

typedef struct {
    int source_host, target_host;
    int64_t bytes;
    int64_t order;                        /* of creation */
} network_transfer;

/* A collective that the network times as a whole. */
typedef struct {
    int n_hosts, ranks_on_host_max;       /* hosts of its ranks; the most ranks on one of them */
    int64_t sent_bytes, received_bytes;   /* the most that one rank says it sends, and receives */
} network_collective;

struct fair;

/* Functions of somebody who wants to know of flows (fair.h) on links. */
typedef struct {
    /* A flow of so many bytes begins. Where its acknowledgements alone go, its coefficient is below 1. */
    void (*began)(void *own, int n, const int *link, const double *coefficient, double bytes);
    void (*ends)(void *own, const struct fair *shares, int flow);          /* it is removed from the shares next */
    void (*solved)(void *own, const struct fair *shares, int n_changed);   /* so many flows have another share */
    void *own;
    /* A transfer starts, before its latency phase: links and coefficients of the flow that it will be. */
    void (*set_out)(void *own, int n, const int *link, const double *coefficient);
} link_watcher;

/* Functions of the kernel, for a kind that is not linked with it. */
typedef struct {
    double (*now_s)(const sim *s);
    double (*same_date_s)(const sim *s);  /* events before this date end now */
    network_transfer (*transfer)(const sim *s, int transfer);
    void (*end_transfer)(sim *s, int transfer);
    int (*n_hosts)(const sim *s);
    int (*n_links)(const sim *s);
    const double *(*bandwidth_bytes_per_s)(const sim *s); /* [n_links], as they are now: a pointer not to be kept */
    /* The links between two hosts, valid until the next call, and their present latency: their number, or an error, which
     * `start` returns. */
    int (*route)(sim *s, int source_host, int target_host, const int **link, double *latency_s);
    int (*lose)(sim *s, int transfer, int link);          /* the link that it needs is off: an error to return */
    int (*link_is_on)(const sim *s, int link);
} network_calls;

struct network_kind {
    network_abi abi;
    const char *name;
    const network_parameter *parameters;  /* ends with one without a name */
    const network_kind *extends;          /* NULL, or a kind whose block is the first member of this one's */
    size_t block_bytes;                   /* size of the parameter block */
    /* The state, or NULL without memory. The block is read before it returns. */
    void *(*begin)(sim *s, const network_calls *kernel, const void *parameters);
    int (*start)(sim *s, void *state, int transfer);            /* 0, or an error: then it keeps nothing of it */
    int (*next_date)(sim *s, void *state, double *date_s);      /* INFINITY: none. 0; 1: not yet, call again; or an error */
    int (*fire)(sim *s, void *state);                           /* fires the events due now: their number, or an error */
    void (*free)(void *state);
    void (*check)(const sim *s, const void *state);             /* the invariants, in a debug build; NULL: none */
    /* A link's `kind` (PROFILE_BANDWIDTH, ...: profile.h) has changed from `before`: 0, or an error. Called between next_date
     * and fire. NULL: machines whose links change are refused. */
    int (*link_changed)(sim *s, void *state, int kind, int link, double before);
    /* Before the first transfer: tells of flows on links from now on. NULL: links are not shared. */
    void (*watch_links)(void *state, const link_watcher *watcher);
    /* Time of a message with nothing else on its links as they are now, or NaN. NULL: not known. */
    double (*alone_s)(sim *s, void *state, int source_host, int target_host, int64_t bytes);
    /* From when on a host's next message can set out. Then a send's overhead begins as it sets out, and the CPU of its receiver's
     * rank takes it. NULL: messages need no CPU. */
    double (*sends_from_s)(const sim *s, const void *state, int host);
    /* With sends_from_s: a rank has nothing to do now but to take messages. 0, or an error. */
    int (*idles)(sim *s, void *state, int rank);
    /* With sends_from_s: the rank takes the first message that has arrived, if it is older than so many creations and can be taken
     * now: 1, 0, or an error. NULL: none is. */
    int (*take_older)(sim *s, void *state, int rank, int64_t order);
    /* Time that a send costs its rank before it sets out, whatever its calls cost. NULL: what its calls cost. */
    double (*startup_s)(const sim *s, const void *state, int source_host, int target_host);
    /* All ranks of a collective have come: `transfer`, which has no hosts, ends when they go on. 0, or an error. NULL: it times
     * messages alone. */
    int (*start_collective)(sim *s, void *state, int transfer, const network_collective *is);
};
#endif
