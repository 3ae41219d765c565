"""Seconds of a program's phases and of the whole program: rank 0 prints the largest over ranks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from mpi4py import MPI


class Stopwatch:
    """Time since a barrier, in seconds, and the parts of it that phases take."""

    def __init__(self, comm: MPI.Intracomm) -> None:
        self.comm = comm
        self.seconds: dict[str, float] = {}
        comm.Barrier()
        self.began_s = MPI.Wtime()

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Add the time of this block to a phase."""
        began_s = MPI.Wtime()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + MPI.Wtime() - began_s

    def stop(self) -> None:
        """Print all phases, which every rank has passed in the same order."""
        self.seconds["time"] = MPI.Wtime() - self.began_s
        largest_s = np.zeros(len(self.seconds))
        self.comm.Reduce(np.array(list(self.seconds.values())), largest_s, op=MPI.MAX)
        if self.comm.rank == 0:
            *phases, (_, time_s) = zip(self.seconds, largest_s, strict=True)
            for name, seconds in phases:
                print(f"phase {name}: {seconds:.6f} s")
            print(f"time: {time_s:.6f} s")
