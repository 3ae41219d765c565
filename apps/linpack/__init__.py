"""High-Performance Linpack: LU factorisation with row partial pivoting on a P x Q grid of ranks."""
