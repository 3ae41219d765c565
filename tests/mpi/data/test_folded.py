"""Folded arrays: they have a size and no content."""

import copy
import pickle

import numpy as np
import pytest

import smpy
from smpy.errors import UsageError
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


VIEWS = {
    "array": lambda a: a,
    "number in it": lambda a: a[3, 4:5],
    "no dimension": lambda a: a[3, 4:5].reshape(()),
    "transposed": lambda a: a.T,
    "strided": lambda a: a[::2, 5:],
    "computed": lambda a: a + 1,
    "complex": lambda a: a + 1j,
    "record": lambda a: smpy.folded(50, "i4,f8") if hasattr(a, "__smpy_folded__") else np.zeros(50, "i4,f8"),
}


@pytest.mark.parametrize("protocol", [2, 4, 5])
@pytest.mark.parametrize("name", VIEWS)
def test_a_pickled_folded_array_is_as_large_as_a_real_one_and_stays_folded(name, protocol):
    folded, real = VIEWS[name](smpy.folded((30, 40))), VIEWS[name](np.ones((30, 40)))
    pickled = pickle.dumps({"it": folded}, protocol)
    assert len(pickled) == pytest.approx(len(pickle.dumps({"it": real}, protocol)), abs=64)
    found = pickle.loads(pickled)["it"]
    assert found.__smpy_folded__
    assert (found.shape, found.dtype) == (real.shape, real.dtype)
    assert found.ravel()[0] == real.ravel()[0]
    for copied in (copy.copy(folded), copy.deepcopy([folded])[0]):
        assert (copied.shape, copied.dtype, copied.__smpy_folded__) == (real.shape, real.dtype, True)


def test_what_is_left_of_a_folded_array_is_pickled():
    found = pickle.loads(pickle.dumps(smpy.folded((3, 4))[:0]))
    assert found.shape == (0, 4)
    with pytest.raises(UsageError, match=r"^pickle of a folded array is not modelled where its elements are objects"):
        pickle.dumps(smpy.folded(3, object))


def test_a_pickler_that_asks_for_constructor_and_state_gets_both():
    constructor, arguments, state = smpy.folded(1000).__reduce__()
    found = constructor(*arguments)
    found.__setstate__(state)
    assert found.__smpy_folded__
    assert found.shape == (1000,)


@pytest.mark.parametrize("n", [1, 1000, 10**6])
def test_messages_of_folded_objects_take_the_time_of_real_ones(run_ranks, n):
    def times(make):
        def main(rank):
            world = MPI.COMM_WORLD
            found = [world.bcast(make(n) if rank == 0 else None), *world.allgather(make(n))]
            if rank == 0:
                world.send({"it": make(n)}, 1)
            elif rank == 1:
                found.append(world.recv(source=0)["it"])
            found.append(world.allreduce(make(n)))
            return [getattr(one, "__smpy_folded__", False) for one in found]

        return run_ranks(4, main)

    folded, real = times(smpy.folded), times(np.ones)
    assert folded.finish_s == pytest.approx(real.finish_s, rel=1e-3)
    assert all(map(all, folded.returned))


def test_buffers_of_folded_arrays_are_out_of_band():
    header, buffers = MPI.pickle.dumps_oob(smpy.folded(10**6))
    assert len(header) < 300
    assert [memoryview(one).nbytes for one in buffers] == [8 * 10**6]
    assert MPI.pickle.loads_oob(header, buffers).__smpy_folded__


def test_a_folded_array_is_nowhere():
    with pytest.raises(MPI.Exception, match="has no memory"):
        MPI.Get_address(smpy.folded(4))


def test_one_element_of_a_folded_array_is_folded(run_ranks):
    def main(rank):
        world, real = MPI.COMM_WORLD, np.full(1, 5.0)
        world.Send(smpy.folded(7)[2:3], 1) if rank == 0 else world.Recv(real, 0)
        return real[0]

    assert run_ranks(2, main).returned == [5.0, 5.0]
