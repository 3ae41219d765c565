"""Noise on any computing is drawn from a seed: its factors, its record, and its removal."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import stats

from smpy.cli.main import main
from smpy.option_texts import noise_model, noise_model_text
from smpy.records.trace import Trace
from smpy.replay import replay

FLAT = "flat hosts=4 cores=1 nic=10Gb/s latency=1us speed=1Gf"
LOOP = "import smpy\nfor step in range({n}):\n    smpy.execute({flop})\n"
EACH_WAY = """
import numpy, smpy
from mpi4py import MPI
comm = MPI.COMM_WORLD

@smpy.kernel(flop="n")
def kernel(n): pass

a = smpy.folded((200, 200))
for step in range(20):
    smpy.execute(1e5)
    smpy.execute(1e5, bytes=1e6)
    smpy.inject_seconds(1e-4)
    kernel(10**5)
    a @ a
    comm.Allreduce(numpy.zeros(10), numpy.zeros(10))
"""


@pytest.fixture
def drawn(emulated: Callable, tmp_path: Path) -> Callable[..., tuple[Any, Trace]]:
    """Runs a program with noise, and a trace: its summary, and the trace."""

    def here(source: str, noise: str | None, n_ranks: int = 1, **config: Any) -> tuple[Any, Trace]:
        model, folder = noise and noise_model(noise), tmp_path / f"{noise}-{len(config)}"
        ran = emulated(source, n_ranks, noise_model=model, trace=folder, **{"platform": FLAT, **config})
        assert ran.outcome.error is None, ran.outcome.error
        return ran.outcome.summary, Trace(folder)

    return here


def factors(trace: Trace, rank: int = 0, column: str = "amount") -> np.ndarray:
    """Noise over its absence, of each computation of a rank that has an amount, or bytes."""
    rows = [row for row in trace.table("actions").to_pylist() if row["rank"] == rank]
    quiet = [row[column] for row in rows if row["action"] == "noise_free" and row[column]]
    noisy = [row[column] for row in rows if row["action"] == "compute" and row[column]]
    return np.array(noisy) / np.array(quiet)


@pytest.mark.parametrize(
    ("noise", "distribution"),
    [("5%", stats.norm(1, 0.05)), ("pareto:5%", stats.pareto(21)), ("pareto:50%", stats.pareto(3))],
)
def test_factors_have_their_distribution(drawn: Callable, noise: str, distribution: Any):
    _, trace = drawn(LOOP.format(n=5_000, flop=1e6), noise)
    assert stats.kstest(factors(trace), distribution.cdf).pvalue > 0.01


def test_normal_factors_have_mean_1_and_pareto_factors_their_excess(drawn: Callable):
    for noise, mean in (("5%", 1.0), ("pareto:5%", 1.05)):
        summary, _ = drawn(LOOP.format(n=5_000, flop=1e6), noise)
        assert summary.makespan_s == pytest.approx(5 * mean, rel=4 * 0.055 / 5_000**0.5)


def test_a_tick_comes_once_a_period_of_computing(drawn: Callable):
    """3 s of computing have 3,000 ticks of 20 us, however they are cut, give or take one."""
    for n, flop in ((3, 1e9), (3_000, 1e6), (7_000, 3e9 / 7_000)):
        summary, _ = drawn(LOOP.format(n=n, flop=flop), "ticks:1ms:20us")
        assert summary.makespan_s == pytest.approx(3 + 3_000 * 20e-6, abs=20.001e-6)


def test_ticks_of_ranks_do_not_come_together(drawn: Callable):
    _, trace = drawn(LOOP.format(n=50, flop=1e5), "ticks:1ms:20us", n_ranks=4)
    firsts = {int(np.flatnonzero(factors(trace, rank) > 1)[0]) for rank in range(4)}
    assert len(firsts) > 1


def test_ranks_and_seeds_have_noise_of_their_own_and_one_seed_the_same_bits(drawn: Callable):
    source = LOOP.format(n=10, flop=1e6)
    first, trace = drawn(source, "5%", n_ranks=2)
    again, _ = drawn(source, "5%", n_ranks=2, seed=0)
    other, _ = drawn(source, "5%", n_ranks=2, seed=1, args=())
    assert list(again.finish_s) == list(first.finish_s)
    assert first.finish_s[0] != first.finish_s[1]
    assert set(other.finish_s).isdisjoint(first.finish_s)
    assert not set(factors(trace, 0)) & set(factors(trace, 1))


def test_draws_of_a_rank_do_not_depend_on_other_ranks(drawn: Callable):
    source = LOOP.format(n=10, flop=1e6)
    alone, _ = drawn(source, "pareto:20%")
    among, _ = drawn(source, "pareto:20%", n_ranks=4)
    assert among.finish_s[0] == alone.finish_s[0]


def test_noise_is_on_computing_of_every_kind_and_can_be_removed_to_the_last_digit(drawn: Callable):
    memory = (("host.memory_bandwidth", "20GB/s"),)
    exact, _ = drawn(EACH_WAY, None, n_ranks=4, compute="models", options=memory)
    noisy, trace = drawn(EACH_WAY, "pareto:20%", n_ranks=4, compute="models", options=memory)
    assert len(factors(trace)) == 5 * 20
    assert (factors(trace) > 1).all()
    assert len(factors(trace, column="bytes")) == 2 * 20
    assert (factors(trace, column="bytes") > 1).all()
    np.testing.assert_allclose(replay(trace).finish_s, noisy.finish_s, rtol=1e-12)
    quiet = replay(trace, denoise=["cpu"])
    np.testing.assert_allclose(quiet.finish_s, exact.finish_s, rtol=1e-12)
    assert "400 take what it takes without the noise that was drawn" in quiet.noise_removed


def test_measured_bursts_have_noise_too(drawn: Callable, tmp_path: Path):
    source = "from mpi4py import MPI\nfor step in range(5):\n    sum(range(100_000))\n    MPI.COMM_WORLD.Barrier()\n"
    drawn(source, None, compute="measured", record=tmp_path / "bursts")
    exact, _ = drawn(source, None, compute="measured", replay=tmp_path / "bursts", args=())
    noisy, trace = drawn(source, "pareto:50%", compute="measured", replay=tmp_path / "bursts", args=())
    assert (factors(trace) > 1).all()
    assert noisy.makespan_s > exact.makespan_s


def test_without_the_option_nothing_is_drawn(drawn: Callable):
    summary, trace = drawn(LOOP.format(n=10, flop=1e6), None)
    assert "noise_free" not in trace.table("actions")["action"].to_pylist()
    assert (summary.inputs.noise_model, summary.inputs.noise_seed) == (None, None)


def test_the_summary_tells_model_and_seed(tmp_path: Path):
    (tmp_path / "prog.py").write_text(LOOP.format(n=3, flop=1e6))
    words = ["run", "-np", "1", "--compute", "none", "--noise-model", "ticks:1ms:20us", "--seed", "4", "--json"]
    done = CliRunner().invoke(main, [*words, str(tmp_path / "run.json"), str(tmp_path / "prog.py")])
    assert "with noise drawn from seed 4 (--noise-model ticks:1ms:20us)" in done.output
    record = json.loads((tmp_path / "run.json").read_text())
    assert (record["noise_model"], record["noise_seed"]) == ("ticks:1ms:20us", 4)


@pytest.mark.parametrize("text", ["5%", "0.07%", "12.345%", "pareto:20%", "pareto:100%", "ticks:1ms:20us"])
def test_noise_is_told_as_it_was_asked_for(text: str):
    assert noise_model_text(noise_model(text)) == text


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("5", "'5' is no noise such as 5%, pareto:5% and ticks:1ms:20us"),
        ("nan%", "'nan%' is no noise"),
        ("-1%", "'-1%' is no noise"),
        ("gauss:5%", "'gauss:5%' is no noise"),
        ("ticks:1ms", "'ticks:1ms' is no noise"),
        ("0%", "'0%': normal noise is above 0 and at most 30%"),
        ("pareto:101%", "'pareto:101%': pareto noise is above 0 and at most 100%"),
        ("ticks:0:1us", "ticks take some time, every 1ns or more"),
        ("ticks:1ms:soon", "soon"),
    ],
)
def test_text_that_is_no_noise_is_refused(text: str, told: str):
    with pytest.raises(ValueError, match=re.escape(told)):
        noise_model(text)
