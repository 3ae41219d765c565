"""Output that is too long for the caller's memory: its ends are there, and all of it is in a file."""

from __future__ import annotations

import gc
import pickle
import resource
from collections.abc import Callable

import pytest

import smpy
from smpy.runs.output import OUTPUT_MAX_BYTES
from smpy.study.study import Study

PRINTS = """
    import sys
    n = int(sys.argv[1])
    print("first")
    for _ in range(n):
        print("x" * 65_535)
    print("last\\N{snowman}")
    if len(sys.argv) > 2:
        raise SystemExit(int(sys.argv[2]))
"""
N_LONG = 1600  # lines of 64 KiB


def test_long_output_is_in_a_file_and_its_ends_in_memory(program: Callable[[str], str]):
    before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    run = smpy.simulate(program(PRINTS), N_LONG, ranks=1, compute="none")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib < 80 * 1024
    assert len(run.stdout) < OUTPUT_MAX_BYTES + 200
    assert run.stdout.startswith("first\nxxx")
    assert run.stdout.endswith("xxx\nlast\N{SNOWMAN}\n")
    n_left_out = N_LONG * 65_536 + len("first\nlast\N{SNOWMAN}\n".encode()) - OUTPUT_MAX_BYTES
    assert f"\n[smpy: {n_left_out:,} bytes are left out here; stdout_file of the run has all]\n" in run.stdout
    assert run.stdout_file is not None
    assert sum(1 for _ in run.stdout_file) == N_LONG + 2
    assert run.stderr_file is None
    assert "104.9 MB on stdout: stdout has the first and last 8.389 MB, stdout_file all" in run.summary.render()
    file = run.stdout_file
    del run
    gc.collect()
    assert file.closed


def test_output_of_the_largest_size_that_is_kept_is_whole(program: Callable[[str], str]):
    program("import sys; sys.stdout.write('x' * (16 << 20)); sys.stderr.write('y' * (16 << 20) + 'z')")
    run = smpy.simulate("program.py", ranks=1, compute="none")
    assert run.stdout == "x" * OUTPUT_MAX_BYTES
    assert run.stdout_file is None
    assert run.stderr_file is not None
    assert run.stderr_file.read() == "y" * OUTPUT_MAX_BYTES + "z"


def test_an_error_has_its_long_output_too_and_can_be_sent(program: Callable[[str], str]):
    with pytest.raises(smpy.RunError) as raised:
        smpy.simulate(program(PRINTS), N_LONG, 3, ranks=1, compute="none")
    assert raised.value.stdout_file is not None
    assert raised.value.stdout_file.readline() == "first\n"
    assert pickle.loads(pickle.dumps(raised.value)).stdout == raised.value.stdout
    raised.value.stdout_file.close()


def test_long_lines_do_not_wait_for_their_dates_in_memory(program: Callable[[str], str]):
    program("line = 'x' * 1_000_000\nfor _ in range(100):\n    print(line)")
    run = smpy.simulate("program.py", ranks=2, compute="none")
    assert run.stdout_file is not None
    assert sum(map(len, run.stdout_file)) == 200 * 1_000_001
    assert run.summary.peak_rss_bytes < 120e6


@pytest.mark.slow
def test_a_study_finds_its_results_in_long_output(program: Callable[[str], str]):
    lines = "sys.stdout.write('x' * 1023 + '\\n')"
    program(f"import sys\nfor i in range(40 << 10):\n    {lines}\n    if i == 20 << 10: print('t=5')")
    table = {"program": "program.py", "options": {"ranks": 1, "compute": "none"}, "results": {"t": r"t=(\d)"}}
    frame = Study({**table, "axes": {"args.n": [1]}, "args": ["{n}"]}).run(workers=1)
    assert list(frame["t"]) == [5.0]
