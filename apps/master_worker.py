"""A master and its workers: tasks of uneven size go to whoever asks for one.

    mpiexec -n 4 python apps/master_worker.py
    smpy run -np 64 apps/master_worker.py

Which start up to a limit has the longest Collatz chain (n -> n / 2 if it is even, 3 n + 1 if not, until 1)? The starts
are cut into tasks, the last far larger than the first. Rank 0, the master, gives a task to each worker that asks, large
ones first so that small ones fill the gaps at the end. With `--static` nobody asks: each rank, the master too, has its
share of consecutive tasks. Any number of ranks will do: a master without workers does the tasks itself.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from command_line import Parser
from mpi4py import MPI

Task = tuple[int, int]  # the first start, and the one beyond the last
Chain = tuple[int, int]  # its terms, and minus its start: the longest is a maximum, of equals the smallest start
READY, ANSWER, WORK, STOP = range(4)  # tags: a worker sends the first two, the master the others


class Options(NamedTuple):
    """The largest start, the number of tasks, and whether these are dealt out beforehand."""

    limit: int
    tasks: int
    static: bool


def cut(limit: int, n_tasks: int) -> list[Task]:
    """The starts 1 ... limit as ranges that grow like 1, 3, 5, ...; none is empty."""
    ends = [1 + limit * k**2 // n_tasks**2 for k in range(n_tasks + 1)]
    return [(first, end) for first, end in pairwise(ends) if first < end]


def longest_chain(first: int, end: int) -> Chain:
    """Follow the chains of all starts at once, until the last is at 1."""
    starts = values = np.arange(first, end, dtype=np.int64)
    n_terms = 1
    while (unfinished := values > 1).any():
        starts, values = starts[unfinished], values[unfinished]
        values = np.where(values % 2 == 0, values // 2, 3 * values + 1)
        n_terms += 1
    return n_terms, -int(starts[0])


def hand_out(comm: MPI.Comm, tasks: list[Task]) -> tuple[Chain, list[int]]:
    """The master: the best chain, and how many tasks each rank did."""
    best, n_done = (0, 0), [0] * comm.size
    message, status = np.zeros(2, np.int64), MPI.Status()
    n_workers = comm.size - 1
    while n_workers > 0:
        comm.Recv(message, MPI.ANY_SOURCE, MPI.ANY_TAG, status)
        worker = status.Get_source()
        if status.Get_tag() == ANSWER:
            best = max(best, tuple(message.tolist()))
            n_done[worker] += 1
        if tasks:
            comm.Send(np.array(tasks.pop(), np.int64), worker, WORK)
        else:
            comm.Send(message, worker, STOP)
            n_workers -= 1
    return best, n_done


def work(comm: MPI.Comm) -> None:
    """A worker: ask, do what comes, answer, until there is no more."""
    message, status = np.zeros(2, np.int64), MPI.Status()
    comm.Send(message, 0, READY)
    comm.Recv(message, 0, MPI.ANY_TAG, status)
    while status.Get_tag() == WORK:
        answer = longest_chain(*message.tolist())
        comm.Send(np.array(answer, np.int64), 0, ANSWER)  # and so ask for the next task
        comm.Recv(message, 0, MPI.ANY_TAG, status)


def share_out(comm: MPI.Intracomm, tasks: list[Task]) -> tuple[Chain, list[int]] | None:
    """No master: each rank does consecutive tasks. The best chain and the tasks by rank, on rank 0."""
    share = tasks[comm.rank * len(tasks) // comm.size : (comm.rank + 1) * len(tasks) // comm.size]
    best = max((longest_chain(*task) for task in share), default=(0, 0))
    gathered = comm.gather((best, len(share)), root=0)
    return gathered and (max(best for best, _ in gathered), [n_done for _, n_done in gathered])


def read_options() -> Options:
    """The command line."""
    parser = Parser(description="A master hands out tasks of uneven size to its workers.")
    parser.add_argument("--limit", type=int, default=10**6, help="the largest start (default: %(default)s)")
    parser.add_argument("--tasks", type=int, default=256, help="ranges of starts (default: %(default)s)")
    parser.add_argument("--static", action="store_true", help="deal out the tasks beforehand, for comparison")
    options = Options(**vars(parser.parse_args()))
    if not 1 <= options.limit <= 10**9 or options.tasks < 1:  # chains from larger starts may need more than 64 bits
        parser.error("--limit is from 1 to 1000000000, --tasks at least 1")
    return options


def main() -> None:
    """Search, and let rank 0 say what was found."""
    options = read_options()
    comm = MPI.COMM_WORLD
    tasks = cut(options.limit, options.tasks)
    comm.Barrier()
    began_s = MPI.Wtime()
    if options.static or comm.size == 1:
        found = share_out(comm, tasks)
    else:
        found = hand_out(comm, tasks) if comm.rank == 0 else work(comm)
    elapsed_s = MPI.Wtime() - began_s
    if found is not None:
        (n_terms, minus_start), n_done = found
        print(f"master_worker: up to {options.limit}, start {-minus_start} has the longest chain, {n_terms} terms")
        print("tasks by rank:", *n_done if comm.size <= 32 else (min(n_done), "to", max(n_done)))
        print(f"time: {elapsed_s:.6f} s")


if __name__ == "__main__":
    main()
