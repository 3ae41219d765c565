"""High-Performance Linpack: LU factorisation with row partial pivoting on a P x Q grid of ranks.

Nothing here keeps anything of a rank in globals, so that all simulated ranks can share one copy.
"""

__smpy_shared__ = True
