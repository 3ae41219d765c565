"""An Allreduce is one collective, whichever way a rank's buffers and operation come to it."""

from __future__ import annotations

import numpy as np
import pytest

from smpy.mpi import MPI


def test_plain_buffers_meet_all_other_forms(run_ranks):
    def main(rank):
        comm, mine, total = MPI.COMM_WORLD, np.array([rank + 1.0, 2.0]), np.zeros(2)
        in_place = mine.copy()
        forms = (
            lambda: comm.Allreduce(mine, total),
            lambda: comm.Allreduce([mine, MPI.DOUBLE], total, MPI.SUM),
            lambda: comm.Allreduce(sendbuf=mine, recvbuf=total, op=MPI.SUM),
            lambda: comm.Allreduce(MPI.IN_PLACE, in_place),
        )
        for turn in range(len(forms)):
            total[:] = 0
            in_place[:] = mine
            which = (rank + turn) % len(forms)
            forms[which]()
            result = in_place if which == 3 else total
            assert result.tolist() == [10.0, 8.0]

    run_ranks(4, main)


def test_an_operation_of_the_program_is_called_by_whoever_joins(run_ranks):
    def larger(left, right, datatype):
        into = np.frombuffer(right)
        np.maximum(np.frombuffer(left), into, out=into)

    def main(rank):
        operation, best = MPI.Op.Create(larger, commute=True), np.zeros(1)
        for _ in range(3):
            MPI.COMM_WORLD.Allreduce(np.array([float(rank)]), best, op=operation)
            assert best[0] == 2.0
        operation.Free()

    run_ranks(3, main)


@pytest.mark.parametrize("width", [1, 3])
def test_another_length_is_a_mismatch_that_names_both_ranks(run_ranks, width):
    def main(rank):
        size = 2 if rank == 0 else width
        MPI.COMM_WORLD.Allreduce(np.zeros(size), np.zeros(size))

    with pytest.raises(MPI.Exception) as caught:
        run_ranks(2, main)
    assert "rank 0:" in str(caught.value)
    assert "rank 1:" in str(caught.value)


def test_another_call_in_its_place_is_a_mismatch(run_ranks):
    def main(rank):
        if rank == 0:
            MPI.COMM_WORLD.Allreduce(np.zeros(1), np.zeros(1))
        else:
            MPI.COMM_WORLD.Barrier()

    with pytest.raises(MPI.Exception, match="Barrier"):
        run_ranks(2, main)


def test_a_communicator_with_a_number_used_before_starts_anew(run_ranks):
    def main(rank):
        total = np.zeros(1)
        for n_calls in (3, 1, 2):
            comm = MPI.COMM_WORLD.Dup()
            for _ in range(n_calls):
                comm.Allreduce(np.ones(1), total)
                assert total[0] == comm.size
            comm.Free()

    run_ranks(3, main)


def test_a_result_that_cannot_be_written_is_an_error(run_ranks):
    def main(rank):
        fixed = np.zeros(1)
        fixed.flags.writeable = rank == 0
        MPI.COMM_WORLD.Allreduce(np.ones(1), fixed)

    with pytest.raises((ValueError, BufferError)):
        run_ranks(2, main)
