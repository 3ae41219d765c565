/* messages.h -- messages as the outside sees them: communicators, requests, payload, and the actions that post and wait. */
#ifndef SMPY_MESSAGES_H
#define SMPY_MESSAGES_H
#include <stdint.h>

#include "basics/folded_table.h"
#include "basics/strided.h"
#include "world/ranks.h"
#include "world/rows.h"

/* cdef */
enum { SIM_ANY = -1 };                /* any source, any tag */
enum { SIM_COMM_WORLD = 0 };
enum { SEND_STANDARD = 0, SEND_SYNCHRONOUS = 1, SEND_BUFFERED = 2, /* buffered: whatever its size, as if detached */
       SEND_INNER = 3 };              /* a standard one, but no program's own: part of a collective, say */
enum { PAYLOAD_NONE = 0, PAYLOAD_BORROWED = 1, PAYLOAD_OWNED = 2, PAYLOAD_PYTHON = 3 };

/* Ranges of a message's bytes, in order and apart. */
typedef struct {
    int64_t n;
    byte_range at[];
} byte_ranges;

/* The payload end of a request; the timing plane never reads it.
 * NONE carries no bytes (folded memory, zero bytes). BORROWED: the memory is kept alive by whoever posted, until the request
 * is complete. OWNED (sends): a copy made by payload_copy, freed on delivery. PYTHON (receives): the bytes are handed over as
 * a delivery. `token` != 0, or `object` != NULL: a delivery tells when the transfer has ended. */
typedef struct {
    char *data;
    int64_t bytes;
    int64_t token;                    /* the Python face's own key */
    void *object;                     /* the compiled surface's reference */
    const strided *layout;            /* BORROWED (receives): where the bytes go, kept alive as the memory is; NULL: one stretch */
    union {
        struct {                      /* PYTHON: contiguous blocks that `bytes` go to, 0: one stretch; and the memory they span */
            int64_t n_blocks, span_bytes;
        };
        double work_s;                /* receives, once done: what their rank takes for the bytes (data_work.h) */
    };
    byte_ranges *carried;             /* sends: the bytes with a content, freed on delivery; NULL: see the folded table */
    int kind;
} payload;

typedef struct request {
    int rank;                         /* world rank of the poster */
    int comm;
    int peer;                         /* rank in comm as posted, or SIM_ANY */
    int tag;                          /* tag as posted, or SIM_ANY */
    int64_t bytes;                    /* sent, or capacity of the receive */
    int64_t matched_bytes;            /* receives, once matched: of the message; more than `bytes` means truncation */
    int matched_source;               /* receives, once matched: rank in comm; sends: the poster's own */
    int matched_tag;
    uint8_t is_send;
    uint8_t is_detached;              /* a send that completes at once; the kernel frees it, but for a buffered one */
    uint8_t is_done;
    uint8_t is_cancelled;             /* done, without a transfer */
    int line;                         /* line of the call that posted it (sim_begin_call); 0: none was open */
} request;

/* Work of the payload plane after a transfer: read it, then call sim_deliveries_done. */
typedef struct {
    int request;                      /* request of the side that asked */
    int64_t token;
    void *object;
    char *data;                       /* PAYLOAD_PYTHON: the bytes (valid until sim_deliveries_done), else NULL */
    int64_t bytes;
    int is_cancelled;                 /* there was no transfer, and there will be none */
    const byte_ranges *carried;       /* bytes that have a content (valid as long); NULL: all */
} delivery;

/* ---- communicators: rank tables, numbered from SIM_COMM_WORLD on ----
 * An intercommunicator is two of them, one a side: a rank posts on its own side's, and means ranks of the other side. */
int sim_comm_self(sim *s, int rank);                             /* communicator of the rank alone */
int sim_comm_is_self(const sim *s, int comm);
int sim_comm_new(sim *s, int n, const int *world_rank);
int sim_comm_new_inter(sim *s, int n, const int *world_rank, int n_remote, const int *remote_world_rank); /* the first side's */
void sim_comm_free(sim *s, int comm);                            /* its number is used again when nothing names it */
int sim_comm_other(const sim *s, int comm);                      /* the other side's number; its own when there is none */
int sim_comm_peers(const sim *s, int comm);                      /* number of ranks a message may go to or come from */
int sim_comm_size(const sim *s, int comm);
int sim_comm_rank(const sim *s, int comm, int world_rank);       /* -1: not a member */
int sim_comm_world_rank(const sim *s, int comm, int rank);

/* ---- actions that the running rank appends to a timeline; requests are numbered from 1 ---- */
int sim_append_send(sim *s, int timeline, int comm, int dest, int tag, int64_t bytes, int mode, int blocking); /* request */
int sim_sends_at_once(const sim *s, int timeline, int64_t bytes); /* is a standard send complete when it is posted? */
/* Would a send to oneself and a receive from oneself match each other if they were posted now? 0 before earlier calls are over. */
int sim_matches_itself(sim *s, int timeline, int comm, int send_tag, int recv_tag);
int sim_append_recv(sim *s, int timeline, int comm, int source, int tag, int64_t capacity_bytes);              /* request */
int sim_append_wait(sim *s, int timeline, int request);
int sim_append_wait_all(sim *s, int timeline, int n, const int *request);  /* zeros are skipped */
int sim_append_wait_any(sim *s, int timeline, int n, const int *request);  /* answer: index; 0: complete, < 0: skipped */
int sim_append_test(sim *s, int timeline, int request);                    /* answer: 0 or 1 */
int sim_append_test_any(sim *s, int timeline, int n, const int *request);  /* answer: index, or -1 */
int sim_append_iprobe(sim *s, int timeline, int comm, int source, int tag);/* answer: 0 or 1, then sim_probed */
int sim_append_iprobe_until(sim *s, int timeline, int comm, int source, int tag); /* one after the other until the answer is 1 */
int sim_append_probe(sim *s, int timeline, int comm, int source, int tag); /* then sim_probed */
/* Like them; the answer is the number of the send, which no other receive or probe will find, or 0. */
int sim_append_improbe(sim *s, int timeline, int comm, int source, int tag);
int sim_append_mprobe(sim *s, int timeline, int comm, int source, int tag);
int sim_append_mrecv(sim *s, int timeline, int send, int64_t capacity_bytes);                                  /* request */
int sim_append_get_status(sim *s, int timeline, int request);                    /* answer: 0 or 1; costs an iprobe */
int sim_append_cancel(sim *s, int timeline, int request);                  /* done and is_cancelled, unless it has matched */
int sim_append_collective(sim *s, int timeline, int comm, int schedule, int root, int64_t bytes, const rank_tables *given);
/* A collective whose calls (none of which waits) are made now; the request is done when all of these are and, with a latch, as
 * many ranks have come to it as it was made for. */
int sim_append_start(sim *s, int timeline, int comm, int schedule, int root, int64_t bytes, const rank_tables *given,
                     int latch);                                        /* request */
/* Reads or writes a range of a file in a place of the timeline's host (storage.h), after those before it in a queue; 0: none. */
int sim_append_file_access(sim *s, int timeline, int place, int is_write, int64_t offset, int64_t bytes, int queue); /* request */
/* Kernels and copies in a stream of the device of the timeline's rank (device.h), each after those before it there: requests. */
int sim_append_device_kernel(sim *s, int timeline, int stream, int type, double flop, double bytes);
int sim_append_device_copy(sim *s, int timeline, int stream, int to_device, int64_t bytes);
int sim_name_device(sim *s, int timeline); /* the next send or receive has its memory on the device: 0, or an error */
int sim_latch_new(sim *s, int n_ranks);                                 /* numbered from 1; gone after its last rank's request */

/* ---- schedules (schedule.h): the steps of a collective, for every rank ---- */
int sim_schedule_new(sim *s, int n_words, const int64_t *words);       /* number, or an error < 0 */

/* ---- requests and their payload ---- */
const request *sim_request(const sim *s, int id);
payload *sim_payload(sim *s, int id);   /* its payload end, NONE at first, for the poster to fill in; NULL without memory */
double sim_work_of_request_s(const sim *s, int id); /* time of a done receive, beside its transfer; of other requests 0 */
/* Times that a timeline's rank takes: for the page faults of memory that it is to write, for blocks of a datatype, ... */
double sim_page_faults_s(const sim *s, int timeline, const char *data, int64_t bytes);
double sim_blocks_s(const sim *s, int timeline, int64_t n_blocks, int64_t span_bytes);
double sim_reduction_s(const sim *s, int timeline, int64_t bytes); /* to reduce an operand */
double sim_own_copy_s(const sim *s, int timeline, int64_t bytes); /* to copy within its memory */
void sim_release(sim *s, int id);     /* the poster is through with it; an active one goes on and is freed when it ends */
const message_envelope *sim_probed(const sim *s, int timeline); /* the message a successful probe found */

char *payload_copy(sim *s, const char *data, int64_t bytes, const strided *layout); /* for PAYLOAD_OWNED; NULL: one stretch */
/* Has a send carry a copy of the bytes with a content: 0, or SIM_OUT_OF_MEMORY. Entries of a layout have a content or none. */
int payload_fill(sim *s, payload *p, const char *data, int64_t bytes, const strided *layout);
/* Has it carry some of its bytes only: 0, or SIM_OUT_OF_MEMORY. */
int payload_restrict(payload *p, int64_t n, const byte_range *carried);
int payload_folded_share(const sim *s, const char *data, int64_t bytes); /* FOLDED_* */
void sim_use_folded_table(sim *s, const folded_table *t); /* tells memory with a content; outlives the world. Without: all */
int sim_deliveries(const sim *s, const delivery **list);
void sim_deliveries_done(sim *s);

/* ---- questions ---- */
enum {                                                                 /* objects that a program leaves behind (sim_left_over) */
    LEFT_SEND = 1, LEFT_RECV = 2,                                      /* posted, without a match */
    LEFT_REQUEST = 3, LEFT_COLLECTIVE = 4                              /* started, and nobody has asked whether it is complete; of
                                                                        * a device, or an access to a window: it is not over */
};
int sim_left_over(const sim *s, int after, int *kind);                 /* the next request of a program that is; 0: no more */
double sim_request_date_s(const sim *s, int request);                  /* of its posting; once it is done, of its completion */
void sim_polling(const sim *s, int timeline, waiting *out); /* likewise, the object it polls for again and again, in vain */
int sim_polls_in_vain(const sim *s, int timeline); /* its last poll was, and it has been told since only to compute and to sleep */
/* end cdef */
#endif
