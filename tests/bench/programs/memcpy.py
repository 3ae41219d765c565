"""memcpy DOUBLES ITERATIONS RANKS: what a ring's payload costs at least: as many copies between as many buffers."""

import sys

import numpy as np

n, iterations, n_ranks = map(int, sys.argv[1:4])
out = [[np.zeros(n), np.zeros(n)] for _ in range(n_ranks)]
into = [np.zeros(n) for _ in range(n_ranks)]
for i in range(iterations):
    for rank in range(n_ranks):
        np.copyto(into[rank], out[rank - 1][i % 2])
