"""Measured computing stands under the functions and lines of the program in which ranks computed."""

from __future__ import annotations

import json
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np  # noqa: F401  # a run here finds it loaded
import pytest

from smpy.emulate.run import run as run_module
from smpy.engine.surface import surface
from smpy.records.profile import RunProfile

pytestmark = pytest.mark.skipif(surface is None, reason="samples are taken by the compiled surface")

HEAD = """\
import numpy as np
from mpi4py import MPI
comm = MPI.COMM_WORLD
square = np.ones((300, 300))

def busy(n):
    total = 0
    for i in range(n):
        total += i * i
    return total

"""
FIRST_LINE = HEAD.count("\n") + 1


def profile_of(ran) -> RunProfile:
    assert ran.error == ""
    profile = ran.outcome.summary.profile
    assert isinstance(profile, RunProfile)
    return profile


def samples(ran, ended_by: str | None = None) -> Counter[tuple[str, str]]:
    """Samples by function and line."""
    counter: Counter[tuple[str, str]] = Counter()
    for row in profile_of(ran).computing_lines:
        if ended_by in (None, row.ended_by):
            counter[row.function, row.line] += row.samples
    return counter


def shares_of_functions(ran, *functions: str) -> list[float]:
    counter: Counter[str] = Counter()
    for row in profile_of(ran).computing_lines:
        counter[row.function] += row.samples
    return [counter[function] / counter.total() for function in functions]


def most(ran, ended_by: str | None = None) -> tuple[str, str]:
    """The function and line that most samples were taken in."""
    ((place, _),) = samples(ran, ended_by).most_common(1)
    return place


def test_an_operator_of_numpy_counts_for_the_function_and_line_that_use_it(emulated: Callable):
    program = HEAD + (
        "class Grid:\n"
        "    def sweep(self):\n"
        "        return square + square\n"
        "for _ in range(4000):\n"
        "    grid = Grid().sweep()\n"
        "    comm.Barrier()\n"
    )
    assert most(emulated(program, 1, compute="measured")) == ("Grid.sweep", f"program.py:{FIRST_LINE + 2}")


FORMS = {
    "generator": ("def numbers():\n    for n in range(40):\n        yield busy(10_000)\nsum(numbers())\n", "busy"),
    "lambda": ("work = lambda: sum(i * i for i in range(400_000))\nwork()\n", "<lambda>"),
    "list comprehension": ("def squares():\n    return [i * i for i in range(900_000)]\nsquares()\n", "squares"),
    "function in a function": (
        "def outer():\n    def inner():\n        return busy(400_000)\n    return inner()\nouter()\n",
        "busy",
    ),
    "function of a library": (
        "import fractions\ndef add():\n    for i in range(1, 9000):\n        fractions.Fraction(1, i) + 1\nadd()\n",
        "add",
    ),
    "generated code": (
        "def made():\n    exec('for i in range(2_000_000): pass')\nmade()\n",
        "made",
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_computing_counts_in_the_innermost_function_of_the_program(emulated: Callable, form: str):
    text, function = FORMS[form]
    ran = emulated(HEAD + text + "comm.Barrier()\n", 1, compute="measured")
    assert most(ran)[0] == function


def test_samples_stand_with_the_call_that_ended_their_burst_though_ranks_alternate(emulated: Callable):
    program = HEAD + (
        "def even():\n    busy_of_even = sum(i * i for i in range(100_000))\n"
        "def odd():\n    busy_of_odd = sum(i * i for i in range(100_000))\n"
        "for _ in range(6):\n"
        "    if comm.rank % 2 == 0:\n"
        "        even()\n"
        "        comm.sendrecv(0, comm.rank ^ 1)\n"
        "    else:\n"
        "        odd()\n"
        "        comm.sendrecv(0, comm.rank ^ 1)\n"
    )
    ran = emulated(program, 4, compute="measured")
    for ended_by, function in ((FIRST_LINE + 7, "even"), (FIRST_LINE + 10, "odd")):
        counter = samples(ran, f"program.py:{ended_by}")
        assert {name for name, _ in counter} <= {function, "<module>"}
        assert most(ran, f"program.py:{ended_by}")[0] == function


def test_a_module_of_the_program_is_named_from_its_folder(emulated: Callable):
    files = {"parts/work.py": "def work():\n    for i in range(3_000_000):\n        pass\n", "parts/__init__.py": ""}
    ran = emulated("from mpi4py import MPI\nfrom parts.work import work\nwork()\n", 1, files=files, compute="measured")
    assert most(ran)[0] == "work"
    assert most(ran)[1].rpartition(":")[0] == "parts/work.py"


def test_a_thread_of_the_rank_is_sampled_as_the_rank_itself(emulated: Callable):
    program = HEAD + (
        "import threading\n"
        "def beside():\n    for i in range(1_000_000):\n        pass\n"
        "thread = threading.Thread(target=beside)\nthread.start()\n"
        "busy(400_000)\n"
        "thread.join()\n"
        "comm.Barrier()\n"
    )
    ran = emulated(program, 2, compute="measured")
    assert {"beside", "busy"} <= {name for name, _ in samples(ran)}


def test_greenlets_of_the_program_switch_while_samples_are_taken(emulated: Callable):
    program = HEAD + (
        "import greenlet\n"
        "def pong():\n    while True:\n        main.switch()\n"
        "main = greenlet.getcurrent()\n"
        "other = greenlet.greenlet(pong)\n"
        "for _ in range(300_000):\n    other.switch()\n"
        "comm.Barrier()\n"
    )
    counter = samples(emulated(program, 2, compute="measured"))
    assert counter.total() > 0
    assert {name for name, _ in counter} <= {"<module>", "pong"}


def test_a_program_keeps_its_profiling_signal_and_cprofile(emulated: Callable):
    program = HEAD + (
        "import cProfile, pstats, signal\n"
        "seen = []\n"
        "signal.signal(signal.SIGPROF, lambda number, frame: seen.append(number))\n"
        "profile = cProfile.Profile()\n"
        "profile.enable()\n"
        "for _ in range(4):\n"
        "    busy(100_000)\n"
        "    signal.raise_signal(signal.SIGPROF)\n"
        "profile.disable()\n"
        "print(len(seen), signal.getitimer(signal.ITIMER_PROF))\n"
        "print([calls for (_, _, name), (_, calls, *_) in pstats.Stats(profile).stats.items() if name == 'busy'])\n"
        "comm.Barrier()\n"
    )
    before = signal.getsignal(signal.SIGPROF)
    try:
        ran = emulated(program, 1, compute="measured")
    finally:
        signal.signal(signal.SIGPROF, before)
    # cProfile of Python 3.13 was once seen to miss the first call
    assert ran.out in ("4 (0.0, 0.0)\n[4]\n", "4 (0.0, 0.0)\n[3]\n")
    assert most(ran)[0] == "busy"


def test_a_program_that_wants_every_signal_gets_it(emulated: Callable):
    program = HEAD + (
        "import signal\n"
        "busy(200_000)\n"
        "numbers = range(signal.SIGRTMIN, signal.SIGRTMAX + 1)\n"
        "before = [signal.signal(number, signal.SIG_DFL) for number in numbers]\n"
        "busy(400_000)\n"
        "for number, handler in zip(numbers, before):\n"
        "    signal.signal(number, handler if handler is not None else signal.SIG_DFL)\n"
        "comm.Barrier()\n"
        "print('survived')\n"
    )
    ran = emulated(program, 1, compute="measured")
    assert ran.error == ""
    assert ran.out == "survived\n"


@pytest.mark.parametrize("compute", ["none", "models"])
def test_without_measuring_no_sample_is_taken(emulated: Callable, compute: str):
    ran = emulated(HEAD + "busy(200_000)\ncomm.Barrier()\n", 2, compute=compute)
    profile = profile_of(ran)
    assert not profile.computing_lines
    assert profile.burst_spread is None


def test_replayed_bursts_name_the_line_that_ended_them(emulated: Callable, tmp_path: Path):
    program = HEAD + "busy(400_000)\ncomm.Barrier()\n"
    bursts = tmp_path / "bursts"
    recorded = emulated(program, 2, compute="measured", record=bursts)
    assert "user code in busy() program.py" in recorded.outcome.summary.render()
    replayed = emulated(program, 2, compute="measured", replay=bursts)
    assert not profile_of(replayed).computing_lines
    assert f"user code up to program.py:{FIRST_LINE + 1}" in replayed.outcome.summary.render()


def test_the_summary_and_its_json_tell_function_and_line(emulated: Callable):
    ran = emulated(HEAD + "for _ in range(5):\n    busy(200_000)\n    comm.Barrier()\n", 2, compute="measured")
    summary = ran.outcome.summary
    assert "user code in busy() program.py:" in summary.render()
    record = json.loads(summary.to_json())["profile"]
    own_s = sum(site["spent_s"][0] for site in record["sites"] if site["line"] == f"program.py:{FIRST_LINE + 2}")
    rows = [row for row in record["computing_lines"] if row["ended_by"] == f"program.py:{FIRST_LINE + 2}"]
    assert sum(row["seconds"] for row in rows) == pytest.approx(own_s)
    assert rows[0]["function"] == "busy"
    assert rows[0]["samples"] > 0


def test_names_beyond_ascii_are_unchanged(emulated: Callable):
    files = {"wärme.py": "def größe():\n    for i in range(3_000_000):\n        pass\n"}
    ran = emulated("from mpi4py import MPI\nfrom wärme import größe\ngröße()\n", 1, files=files, compute="measured")
    function, line = most(ran)
    assert (function, line.rpartition(":")[0]) == ("größe", "wärme.py")


RATIOS = {
    "loops": "def first():\n    busy(600_000)\ndef second():\n    busy(200_000)\n",
    "numpy": "def first():\n    for _ in range(9):\n        square @ square\n"
    "def second():\n    for _ in range(3):\n        square @ square\n",
}


@pytest.mark.timed
@pytest.mark.parametrize("work", RATIOS)
def test_functions_with_three_to_one_of_the_work_have_three_quarters_and_one_quarter(emulated: Callable, work: str):
    text = (
        RATIOS[work].replace("busy(", "total = 0\n    for i in range(").replace("000)\n", "000):\n        total += i\n")
    )
    program = HEAD + text + "for _ in range(40):\n    first()\n    second()\n    comm.Barrier()\n"
    first, second = shares_of_functions(emulated(program, 2, compute="measured"), "first", "second")
    assert first + second > 0.95
    assert first == pytest.approx(0.75, abs=0.075)


@pytest.mark.timed
def test_samples_cost_less_than_two_per_cent(emulated: Callable, monkeypatch: pytest.MonkeyPatch):
    program = HEAD + "for _ in range(10):\n    busy(50_000)\n    comm.Barrier()\n"

    def computed_s() -> float:
        ran = emulated(program, 1, compute="measured")
        assert ran.error == ""
        return ran.outcome.summary.makespan_s

    ratios: list[float] = []
    for pair in range(200):  # a busy machine spreads the ratios, more pairs find their median
        sampled_s = computed_s()
        with monkeypatch.context() as patch:
            patch.setattr(run_module, "start_sampler", lambda *arguments: None)
            ratios.append(sampled_s / computed_s())
        if pair % 25 == 24 and median(ratios) < 1.02:
            return
    assert median(ratios) < 1.02
