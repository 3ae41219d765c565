"""Arguments, random numbers, clocks, hooks and the like are each rank's own."""

import os
import random
from collections.abc import Callable

import pytest

from tests.emulate.turns import TURN, lines


def test_arguments_are_each_ranks_own(emulated: Callable):
    ran = emulated(
        """
        import sys
        from turn import *
        assert sys.argv[1:] == ["--size", "3"] and sys.argv[0].endswith("program.py")
        sys.argv.append(str(rank))
        turn()
        if rank == 0:
            sys.argv = ["other"]
        turn()
        print(sys.argv[1:])
        """,
        files={"turn.py": TURN},
        args=("--size", "3"),
    )
    assert sorted(lines(ran)) == ["['--size', '3', '1']", "[]"]


def test_the_search_path_can_be_assigned(emulated: Callable):
    ran = emulated("import sys; sys.path = [*sys.path, '/added']; print(sys.path[-1])", 1)
    assert (ran.error, ran.out) == ("", "/added\n")


def test_random_differs_between_ranks_and_not_between_runs(emulated: Callable):
    program = """
        import random, uuid, os, secrets
        from random import random as draw, Random
        from turn import *
        first = draw()
        turn()
        print(rank, first, draw(), random.randint(1, 10**9), Random().random(), uuid.uuid4(), os.urandom(4),
              secrets.token_hex(), random.SystemRandom().random())
        """
    first, again = (sorted(lines(emulated(program, 3, files={"turn.py": TURN}))) for _ in range(2))
    assert first == again
    values = [line.split(" ", 1)[1] for line in first]
    assert len(set(values)) == 3


def test_a_seed_is_the_ranks_own(emulated: Callable):
    ran = emulated(
        """
        import random
        from turn import *
        random.seed(rank)
        turn()
        state = random.getstate()
        value = random.random()
        turn()
        random.setstate(state)
        assert random.random() == value == random.Random(rank).random()
        print("same")
        """,
        files={"turn.py": TURN},
    )
    assert lines(ran) == ["same", "same"]


def test_numpy_random_is_each_ranks_own(emulated: Callable):
    program = """
        import numpy as np
        from numpy.random import rand, seed
        from turn import *
        free = rand()
        turn()
        seed(7 + rank)
        turn()
        mine = np.random.rand(2), np.random.mtrand._rand.rand()
        reference = np.random.RandomState(7 + rank)
        assert (mine[0] == reference.rand(2)).all() and mine[1] == reference.rand()
        assert isinstance(np.random.mtrand._rand, np.random.RandomState)
        print(rank, free, np.random.default_rng().random(), np.random.get_state()[2])
        """
    emulated("import numpy.random\n")  # importing it may use randomness itself
    first, again = (sorted(lines(emulated(program, files={"turn.py": TURN}))) for _ in range(2))
    assert first == again
    assert first[0].split()[1] != first[1].split()[1]
    assert first[0].split()[2] != first[1].split()[2]


def test_random_outside_a_run_is_as_before(emulated: Callable):
    emulated("import random\nrandom.seed(1)\n")
    random.seed(1)
    assert random.random() == random.Random(1).random()


def test_clocks_tell_simulated_time(emulated: Callable):
    ran = emulated(
        """
        import time
        from time import sleep, perf_counter
        from turn import *
        assert time.time() == 1_600_000_000
        before = time.time_ns(), perf_counter(), time.monotonic(), time.process_time()
        sleep(2 + rank)
        assert round(perf_counter() - before[1], 6) == 2 + rank
        assert round((time.time_ns() - before[0]) / 1e9, 6) == 2 + rank
        assert round(time.monotonic() - before[2], 6) == 2 + rank
        assert time.gmtime().tm_year == 2020 and time.strftime("%Y") == "2020" and "2020" in time.ctime()
        turn()
        print(round(time.time() - 1_600_000_000, 3))
        for wrong in -1, float("inf"):
            try:
                sleep(wrong)
            except (ValueError, OverflowError) as error:
                print(error)
        """,
        files={"turn.py": TURN},
    )
    wrong = ["sleep length must be non-negative", "timestamp too large to convert to C PyTime_t"]
    assert lines(ran) == ["3.0", *wrong] * 2


def test_waiting_for_a_date_ends(emulated: Callable):
    ran = emulated(
        "import time\nuntil = time.time() + 1e-5\nwhile time.time() < until:\n    pass\nprint('through')\n", 1
    )
    assert lines(ran) == ["through"]


def test_sleeping_takes_no_real_time(emulated: Callable):
    ran = emulated("import time\ntime.sleep(1000)\n")  # longer than a test may take
    assert ran.outcome.summary.makespan_s == pytest.approx(1000)
    assert ran.outcome.summary.shares.sleep == 1


def test_a_warning_is_printed_on_the_ranks_standard_error(smpy_run: Callable):
    ran = smpy_run("import warnings\nwarnings.simplefilter('always')\nwarnings.warn('careful')\n", 1)
    assert "UserWarning: careful" in ran.err


def test_functions_registered_at_exit_run_when_the_rank_ends(emulated: Callable):
    ran = emulated(
        """
        import atexit
        from turn import *
        @atexit.register
        def last():
            print("last", rank, comm.sendrecv(rank, 1 - rank))
        atexit.register(print, "first", rank)
        atexit.register(len)
        never = lambda: print("never")
        atexit.register(never)
        atexit.unregister(never)
        """,
        files={"turn.py": TURN},
    )
    out = lines(ran)
    assert [line for line in out if "0" in line[:7]] == ["first 0", "last 0 1"]
    assert [line for line in out if "1" in line[:7]] == ["first 1", "last 1 0"]
    assert ran.err.count("TypeError") == 2
    assert ran.code == 0


def test_an_exception_hook_is_the_ranks_own(emulated: Callable):
    ran = emulated(
        """
        import sys
        from turn import *
        def hook(kind, error, frames):
            print("hook of", rank, error)
            comm.Abort(9)
        if rank == 1:
            sys.excepthook = hook
        turn()
        if rank == 1:
            raise ValueError("mine")
        turn()
        """,
        files={"turn.py": TURN},
    )
    assert ran.out.splitlines() == ["hook of 1 mine"]
    assert ran.code == 9
    assert "rank 1 called Abort(9)" in ran.error


def test_a_context_variable_is_each_ranks_own(emulated: Callable):
    ran = emulated(
        """
        import contextvars, decimal
        from turn import *
        variable = contextvars.ContextVar("variable")
        variable.set(rank)
        decimal.getcontext().prec = 5 + rank
        turn()
        print(variable.get(), decimal.getcontext().prec)
        """,
        files={"turn.py": TURN},
    )
    assert sorted(lines(ran)) == ["0 5", "1 6"]


def test_a_launchers_variables_tell_a_rank_who_it_is_before_it_imports_mpi(emulated: Callable):
    ran = emulated(
        """
        import os
        told = [os.environ[name] for name in ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS")]
        os.environ["OTHER"] = "1"
        assert told[0] == os.getenv("PMI_RANK") == dict(os.environ)["PMI_RANK"]
        print(*told)
        """,
        3,
    )
    assert sorted(ran.out.splitlines()) == ["0 3 0 3", "1 3 1 3", "2 3 2 3"]
    assert "PMI_RANK" not in os.environ


def test_the_text_that_makes_a_dataclass_is_compiled_once_for_all_ranks(emulated: Callable):
    ran = emulated(
        """
        import collections, dataclasses
        from mpi4py import MPI

        @dataclasses.dataclass(frozen=True, order=True)
        class Point:
            x: int
            y: "list[int]" = dataclasses.field(default_factory=lambda: [rank])

        rank = MPI.COMM_WORLD.rank
        Pair = collections.namedtuple("Pair", "left right", defaults=[rank])
        assert Point(1).y == [rank] and Point(1) == Point(1, [rank]) and Point(1) < Point(2)
        assert Pair(3) == (3, rank)
        print([id(made.__code__) for made in (Point.__init__, Point.__eq__, Pair.__new__)])
        """,
        3,
    )
    assert ran.code == 0, ran.err
    assert len(set(lines(ran))) == 1
