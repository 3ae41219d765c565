"""Revoked communicators, agreements and smaller communicators, where no rank fails."""

import numpy as np
import pytest

import smpy
from smpy.mpi import MPI

WORLD = MPI.COMM_WORLD


def _between_groups():
    low = WORLD.rank < WORLD.size // 2
    side = WORLD.Split(low)
    return side.Create_intercomm(0, WORLD, WORLD.size // 2 if low else 0)


def test_an_agreement_keeps_the_bits_that_all_have_set(run_ranks):
    def main(rank):
        flag = np.array([0b1110 | rank], "i")
        request = WORLD.Iagree(flag)
        request.Wait()
        return WORLD.Agree([0b1011, 0b1101, 0b1111][rank]), int(flag[0]), WORLD.Agree(-1)

    assert run_ranks(3, main).returned == [(0b1001, 0b1110, -1)] * 3


def test_an_agreement_between_groups_is_that_of_the_other(run_ranks):
    assert run_ranks(4, lambda rank: _between_groups().Agree(4 | rank)).returned == [6, 6, 4, 4]


def test_an_agreement_waits_for_the_last_rank(run_ranks):
    def main(rank):
        smpy.inject_seconds(rank * 0.5)
        WORLD.Agree(1)
        return MPI.Wtime()

    assert min(run_ranks(3, main).returned) >= 1.0


@pytest.mark.parametrize("make", [WORLD.Dup, _between_groups])
def test_a_revoked_communicator_refuses_to_communicate_and_can_be_shrunk(run_ranks, make):
    def main(rank):
        comm = make()
        comm.Barrier()
        if rank == 0:
            comm.Revoke()
        WORLD.Barrier()
        assert comm.Is_revoked()
        one = np.zeros(1)
        for call in (
            comm.Barrier,
            lambda: comm.Send(one, 0),
            lambda: comm.isend(1, 0),
            lambda: comm.Irecv(one, 0),
            lambda: comm.Ibcast(one),
            comm.Iprobe,
            comm.Dup,
            lambda: comm.Split(0),
            lambda: comm.Recv(one, MPI.PROC_NULL),
        ):
            with pytest.raises(MPI.Exception) as caught:
                call()
            assert caught.value.Get_error_class() == MPI.ERR_REVOKED
        assert comm.Agree(3) == 3
        new = comm.Shrink()
        later, request = comm.Ishrink()
        request.Wait()
        for shrunk in (new, later):
            assert (shrunk.size, shrunk.rank, shrunk.is_inter) == (comm.size, comm.rank, comm.is_inter)
            assert not shrunk.Is_revoked()
            shrunk.Barrier()
            shrunk.Free()
        comm.Free()
        return WORLD.allreduce(1)

    assert run_ranks(4, main).returned == [4] * 4


def test_a_rank_learns_of_a_revocation_at_its_simulated_time(run_ranks):
    def main(rank):
        comm = WORLD.Dup()
        if rank == 0:
            smpy.inject_seconds(1)
            comm.Revoke()
            return comm.Is_revoked()
        seen = []
        for _ in range(2):
            seen.append(comm.Is_revoked())
            smpy.inject_seconds(2)
            WORLD.Iprobe()
        return seen

    assert run_ranks(2, main).returned == [True, [False, True]]


def test_no_rank_has_failed(run_ranks):
    def main(rank):
        failed = WORLD.Get_failed()
        assert failed.size == 0
        failed.Free()
        with pytest.raises(MPI.Exception, match="not negative"):
            WORLD.Ack_failed(-1)
        return WORLD.Ack_failed(), WORLD.Ack_failed(2)

    assert run_ranks(2, main).returned == [(0, 0)] * 2


@pytest.mark.parametrize(("flag", "error"), [(0, TypeError), (bytearray(8), ValueError), (b"1234", TypeError)])
def test_the_flag_of_an_agreement_is_an_int_that_can_be_written(run_ranks, flag, error):
    def main(rank):
        with pytest.raises(error):
            WORLD.Iagree(flag)

    run_ranks(1, main)


def test_an_error_of_a_revoked_communicator_goes_to_its_handler(run_ranks):
    def main(rank):
        told = []
        comm = WORLD.Dup()
        comm.Set_errhandler(MPI.Comm.Create_errhandler(lambda comm, code: told.append(code)))
        comm.Revoke()
        with pytest.raises(MPI.Exception):
            comm.Barrier()
        return told

    assert run_ranks(1, main).returned == [[MPI.ERR_REVOKED]]
