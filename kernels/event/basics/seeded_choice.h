/* seeded_choice.h -- pseudo-random choices and numbers: pure functions of a seed and a pair, whatever the order of calls. */
#ifndef SMPY_SEEDED_CHOICE_H
#define SMPY_SEEDED_CHOICE_H
#include <stdint.h>

/* The output function of SplitMix64 (Steele, Lea, Flood 2014): every bit of the result depends on every bit of x. */
static inline uint64_t mixed(uint64_t x)
{
    x += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

/* One of 0, ..., n - 1, all as likely as 32 bits can make them; n >= 1. */
static inline int seeded_choice(uint64_t seed, int source, int target, int n)
{
    uint64_t bits = mixed(mixed(seed) ^ ((uint64_t)(uint32_t)source << 32 | (uint32_t)target));
    return (int)((bits >> 32) * (uint64_t)n >> 32);
}

/* Number `number` of a stream, uniform in (0, 1). */
static inline double seeded_uniform(uint64_t seed, uint64_t stream, uint64_t number)
{
    const uint64_t word = mixed(mixed(mixed(seed) ^ stream) ^ number);
    const double x = ((double)(word >> 11) + 0.5) * 0x1p-53;
    return x < 1 ? x : 1 - 0x1p-53; /* the largest word rounds to 1 */
}
#endif
