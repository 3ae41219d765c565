/* network_dimemas.h -- Dimemas' network: a message holds one output link of its host, one input link of its receiver's and one bus
 * (Badia, Labarta, Gimenez, Escale 2003).
 *
 * A send costs its rank the latency first. Then its message, once it may travel, waits until there are all three, and holds them
 * for its bytes over the bandwidth. Of the messages that wait for the same thing, the oldest one goes on first; one that could
 * begin is held up by none that could not. Messages within a host have a latency, a bandwidth, buses and links of its own.
 *
 * A collective that it times as a whole has a fan-in phase, whose bytes are those sent, and a fan-out phase, whose bytes are
 * those received. A phase takes a factor times the latency and the bytes over the bandwidth: once among hosts, if the machine
 * has several, and once among the ranks of the host with the most ranks. The factor is 0, 1, the number of hosts or ranks less 1,
 * or the number of rounds of a binary tree; among hosts a round counts as often as its messages need the buses (Dimemas 4ab5099,
 * calcula_fan and compute_contention_stage). The collective holds no links and no buses.
 *
 * A bandwidth of 0 is none: bytes take no time. Buses of 0 are no limit, as are 0 input and 0 output links; input links alone
 * serve both ways. */
#ifndef SMPY_NETWORK_DIMEMAS_H
#define SMPY_NETWORK_DIMEMAS_H
#include "networks/network.h"
#include "networks/network_model.h"

extern const network_kind network_dimemas;

enum { COLLECTIVE_NONE, COLLECTIVE_CONST, COLLECTIVE_LINEAR, COLLECTIVE_LOG }; /* Dimemas' own numbers */

typedef struct {
    double latency_s, bandwidth_bytes_per_s, buses, input_links, output_links;
} dimemas_medium;

typedef struct {
    dimemas_medium between, local; /* hosts; within one */
    double collective_model;       /* COLLECTIVE_* */
} dimemas_parameters;
#endif
