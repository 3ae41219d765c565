"""Folded arrays: they have a size and no content."""

import numpy as np
import pytest

import smpy
from smpy.mpi import MPI


def test_a_folded_array_has_a_shape_and_one_element_of_memory():
    matrix = smpy.folded((100_000, 100_000))
    assert matrix.nbytes == 8 * 10**10
    assert matrix[3:7, 5].shape == (4,)
    assert matrix.reshape(10, -1).shape == (10, 10**9)
    matrix[:10] = 3


def test_what_is_computed_with_a_folded_array_is_folded():
    part = smpy.folded(10)
    assert (part + 1).__smpy_folded__
    assert (np.ones(10) + part).__smpy_folded__
    again = part
    again += 1
    assert again is part


@pytest.mark.parametrize("n_bytes", [0, 1, 8, 65535, 65536, 10**9])
def test_messages_of_folded_arrays_take_the_time_of_their_size(run_ranks, n_bytes):
    def times(make):
        def main(rank):
            world, array = MPI.COMM_WORLD, make(n_bytes, np.uint8)
            if rank == 0:
                world.Send(array, 1)
                world.Isend(array, 1).Wait()
            else:
                world.Recv(array, 0)
                request = world.Irecv(array, 0)
                request.Wait(status := MPI.Status())
                assert status.count == n_bytes

        return run_ranks(2, main)

    folded = times(smpy.folded)
    assert folded.engine.has_folded
    if n_bytes < 10**6:
        ordinary = times(np.zeros)
        assert folded.finish_s == ordinary.finish_s
        assert not ordinary.engine.has_folded


def test_nothing_is_written_where_either_side_is_folded(run_ranks):
    def main(rank):
        world = MPI.COMM_WORLD
        real, void = np.full(1000, 5.0), smpy.folded(1000)
        if rank == 0:
            world.Send(void, 1)
            world.Send(real, 1)
        else:
            world.Recv(real, 0)
            world.Recv(void, 0)
        return real.min(), real.max()

    assert run_ranks(2, main).returned[1] == (5, 5)


def test_a_folded_part_of_a_collective_moves_no_data_and_the_rest_does(run_ranks):
    def main(rank):
        world = MPI.COMM_WORLD
        mine = smpy.folded(1000) if rank == 1 else np.full(1000, float(rank))
        every, total = np.full((3, 1000), -1.0), np.full(1000, -1.0)
        world.Allgather(mine, every)
        world.Allreduce(mine, total)
        word = smpy.folded(1000) if rank == 2 else np.full(1000, -1.0)
        world.Bcast(word, 2)
        return every[:, 0].tolist(), total[0], word[0]

    world = run_ranks(3, main)
    assert world.returned[0] == ([0, -1, 2], -1, -1)
    assert world.engine.has_folded


def test_collectives_of_folded_arrays_take_the_time_of_their_size(run_ranks):
    def times(make):
        def main(rank):
            world = MPI.COMM_WORLD
            mine, every = make(50_000), make(4 * 50_000)
            world.Bcast(mine)
            world.Allreduce(MPI.IN_PLACE, mine)
            world.Gather(mine, every)
            world.Allgather(mine, every)
            world.Scatter(every, mine)

        return run_ranks(4, main).finish_s

    assert times(smpy.folded) == times(np.zeros)


def test_a_folded_array_is_nowhere():
    with pytest.raises(MPI.Exception, match="has no memory"):
        MPI.Get_address(smpy.folded(4))


def test_one_element_of_a_folded_array_is_folded(run_ranks):
    def main(rank):
        world, real = MPI.COMM_WORLD, np.full(1, 5.0)
        world.Send(smpy.folded(7)[2:3], 1) if rank == 0 else world.Recv(real, 0)
        return real[0]

    assert run_ranks(2, main).returned == [5.0, 5.0]
