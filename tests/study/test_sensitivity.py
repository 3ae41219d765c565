"""Sensitivity of a makespan: closed forms, and the output for users."""

from __future__ import annotations

import json
import sys
from math import log
from pathlib import Path

import pytest
from click.testing import CliRunner

import smpy
from smpy.cli.study_sensitivity import command
from smpy.errors import UsageError
from smpy.records.held_trace import HeldTrace
from smpy.records.trace import Trace
from smpy.replay import replay
from smpy.study import many_replays
from smpy.study.many_replays import Replays, makespans_s
from smpy.study.parameters import read_parameter, read_parameters
from smpy.study.sensitivity import ParameterEffect, Sensitivity, sensitivity
from smpy.study.sobol import sobol_indices, sobol_points

MACHINE = "flat hosts=2 cores=1 nic=10Gb/s latency=10us"
BYTES, ROUND_TRIPS = 30_000, 10
LATENCY_S, BANDWIDTH_S = (
    2 * ROUND_TRIPS * 20e-6,
    2 * ROUND_TRIPS * (BYTES + 16) / 1.25e9,
)  # two links a way; an envelope
PING_PONG = f"""
import numpy
from mpi4py import MPI
comm = MPI.COMM_WORLD
ball = numpy.zeros({BYTES}, dtype="u1")
for _ in range({ROUND_TRIPS}):
    if comm.rank == 0:
        comm.Send(ball, 1)
        comm.Recv(ball, 1)
    else:
        comm.Recv(ball, 0)
        comm.Send(ball, 0)
"""
TWICE = ["network.latency=x0.5:x2", "network.bandwidth=x0.5:x2"]


def traced(folder: Path, text: str, ranks: int = 2) -> Path:
    program = folder / "program.py"
    program.write_text(text)
    options = {"platform": MACHINE, "network": "raw", "compute": "none", "trace": str(folder / "trace")}
    smpy.simulate(program, ranks=ranks, **options)
    return folder / "trace"


@pytest.fixture(scope="module")
def ping_pong(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return traced(tmp_path_factory.mktemp("ping-pong"), PING_PONG)


def of(found: Sensitivity, key: str) -> ParameterEffect:
    return next(it for it in found.effects if it.key == key)


def shares_of_variance(latency: float, bandwidth: float) -> dict[str, float]:
    return {
        "network.latency": latency / (latency + bandwidth),
        "network.bandwidth": bandwidth / (latency + bandwidth),
    }


def uniform_shares() -> dict[str, float]:
    """T = a + b x + c / y, x and y uniform on [0.5, 2]: Var(x) = 1.5**2 / 12, E(1/y) = ln(4) / 1.5, E(1/y**2) = 1."""
    return shares_of_variance(LATENCY_S**2 * 1.5**2 / 12, BANDWIDTH_S**2 * (1 - (log(4) / 1.5) ** 2))


def log_uniform_shares() -> dict[str, float]:
    """The same with ln x, ln y uniform: x and 1 / y have mean 1.5 / ln 4 and mean square (4 - 1/4) / (2 ln 4)."""
    variance = (4 - 0.25) / (2 * log(4)) - (1.5 / log(4)) ** 2
    return shares_of_variance(LATENCY_S**2 * variance, BANDWIDTH_S**2 * variance)


def test_makespans_at_both_ends_of_a_ping_pong_are_those_of_the_closed_form(ping_pong: Path):
    found = sensitivity(ping_pong, read_parameters(TWICE))
    own_s, latency, bandwidth = found.makespan_s, of(found, "network.latency"), of(found, "network.bandwidth")
    assert latency.low_s == pytest.approx(own_s - LATENCY_S / 2, rel=1e-9)
    assert latency.high_s == pytest.approx(own_s + LATENCY_S, rel=1e-9)
    assert bandwidth.low_s == pytest.approx(own_s + BANDWIDTH_S, rel=1e-9)
    assert bandwidth.high_s == pytest.approx(own_s - BANDWIDTH_S / 2, rel=1e-9)
    assert latency.elasticity == pytest.approx(log(latency.high_s / latency.low_s) / log(4))
    assert [it.key for it in found.effects] == ["network.bandwidth", "network.latency"]  # the larger one first


def test_words_tell_what_the_table_has(ping_pong: Path):
    found = sensitivity(ping_pong, read_parameters([*TWICE, "cpu=1x:3x"]))
    costs, saves = round(100 * LATENCY_S / found.makespan_s), round(50 * LATENCY_S / found.makespan_s)
    text = found.table()
    assert f"  the network's latency: halving it saves {saves} %, doubling it costs {costs} %\n" in text
    assert "  the speed of cores: from x1 to x3 it changes nothing\n" in text


@pytest.mark.parametrize(("scale", "expected"), [("linear", uniform_shares()), ("log", log_uniform_shares())])
def test_indices_of_a_closed_form_are_the_analytic_ones(scale: str, expected: dict[str, float]):
    parameters = read_parameters([*TWICE, "cpu=x0.5:x2"], is_logarithmic=scale == "log")
    points = sobol_points(3, 512, seed=3)
    factors = [
        [float(it.at(share).removeprefix("x")) for it, share in zip(parameters, row, strict=True)] for row in points
    ]
    indices = sobol_indices([1e-4 + LATENCY_S * x + BANDWIDTH_S / y for x, y, _ in factors], 3, seed=3)
    for index, parameter in zip(indices, parameters, strict=True):
        assert index.first == pytest.approx(expected.get(parameter.key, 0.0), abs=0.01)
        assert index.total == pytest.approx(expected.get(parameter.key, 0.0), abs=0.01)


def test_a_product_has_more_in_its_total_indices_than_in_the_first_ones():
    points = sobol_points(2, 512, seed=0)  # (x - 1/2)(y - 1/2): all of it is interaction
    for index in sobol_indices([(x - 0.5) * (y - 0.5) for x, y in points], 2, seed=0):
        assert (index.first, index.total) == (pytest.approx(0, abs=0.02), pytest.approx(1, abs=0.02))


def test_what_does_nothing_has_no_index_and_nothing_varies_without_an_error():
    assert [it.total for it in sobol_indices([3.0] * 32, 2, seed=0)] == [0.0, 0.0]


@pytest.mark.slow
@pytest.mark.parametrize(("scale", "expected"), [("linear", uniform_shares()), ("log", log_uniform_shares())])
def test_indices_of_a_ping_pong_are_the_analytic_ones(ping_pong: Path, scale: str, expected: dict[str, float]):
    parameters = read_parameters([*TWICE, "cpu=x0.5:x2"], is_logarithmic=scale == "log")
    found = sensitivity(ping_pong, parameters, n_samples=128, n_processes=2)
    for effect in found.effects:
        assert effect.index is not None
        assert effect.index.first == pytest.approx(expected.get(effect.key, 0.0), abs=0.03)
        assert effect.index.total == pytest.approx(expected.get(effect.key, 0.0), abs=0.03)


def test_a_held_trace_is_read_once_and_replayed_alike(ping_pong: Path, monkeypatch: pytest.MonkeyPatch):
    held, changes = HeldTrace(ping_pong), [("network.latency", "x1.5")]
    replay(held, options=changes)
    monkeypatch.setattr(Trace, "table", None)
    monkeypatch.setattr(Trace, "batches", None)
    again = replay(held, options=changes).makespan_s
    monkeypatch.undo()
    assert again == replay(ping_pong, options=changes).makespan_s


def test_several_processes_find_the_same_in_the_same_order(ping_pong: Path, monkeypatch: pytest.MonkeyPatch):
    replays = Replays(HeldTrace(ping_pong), None, {})
    points = [(("network.latency", f"x{n}"),) for n in range(1, 8)]
    alone = makespans_s(replays, points)
    monkeypatch.setattr(many_replays, "_ALONE_S", 0.0)
    assert makespans_s(replays, points, n_processes=2) == alone
    assert alone == sorted(alone)


def test_an_error_in_another_process_names_what_was_changed(ping_pong: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(many_replays, "_ALONE_S", 0.0)
    points = [(("network.latency", value),) for value in ("x1", "x2", "x3", "1Gf")]
    with pytest.raises(UsageError, match=r"network.latency=1Gf: .*not a time"):
        makespans_s(Replays(HeldTrace(ping_pong), None, {}), points, n_processes=2)


def test_an_error_of_the_replay_names_all_that_was_changed(ping_pong: Path):
    changes = (("network.latency", "x2"), ("cpu", "x3"))
    with pytest.raises(UsageError, match=r"with network.latency=x2, cpu=x3: 2 ranks do not fit"):
        Replays(HeldTrace(ping_pong), "flat hosts=1 cores=1", {}).perform(changes)


def test_keys_of_another_machine_and_the_speed_of_computing_are_varied(tmp_path: Path):
    text = "import smpy\nfrom mpi4py import MPI\nsmpy.execute(1e9)\nMPI.COMM_WORLD.Barrier()\n"
    trace = traced(tmp_path, text)
    parameters = read_parameters(["cpu=x1:x2", "host.speed=10Gf:40Gf", "nic.latency=1us:2us"])
    found = sensitivity(trace, parameters, platform=MACHINE)
    assert of(found, "cpu").low_s == pytest.approx(2 * of(found, "cpu").high_s, rel=1e-2)
    assert of(found, "host.speed").elasticity == pytest.approx(-1, abs=1e-3)
    assert of(found, "nic.latency").high_s > of(found, "nic.latency").low_s


def test_a_program_that_depends_on_time_is_told(tmp_path: Path):
    text = PING_PONG.replace("Recv(ball, 1)", "Recv(ball)")
    assert any(
        "received from any source" in it for it in sensitivity(traced(tmp_path, text), read_parameters(TWICE)).remarks
    )


def test_sends_that_are_no_longer_complete_at_once_are_told(tmp_path: Path):
    text = "import numpy\nfrom mpi4py import MPI\ncomm = MPI.COMM_WORLD\na = numpy.zeros(1000)\n"
    text += "comm.Isend(a, 1).Wait() if comm.rank == 0 else comm.Recv(a, 0)\n"
    trace = traced(tmp_path, text)
    eager = read_parameters(["smpi/send-is-detached-thresh=1000:65536"])
    assert any("nobody waits for them" in it for it in sensitivity(trace, eager).remarks)
    assert sensitivity(trace, read_parameters(TWICE)).remarks == []


def test_without_salib_the_command_says_what_to_install(ping_pong: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "SALib.sample.sobol", None)
    result = CliRunner().invoke(command, [str(ping_pong), "--vary", TWICE[0], "--samples", "16"])
    assert (result.exit_code, result.stderr) == (2, "smpy: this needs SALib: pip install '.[study]'\n")


def test_whole_numbers_stay_whole_and_others_do_not():
    cores, share = read_parameter("host.cores=1:9"), read_parameter("topology.oversubscription=1.0:9.0")
    assert {cores.at(i / 100) for i in range(101)} == {str(n) for n in range(1, 10)}
    assert share.at(0.1) == "1.8"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("network.latency", "is not KEY=LOW:HIGH"),
        ("network.latency=1us", "is not KEY=LOW:HIGH"),
        ("latency=1us:2us", "neither a key of the machine"),
        ("network.latency=2us:1us", "write the lower end first"),
        ("network.latency=x1:x1", "write the lower end first"),
        ("network.latency=1us:2ms", "with the same unit"),
        ("network.latency=0x:2x", "begin above 0"),
        ("network.latency=fast:slow", "neither a factor"),
        ("network.latency=1e999s:2s", "larger than any number"),
        ("cpu=1Gf:2Gf", "varied by factors"),
    ],
)
def test_a_range_that_is_none_is_refused_with_advice(text: str, told: str):
    with pytest.raises(UsageError, match=told):
        read_parameters([text])


def test_a_key_is_varied_once():
    with pytest.raises(UsageError, match="varied twice"):
        read_parameters(["cpu=x1:x2", "cpu=x2:x4"])


def test_the_command_prints_writes_and_draws(ping_pong: Path, tmp_path: Path):
    written, page = tmp_path / "s.json", tmp_path / "s.html"
    line = [str(ping_pong), "--vary", TWICE[0], "--samples", "16", "--json", str(written), "--plot", str(page)]
    result = CliRunner().invoke(command, line)
    assert result.exit_code == 0, result.output
    record = json.loads(written.read_text())
    assert record["effects"][0]["index"]["total"] == pytest.approx(1, abs=0.2)
    assert record["effects"][0]["words"] in result.output
    assert "Plotly.newPlot" in page.read_text()


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (["--vary", "network.latncy=x1:x2"], "did you mean 'network.latency'"),
        (["--vary", "network.latency=1Gf:2Gf"], "is not a time"),
        (["--vary", TWICE[0], "--samples", "100"], "such as 64 or 128"),
        ([], "--vary"),
    ],
)
def test_the_command_tells_a_mistake_in_a_line(ping_pong: Path, line: list[str], told: str):
    result = CliRunner().invoke(command, [str(ping_pong), *line])
    assert result.exit_code == 2
    assert told in result.output


def test_a_trace_that_cannot_be_replayed_is_refused(tmp_path: Path):
    program = tmp_path / "program.py"
    program.write_text(PING_PONG)
    options = {"platform": MACHINE, "compute": "none", "trace": str(tmp_path / "trace"), "trace_ranks": "0"}
    smpy.simulate(program, ranks=2, **options)
    with pytest.raises(UsageError, match="cannot be replayed: it has some ranks only"):
        sensitivity(tmp_path / "trace", read_parameters(TWICE))
