"""Linear models of a makespan, and tolerances: closed forms, and programs whose critical path changes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import smpy
from smpy.cli.study_sensitivity import command
from smpy.errors import UsageError
from smpy.records.held_trace import HeldTrace
from smpy.study.counts_model import counts_on_path
from smpy.study.linear_model import linear_model
from smpy.study.many_replays import Replays
from smpy.study.parameters import read_parameters
from smpy.study.sensitivity import sensitivity
from smpy.study.tolerance import read_shares

pytest.importorskip("scipy")

MACHINE = "flat hosts=16 cores=1 nic=1GB/s latency=10us speed=1Gf"  # two links a route: 20 us
ROUNDS, FLOP, BYTES = 10, 1e5, 984  # and 16 bytes of envelope
BOX = ["network.latency=0.2x:5x", "network.bandwidth=0.2x:5x", "cpu=0.25x:4x"]
RING = f"""
import numpy, smpy
from mpi4py import MPI
comm = MPI.COMM_WORLD
ball = numpy.zeros({BYTES}, dtype="u1")
for _ in range({ROUNDS}):
    for turn in range(comm.size):
        if comm.rank == turn:
            smpy.execute({FLOP})
            comm.Send(ball, (turn + 1) % comm.size)
        elif comm.rank == (turn + 1) % comm.size:
            comm.Recv(ball, turn)
"""
WAVEFRONT = """
import numpy, smpy
from mpi4py import MPI
comm = MPI.COMM_WORLD
i, j = divmod(comm.rank, 4)
edge = numpy.zeros(BYTES, dtype="u1")
for _ in range(10):
    if i:
        comm.Recv(edge, comm.rank - 4)
    if j:
        comm.Recv(edge, comm.rank - 1)
    smpy.execute(WORK)
    if i < 3:
        comm.Send(edge, comm.rank + 4)
    if j < 3:
        comm.Send(edge, comm.rank + 1)
"""
TWO_PATHS = """
import numpy, smpy
from mpi4py import MPI
comm = MPI.COMM_WORLD
edge = numpy.zeros(30000, dtype="u1")
if comm.rank:
    request = comm.Irecv(edge, 0)
    smpy.execute(5e4)
    request.Wait()
else:
    comm.Send(edge, 1)
"""
STENCIL = """
import numpy, smpy
from mpi4py import MPI
comm = MPI.COMM_WORLD
n, r = comm.size, comm.rank
edge, other = numpy.zeros(5000, dtype="u1"), numpy.zeros(5000, dtype="u1")
for _ in range(10):
    smpy.execute(1e5 * (1 + r % 3))
    for d in (1, -1):
        comm.Sendrecv(edge, (r + d) % n, 0, other, (r - d) % n, 0)
"""


def traced(folder: Path, text: str, ranks: int) -> Path:
    program = folder / "program.py"
    program.write_text(text)
    no_overhead = {"smpi/os": "0:0:0", "smpi/or": "0:0:0", "smpi/ois": "0:0:0"}
    options = {"platform": MACHINE, "network": "raw", "compute": "none", "set": no_overhead}
    options["trace"] = str(folder / "trace")
    smpy.simulate(program, ranks=ranks, **options)
    return folder / "trace"


@pytest.fixture(scope="module")
def ring(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return traced(tmp_path_factory.mktemp("ring"), RING, 8)


def test_a_ring_is_its_closed_form_and_the_path_has_what_coefficients_say(ring: Path):
    model = linear_model(Replays(HeldTrace(ring), None, {}), read_parameters(BOX))
    n = 8 * ROUNDS
    latency_s, bandwidth_s, computing_s = n * 20e-6, n * 1000 / 1e9, n * FLOP / 1e9
    assert model.coefficients_s == pytest.approx((0, latency_s, bandwidth_s, computing_s), rel=1e-6, abs=1e-12)
    assert (model.is_linear, model.worst_share) == (True, pytest.approx(0, abs=1e-9))
    assert (model.on_path.messages, model.on_path.computing_s) == (n, pytest.approx(computing_s))
    assert model.on_path.bytes in (n * BYTES, n * (BYTES + 16))


@pytest.mark.parametrize(
    ("text", "ranks"),
    [(STENCIL, 8), (WAVEFRONT.replace("BYTES", "1000").replace("WORK", "1e6"), 16)],
    ids=["stencil", "wavefront"],
)
def test_a_model_holds_outside_of_its_box(tmp_path: Path, text: str, ranks: int):
    replays = Replays(HeldTrace(traced(tmp_path, text, ranks)), None, {})
    model = linear_model(replays, read_parameters(BOX))
    assert model.correlation >= 0.99
    for factor in (0.1, 10.0):
        exact_s = replays.perform((("network.bandwidth", f"x{factor}"),)).makespan_s
        assert model.makespan_s({"network.bandwidth": factor}) == pytest.approx(exact_s, rel=0.1)


def test_a_path_that_changes_is_told_and_the_planes_of_both_paths_are_the_model(tmp_path: Path):
    replays = Replays(HeldTrace(traced(tmp_path, TWO_PATHS, 2)), None, {})
    model = linear_model(replays, read_parameters(BOX))
    assert not model.is_linear
    assert "not linear: the critical path changes; 2 paths were met" in model.words()
    assert model.worst_share_of_planes == pytest.approx(0, abs=1e-6)
    exact_s = replays.perform((("cpu", "x0.05"),)).makespan_s
    assert model.makespan_s({"cpu": 0.05}) == pytest.approx(exact_s, rel=1e-6)


def test_the_derivative_by_a_latency_is_the_number_of_messages_on_the_path(ring: Path):
    replays, h = Replays(HeldTrace(ring), None, {}), 1e-3
    up_s, down_s = (replays.perform((("network.latency", f"x{1 + step!r}"),)).makespan_s for step in (h, -h))
    counts = counts_on_path(HeldTrace(ring))
    assert (up_s - down_s) / (2 * h * 20e-6) == pytest.approx(counts["messages"], rel=0.02)


def test_a_tolerance_is_that_of_the_closed_form(ring: Path):
    found = sensitivity(ring, read_parameters(BOX), tolerances=[0.01, 0.1])
    own_s = found.makespan_s
    factors = {(each.key, each.share): each.factor for each in found.tolerances}
    latency_s, computing_s = 8 * ROUNDS * 20e-6, 8 * ROUNDS * FLOP / 1e9
    for share in (0.01, 0.1):
        assert factors["network.latency", share] == pytest.approx(1 + share * own_s / latency_s, rel=0.005)
        assert factors["cpu", share] == pytest.approx(1 / (1 + share * own_s / computing_s), rel=0.005)


def test_a_key_that_changes_nothing_has_no_tolerance(tmp_path: Path):
    trace = traced(tmp_path, "import smpy\nfrom mpi4py import MPI\nMPI.COMM_WORLD\nsmpy.execute(1e6)\n", 2)
    found = sensitivity(trace, read_parameters(BOX[:1]), tolerances=[0.1])
    assert [each.factor for each in found.tolerances] == [None]


def test_the_command_prints_and_writes_the_model_its_predictions_and_tolerances(ring: Path, tmp_path: Path):
    line = [str(ring), *(word for text in BOX for word in ("--vary", text)), "--model", "linear", "--tolerance", "10%"]
    done = CliRunner().invoke(
        command, [*line, "--predict", "network.latency=x10,cpu=2x", "--json", str(tmp_path / "a")]
    )
    assert done.exit_code == 0, done.output
    record = json.loads((tmp_path / "a").read_text())
    expected_s = 80 * (200e-6 + 1000 / 1e9 + FLOP / 2e9)
    assert record["predicted"][0]["makespan_s"] == pytest.approx(expected_s, rel=1e-6)
    assert set(record["model"]) >= {
        "constant_s",
        "coefficients_s",
        "correlation",
        "worst_share",
        "is_linear",
        "on_path",
    }
    assert [each["key"] for each in record["tolerances"]] == ["network.latency", "network.bandwidth", "cpu"]
    assert "10 % longer at network.latency=x" in done.output


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (["--vary", "network.latency=1us:2us", "--model", "linear"], "factors on the machine's own values"),
        (["--vary", "host.cores=1x:2x", "--model", "linear"], "latencies, bandwidths and speeds"),
        (["--vary", BOX[0], "--model", "linear", "--samples", "3"], "needs 4 or more"),
        (["--vary", BOX[0], "--predict", "network.latency=x2"], "add --model linear"),
        (["--vary", BOX[0], "--model", "linear", "--predict", "network.latncy=x2"], "did you mean"),
        (["--vary", BOX[0], "--model", "linear", "--predict", "network.latency=2us"], "is no factor"),
        (["--vary", BOX[0], "--tolerance", "10"], "no percentage"),
    ],
)
def test_a_mistake_is_told_in_a_line(ring: Path, line: list[str], told: str):
    done = CliRunner().invoke(command, [str(ring), *line])
    assert (done.exit_code, told in done.output) == (2, True), done.output


@pytest.mark.parametrize("text", ["", "0%", "-1%", "x%", "1", "1%,,2%", "nan%"])
def test_a_share_that_is_none_is_refused(text: str):
    with pytest.raises(UsageError, match="no percentage"):
        read_shares(text)
