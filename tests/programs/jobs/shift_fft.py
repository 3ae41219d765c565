"""shift: a three-dimensional Fourier transform of slabs, there and back."""

import numpy as np
import shift
from ordered import in_order_of_ranks

with in_order_of_ranks():
    mpi = shift.mpiutils.MPI()
    n = 12
    x, y, z = shift.cart.mpi_grid3D(1.0, n, mpi)
    field = np.sin(2 * np.pi * x) * np.cos(4 * np.pi * y) + z
    spectrum = shift.cart.mpi_fft3D(field, 1.0, n, mpi)
    again = shift.cart.mpi_ifft3D(spectrum, 1.0, n, mpi)
    print(field.shape, spectrum.shape, round(float(np.abs(spectrum).sum()), 7), again.shape)
