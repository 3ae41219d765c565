"""Memory that collectives keep, and for how long; and memory that has no content."""

import sys
import weakref

import numpy as np
import pytest

from smpy import folded
from smpy.engine.running import current
from smpy.mpi import MPI
from smpy.mpi.state.world import world
from tests.mpi.collectives.collective_cases import CASES, Draw


class Tracked(np.ndarray):
    """An array that one can refer to weakly."""


def tracked(*shape):
    return np.ones(shape).view(Tracked)


def calls(n):
    return [
        ("Bcast", lambda: (tracked(1000),)),
        ("Gather", lambda: (tracked(1000), tracked(n, 1000))),
        ("Scatter", lambda: (tracked(n, 1000), tracked(1000))),
        ("Allgather", lambda: (tracked(1000), tracked(n, 1000))),
        ("Allgatherv", lambda: (tracked(1000), tracked(n, 1000))),
        ("Alltoall", lambda: (tracked(n, 1000), tracked(n, 1000))),
        ("Alltoallv", lambda: (tracked(n, 1000), tracked(n, 1000))),
        ("Reduce", lambda: (tracked(1000), tracked(1000))),
        ("Allreduce", lambda: (tracked(1000), tracked(1000))),
        ("Reduce_scatter_block", lambda: (tracked(n, 1000), tracked(1000))),
        ("Scan", lambda: (tracked(1000), tracked(1000))),
    ]


def test_nothing_keeps_buffers_when_a_rank_is_through(run_ranks):
    def main(rank):
        comm, n = MPI.COMM_WORLD, MPI.COMM_WORLD.size
        current().sleep(1e-4 * rank)
        for call, new in calls(n):
            buffers = new()
            kept = [weakref.ref(buffer) for buffer in buffers]
            getattr(comm, call)(*buffers)
            del buffers
            assert [ref() for ref in kept] == [None] * len(kept), call
            buffers = new()
            counts = [sys.getrefcount(buffer) for buffer in buffers]
            request = getattr(comm, f"I{call.lower()}")(*buffers)
            request.Wait()
            assert [sys.getrefcount(buffer) for buffer in buffers] == counts, call

    run_ranks(4, main)


def test_a_persistent_collective_keeps_its_buffers_until_it_is_freed(run_ranks):
    def main(rank):
        buffer = tracked(10)
        kept = weakref.ref(buffer)
        request = MPI.COMM_WORLD.Bcast_init(buffer)
        del buffer
        request.Start()
        request.Wait()
        assert kept() is not None
        request.Free()
        assert kept() is None

    run_ranks(2, main)


def test_a_persistent_collective_keeps_the_counts_it_was_made_with(run_ranks):
    def main(rank):
        counts, into = [1, 2], np.zeros(3)
        request = MPI.COMM_WORLD.Allgatherv_init(np.full(rank + 1, rank + 1.0), [into, counts])
        counts[:] = 7, 7
        for _ in range(2):
            into[:] = 0
            request.Start()
            request.Wait()
            assert into.tolist() == [1, 2, 2]

    run_ranks(2, main)


def test_nothing_is_left_of_collectives_when_all_have_left(run_ranks):
    def main(rank):
        comm, other, requests = MPI.COMM_WORLD, MPI.COMM_WORLD.Dup(), []
        for seed, new_case in enumerate(CASES):
            case = new_case(Draw(seed, rank, comm.size))
            requests.append(getattr(comm, f"I{case.call.lower()}")(*case.arguments))
        MPI.Request.Waitall(requests)
        other.Barrier()
        return len(world().communicator(0).joint.open)

    assert run_ranks(5, main).returned == [0] * 5


def test_a_rank_that_fails_in_its_operation_leaves_nothing_behind(run_ranks):
    def main(rank):
        comm, other = MPI.COMM_WORLD, MPI.COMM_WORLD.Dup()

        def fail(left, right, datatype):
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            comm.Allreduce(np.zeros(1), np.zeros(1), MPI.Op.Create(fail))
        other.Barrier()
        return len(world().communicator(0).joint.open)

    assert run_ranks(3, main).returned == [0] * 3


@pytest.mark.parametrize("form", ["", "I"])
def test_folded_blocks_carry_nothing_and_the_others_what_they_hold(run_ranks, form):
    def main(rank):
        comm, n = MPI.COMM_WORLD, 3

        def do(call, *arguments):
            call = f"I{call.lower()}" if form else call
            request = getattr(comm, call)(*arguments)
            if form:
                request.Wait()

        real = np.full(n, float(rank)) if rank else folded(n)
        into = np.full(n, -1.0)
        do("Alltoall", real, into)
        assert into.tolist() == [-1, 1, 2]
        into[:] = -1
        do("Alltoallv", real, into)
        assert into.tolist() == [-1, 1, 2]
        whole = np.full((n, n), -1.0)
        do("Allgather", real, whole)
        assert whole[:, 0].tolist() == [-1, 1, 2]
        into[:] = -1
        do("Allreduce", np.ones(n) if rank else folded(n), into)
        do("Reduce_scatter_block", np.ones(n) if rank else folded(n), into[:1])
        assert into.tolist() == [-1, -1, -1]
        do("Scan", np.ones(n) if rank != 1 else folded(n), into)
        assert into.tolist() == ([1, 1, 1] if rank == 0 else [-1, -1, -1])
        do("Alltoall", folded(n), folded(n))
        do("Allreduce", folded(n), folded(n))
        do("Bcast", folded(n))

    assert run_ranks(3, main).engine.has_folded


@pytest.mark.parametrize("call", ["Reduce", "Allreduce", "Scan", "Exscan", "Reduce_scatter_block"])
@pytest.mark.parametrize("n_ranks", [1, 2, 5, 8])
def test_an_operation_that_does_not_commute_sees_its_operands_in_rank_order(run_ranks, call, n_ranks):
    """Functions x -> a x + b, composed: the order shows."""

    def compose(left, right, datatype):
        (a, b), (c, d) = (np.frombuffer(side, np.int64).reshape(-1, 2).T for side in (left, right))
        composed = np.stack([a * c, c * b + d], axis=1)
        np.frombuffer(right, np.int64).reshape(-1, 2)[:] = composed

    def expected(n, place):
        a, b = 1, 0
        for rank in range(n):
            a, b = a * 2, 2 * b + rank + place
        return [a, b]

    def main(rank):
        op, comm = MPI.Op.Create(compose, commute=False), MPI.COMM_WORLD
        pair = MPI.INT64_T.Create_contiguous(2).Commit()
        n_entries = n_ranks if call == "Reduce_scatter_block" else 2
        mine = np.array([[2, rank + place] for place in range(n_entries)])
        into = np.zeros((1 if call == "Reduce_scatter_block" else 2, 2), int)
        getattr(comm, call)([mine, pair], [into, pair], op)
        return into.tolist()

    for rank, into in enumerate(run_ranks(n_ranks, main).returned):
        n = {"Scan": rank + 1, "Exscan": rank}.get(call, n_ranks)
        first = rank if call == "Reduce_scatter_block" else 0
        if (call, rank) != ("Exscan", 0) and not (call == "Reduce" and rank):
            assert into == [expected(n, first + i) for i in range(len(into))]
