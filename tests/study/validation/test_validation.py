"""A machine beside measurements: simulations equal closed forms, and planted errors are found and named."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from smpy.cli.main import main
from smpy.errors import UsageError
from smpy.study.validation.osu_benchmarks import BENCHMARKS, Memory
from smpy.study.validation.osu_files import OsuTable
from smpy.study.validation.simulations import ComparedMachine, measured_osu
from smpy.study.validation.validation import SingleChange, Validation, validate

LATENCY_S, BYTES_PER_S = 2e-6, 1e9
FREE = "mpi.overhead=0s mpi.copy_bandwidth=1000TB/s mpi.rendezvous=1 mpi.wtime=0s network.envelope=0B"
MACHINE = f"flat hosts=8 cores=2 nic=1GB/s latency=1us {FREE}"
SIZES = (1, 1 << 10, 1 << 20)


def _simulated(
    name: str,
    n_ranks: int = 2,
    sizes: tuple[int, ...] = SIZES,
    machine: str = MACHINE,
    memories: tuple[Memory, Memory] = ("cpu", "cpu"),
) -> list[float]:
    table = OsuTable(BENCHMARKS[name], "osu.txt", sizes, (1.0,) * len(sizes), window=4, memories=memories)
    return measured_osu(ComparedMachine(machine), table, n_ranks).simulate(())


def _osu(tmp_path: Path, title: str, times_s: Sequence[float], sizes: tuple[int, ...] = SIZES) -> str:
    rows = "".join(f"{size}  {1e6 * time_s!r}\n" for size, time_s in zip(sizes, times_s, strict=True))
    path = tmp_path / f"{title}.txt"
    path.write_text(f"# OSU MPI {title} Test v7.4\n# Size  Latency (us)\n{rows}", encoding="utf-8")
    return str(path)


def test_a_latency_is_that_of_one_message():
    times_s = _simulated("osu_latency")
    assert times_s == pytest.approx([LATENCY_S + size / BYTES_PER_S for size in SIZES], rel=1e-3)


def test_messages_of_devices_are_copied_where_the_table_says():
    gpu = "host.gpu.speed_64=1Tf host.gpu.link_bandwidth=2GB/s host.gpu.link_latency=5us host.gpu.direct"
    sizes = np.array(SIZES)
    copy_s, wire_s = 5e-6 + sizes / 2e9, LATENCY_S + sizes / BYTES_PER_S
    machine = f"{MACHINE} {gpu}=false"
    for memories, n_copies in ((("cpu", "cpu"), 0), (("gpu", "cpu"), 1), (("gpu", "gpu"), 2)):
        times_s = _simulated("osu_latency", machine=machine, memories=memories)
        assert times_s == pytest.approx(wire_s + n_copies * copy_s, rel=1e-3)
    direct = _simulated("osu_latency", machine=f"{MACHINE} {gpu}=true", memories=("gpu", "gpu"))
    assert direct == pytest.approx(wire_s + 2 * 5e-6, rel=1e-3)


def test_a_window_fills_the_link():
    (time_s,) = _simulated("osu_bw", sizes=(1 << 22,))
    assert time_s == pytest.approx((1 << 22) / BYTES_PER_S, rel=1e-3)


def test_messages_in_both_directions_share_no_full_duplex_link():
    (time_s,) = _simulated("osu_bibw", sizes=(1 << 22,))
    assert 2 * time_s == pytest.approx((1 << 22) / BYTES_PER_S, rel=1e-3)


def test_pairs_add_up_their_rates():
    (time_s,) = _simulated("osu_mbw_mr", 8, sizes=(1 << 22,), machine=MACHINE.replace("cores=2", "cores=1"))
    assert 4 * time_s == pytest.approx((1 << 22) / BYTES_PER_S, rel=1e-3)


def test_pairs_of_a_ping_pong_have_the_latency_of_one():
    machine = MACHINE.replace("cores=2", "cores=1")
    assert _simulated("osu_multi_lat", 8, machine=machine) == pytest.approx(_simulated("osu_latency"), rel=2e-3)


@pytest.mark.parametrize("name", [name for name, each in BENCHMARKS.items() if each.scope == "all"])
def test_every_collective_takes_at_least_one_message(name: str):
    assert min(_simulated(name, 6, sizes=(64, 1 << 16))) >= LATENCY_S / 6  # the root of a broadcast is soon away


def test_the_pair_is_on_two_hosts_if_there_are_two():
    one = MACHINE.replace("hosts=8", "hosts=1")
    assert _simulated("osu_latency", machine=one)[0] < LATENCY_S <= _simulated("osu_latency")[0]


def test_a_machine_agrees_with_itself(tmp_path: Path):
    table = OsuTable(BENCHMARKS["osu_latency"], "osu.txt", SIZES, tuple(_simulated("osu_latency")))
    result = validate("itself", [measured_osu(ComparedMachine(MACHINE), table, None)])
    assert (result.mean_error, result.changes) == (0.0, ())
    assert "no number of the machine" in result.table()


def test_a_planted_latency_is_found(tmp_path: Path):
    real = MACHINE.replace("latency=1us", "latency=3us")
    table = OsuTable(BENCHMARKS["osu_latency"], "osu.txt", SIZES, tuple(_simulated("osu_latency", machine=real)))
    result = validate("wrong", [measured_osu(ComparedMachine(MACHINE), table, None)])
    assert [key for key, _ in result.changes] == ["network.latency"]
    assert float(result.changes[0][1][1:]) == pytest.approx(3, rel=0.03)
    assert result.changed_error < 0.02 < result.mean_error
    assert "--set network.latency=x" in result.table()


@pytest.mark.parametrize(
    ("keys", "listed"), [("a", "a by x2"), ("ab", "a by x2 and b by x2"), ("abc", "a by x2, b by x2 and c by x2")]
)
def test_changes_are_listed_with_commas(keys: str, listed: str):
    changes = tuple((key, "x2") for key in keys)
    found = Validation("cluster", (), 0.2, (SingleChange("a", 2.0, 0.1),), changes, 0.1)
    assert f"\n\nChange {listed}.\n" in found.table()


def test_two_planted_numbers_are_found_together():
    real = MACHINE.replace("latency=1us", "latency=2us").replace("nic=1GB/s", "nic=2GB/s")
    sizes = tuple(1 << k for k in range(0, 23, 2))
    times_s = tuple(_simulated("osu_latency", sizes=sizes, machine=real))
    table = OsuTable(BENCHMARKS["osu_latency"], "", sizes, times_s)
    result = validate("wrong", [measured_osu(ComparedMachine(MACHINE), table, None)])
    assert {key for key, _ in result.changes} == {"network.latency", "network.bandwidth"}
    assert [float(value[1:]) for _, value in result.changes] == pytest.approx([2, 2], rel=0.05)


def test_a_number_whose_elasticity_does_not_hold_is_left_out():
    result = validate("bent", [_Bent()])
    assert [key for key, _ in result.changes] == ["network.latency"]
    assert float(result.changes[0][1][1:]) == pytest.approx(0.5, rel=0.01)
    assert result.changed_error < result.mean_error


def test_elasticities_of_a_latency_are_its_parts():
    size = 2000  # half of its time is latency
    table = OsuTable(BENCHMARKS["osu_latency"], "", (size,), (1.0,))
    result = validate("half", [measured_osu(ComparedMachine(MACHINE), table, None)])
    elasticities = result.benchmarks[0].elasticities
    assert elasticities["network.latency"] == pytest.approx(0.5, abs=0.02)
    assert elasticities["network.bandwidth"] == pytest.approx(-0.5, abs=0.03)


def test_the_command_compares_a_file(tmp_path: Path):
    latency = _osu(tmp_path, "Latency", [4e-6], (1,))
    done = CliRunner().invoke(main, ["platform", "validate", MACHINE, "--osu", latency])
    assert done.exit_code == 0, done.output
    assert "osu_latency, 2 ranks" in done.output
    assert "Change network.latency by x" in done.output


@pytest.mark.slow
def test_the_command_compares_files_and_writes_its_numbers(tmp_path: Path):
    real_s = [4e-6 + size / BYTES_PER_S for size in SIZES]
    latency, bcast = _osu(tmp_path, "Latency", real_s), _osu(tmp_path, "Broadcast Latency", real_s)
    hpl = tmp_path / "HPL.out"
    hpl.write_text("WR00L2L2  200  20  2  2  0.02  2.70e-01\n", encoding="utf-8")
    record = tmp_path / "out.json"
    words = ["platform", "validate", MACHINE, "--osu", latency, bcast, "--ranks", "4", "--hpl", str(hpl)]
    done = CliRunner().invoke(main, [*words, "--json", str(record)])
    assert done.exit_code == 0, done.output
    assert "osu_latency, 2 ranks" in done.output
    assert "osu_bcast, 4 ranks" in done.output
    assert "HPL WR00L2L2, 4 ranks" in done.output
    told = json.loads(record.read_text(encoding="utf-8"))
    assert [each["name"] for each in told["benchmarks"]] == ["osu_latency", "osu_bcast", "HPL 2x2"]
    assert told["benchmarks"][0]["rows"][0]["measured_s"] == pytest.approx(real_s[0])
    assert told["changed_error"] <= told["mean_error"]


@pytest.mark.slow
def test_a_faster_core_is_found_by_hpl(tmp_path: Path):
    hpl = tmp_path / "HPL.out"
    flop = 2 / 3 * 400**3 + 3 / 2 * 400**2
    hpl.write_text(f"WR00L2L2  400  20  1  1  {flop / 5e9:.2f}  5.00e+00\n", encoding="utf-8")
    done = CliRunner().invoke(main, ["platform", "validate", f"{MACHINE} speed=1Gf", "--hpl", str(hpl)])
    assert "Change host.speed by x" in done.output, done.output


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "no measurements: say --osu FILE"),
        (["--osu", "Broadcast Latency.txt"], "osu_bcast does not print its number of ranks: say --ranks N"),
        (["--osu", "none.txt"], "cannot read"),
        (["--osu", "Multi Latency.txt", "--ranks", "3"], "osu_multi_lat cannot have 3 ranks"),
        (["--osu", "Broadcast Latency.txt", "--ranks", "17"], "17 ranks"),
    ],
)
def test_missing_or_impossible_numbers_are_asked_for(tmp_path: Path, words: list[str], told: str):
    for title in ("Broadcast Latency", "Multi Latency"):
        _osu(tmp_path, title, [1e-6] * len(SIZES))
    paths = [str(tmp_path / word) if word.endswith(".txt") else word for word in words]
    done = CliRunner().invoke(main, ["platform", "validate", MACHINE, *paths])
    assert (done.exit_code, told in done.output) == (2, True), done.output


def test_a_table_without_any_time_on_the_machine_is_refused():
    table = OsuTable(BENCHMARKS["osu_latency"], "osu.txt", (1,), (1.0,))
    free = f"flat hosts=2 cores=1 nic=1GB/s latency=0us network.model=constant {FREE}"
    with pytest.raises(UsageError, match="takes no time"):
        validate("free", [_Still(measured_osu(ComparedMachine(free), table, None))])


class _Still:
    """A measurement whose simulation takes no time."""

    def __init__(self, measured) -> None:
        self._measured = measured

    def __getattr__(self, name: str):
        return getattr(self._measured, name)

    def simulate(self, changes) -> list[float]:
        return [0.0]


class _Bent:
    """A measurement: twice its latency, and a rate of copies that matters far more below its value than above it."""

    name, about, labels, times_s = "bent", "bent", ("latency", "copy"), (1.0, 3.0)

    def shown(self, row: int, time_s: float) -> str:
        return f"{time_s}"

    def simulate(self, changes) -> list[float]:
        factors = {"network.latency": 1.0, "mpi.copy_bandwidth": 1.0}
        factors.update((key, float(value[1:])) for key, value in changes)
        return [2 * factors["network.latency"], 1 + factors["mpi.copy_bandwidth"] ** -4 / 8]

    def is_changed_by(self, changes) -> bool:
        return changes[0][0] in ("network.latency", "mpi.copy_bandwidth")
