"""What a process has but one of, each rank has of its own."""

import builtins
import os
import random
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

TURN = """
from mpi4py import MPI
comm = MPI.COMM_WORLD
rank = comm.rank
def turn():
    "Let every other rank run."
    comm.Barrier()
"""


def lines(ran) -> list[str]:
    assert ran.error == ""
    return ran.out.splitlines()


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
    start_s = time.perf_counter()
    ran = emulated("import time\ntime.sleep(1000)\n")
    assert time.perf_counter() - start_s < 5
    assert ran.outcome.summary.makespan_s == pytest.approx(1000)
    assert ran.outcome.summary.shares.sleep == 1


def test_environment_variables_are_each_ranks_own(emulated: Callable, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SMPY_TEST_GIVEN", "given")
    ran = emulated(
        """
        import os
        from turn import *
        assert os.environ["SMPY_TEST_GIVEN"] == "given"
        os.environ["SMPY_TEST"] = str(rank)
        if rank == 0:
            del os.environ["SMPY_TEST_GIVEN"]
        turn()
        print(os.environ["SMPY_TEST"], os.getenv("SMPY_TEST"), os.environ.get("SMPY_TEST_GIVEN"))
        """,
        files={"turn.py": TURN},
    )
    assert sorted(lines(ran)) == ["0 0 None", "1 1 given"]
    assert "SMPY_TEST" not in os.environ
    child = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getenv('SMPY_TEST'), os.getenv('SMPY_TEST_GIVEN'))"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert child.stdout.split() == ["None", "given"]


def test_the_working_directory_is_each_ranks_own(emulated: Callable):
    ran = emulated(
        """
        import os
        from turn import *
        os.makedirs(f"folder{rank}")
        os.chdir(f"folder{rank}")
        turn()
        with open("mine", "w") as file:
            file.write("x")
        turn()
        print(os.path.basename(os.getcwd()), os.listdir())
        """,
        files={"turn.py": TURN},
    )
    assert sorted(lines(ran)) == ["folder0 ['mine']", "folder1 ['mine']"]
    assert not os.getcwd().endswith(("folder0", "folder1"))


def test_warning_filters_are_each_ranks_own(emulated: Callable):
    before = warnings.filters[:]
    ran = emulated(
        """
        import warnings
        from turn import *
        warnings.simplefilter("ignore" if rank else "error")
        turn()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            turn()
            warnings.warn("seen")
            turn()
        try:
            warnings.warn("not seen")
            print(rank, len(caught), "silent")
        except UserWarning as warning:
            print(rank, len(caught), warning)
        """,
        files={"turn.py": TURN},
    )
    assert sorted(lines(ran)) == ["0 1 not seen", "1 1 silent"]
    assert warnings.filters == before


def test_a_filter_that_a_shared_module_sets_when_imported_holds_for_all_ranks(emulated: Callable):
    ran = emulated(
        """
        import warnings
        from turn import *
        if rank == 0:
            import strict
        turn()
        import strict
        try:
            warnings.warn("careful", strict.Careful)
        except strict.Careful:
            print(rank, "raised")
        """,
        files={
            "turn.py": TURN,
            "strict.py": """
                import warnings
                class Careful(UserWarning): pass
                warnings.simplefilter("error", Careful)
                """,
        },
        shared=("strict",),
    )
    assert sorted(lines(ran)) == ["0 raised", "1 raised"]


def test_switches_are_watched_only_while_settings_differ(emulated: Callable):
    ran = emulated(
        """
        import greenlet, warnings
        from turn import *
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
        import quiet_and_shared
        turn()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
        turn()
        turn()
        before = greenlet.gettrace()
        turn()
        with warnings.catch_warnings():
            warnings.simplefilter("always" if rank else "error")
            turn()
            inside = greenlet.gettrace()
        turn()
        turn()
        print(before, inside is not None, greenlet.gettrace())
        """,
        files={"turn.py": TURN, "quiet_and_shared.py": "import warnings\nwarnings.simplefilter('ignore')\n"},
        shared=("quiet_and_shared",),
    )
    assert lines(ran) == ["None True None"] * 2


# How a program changes what a process has but one of: to `value`, which differs between ranks, and how it looks at it.
SETTINGS = {
    "environment": ("os.environ['SMPY_TEST'] = str(value)", "os.environ['SMPY_TEST']"),
    "environment of children": (
        "os.environ['SMPY_TEST'] = str(value)",
        "subprocess.run(['sh', '-c', 'echo $SMPY_TEST'], capture_output=True).stdout",
    ),
    "umask": ("os.umask(value)", "os.umask(value)"),
    "recursion limit": ("sys.setrecursionlimit(2000 + value)", "sys.getrecursionlimit()"),
    "displayhook": ("sys.displayhook = lambda _: print(value)", "exec(compile('1', '', 'single'))"),
    "breakpointhook": ("sys.breakpointhook = lambda: value", "breakpoint()"),
    "unraisablehook": ("sys.unraisablehook = lambda _: print(value)", "fail_unraisably()"),
    "attribute of sys": ("sys.mine = value", "sys.mine"),
    "builtin": ("builtins.len = lambda _: value", "len([])"),
    "new builtin": ("builtins.mine = value", "mine"),
    "showwarning": ("warnings.showwarning = lambda *_: print(value)", "warnings.warn('seen')"),
    "tempdir": ("tempfile.tempdir = str(value)", "tempfile.gettempdir()"),
}


@pytest.mark.parametrize("setting", SETTINGS)
def test_what_a_process_has_but_one_of_is_each_ranks_own(emulated: Callable, setting: str):
    change, look = SETTINGS[setting]
    ran = emulated(
        f"""
        import builtins, contextlib, io, os, subprocess, sys, tempfile, warnings
        from turn import *
        class Unraisable:
            def __del__(self):
                raise ValueError
        def fail_unraisably():
            Unraisable()
        def found():
            warnings.simplefilter("always")
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                looked = {look}
            return printed.getvalue(), looked
        value = 8 + rank
        turn()
        {change}
        first = found()
        for _ in range(3):
            turn()
            assert found() == first, (found(), first)
        print(rank, first)
        """,
        3,
        files={"turn.py": TURN},
    )
    found = [line.split(" ", 1)[1] for line in sorted(lines(ran))]
    assert len(set(found)) == 3


# The README names these: a program that changes one changes it for all ranks.
SHARED = {
    "signal handlers": ("signal.signal(signal.SIGUSR1, signal.SIG_IGN)", "signal.getsignal(signal.SIGUSR1) != 0"),
    "locale": ("locale.setlocale(locale.LC_CTYPE, 'C.UTF-8')", "locale.setlocale(locale.LC_CTYPE)"),
    "garbage collector": ("gc.disable()", "gc.isenabled()"),
    "resource limits": ("resource.setrlimit(resource.RLIMIT_CORE, (0, 0))", "resource.getrlimit(resource.RLIMIT_CORE)"),
    "process number": ("0", "os.getpid()"),
    "default time-out of sockets": ("socket.setdefaulttimeout(7)", "socket.getdefaulttimeout()"),
    "math.tau": ("math.tau = 3", "math.tau"),
}


@pytest.mark.parametrize("setting", SHARED)
def test_what_the_readme_calls_shared_is_shared(smpy_run: Callable, setting: str):
    change, look = SHARED[setting]
    ran = smpy_run(
        f"""
        import gc, locale, math, os, resource, signal, socket
        from mpi4py import MPI
        if MPI.COMM_WORLD.rank == 1:
            {change}
        MPI.COMM_WORLD.Barrier()
        print({look})
        """,
        2,
        "--quiet",
    )
    assert ran.err == ""
    assert len(set(ran.out.splitlines())) == 1
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    assert setting in " ".join(readme.split())


@pytest.mark.parametrize("what", ["trace", "profile"])
def test_a_trace_function_sees_its_own_rank_alone(emulated: Callable, what: str):
    ran = emulated(
        f"""
        import sys
        from turn import *
        def work():
            turn()
        called = []
        def trace(frame, event, argument):
            if event == "call":
                called.append(frame.f_code.co_name)
        if rank:
            sys.set{what}(trace)
        for _ in range(rank + 1):
            work()
        assert sys.get{what}() is (trace if rank else None)
        sys.set{what}(None)
        for _ in range(2 - rank):
            turn()
        print(rank, called.count("work"))
        """,
        3,
        files={"turn.py": TURN},
    )
    assert sorted(lines(ran)) == ["0 0", "1 2", "2 3"]


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="the interpreter has one cProfile at a time, and says so")
def test_a_profile_counts_the_calls_of_its_own_rank(smpy_run: Callable):
    ran = smpy_run(
        """
        import cProfile, pstats, sys
        from mpi4py import MPI
        comm = MPI.COMM_WORLD
        def step():
            comm.Barrier()
        profiles = []
        for profile in (cProfile.Profile(), cProfile.Profile()):
            profile.enable()
            for _ in range(3 + comm.rank):
                step()
            profile.disable()
            counts = {key[2]: value[1] for key, value in pstats.Stats(profile).stats.items()}
            for _ in range(2 - comm.rank):
                comm.Barrier()
            print(comm.rank, counts["step"])
        """,
        3,
        "--quiet",
    )
    assert ran.err == ""
    assert sorted(ran.out.splitlines()) == [f"{rank} {3 + rank}" for rank in range(3) for _ in range(2)]


def test_what_is_changed_for_a_while_is_what_it_was_afterwards(emulated: Callable):
    ran = emulated(
        """
        import builtins, os, sys, warnings
        from unittest import mock
        from turn import *
        def state():
            os.umask(mask := os.umask(0))
            return mask, sys.getrecursionlimit(), builtins.input, sys.displayhook, dict(os.environ), hasattr(sys, "my")
        before = state()
        if rank:
            turn()
        limit = sys.getrecursionlimit()
        mask = os.umask(0o70 + rank)
        with mock.patch("builtins.input"), mock.patch.dict(os.environ, MINE=str(rank)), mock.patch("sys.displayhook"):
            sys.setrecursionlimit(5000 + rank)
            sys.my = rank
            turn()
            sys.setrecursionlimit(limit)
            turn()
        turn()
        os.umask(mask)
        del sys.my
        if not rank:
            turn()
        assert state() == before
        """,
        3,
        files={"turn.py": TURN},
    )
    assert ran.error == ""


def test_what_a_shared_module_sets_when_imported_holds_for_all_ranks(emulated: Callable):
    ran = emulated(
        """
        import builtins, os, sys, tempfile
        from turn import *
        os.environ["MINE"] = str(rank)  # their settings differ already
        turn()
        if rank == 1:
            import setting
        turn()
        os.umask(mask := os.umask(0))
        assert os.environ["MINE"] == str(rank)
        print(os.environ["SMPY_TEST"], mask, sys.getrecursionlimit(), common, sys.common)
        """,
        3,
        files={
            "turn.py": TURN,
            "setting.py": """
                import builtins, os, sys
                os.environ["SMPY_TEST"] = "for all"
                os.umask(0o70)
                sys.setrecursionlimit(4321)
                builtins.common = sys.common = 7
                """,
        },
        shared=("setting",),
    )
    assert lines(ran) == ["for all 56 4321 7 7"] * 3


def test_after_a_run_the_process_is_as_before(emulated: Callable):
    def state() -> tuple[object, ...]:
        os.umask(mask := os.umask(0))
        attributes = [dict(vars(module)) for module in (builtins, sys, tempfile)]
        return mask, sys.getrecursionlimit(), dict(os.environ), warnings.filters[:], type(sys), attributes

    import tempfile

    before = state()
    emulated(
        """
        import builtins, os, sys, tempfile, warnings
        from mpi4py import MPI
        rank = MPI.COMM_WORLD.rank
        os.umask(rank)
        os.chdir("/")
        sys.setrecursionlimit(3000 + rank)
        os.environ["SMPY_TEST"] = str(rank)
        warnings.simplefilter("ignore")
        builtins.mine = sys.mine = tempfile.mine = rank
        sys.tracebacklimit = tempfile.tempdir = builtins.len = rank
        MPI.COMM_WORLD.Barrier()
        """
    )
    assert state() == before


def test_switches_are_not_watched_once_all_ranks_have_set_the_same(emulated: Callable):
    ran = emulated(
        """
        import builtins, greenlet, os, sys, warnings
        from turn import *
        os.environ["SMPY_TEST"] = "same"
        warnings.simplefilter("ignore")
        os.umask(0o77)
        turn()
        turn()
        print(greenlet.gettrace(), os.environ["SMPY_TEST"])
        """,
        3,
        files={"turn.py": TURN},
    )
    assert lines(ran) == ["None same"] * 3


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
