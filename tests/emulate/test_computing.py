"""Computing of a rank: the time that counts as such, and its cost with many ranks."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np  # noqa: F401  # a run here finds it loaded
import pytest

from smpy.emulate.modules.codes import OWN_CODES_MAX, CodeSupply, own_copy
from tests.emulate.planted_clock import plant

BURN = "sum(range(6_000_000))\n"  # 0.05 s or more


def makespan_s(ran) -> float:
    assert ran.error == ""
    return ran.outcome.summary.makespan_s


def test_computing_is_measured(emulated: Callable):
    ran = emulated(BURN, 1, compute="measured")
    assert makespan_s(ran) > 0
    assert ran.outcome.summary.shares.compute > 0.9


def test_computing_is_free_when_told_so(emulated: Callable):
    assert makespan_s(emulated(BURN, 1, compute="none")) == 0


@pytest.mark.timed
def test_importing_private_modules_is_not_computing(emulated: Callable):
    computed_s = makespan_s(emulated(BURN, 1, compute="measured"))
    imported = "import first\n"
    files = {"first.py": "import package.second\n" + BURN, "package/__init__.py": BURN, "package/second.py": BURN}
    assert makespan_s(emulated(imported, 1, files=files, compute="measured")) < computed_s / 5


@pytest.mark.timed
def test_importing_shared_modules_is_not_computing(emulated: Callable):
    computed_s = makespan_s(emulated(BURN, 1, compute="measured"))
    imported = "import heavy_and_shared\n"
    files = {"heavy_and_shared.py": BURN}
    ran = emulated(imported, 1, files=files, compute="measured", shared=("heavy_and_shared",))
    assert makespan_s(ran) < computed_s / 5


@pytest.mark.timed
def test_mpi_calls_in_a_module_leave_its_import_uncounted(emulated: Callable):
    program = "import exchange\n"
    files = {"exchange.py": f"from mpi4py import MPI\n{BURN}MPI.COMM_WORLD.Barrier()\n{BURN}"}
    assert makespan_s(emulated(program, 2, files=files, compute="measured")) < 0.01


@pytest.mark.timed
def test_searching_what_a_rank_leaves_is_not_computing(emulated: Callable):
    """Leave 90,000 objects, whose search takes 40 ms or more."""
    assert makespan_s(emulated("left = list(map(float, range(90_000)))\n", 1, compute="measured")) < 0.02


@pytest.mark.parametrize("imported", ["own", "shared"])
def test_what_was_computed_before_an_import_is_charged_before_the_calls_in_it(
    emulated: Callable, monkeypatch: pytest.MonkeyPatch, imported: str
):
    plant(monkeypatch)
    files = {
        "own.py": "from mpi4py import MPI\nfrom planted_clock import advance\nprint(MPI.Wtime())\nadvance(5)\n",
        "shared.py": "__smpy_shared__ = True\nimport own\n",
    }
    source = f"from planted_clock import advance\nadvance(1)\nimport {imported}\nadvance(2)\n"
    ran = emulated(source, 1, files, compute="measured")
    assert float(ran.out) == pytest.approx(1)
    assert makespan_s(ran) == pytest.approx(3)


@pytest.mark.timed
def test_garbage_collection_is_not_computing(emulated: Callable):
    made = "import gc\ngc.disable()\nkept = [[] for _ in range(300_000)]\n"
    collected = made + "for _ in range(20):\n    gc.collect()\n"
    made_s = makespan_s(emulated(made + "gc.enable()\n", 1, compute="measured"))
    assert makespan_s(emulated(collected + "gc.enable()\n", 1, compute="measured")) < 3 * made_s


def test_a_line_is_printed_at_the_end_of_the_computing_before_it(emulated: Callable):
    ran = emulated(
        f"from mpi4py import MPI\nif MPI.COMM_WORLD.rank == 0:\n    {BURN}    print('after')\n"
        "else:\n    print('before')\n",
        compute="measured",
    )
    assert ran.out == "before\nafter\n"


def test_a_code_object_of_a_ranks_own_learns_for_itself():
    code = compile("def f():\n    def g():\n        return 1\n    return g\n", "file", "exec")
    copy = own_copy(code)
    assert copy == code
    while code is not None:
        assert copy is not code
        assert copy.co_names is code.co_names
        code, copy = (next((c for c in k.co_consts if hasattr(c, "co_code")), None) for k in (code, copy))


def test_ranks_share_code_when_copies_would_be_too_many():
    code = compile("def f(): pass", "file", "exec")
    few, many, alone = CodeSupply(2).of(code), CodeSupply(OWN_CODES_MAX).of(code), CodeSupply(1).of(code)
    assert few() is not few()
    assert many() is code
    assert alone() is code


def test_code_of_all_modules_together_is_limited():
    code = compile("pass", "file", "exec")
    supply = CodeSupply(OWN_CODES_MAX)
    assert supply.of(code)() is not code
    assert supply.of(code)() is code


@pytest.mark.slow
def test_an_idle_rank_takes_a_few_kilobytes(smpy_run: Callable, tmp_path: Path):
    """The memory is the rank's greenlet, with two pages of interpreter stack, and its module."""
    program = "from mpi4py import MPI\nMPI.COMM_WORLD.Barrier()\n"
    peak_bytes = []
    for n_ranks in (2_000, 12_000):
        ran = smpy_run(program, n_ranks, "--compute", "none", "--quiet", "--json", "summary.json")
        assert ran.code == 0, ran.err
        record = json.loads((tmp_path / "summary.json").read_text(encoding="utf-8"))
        peak_bytes.append(record["host"]["peak_rss_bytes"])
    assert (peak_bytes[1] - peak_bytes[0]) / 10_000 < 16_384


SLOW_AND_FAST = """\
<?xml version="1.0"?>
<platform version="4.1">
  <zone id="z" routing="Full">
    <host id="slow" speed="1Gf"/><host id="fast" speed="4Gf"/><link id="l" bandwidth="1GBps" latency="1us"/>
    <route src="slow" dst="fast"><link_ctn id="l"/></route>
  </zone>
</platform>
"""


@pytest.mark.timed
@pytest.mark.parametrize(("host_speed_flop_per_s", "ratio"), [(None, 1.0), (2e9, 4.0)])
def test_measured_time_is_scaled_by_the_hosts_speed_if_that_of_this_machine_is_known(
    emulated: Callable, tmp_path: Path, host_speed_flop_per_s: float | None, ratio: float
):
    platform, hosts = tmp_path / "two.xml", tmp_path / "hosts"
    platform.write_text(SLOW_AND_FAST)
    hosts.write_text("slow\nfast\n")
    ran = emulated(
        """
        from mpi4py import MPI
        start = MPI.Wtime()
        sum(range(1_000_000))
        print(MPI.COMM_WORLD.rank, MPI.Wtime() - start)
        """,
        compute="measured",
        platform=platform,
        hostfile=hosts,
        host_speed_flop_per_s=host_speed_flop_per_s,
    )
    took_s = dict(map(float, line.split()) for line in ran.out.splitlines())
    assert took_s[0] / took_s[1] == pytest.approx(ratio, rel=0.4)


@pytest.mark.parametrize(
    ("compute", "given", "expected"),
    [
        ("measured", {}, "1 None"),
        ("measured", {"OMP_NUM_THREADS": "2"}, "2 2"),
        ("measured", {"OPENBLAS_NUM_THREADS": "2"}, "2 None"),
        ("none", {"OPENBLAS_NUM_THREADS": "2"}, "2 None"),
    ],
)
def test_blas_has_one_thread_when_computing_is_measured_unless_the_user_says_otherwise(
    smpy_run: Callable, monkeypatch: pytest.MonkeyPatch, compute: str, given: dict[str, str], expected: str
):
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    ran = smpy_run(
        """
        import ctypes, os, pathlib, re
        import numpy
        for path in re.findall(r"/\\S*openblas\\S*", pathlib.Path("/proc/self/maps").read_text()):
            blas = ctypes.CDLL(path)
            for name in ("scipy_openblas_get_num_threads64_", "openblas_get_num_threads"):
                if hasattr(blas, name):
                    print(getattr(blas, name)(), os.environ.get("OMP_NUM_THREADS"))
                    raise SystemExit
        """,
        1, "--compute", compute, "--quiet",
    )  # fmt: skip
    if not ran.out:
        pytest.skip("numpy is not linked with OpenBLAS")
    assert ran.out == expected + "\n"


def test_a_trace_loads_blas_with_one_thread_and_remarks_nothing(smpy_run: Callable, monkeypatch: pytest.MonkeyPatch):
    """pyarrow, which writes the trace, loads numpy ahead of the program."""
    for name in [name for name in os.environ if name.endswith("_NUM_THREADS")]:
        monkeypatch.delenv(name)
    ran = smpy_run("import numpy\n", 1, "--compute", "measured", "--trace", "trace")
    assert ran.code == 0, ran.err
    assert "BLAS was loaded too early" not in ran.err


def test_a_run_whose_blas_was_loaded_before_says_so(emulated: Callable, monkeypatch: pytest.MonkeyPatch):
    assert "numpy" in sys.modules
    for name in [name for name in os.environ if name.endswith("_NUM_THREADS")]:
        monkeypatch.delenv(name)
    assert "set OMP_NUM_THREADS=1" in emulated("pass\n", 1, compute="measured").outcome.summary.render()
    assert "THREADS" not in emulated("pass\n", 1, compute="none").outcome.summary.render()
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert "THREADS" not in emulated("pass\n", 1, compute="measured").outcome.summary.render()
