"""Print from all ranks, in the order of ranks: the same under every launcher."""

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout

from mpi4py import MPI


@contextmanager
def in_order_of_ranks(*replaced: tuple[str, str]) -> Iterator[None]:
    """Keep what the ranks print in here; at the end rank 0 prints it, rank by rank.

    Parameters
    ----------
    *replaced : (str, str)
        Patterns of what differs from run to run, each with what is printed instead.
    """
    comm = MPI.COMM_WORLD
    with redirect_stdout(io.StringIO()) as kept:
        yield
    text = kept.getvalue()
    for pattern, instead in replaced:
        text = re.sub(pattern, instead, text)
    for rank, said in enumerate(comm.gather(text) or ()):
        for line in said.splitlines():
            print(f"rank {rank}: {line}")
    comm.Barrier()
