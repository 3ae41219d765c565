"""Memory that a program frees is returned to the system or kept, where computing is measured."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

from smpy.emulate.reports import remarks as remarks_module

PROGRAM = """
    import resource

    def take_and_free():
        memory = bytearray(40 << 20)  # more than glibc ever keeps by itself
        memory[::4096] = bytes(len(memory[::4096]))

    take_and_free()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(10):
        take_and_free()
    print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.parametrize(("options", "returns"), [((), True), (("--keep-memory",), False)])
def test_memory_that_is_freed_and_taken_again_costs_page_faults_unless_it_is_kept(
    smpy_run: Callable, options: tuple[str, ...], returns: bool
):
    ran = smpy_run(PROGRAM, 1, "--quiet", *options)
    assert (ran.code, ran.err) == (0, "")
    assert (int(ran.out) > 150) is returns  # 102,400 pages of 4 KiB; 200 huge ones


LIMITS = """
    from smpy.engine.surface import surface

    def limit_kib():
        return surface.heap_limit() >> 10

    import numpy as np

    before = limit_kib()
    kept = np.ones(100 << 10)
    limits = [limit_kib()]
    for kind, size in ((bytes, 500 << 10), (np.ones, 100 << 10), (bytearray, 600 << 10), (bytes, 40 << 20)):
        block = kind(size)
        limits.append(limit_kib())
        del block
        limits.append(limit_kib())
    print(before < 400, [limit - before if limit == before else limit for limit in limits])
"""


def test_limits_of_the_heap_follow_what_the_program_frees_as_glibc_does(smpy_run: Callable):
    ran = smpy_run(LIMITS, 1, "--quiet")
    assert (ran.code, ran.err) == (0, "")
    # 500 KiB and its header are 504 KiB of pages; 800 KiB 804; a smaller block, and one above 32 MiB, change nothing
    assert ran.out == "True [0, 0, 504, 504, 804, 804, 804, 804, 804]\n"


CHURN = """
    import resource
    import numpy as np

    def churn(n):
        for _ in range(n):
            x = np.ones(1 << 15)
            y = x * x
            del x, y

    churn(10)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    churn(100)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before > 5000)  # pages of 256 KiB, 200 times: 12,800
"""


def test_small_arrays_cost_page_faults_as_in_a_process_of_their_own(
    smpy_run: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A file of 3 MiB, which smpy has read and dropped before, raises no limit."""
    machine = tmp_path / "machine.toml"
    machine.write_text("#" * (3 << 20) + "\n[host]\ncount = 1\n", encoding="ascii")
    monkeypatch.delenv("MALLOC_TRIM_THRESHOLD_", raising=False)
    ran = smpy_run(CHURN, 1, "--quiet", "--platform", str(machine))
    plain = subprocess.run([sys.executable, "-c", dedent(CHURN)], capture_output=True, text=True, check=True)
    assert (ran.code, ran.err, ran.out) == (0, "", plain.stdout)


RETURNED = """
    import resource
    import numpy as np
    from mpi4py import MPI

    def faults():
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

    def arrays():
        return [np.ones(100 << 10) for _ in range(4)]

    comm = MPI.COMM_WORLD
    np.ones(1 << 17)  # freed, it raises the limit to 1 MiB
    for _ in range(2):
        kept = arrays()
        comm.Barrier()
        del kept
        comm.Barrier()
    before = faults()
    if comm.rank == 0:
        for _ in range(20):
            arrays()
        print(faults() - before > 10_000)  # 3.2 MiB, 20 times
    else:
        kept = arrays()
"""


@pytest.mark.parametrize("n_ranks", [1, 2, 3])
def test_memory_of_one_rank_keeps_none_of_another_from_being_returned(smpy_run: Callable, n_ranks: int):
    ran = smpy_run(RETURNED, n_ranks, "--quiet")
    assert (ran.code, ran.err, ran.out) == (0, "", "True\n")


def test_a_program_may_limit_its_addresses(smpy_run: Callable):
    program = """
        import resource
        import numpy as np

        resource.setrlimit(resource.RLIMIT_AS, (6 << 30, resource.RLIM_INFINITY))
        print((np.ones(1 << 20) + np.ones(1 << 20)).sum())
    """
    ran = smpy_run(program, 2, "--quiet")
    assert (ran.code, ran.err, ran.out) == (0, "", 2 * f"{1 << 21}.0\n")


REUSED = """
    import resource
    import numpy as np

    def take_three(u):
        return [{}, {}, {}]

    np.ones(1 << 17)
    u = np.ones(90 << 10)
    take_three(u)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        take_three(u)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before > 5_000)
"""


@pytest.mark.parametrize("expression", ["u + u", "u + u + u", "-u", "np.add(u, u) * 2.0"])
def test_an_operand_that_numpy_reuses_has_memory_returned_or_kept_as_in_a_process_of_its_own(
    smpy_run: Callable, expression: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("MALLOC_TRIM_THRESHOLD_", raising=False)
    program = REUSED.format(expression, expression, expression)
    ran = smpy_run(program, 1, "--quiet")
    plain = subprocess.run([sys.executable, "-c", dedent(program)], capture_output=True, text=True, check=True)
    assert (ran.code, ran.err, ran.out) == (0, "", plain.stdout)


def test_the_summary_says_that_it_is_kept(smpy_run: Callable):
    ran = smpy_run("pass", 1, "--keep-memory")
    assert "freed memory   stays with the process (--keep-memory)" in ran.err


TAKEN_AGAIN = "for _ in range(40):\n    bytearray(40 << 20)[::4096] = bytes(10240)\n"
COMPUTED = "sum(i * i for i in range(2_000_000))\n"


@pytest.mark.parametrize(
    ("program", "keep_memory", "is_told"),
    [(TAKEN_AGAIN, False, True), (TAKEN_AGAIN, True, False), (COMPUTED, False, False)],
)
@pytest.mark.parametrize("is_taken", [True, False])
def test_page_faults_that_took_much_of_measured_computing_are_told_with_their_share(
    emulated: Callable, monkeypatch: pytest.MonkeyPatch, program: str, keep_memory: bool, is_told: bool, is_taken: bool
):
    monkeypatch.setattr(remarks_module, "hypervisor_takes_free_pages", lambda: is_taken)
    program = f"from mpi4py import MPI\n{program}MPI.COMM_WORLD.Barrier()\n"
    remarks = emulated(program, 1, compute="measured", keep_memory=keep_memory).outcome.summary.remarks
    told = [remark for remark in remarks if remark.topic == "page faults"]
    assert len(told) == is_told
    for remark in told:
        assert 0.3 < remark.facts["share"] <= 1
        assert any("takes free pages away" in line for line in remark.lines) == is_taken
        assert remark.facts["page_faults"] > 500  # 409,600 pages of 4 KiB; 800 huge ones


def test_a_c_library_that_cannot_be_told_is_named(emulated: Callable, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("ctypes.CDLL", lambda _name: object())
    with pytest.raises(Exception, match="--keep-memory: this system's C library has no mallopt; leave it out"):
        emulated("pass", 1, keep_memory=True)
