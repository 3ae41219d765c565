"""How a rank ends, and what it leaves."""

from collections.abc import Callable


def test_run_by_mpi4py_an_exit_code_ends_all_ranks(emulated: Callable):
    program = """
        import sys
        from mpi4py import MPI
        if MPI.COMM_WORLD.rank == 1:
            sys.exit(3)
        MPI.COMM_WORLD.recv(source=1)
        """
    ran = emulated(None, files={"main.py": program}, program="mpi4py.run", is_module=True, args=("main.py",))
    assert ran.code == 3
    assert "rank 1 called Abort(3)" in ran.error


def test_run_by_mpi4py_an_exit_code_of_zero_ends_a_rank_alone(emulated: Callable):
    program = """
        import sys
        from mpi4py import MPI
        if MPI.COMM_WORLD.rank == 1:
            MPI.COMM_WORLD.send(None, dest=0)
            sys.exit(0)
        MPI.COMM_WORLD.recv(source=1)
        print("received")
        """
    ran = emulated(None, files={"main.py": program}, program="mpi4py.run", is_module=True, args=("main.py",))
    assert (ran.code, ran.out) == (0, "received\n")


HOLDER = """
    from mpi4py import MPI
    class Holder:
        def __init__(self):
            self.comm = MPI.COMM_WORLD.Dup()
        def __del__(self):
            print("freed by", MPI.COMM_WORLD.rank, self.comm.allreduce(1))
            self.comm.Free()
    """


def test_objects_that_a_program_holds_free_what_they_have_when_their_rank_ends(emulated: Callable):
    ran = emulated("from holder import Holder\nmine = Holder()\n", files={"holder.py": HOLDER})
    assert sorted(ran.out.splitlines()) == ["freed by 0 2", "freed by 1 2"]
    assert ran.err == ""


def test_what_a_program_held_is_gone_before_its_streams_are_closed(emulated: Callable):
    ran = emulated(
        """
        class Last:
            def __del__(self):
                print("last words", end="")
        last = Last()
        """,
        1,
    )
    assert ran.out == "last words"


def test_a_shared_package_registers_functions_for_the_end_of_the_rank_that_calls_it(emulated: Callable):
    pool = """
        import atexit
        def register(comm):
            atexit.register(lambda: print("closed by", comm.rank))
        """
    ran = emulated(
        """
        import pool
        from mpi4py import MPI
        pool.register(MPI.COMM_WORLD)
        """,
        files={"pool.py": pool},
        shared=("pool",),
    )
    assert sorted(ran.out.splitlines()) == ["closed by 0", "closed by 1"]


def test_the_first_exit_code_is_announced_with_its_rank(smpy_run: Callable):
    ran = smpy_run("import sys\nfrom mpi4py import MPI\nsys.exit(3 * MPI.COMM_WORLD.rank)\n", 3, "--compute", "none")
    assert ran.code == 3
    assert "smpy: rank 1 ended with exit code 3 at 0 s\n" in ran.err


def test_a_private_or_shared_package_that_does_not_exist_is_an_error(smpy_run: Callable):
    for option in ("--private", "--shared"):
        ran = smpy_run("print(1)\n", 2, option, "no_such_package.part")
        assert (ran.code, ran.out) == (2, "")
        assert f"smpy: {option} no_such_package.part: neither on sys.path nor beside the program" in ran.err


def test_a_package_cannot_be_private_and_shared(smpy_run: Callable):
    ran = smpy_run("print(1)\n", 2, "--private", "json", "--shared", "json")
    assert ran.code == 2
    assert "json cannot be both --private and --shared" in ran.err
