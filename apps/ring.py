"""A ring: a token travels from rank to rank, and each adds its number.

    mpiexec -n 4 python apps/ring.py
    smpy run -np 64 apps/ring.py --tokens all

The token is an array, which goes round so many times; then each of its numbers has grown by rounds x p (p - 1) / 2 on
p ranks. With one token one rank works and the others wait. With `--tokens all` each rank sends a token of its own on
its way and all travel at once: p times as many messages in hardly more time. If all ranks called Send first, long
tokens would wait for each other for ever; Sendrecv sends and receives in one call. Any number of ranks will do.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from command_line import Parser
from mpi4py import MPI
from numpy.typing import NDArray

Token = NDArray[np.int64]


class Options(NamedTuple):
    """Number of rounds, length of a token, and number of tokens."""

    rounds: int
    length: int
    tokens: str


def pass_one(comm: MPI.Comm, token: Token, rounds: int) -> Token:
    """One token: rank 0 sends it off and waits for it, the others wait for it and send it on."""
    before, after = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
    if comm.size == 1:  # a Send to oneself may wait for ever: send to nobody
        before = after = MPI.PROC_NULL
    for _ in range(rounds):
        if comm.rank > 0:
            comm.Recv(token, source=before)
        token += comm.rank
        comm.Send(token, dest=after)
        if comm.rank == 0:
            comm.Recv(token, source=before)
    return token


def pass_all(comm: MPI.Comm, token: Token, rounds: int) -> Token:
    """A token of every rank: after as many steps as there are ranks, each is where it began."""
    before, after = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
    arriving = np.zeros_like(token)
    for _ in range(rounds * comm.size):
        token += comm.rank
        comm.Sendrecv(token, dest=after, recvbuf=arriving, source=before)
        token, arriving = arriving, token  # the arrived token goes out next
    return token


def read_options() -> Options:
    """The command line."""
    parser = Parser(description="A token travels around all ranks.")
    parser.add_argument("--rounds", type=int, default=3, help="times around the ring (default: %(default)s)")
    parser.add_argument("--length", type=int, default=1, help="numbers of 8 bytes in a token (default: %(default)s)")
    parser.add_argument("--tokens", choices=("one", "all"), default="one", help="rank 0's, or one of each rank")
    options = Options(**vars(parser.parse_args()))
    if min(options.rounds, options.length) < 1:
        parser.error("--rounds and --length are at least 1")
    return options


def main() -> None:
    """Send the tokens round, compare with the closed form, and let rank 0 say how it went."""
    options = read_options()
    comm = MPI.COMM_WORLD
    start = np.arange(options.length, dtype=np.int64)
    send_round = pass_all if options.tokens == "all" else pass_one
    comm.Barrier()
    began_s = MPI.Wtime()
    token = send_round(comm, start.copy(), options.rounds)
    elapsed_s = MPI.Wtime() - began_s
    expected = options.rounds * comm.size * (comm.size - 1) // 2
    is_at_home = options.tokens == "all" or comm.rank == 0
    mine = np.array([np.count_nonzero(token - start != expected) if is_at_home else 0], np.int64)
    n_wrong = np.zeros_like(mine)
    comm.Allreduce(mine, n_wrong)
    if comm.rank == 0:
        print(
            f"ring: {comm.size} ranks, {options.rounds} rounds, tokens: {options.tokens}, "
            f"{token[0] - start[0]} added to each number, {n_wrong[0]} numbers wrong"
        )
        print(f"time: {elapsed_s:.6f} s, {elapsed_s / (options.rounds * comm.size) * 1e6:.3f} us a hop")
    if n_wrong[0] > 0:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
