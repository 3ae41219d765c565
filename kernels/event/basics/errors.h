/* errors.h -- a world, and the errors of its functions. */
#ifndef SMPY_ERRORS_H
#define SMPY_ERRORS_H

/* cdef */
typedef struct sim sim;

enum { SIM_OUT_OF_MEMORY = -10, SIM_NO_ROUTE = -11, SIM_BAD_RANK = -12, SIM_BAD_SCHEDULE = -13,
       SIM_BAD_REQUEST = -14, SIM_BAD_SIZE = -15, SIM_TOO_LATE = -16, SIM_BAD_THREADS = -17, SIM_NO_DEVICE = -18,
       SIM_NO_DEVICE_SPEED = -19,     /* its device does not compute with numbers of the type */
       SIM_HOST_OFF = -20, SIM_LINK_OFF = -21, /* see sim_lost */
       SIM_FIXED_LINKS = -22,         /* the machine's links change, and the network does not follow */
       SIM_HOST_STOPPED = -23 };      /* a host's speed is 0 for good, and a rank computes there: see sim_lost */
/* end cdef */
#endif
