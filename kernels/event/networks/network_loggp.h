/* network_loggp.h -- LogGOPS: a message costs two CPUs and two network interfaces time, and the wire a latency (Culler et al. 1993,
 * Alexandrov et al. 1995; Hoefler, Schneider, Lumsdaine 2010).
 *
 * A message of n bytes sets out at t, when its sender's CPU and the sending side of its host's interface are free; B is n - 1 or 0.
 * The CPU is busy until t + o + B O, the interface until t + g + B G. The message arrives at t + o + L. It is taken at u, when the
 * receiver's CPU has nothing else to do and the receiving side of its host's interface is free, in the order of arrival: that CPU
 * is busy until u + o + B max(O, G), the interface until u + g + B G. The transfer ends at u. A receive that waits goes on when
 * the CPU is free again.
 *
 * A transfer that no CPU receives (an access to a window, a file) needs the interfaces alone, and ends with its last byte.
 * Links, and which hosts are near, play no part: messages within a host are as all others. */
#ifndef SMPY_NETWORK_LOGGP_H
#define SMPY_NETWORK_LOGGP_H
#include "networks/network.h"
#include "networks/network_model.h"

extern const network_kind network_loggp;

typedef struct {
    double latency_s, overhead_s, gap_s, gap_s_per_byte, overhead_s_per_byte; /* L, o, g, G, O */
} loggp_parameters;
#endif
