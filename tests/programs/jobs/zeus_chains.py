"""zeus: ensemble slice sampling, a chain a rank, gathered and split again."""

import random

import numpy as np
import zeus
from zeus import ChainManager


def log_density(x, inverse):
    """A correlated normal distribution."""
    return -0.5 * x @ inverse @ x


def sample(chain, pool):
    """A short chain from the chain's own seed; zeus draws from both generators."""
    random.seed(chain)
    np.random.seed(100 + chain)  # noqa: NPY002  # like zeus
    n_walkers, n_dimensions = 8, 2
    inverse = np.linalg.inv([[1.0, 0.6], [0.6, 2.0]])
    sampler = zeus.EnsembleSampler(n_walkers, n_dimensions, log_density, args=[inverse], verbose=False, pool=pool)
    sampler.run_mcmc(np.random.randn(n_walkers, n_dimensions), 40, progress=False)  # noqa: NPY002  # same as above
    return sampler.get_chain(flat=True)


def main():
    """Two chains, the ranks of each in a pool if there are more than two."""
    with ChainManager(2) as manager:
        chain = manager.get_rank
        samples = sample(chain, manager.get_pool)
        both = manager.gather(samples, root=0)
        means = manager.allgather(samples.mean())
        kept = manager.bcast(means[0], root=0)
        if chain == 0:
            print("samples", [part.shape for part in both])
            print("means", [part.mean(axis=0).round(12).tolist() for part in both])
            print("kept", round(float(kept), 12), len(means))


if __name__ == "__main__":
    main()
