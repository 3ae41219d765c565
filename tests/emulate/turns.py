"""Shared parts of tests whose ranks take turns: the beginning of their programs, and the lines that these print."""

TURN = """
from mpi4py import MPI
comm = MPI.COMM_WORLD
rank = comm.rank
def turn():
    "Let every other rank run."
    comm.Barrier()
"""


def lines(ran) -> list[str]:
    assert ran.error == ""
    return ran.out.splitlines()
