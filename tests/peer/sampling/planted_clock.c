/* planted_clock.c -- preloaded into smpirun: processor time passes when a program calls advance_clock() alone. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>

static double now_s = 100;

void advance_clock(double seconds);
void advance_clock(double seconds)
{
    now_s += seconds;
}

int clock_gettime(clockid_t which, struct timespec *out)
{
    static int (*real)(clockid_t, struct timespec *);
    if (which == CLOCK_THREAD_CPUTIME_ID || which == CLOCK_PROCESS_CPUTIME_ID) {
        const long long now_ns = (long long)(now_s * 1e9 + 0.5);
        out->tv_sec = now_ns / 1000000000;
        out->tv_nsec = now_ns % 1000000000;
        return 0;
    }
    if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    return real(which, out);
}
