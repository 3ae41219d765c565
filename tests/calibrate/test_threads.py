"""`smpy calibrate threads`: parallel efficiencies of BLAS and LAPACK, from planted times and from this machine's."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from smpy.calibrate.threads import ThreadSample, calls, csv_text, efficiencies, measure_threads
from smpy.cli.calibrate import command
from smpy.platforms import read_machine
from smpy.platforms.models.thread_efficiency import KERNEL_CLASSES


def planted(efficiency: float, n_threads: int, slowdown: float = 1.0, name: str = "blas3") -> ThreadSample:
    """Times of calls of one second alone, on cores that others slow down."""
    return ThreadSample(name, n_threads, slowdown / (n_threads * efficiency), slowdown)


@given(st.floats(0.01, 1), st.integers(2, 128), st.lists(st.floats(0.5, 20), min_size=1, max_size=9))
def test_the_efficiency_is_that_of_the_library_however_slow_busy_cores_are(
    efficiency: float, n_threads: int, slowdowns: list[float]
):
    found = efficiencies([planted(efficiency, n_threads, slowdown) for slowdown in slowdowns])
    assert found == {"blas3": {str(n_threads): pytest.approx(efficiency, abs=6e-4)}}


def test_a_round_that_was_disturbed_changes_no_median_and_efficiencies_are_at_most_one():
    samples = [planted(part, 2) for part in (0.9, 0.91, 0.92, 0.1, 1.3)] + [
        planted(1.2, 4),
        planted(0.8, 8, name="blas1"),
    ]
    assert efficiencies(samples) == {"blas1": {"8": 0.8}, "blas3": {"2": 0.91, "4": 1.0}}


def test_each_measured_class_is_one_that_kernels_have():
    assert set(calls()) < set(KERNEL_CLASSES)


def test_the_result_is_read_by_a_machine_that_includes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("smpy.engine.processors.usable_processors", lambda: (0, 1, 2, 3))
    monkeypatch.setattr("smpy.calibrate.neighbours.busy_counts", lambda processors: [1, 2, len(processors)])
    monkeypatch.setattr("smpy.calibrate.this_machine.check_quiet", lambda **_: [])
    monkeypatch.setattr(
        "smpy.calibrate.threads.measure_threads", lambda counts, progress: [planted(0.9, n) for n in counts]
    )
    ran = CliRunner().invoke(command, ["threads", str(tmp_path / "node.toml")])
    assert (ran.exit_code, ran.output) == (0, "blas3   90% with 2 threads, 90% with 4 threads\n")
    assert (tmp_path / "node.csv").read_text() == csv_text([planted(0.9, 2), planted(0.9, 4)])
    (tmp_path / "machine.toml").write_text('include = ["node.toml"]\n[topology]\nkind = "flat"\n')
    (known,) = read_machine(tmp_path / "machine.toml", 1).threads
    assert (known.kernel, known.points) == ("blas3", ((2, 0.9), (4, 0.9)))


@pytest.mark.slow
def test_this_machine_has_times_of_every_class():
    samples = measure_threads([2], rounds=1)
    assert {sample.kernel_class for sample in samples} == set(calls())
    assert all(sample.call_s > 0 and sample.side_by_side_s > 0 for sample in samples)
