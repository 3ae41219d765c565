/* seeded.h -- choices that look random and are a pure function of a seed and a pair of hosts. */
#ifndef SMPY_SEEDED_H
#define SMPY_SEEDED_H
#include <stdint.h>

/* A bijection of 64-bit words whose every output bit depends on every input bit (SplitMix64's; Steele, Lea, Flood 2014). */
static inline uint64_t seeded_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

/* One of 0, 1, ..., n - 1; n > 0. */
static inline int seeded_choice(uint64_t seed, int source, int target, int n)
{
    const uint64_t pair = (uint64_t)(uint32_t)source << 32 | (uint32_t)target;
    const uint64_t drawn = seeded_mix(seeded_mix(seed + UINT64_C(0x9E3779B97F4A7C15)) ^ pair);
    return (int)(seeded_mix(drawn) % (uint64_t)n);
}
#endif
