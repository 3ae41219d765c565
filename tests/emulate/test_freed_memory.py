"""Memory that a program frees is returned to the system or kept, where computing is measured."""

from __future__ import annotations

from collections.abc import Callable

import pytest

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


def test_the_summary_says_that_it_is_kept(smpy_run: Callable):
    ran = smpy_run("pass", 1, "--keep-memory")
    assert "freed memory   stays with the process (--keep-memory)" in ran.err


def test_a_c_library_that_cannot_be_told_is_named(emulated: Callable, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("ctypes.CDLL", lambda _name: object())
    with pytest.raises(Exception, match="--keep-memory: this system's C library has no mallopt; leave it out"):
        emulated("pass", 1, keep_memory=True)
