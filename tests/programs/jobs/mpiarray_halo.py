"""mpiarray: distributed arrays, halos, reductions and redistribution."""

import mpiarray as mpa
import numpy as np
from ordered import in_order_of_ranks

with in_order_of_ranks():
    line = mpa.array(np.arange(11.0))
    wave = 2 * line + np.sin(line)
    print("sum", round(float(wave.sum()), 12), "max", float(wave.max()), "mean", round(float(wave.mean()), 12))
    print("gathered", wave.gather().round(6).tolist())

    grid = mpa.fromfunction(lambda i, j: 10.0 * i + j, (12, 8), split=(0, 1), halo=1, periodic=(True, False))
    grid.update_halos()
    print("layout", grid.layout.proc_grid if hasattr(grid.layout, "proc_grid") else grid.shape)
    print("row sums", np.asarray(mpa.array(grid.gather()).sum(axis=1).gather()).tolist())

    rows = mpa.fromfunction(lambda i, j: i - j, (9, 5))
    columns = rows.redistribute(mpa.zeros((9, 5), split=1).layout)
    print("the same", bool((columns.gather() == rows.gather()).all()), float((rows * rows).sum()))
