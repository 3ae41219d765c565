"""schwimmbad: integrals by Monte Carlo, handed out to workers."""

import math
import random

import schwimmbad


def quarter_of_a_circle(task):
    """The area from a number of points, drawn from a seed."""
    seed, n_points = task
    draw = random.Random(seed).random
    n_inside = sum(math.hypot(draw(), draw()) < 1 for _ in range(n_points))
    return seed, 4 * n_inside / n_points


def main():
    """The master hands out, the workers work and exit."""
    collected = []
    with schwimmbad.choose_pool(mpi=True) as pool:
        if not pool.is_master():
            pool.wait()
            return
        tasks = [(seed, 2000) for seed in range(12)]
        results = list(pool.map(quarter_of_a_circle, tasks, callback=collected.append))
    assert sorted(collected) == sorted(results)
    for seed, area in results:
        print(seed, area)
    print("workers", pool.size, "enabled", schwimmbad.MPIPool.enabled())


if __name__ == "__main__":
    main()
