"""`Status`: what a receive learns, in entries, elements and raw memory."""

import numpy as np
import pytest

from smpy.mpi import MPI


def test_a_message_that_ends_inside_an_entry_has_elements_but_no_count():
    status = MPI.Status()
    point = MPI.Datatype.Create_struct([1, 2], [0, 8], [MPI.INT, MPI.DOUBLE])
    status.count = 20 + 4 + 8
    assert status.Get_count(point) == MPI.UNDEFINED
    assert status.Get_elements(point) == 5
    status.count = 20 + 6
    assert status.Get_elements(point) == MPI.UNDEFINED


def test_elements_can_be_set_and_counted_again():
    status, pairs = MPI.Status(), MPI.Datatype.Create_struct([1, 1], [0, 8], [MPI.DOUBLE_INT, MPI.SHORT])
    sizes = []
    for n_elements in range(7):
        status.Set_elements(pairs, n_elements)
        assert status.Get_elements(pairs) == n_elements
        sizes.append(status.count)
    assert sizes == [0, 8, 12, 14, 22, 26, 28]


def test_nothing_of_an_empty_datatype_is_none():
    status, empty = MPI.Status(), MPI.INT.Create_contiguous(0)
    assert (status.Get_count(empty), status.Get_elements(empty)) == (0, 0)
    status.count = 4
    assert (status.Get_count(empty), status.Get_elements(empty)) == (MPI.UNDEFINED, MPI.UNDEFINED)


def test_a_status_is_what_a_program_writes_into_its_memory(run_ranks):
    def main(rank):
        world, status = MPI.COMM_WORLD, MPI.Status()
        memory = status.tomemory()
        memory[0] = 77
        assert status.source == 77
        if rank == 0:
            world.Send(np.zeros(3), 1, tag=5)
            return None
        world.Recv(np.zeros(3), 0, status=status)
        seen = status.source, status.tag, status.count, memory[0], memory[1]
        again = MPI.Status.f2py(status.py2f())
        return seen, again == status

    assert run_ranks(2, main).returned[1] == ((0, 5, 24, 0, 5), True)


def test_a_status_is_made_of_another_one_only():
    with pytest.raises(TypeError, match="not a int"):
        MPI.Status(3)
