"""Times of collectives: those on objects are made of those on buffers, as mpi4py makes them."""

import numpy as np
import pytest

from smpy.mpi import MPI

N_RANKS = 6
COUNT_BYTES = 8


def size(obj):
    return len(MPI.pickle.dumps(obj))


def buffers(n):
    return np.zeros(n, np.uint8), np.zeros(n * N_RANKS, np.uint8)


def bcast_by_hand(world, obj):
    for n in (COUNT_BYTES, size(obj)):
        world.Bcast(bytearray(n), 2)


def gather_by_hand(world, obj):
    for n in (COUNT_BYTES, size(obj)):
        mine, every = buffers(n)
        world.Gather(mine, every if world.rank == 2 else None, 2)


def allgather_by_hand(world, obj):
    for n in (COUNT_BYTES, size(obj)):
        world.Allgather(*buffers(n))


def scatter_by_hand(world, obj):
    for n in (COUNT_BYTES, size(obj)):
        mine, every = buffers(n)
        world.Scatter(every if world.rank == 2 else None, mine, 2)


def reduce_by_hand(world, obj):
    """A duplicate, then size and bytes in every round of a binomial tree, then to the root."""
    private, n = world.Dup(), size(obj)

    def move(call, peer):
        for nbytes in (COUNT_BYTES, n):
            call(bytearray(nbytes), peer)

    mask, rank = 1, world.rank
    while mask < world.size:
        if rank & mask:
            move(private.Send, rank - mask)
        elif rank | mask < world.size:
            move(private.Recv, rank | mask)
        mask *= 2
    if rank == 0:
        move(private.Send, 2)
    if rank == 2:
        move(private.Recv, 0)
    return private


def allreduce_by_hand(world, obj):
    private, n, rank = world.Dup(), size(obj), world.rank
    mask = 1
    while mask < world.size:
        if rank & mask:
            private.Send(bytearray(COUNT_BYTES), rank - mask)
            private.Send(bytearray(n), rank - mask)
        elif rank | mask < world.size:
            private.Recv(bytearray(COUNT_BYTES), rank | mask)
            private.Recv(bytearray(n), rank | mask)
        mask *= 2
    private.Bcast(bytearray(COUNT_BYTES))
    private.Bcast(bytearray(n))


@pytest.mark.parametrize("n_numbers", [1, 30_000])
@pytest.mark.parametrize(
    ("call", "by_hand"),
    [
        (lambda world, obj: world.bcast(obj, 2), bcast_by_hand),
        (lambda world, obj: world.gather(obj, 2), gather_by_hand),
        (lambda world, obj: world.allgather(obj), allgather_by_hand),
        (lambda world, obj: world.scatter([obj] * N_RANKS, 2), scatter_by_hand),
        (lambda world, obj: world.reduce(obj, lambda x, y: x, 2), reduce_by_hand),
        (lambda world, obj: world.allreduce(obj, lambda x, y: x), allreduce_by_hand),
        (lambda world, obj: world.barrier(), lambda world, obj: world.Barrier()),
    ],
    ids=["bcast", "gather", "allgather", "scatter", "reduce", "allreduce", "barrier"],
)
def test_an_object_costs_its_size_and_then_its_bytes(run_ranks, call, by_hand, n_numbers):
    obj = np.zeros(n_numbers)
    took = run_ranks(N_RANKS, lambda rank: call(MPI.COMM_WORLD, obj)).finish_s
    assert took == pytest.approx(run_ranks(N_RANKS, lambda rank: by_hand(MPI.COMM_WORLD, obj) and None).finish_s)
    assert max(took) > 0


def test_only_the_first_reduction_of_objects_pays_for_a_duplicate(run_ranks):
    def times(n_calls):
        def main(rank):
            for _ in range(n_calls):
                MPI.COMM_WORLD.reduce(rank)

        return max(run_ranks(N_RANKS, main).finish_s)

    first, second, third = (times(n) for n in (1, 2, 3))
    assert first > second - first == pytest.approx(third - second, rel=1e-3)  # messages share the host's memory


def test_a_collective_of_one_rank_takes_no_time(run_ranks):
    def main(rank):
        alone, data = MPI.COMM_SELF, np.ones(3)
        every = np.zeros(3)
        alone.Barrier()
        alone.Bcast(data)
        alone.Allreduce(data, every)
        alone.Allgather(data, every)
        alone.Scatter(data, every)
        assert alone.allreduce([1]) == [1]
        assert alone.gather(1) == alone.allgather(1) == [1]
        assert alone.scatter(["x"]) == "x"

    assert run_ranks(3, main).finish_s == [0, 0, 0]


def test_the_algorithm_does_not_change_the_bits_of_a_sum(run_ranks, monkeypatch):
    """The order of the fold is that of the ranks, whatever moves the bytes."""
    rows = np.random.default_rng(3).standard_normal((7, 5))

    def main(rank):
        total, again = np.zeros(5), np.zeros(5)
        MPI.COMM_WORLD.Allreduce(rows[rank], total)
        MPI.COMM_WORLD.Reduce(rows[rank], again)
        MPI.COMM_WORLD.Bcast(again)
        return total.tobytes(), again.tobytes()

    assert len({bits for pair in run_ranks(7, main).returned for bits in pair}) == 1
