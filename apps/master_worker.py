"""A master and its workers: tasks of uneven size go to whoever asks for one.

    mpiexec -n 4 python apps/master_worker.py
    smpy run -np 64 apps/master_worker.py

Which start up to a limit has the longest Collatz chain (n -> n / 2 if it is even, 3 n + 1 if not, until 1)? The starts
are cut into tasks, the last hundreds of times as large as the first. Rank 0, the master, gives a task to each worker
that asks, large ones first so that small ones fill the gaps at the end; when there are none left, it sends them home.
With `--static` nobody asks: each rank, the master too, has its share of consecutive tasks, and all wait for the one
with the largest. Any number of ranks will do: a master without workers does the tasks itself.
"""

from __future__ import annotations

import argparse
from typing import NamedTuple, NoReturn

import numpy as np
from mpi4py import MPI

Task = tuple[int, int]
Chain = tuple[int, int]
READY, ANSWER, WORK, STOP = range(4)  # tags: the first two from a worker, the last two from the master
LARGEST_LIMIT = 10**9  # chains that start below stay within 64 bits


class Options(NamedTuple):
    """The largest start, into how many tasks they are cut, and whether these are dealt out beforehand."""

    limit: int
    tasks: int
    static: bool


class Parser(argparse.ArgumentParser):
    """Every rank reads the command line; rank 0 alone says what is wrong with it, or what it may be."""

    def error(self, message: str) -> NoReturn:
        if MPI.COMM_WORLD.rank == 0:
            super().error(message)
        raise SystemExit(2)

    def print_help(self, file=None) -> None:
        if MPI.COMM_WORLD.rank == 0:
            super().print_help(file)


def cut(limit: int, n_tasks: int) -> list[Task]:
    """The starts 1 ... limit as ranges (first, beyond the last) that grow like 1, 3, 5, ...; none is empty."""
    ends = [1 + limit * k**2 // n_tasks**2 for k in range(n_tasks + 1)]
    return [(first, end) for first, end in zip(ends[:-1], ends[1:], strict=True) if first < end]


def longest_chain(task: Task) -> Chain:
    """The most terms of a chain in a range, and minus the smallest start that has them: the best chain is a maximum."""
    starts = values = np.arange(*task)
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
    n_working = comm.size - 1
    while n_working > 0:
        comm.Recv(message, MPI.ANY_SOURCE, MPI.ANY_TAG, status)
        worker = status.Get_source()
        if status.Get_tag() == ANSWER:
            best = max(best, (int(message[0]), int(message[1])))
            n_done[worker] += 1
        if tasks:
            comm.Send(np.array(tasks.pop()), worker, WORK)
        else:
            comm.Send(message, worker, STOP)
            n_working -= 1
    return best, n_done


def work(comm: MPI.Comm) -> None:
    """A worker: ask, do what comes, answer, until there is no more."""
    message, status = np.zeros(2, np.int64), MPI.Status()
    comm.Send(message, 0, READY)
    while True:
        comm.Recv(message, 0, MPI.ANY_TAG, status)
        if status.Get_tag() == STOP:
            return
        comm.Send(np.array(longest_chain((int(message[0]), int(message[1])))), 0, ANSWER)


def share_out(comm: MPI.Intracomm, tasks: list[Task]) -> tuple[Chain, list[int]]:
    """No master: each rank does its share of consecutive tasks. The best chain and the tasks by rank, on rank 0."""
    share = tasks[comm.rank * len(tasks) // comm.size : (comm.rank + 1) * len(tasks) // comm.size]
    mine = (max(map(longest_chain, share), default=(0, 0)), len(share))
    everybody = comm.gather(mine, root=0) or [mine]
    return max(chain for chain, _ in everybody), [n_done for _, n_done in everybody]


def read_options() -> Options:
    """The command line."""
    parser = Parser(description="A master hands out tasks of uneven size to its workers.")
    parser.add_argument("--limit", type=int, default=10**6, help="the largest start (default: %(default)s)")
    parser.add_argument("--tasks", type=int, default=256, help="ranges of starts (default: %(default)s)")
    parser.add_argument("--static", action="store_true", help="deal out the tasks beforehand, for comparison")
    options = Options(**vars(parser.parse_args()))
    if not 1 <= options.limit <= LARGEST_LIMIT or options.tasks < 1:
        parser.error(f"--limit is from 1 to {LARGEST_LIMIT}, --tasks at least 1")
    return options


def main() -> None:
    """Search, and let rank 0 say what was found."""
    options = read_options()
    comm = MPI.COMM_WORLD
    tasks = cut(options.limit, options.tasks)
    comm.Barrier()
    began_s = MPI.Wtime()
    if options.static or comm.size == 1:
        (n_terms, minus_start), n_done = share_out(comm, tasks)
    elif comm.rank == 0:
        (n_terms, minus_start), n_done = hand_out(comm, tasks)
    else:
        return work(comm)
    ...


if __name__ == "__main__":
    main()
