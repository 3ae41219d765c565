"""Process-wide state (umask, cwd, ...) is saved and restored when the running rank changes."""

import builtins
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.emulate.turns import TURN, lines


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


def test_a_rank_may_delete_its_working_directory(emulated: Callable):
    ran = emulated(
        """
        import os, shutil, tempfile
        from turn import *
        def where():
            try:
                return os.path.basename(os.getcwd())
            except FileNotFoundError:
                return "nowhere"
        os.mkdir("shared") if rank == 0 else None
        turn()
        os.chdir("shared")  # that of all ranks, which one deletes
        turn()
        if rank == 0:
            shutil.rmtree(os.getcwd())
        if rank == 1:
            os.chdir("..")
            with tempfile.TemporaryDirectory() as own:
                os.chdir(own)
        found = []
        for _ in range(2):
            turn()
            found.append(where())
            try:
                open("lost", "w")
            except FileNotFoundError:
                found.append("not written")
        os.chdir("/")
        turn()
        print(*found, os.getcwd())
        """,
        3,
        files={"turn.py": TURN},
    )
    assert lines(ran) == ["nowhere not written nowhere not written /"] * 3


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


def test_warnings_are_captured_by_each_ranks_own_loggers(emulated: Callable):
    ran = emulated(
        """
        import logging, sys, warnings
        from turn import *
        logging.basicConfig(stream=sys.stdout, format=f"{rank} %(levelname)s %(message)s")
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, *_: print(rank, "shows", message)
        if rank:
            logging.captureWarnings(True)
        for step in range(2):
            turn()
            warnings.warn_explicit(f"step {step}", UserWarning, "program", 1)
            turn()
            if rank == 2:
                logging.captureWarnings(False)
        """,
        3,
        files={"turn.py": TURN},
    )
    assert sorted(line for line in lines(ran) if line) == [
        "0 shows step 0",
        "0 shows step 1",
        "1 WARNING program:1: UserWarning: step 0",
        "1 WARNING program:1: UserWarning: step 1",
        "2 WARNING program:1: UserWarning: step 0",
        "2 shows step 1",
    ]


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


# Process-wide state: the statement that sets it to `value`, which differs between ranks, and the reading expression.
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


# docs/limits.md names these: a program that changes one changes it for all ranks.
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
def test_what_the_page_of_limits_calls_shared_is_shared(smpy_run: Callable, setting: str):
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
    page = (Path(__file__).parents[2] / "docs" / "limits.md").read_text(encoding="utf-8")
    assert setting in " ".join(page.split())


def test_collections_of_a_program_are_enabled_and_skip_the_objects_made_before_it(smpy_run: Callable):
    ran = smpy_run("import gc; print(gc.isenabled(), gc.get_freeze_count() > 10_000)", 1, "--quiet")
    assert ran.out == "True True\n"


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


def test_what_a_shared_module_sets_when_imported_holds_for_all_ranks(
    emulated: Callable, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SMPY_TEST", "before")  # and is there no more for other tests
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


def test_a_trace_function_that_prints_sees_the_program_alone(emulated: Callable):
    ran = emulated(
        """
        import sys
        from mpi4py import MPI
        comm = MPI.COMM_WORLD
        def trace(frame, event, arg):
            print(comm.rank, frame.f_code.co_name, event)
            return trace
        def work():
            total = comm.allreduce(1)
            comm.Barrier()
            return total
        sys.settrace(trace)
        assert sys.gettrace() is trace
        work()
        sys.settrace(None)
        assert sys.gettrace() is None
        """,
        2,
    )
    seen = ["work call", *["work line"] * 3, "work return"]
    assert ran.error == ""
    for rank in "01":
        assert [line[2:] for line in ran.out.splitlines() if line[0] == rank] == seen


def test_the_trace_module_shows_every_line_of_the_program(emulated: Callable):
    program = "from mpi4py import MPI\nprint(MPI.COMM_WORLD.allreduce(1))\n"
    ran = emulated(None, 2, files={"main.py": program}, program="trace", is_module=True, args=("--trace", "main.py"))
    assert ran.error == ""
    told = [" ".join(line.split()) for line in ran.out.splitlines()]  # Python 3.13 puts two blanks before a line
    for line in ("main.py(1): from mpi4py import MPI", "main.py(2): print(MPI.COMM_WORLD.allreduce(1))", "2"):
        assert told.count(line) == 2
