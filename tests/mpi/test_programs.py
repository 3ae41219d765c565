"""Whole programs: what only shows under `smpy run`."""


def test_a_program_may_start_and_end_mpi_itself(emulated):
    ran = emulated(
        """
        import mpi4py
        mpi4py.rc.initialize = False
        from mpi4py import MPI
        assert not MPI.Is_initialized()
        assert MPI.Init_thread() == MPI.Query_thread()
        assert MPI.Is_initialized() and not MPI.Is_finalized()
        total = MPI.COMM_WORLD.allreduce(1)
        MPI.Finalize()
        assert MPI.Is_finalized()
        print(total)
        """
    )
    assert (ran.code, ran.out) == (0, "2\n2\n")


def test_a_program_may_use_sessions_alone(emulated):
    ran = emulated(
        """
        import mpi4py
        mpi4py.rc.initialize = False
        from mpi4py import MPI
        for _ in range(2):
            session = MPI.Session.Init()
            comm = MPI.Intracomm.Create_from_group(session.Create_group("mpi://WORLD"))
            total = comm.allreduce(1)
            comm.Free()
            session.Finalize()
        try:
            MPI.COMM_WORLD.Barrier()
        except MPI.Exception as error:
            print(total, MPI.Is_initialized(), error.Get_error_class() == MPI.ERR_OTHER)
        """
    )
    assert (ran.code, ran.out) == (0, "2 False True\n" * 2)


def test_objects_of_the_program_s_own_classes_find_their_rank(emulated):
    ran = emulated(
        """
        from mpi4py import MPI
        class Place:
            def __init__(self, rank):
                self.rank = rank
        world = MPI.COMM_WORLD
        places = world.allgather(Place(world.rank))
        got = world.sendrecv(Place(world.rank), 1 - world.rank, source=1 - world.rank)
        assert all(type(place) is Place for place in [*places, got])
        assert world.reduce(Place(world.rank), lambda x, y: Place(x.rank + y.rank), 0) is None or world.rank == 0
        print([place.rank for place in places], got.rank)
        """
    )
    assert ran.code == 0, ran.error
    assert sorted(ran.out.splitlines()) == ["[0, 1] 0", "[0, 1] 1"]


def test_an_error_of_mpi_s_reads_as_mpi4py_s_and_says_what_happened(emulated):
    ran = emulated(
        """
        from mpi4py import MPI
        if MPI.COMM_WORLD.rank == 1:
            MPI.COMM_WORLD.Recv(bytearray(2), 0)
        else:
            MPI.COMM_WORLD.Send(b"four", 1, 7)
        """
    )
    assert ran.code == 1
    assert "rank 1 failed" in ran.error
    assert ran.error.endswith(
        "mpi4py.MPI.Exception: message truncated: Recv: the message from rank 0 with tag 7 has 4 bytes, "
        "the buffer has room for 2: receive into a larger one"
    )


def test_ranks_that_call_different_collectives_are_told_so_with_their_lines(emulated):
    ran = emulated(
        """
        from mpi4py import MPI
        if MPI.COMM_WORLD.rank:
            MPI.COMM_WORLD.bcast(1)
        else:
            MPI.COMM_WORLD.barrier()
        """
    )
    assert "disagree on its collective number 1" in ran.error
    assert "rank 0: Barrier()" in ran.error
    assert "program.py:6" in ran.error
    assert "rank 1: bcast(root=0)" in ran.error
    assert "program.py:4" in ran.error


def test_a_run_of_folded_arrays_says_so(emulated):
    folding = """
        import smpy
        from mpi4py import MPI
        MPI.COMM_WORLD.Bcast(smpy.folded(1000))
        """
    assert emulated(folding).outcome.summary.is_folded
    assert not emulated("from mpi4py import MPI").outcome.summary.is_folded


def test_abort_ends_the_run_with_its_code(emulated):
    ran = emulated(
        """
        from mpi4py import MPI
        try:
            if MPI.COMM_WORLD.rank == 1:
                MPI.COMM_WORLD.Abort(5)
            MPI.COMM_WORLD.Barrier()
        finally:
            print("never")
        """
    )
    assert (ran.code, ran.out) == (5, "")
    assert "rank 1 called Abort(5)" in ran.error
