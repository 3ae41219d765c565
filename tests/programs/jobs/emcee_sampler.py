"""emcee: an ensemble sampler whose walkers are evaluated by schwimmbad's workers."""

import sys

import emcee
import numpy as np
from schwimmbad import MPIPool


def log_probability(x):
    """A normal distribution."""
    return -0.5 * np.sum(x**2)


if __name__ == "__main__":
    with MPIPool() as pool:
        if not pool.is_master():
            pool.wait()
            sys.exit(0)
        np.random.seed(42)  # noqa: NPY002  # generator of emcee
        sampler = emcee.EnsembleSampler(8, 3, log_probability, pool=pool)
        sampler.run_mcmc(np.random.randn(8, 3), 20)  # noqa: NPY002  # same as above
        print(np.round(sampler.get_chain(flat=True).mean(axis=0), 12), sampler.acceptance_fraction.mean())
