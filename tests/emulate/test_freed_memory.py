"""Memory that a program frees is returned to the system or kept, where computing is measured."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import pytest

PROGRAM = """
    import resource

    def take_and_free():
        memory = bytearray(N_BYTES)
        memory[::4096] = bytes(len(memory[::4096]))

    take_and_free()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(10):
        take_and_free()
    print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


MIB = 1 << 20


@pytest.mark.parametrize(
    ("n_bytes", "options", "returns"),
    [(40 * MIB, (), True), (40 * MIB, ("--keep-memory",), False), (31 * MIB, (), False)],
)
def test_memory_that_is_freed_and_taken_again_costs_page_faults_unless_it_is_kept(
    smpy_run: Callable, n_bytes: int, options: tuple[str, ...], returns: bool
):
    ran = smpy_run(PROGRAM.replace("N_BYTES", str(n_bytes)), 1, "--quiet", *options)
    assert (ran.code, ran.err) == (0, "")
    assert (int(ran.out) > 150) is returns  # 102,400 pages of 4 KiB; 200 huge ones


def test_the_summary_says_that_it_is_kept(smpy_run: Callable):
    ran = smpy_run("pass", 1, "--keep-memory")
    assert "freed memory   stays with the process (--keep-memory)" in ran.err


def test_a_c_library_that_cannot_be_told_is_named(emulated: Callable, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("smpy.engine.memory.lib", SimpleNamespace(freed_memory_keep=lambda _nbytes: -1))
    with pytest.raises(Exception, match="--keep-memory: this system's C library is not glibc, or refuses"):
        emulated("pass", 1, keep_memory=True)
