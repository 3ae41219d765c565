"""Ping-pong: how long a message takes from one rank to another, and how many bytes a second get there.

    mpiexec -n 4 python apps/pingpong.py
    smpy run -np 64 apps/pingpong.py --peer 63

Rank 0 sends a message, its peer sends it back; half of the mean round trip is the one-way time. This is done for each
size. Short messages show the latency, long ones the bandwidth. Two ranks are needed; any others wait at a barrier. A
reply is sent again, so the last one is compared with the first message: damage on any trip is seen.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from command_line import Parser
from mpi4py import MPI
from numpy.typing import NDArray

Payload = NDArray[np.uint8]
LARGEST = 4 * 2**20


class Options(NamedTuple):
    """Partner of rank 0, sizes of messages in bytes, and number of repetitions."""

    peer: int
    sizes: list[int]
    repetitions: int


def payload_of(size: int) -> Payload:
    """So many bytes, none of them zero, so that an empty buffer is not mistaken for them."""
    return (np.arange(size) % 251 + 1).astype(np.uint8)


def serve(comm: MPI.Comm, peer: int, ball: Payload, repetitions: int) -> tuple[Payload, float]:
    """Rank 0's part: what came back last, and the one-way time in seconds."""
    returned, began_s = np.zeros_like(ball), 0.0
    for repetition in range(repetitions + 1):
        if repetition == 1:  # the first is for warming up: connections are made, pages are touched
            began_s = MPI.Wtime()
        comm.Send(ball, dest=peer)
        comm.Recv(returned, source=peer)
        ball, returned = returned, ball  # the returned ball goes out next: an error stays to the end
    return ball, (MPI.Wtime() - began_s) / (2 * repetitions)


def play_back(comm: MPI.Comm, size: int, repetitions: int) -> None:
    """The peer's part."""
    ball = np.zeros(size, np.uint8)
    for _ in range(repetitions + 1):
        comm.Recv(ball, source=0)
        comm.Send(ball, dest=0)


def read_options(comm: MPI.Comm) -> Options:
    """The command line."""
    parser = Parser(description="One-way time and bandwidth between two ranks.")
    parser.add_argument("--peer", type=int, default=1, help="the rank that plays with rank 0 (default: %(default)s)")
    parser.add_argument("--sizes", type=int, nargs="+", help="bytes a message (default: 1, 2, 4, ... 4 MiB)")
    parser.add_argument("--repetitions", type=int, default=20, help="round trips a size (default: %(default)s)")
    options = Options(**vars(parser.parse_args()))
    if comm.size < 2:
        parser.error("two ranks are needed, there is one")
    if not 1 <= options.peer < comm.size:
        parser.error(f"--peer is a rank from 1 to {comm.size - 1}, not {options.peer}")
    if options.repetitions < 1 or (options.sizes and min(options.sizes) < 1):
        parser.error("--sizes and --repetitions are at least 1")
    return options._replace(sizes=options.sizes or [2**k for k in range(LARGEST.bit_length())])


def main() -> None:
    """Play, and let rank 0 print the table."""
    comm = MPI.COMM_WORLD
    options = read_options(comm)
    n_right, table = 0, []
    for size in options.sizes:
        if comm.rank == 0:
            sent = payload_of(size)
            returned, one_way_s = serve(comm, options.peer, sent.copy(), options.repetitions)
            n_right += int((returned == sent).sum())
            table.append(f"{size:12d} {one_way_s * 1e6:18.3f} {size / one_way_s / 1e6:17.3f}")
        elif comm.rank == options.peer:
            play_back(comm, size, options.repetitions)
    comm.Barrier()
    if comm.rank == 0:
        n_bytes = sum(options.sizes)
        print(
            f"pingpong: ranks 0 and {options.peer}, {len(options.sizes)} sizes, {options.repetitions} repetitions, "
            f"{n_right} of {n_bytes} bytes came back as they were sent"
        )
        print("       bytes  one-way time (us)  bandwidth (MB/s)", *table, sep="\n")
        if n_right < n_bytes:
            raise SystemExit("pingpong.py: the payload was damaged on its way")


if __name__ == "__main__":
    main()
