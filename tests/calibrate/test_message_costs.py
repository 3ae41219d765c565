"""A planted machine, which is `smpy run` itself, is found by `smpy calibrate network`, and predicts its ping-pong."""

import json
import tomllib
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import smpy.calibrate.network
from smpy.calibrate.network.model import fit_costs
from smpy.calibrate.network.pieces import predict_s
from smpy.calibrate.network.samples import MessageSample, Samples, read_raw
from smpy.cli.main import main
from smpy.errors import UsageError
from smpy.platforms import read_machine
from smpy.platforms.own_format.writing import write_toml
from smpy.units import parse_bandwidth_bytes_per_s, parse_time_s

MEASURE = Path(smpy.calibrate.network.__file__).with_name("measure.py")
PINGPONG = Path(__file__).parents[2] / "apps" / "pingpong.py"
SIZES = (1, 60, 200, 900, 3000, 7000, 15999, 16000, 16001, 33000, 100_000, 400_000, 2_000_000)

HOSTS = 'fills_hosts = true\nhost.count = 2\ntopology.kind = "flat"\n'
PLANTED = (
    HOSTS
    + """
nic.bandwidth = "100Gb/s"
nic.latency = "0.5us"
[network]
latency_factor = {"0" = 1.3, "546B" = 1.7, "65570B" = 4}
bandwidth_factor = {"0" = 0.4, "546B" = 0.6, "65570B" = 0.9}
[mpi]
eager_limit = "16000B"
send_overhead = {"0" = ["1.2us", "0.1ns"], "2KiB" = ["2us", "0.3ns"], "16000B" = "3us"}
isend_overhead = {"0" = ["0.8us", "0.05ns"], "16000B" = "3us"}
recv_overhead = {"0" = ["0.9us", "0.2ns"], "16000B" = "0us"}
wtime = "20us"
"""
)
SMPI = (
    HOSTS
    + 'nic = {bandwidth = "1GB/s", latency = "10us"}\nnetwork.model = "smpi"\nmpi.costs = "smpi"\nmpi.wtime = "20us"'
)


def _calibrate(*args: object):
    return CliRunner().invoke(main, ["calibrate", "network", *map(str, args)])


def _measured(emulated, folder: Path, machine: str, n_sizes: int = 64, ranks_per_host: int = 1) -> Path:
    (folder / "planted.toml").write_text(machine)
    raw = folder / "raw.csv"
    plan = json.dumps({"n_sizes": n_sizes, "repetitions": 1})
    planted = folder / "planted.toml"
    ran = emulated(None, program=str(MEASURE), args=(str(raw), plan), platform=planted, ranks_per_host=ranks_per_host)
    assert ran.code == 0, ran.error
    return raw


OWN_DATA = {"reduction_bandwidth": 5e9, "own_copy_bandwidth": 8e9, "block": 30e-9}
PAGES = {"page_fault": 0.7e-6, "huge_page_fault": 90e-6}


def test_planted_costs_of_own_data_are_found(emulated, tmp_path):
    bandwidths = [f'{key} = "{OWN_DATA[key] / 1e9}GB/s"' for key in ("reduction_bandwidth", "own_copy_bandwidth")]
    times = [f'{key} = "{time_s * 1e9}ns"' for key, time_s in {"block": OWN_DATA["block"], **PAGES}.items()]
    raw = _measured(emulated, tmp_path, "\n".join([HOSTS, '[mpi]\nwtime = "20us"', *bandwidths, *times]), n_sizes=12)
    assert _calibrate(tmp_path / "found.toml", "--from", raw).exit_code == 0
    found = tomllib.loads((tmp_path / "found.toml").read_text())["mpi"]
    for key in ("reduction_bandwidth", "own_copy_bandwidth"):
        assert parse_bandwidth_bytes_per_s(found[key]) == pytest.approx(OWN_DATA[key], rel=1e-3)
    # packing also copies the block's 8 bytes; an array begins behind the C library's own header, on a touched page
    assert parse_time_s(found["block"]) == pytest.approx(
        OWN_DATA["block"] + 8 / OWN_DATA["own_copy_bandwidth"], rel=1e-3
    )
    assert parse_time_s(found["page_fault"]) == pytest.approx(PAGES["page_fault"], rel=1e-3)
    assert parse_time_s(found["huge_page_fault"]) == pytest.approx(PAGES["huge_page_fault"], rel=0.2)


def _one_way_us(emulated, machine: Path, per_host: int = 1) -> list[float]:
    args = ("--sizes", *map(str, SIZES), "--repetitions", "200")
    ran = emulated(None, program=str(PINGPONG), args=args, platform=machine, ranks_per_host=per_host)
    return [float(row.split()[1]) for row in ran.out.splitlines()[2:]]


def test_a_planted_machine_is_found_and_predicts_its_ping_pong(emulated, tmp_path):
    raw = _measured(emulated, tmp_path, PLANTED)
    result = tmp_path / "found.toml"
    done = _calibrate(result, "--from", raw, "--latency", "1us", "--bandwidth", "100Gb/s")
    assert done.exit_code == 0, done.output
    found = tomllib.loads(result.read_text())
    assert found["mpi"]["eager_limit"] == "16000B"

    assert found["mpi"]["send_overhead"] == {
        "0": ["1.2us", "0.1ns"], "2KiB": ["2us", "0.3ns"], "16000B": ["3us", "0ns"]
    }  # fmt: skip
    assert found["mpi"]["isend_overhead"] == {"0": ["0.8us", "0.05ns"], "16000B": ["3us", "0ns"]}
    assert found["mpi"]["recv_overhead"] == {"0": ["0.9us", "0.2ns"], "16000B": ["0us", "0ns"]}
    assert found["nic"] == {"bandwidth": "12.5GB/s", "latency": "0.5us"}
    assert found["calibration"]["half_widths"]["send"].keys() == found["mpi"]["send_overhead"].keys()
    factors = found["network"]
    # The eager limit is a size at which pieces may change; nothing did there.
    assert list(factors["latency_factor"].values()) == pytest.approx([1.3, 1.7, 1.7, 4], rel=0.01)
    assert list(factors["bandwidth_factor"].values()) == pytest.approx([0.4, 0.6, 0.6, 0.9], rel=0.01)
    assert list(factors["latency_factor"]) == ["0", "546B", "16034B", "65570B"]

    machine = tmp_path / "machine.toml"
    machine.write_text('include = ["found.toml"]\n' + HOSTS + 'mpi.wtime = "20us"')
    assert _one_way_us(emulated, machine) == pytest.approx(_one_way_us(emulated, tmp_path / "planted.toml"), rel=0.01)


def test_smpis_own_tables_are_found(emulated, tmp_path):
    raw = _measured(emulated, tmp_path, SMPI, n_sizes=160)
    costs = fit_costs(read_raw(raw.read_text(), "raw"))
    assert costs.eager_limit_bytes == 65535
    assert len(costs.transfer) in (8, 9)  # two of them differ by a percent
    assert np.median(np.abs(costs.fitted.errors)) < 0.001
    assert np.median(np.abs(costs.held_out.errors)) < 0.001
    assert predict_s(costs.send, SIZES).max() < 1e-12


def test_ranks_on_one_host_calibrate_its_loopback(emulated, tmp_path):
    raw = _measured(emulated, tmp_path, PLANTED)
    raw.write_text(raw.read_text().replace('"node-1"', '"node-0"'))
    result = tmp_path / "found.toml"
    assert _calibrate(result, "--from", raw).exit_code == 0
    machine = tmp_path / "machine.toml"
    machine.write_text('include = ["found.toml"]\nmpi.wtime = "20us"')
    inside = _one_way_us(emulated, machine, per_host=2)
    assert inside == pytest.approx(_one_way_us(emulated, tmp_path / "planted.toml"), rel=0.01)


PAIRS = "host = { count = 1, cores = 4, loopback_bandwidth = '8GB/s', messages_bandwidth = '10GB/s' }\n"


def test_ranks_of_a_full_host_that_exchange_messages_calibrate_their_bandwidth_together(emulated, tmp_path):
    raw = _measured(emulated, tmp_path, PAIRS + 'mpi.wtime = "20us"', n_sizes=12, ranks_per_host=4)
    plan = json.dumps({"repetitions": 2})
    planted = tmp_path / "planted.toml"
    ran = emulated(None, 4, program=str(MEASURE), args=(str(raw), plan, "pairs"), platform=planted)
    assert ran.code == 0, ran.error
    assert _calibrate(tmp_path / "found.toml", "--from", raw).exit_code == 0
    found = tomllib.loads((tmp_path / "found.toml").read_text())["host"]
    assert parse_bandwidth_bytes_per_s(found["loopback_bandwidth"]) == pytest.approx(8e9, rel=1e-3)
    assert parse_bandwidth_bytes_per_s(found["messages_bandwidth"]) == pytest.approx(10e9, rel=0.01)


@pytest.mark.parametrize("spread", [0.02, 0.1])
def test_noise_is_averaged_out_and_its_spread_is_told(emulated, tmp_path, spread):
    exact = read_raw(_measured(emulated, tmp_path, PLANTED, n_sizes=120).read_text(), "raw")
    rng = np.random.default_rng(0)
    rows = [
        MessageSample(row.kind, row.size_bytes, repetition, row.time_s * float(np.exp(rng.normal(0, spread))))
        for row in exact.rows
        for repetition in range(15)
    ]
    noisy = Samples(tuple(rows), exact.about)
    costs = fit_costs(noisy)
    at, times = exact.medians("pingpong")
    parts = [predict_s(costs.send, at), predict_s(costs.recv, at), predict_s(costs.transfer, at + 34)]
    assert noisy.spread("pingpong") == pytest.approx(0.674 * spread, rel=0.25)  # quartiles of a normal
    assert np.median(np.abs(sum(parts) / times - 1)) < spread / 2
    assert costs.eager_limit_bytes == 16000
    first, last = costs.send[0], costs.transfer[-1]
    assert abs(first.constant_s - 1.2e-6) < 2 * first.constant_half_width_s
    assert abs(last.per_byte_s - 1 / 11.25e9) < 2 * last.per_byte_half_width_s


def test_one_disturbed_message_bounds_no_others_bandwidth():
    sizes = np.array([2.0**k for k in range(20)])
    times = 1e-6 + sizes * 1e-10
    times[-1] *= 50
    costs = fit_costs(
        Samples(tuple(MessageSample("pingpong", int(n), 0, float(t)) for n, t in zip(sizes, times, strict=True)))
    )
    others = costs.fitted.size_bytes < sizes[-4]
    assert np.abs(costs.fitted.errors[others]).max() < 0.01


def test_times_that_no_costs_describe_are_warned_of():
    rng = np.random.default_rng(0)
    rows = tuple(MessageSample("pingpong", 2**k, 0, 1e-6 * 10 ** rng.uniform(0, 4)) for k in range(20))
    assert "measure again on a quiet machine" in fit_costs(Samples(rows)).warnings[-1]


def test_calls_that_take_longer_alone_than_in_a_ping_pong_leave_the_ping_pong_as_it_is():
    sizes = [2**k for k in range(20)]
    rows = [MessageSample("pingpong", n, 0, 2e-6 + n * 1e-10) for n in sizes]
    rows += [MessageSample(kind, n, 0, 1.5e-6) for kind in ("send", "recv") for n in sizes]
    costs = fit_costs(Samples(tuple(rows)))
    assert np.abs(costs.fitted.errors).max() < 0.01
    assert "the calls alone took longer" in " ".join(costs.warnings)
    assert costs.send[0].constant_s == pytest.approx(1.5e-6)
    assert costs.recv[0].constant_s < 0.51e-6


@pytest.mark.parametrize(("limit", "found", "n_rows"), [("0B", 0, 1), ("5B", 5, 2), ("8MiB", 4 << 20, 1)])
def test_a_limit_below_all_messages_or_above_them_is_found(emulated, tmp_path, limit, found, n_rows):
    machine = HOSTS + f'mpi = {{eager_limit = "{limit}", wtime = "20us"}}'
    costs = fit_costs(read_raw(_measured(emulated, tmp_path, machine, n_sizes=24).read_text(), "raw"))
    assert costs.eager_limit_bytes == found
    assert len(costs.send) == n_rows
    assert np.abs(costs.fitted.errors).max() < 1e-5


def test_too_few_sizes_are_refused():
    rows = tuple(MessageSample("pingpong", n, 0, 1e-6) for n in (1, 2, 4))
    with pytest.raises(UsageError, match="ping-pongs of 3 sizes, which is too few"):
        fit_costs(Samples(rows))


def test_planted_costs_of_copies_and_blocks_by_size_are_found(emulated, tmp_path):
    mpi = [
        'wtime = "20us"',
        'own_copy_bandwidth = { "0" = "40GB/s", "3MiB" = "8GB/s" }',
        'block = { "0" = "2ns", "300KiB" = "5ns", "9MiB" = "12ns" }',
    ]
    raw = _measured(emulated, tmp_path, "\n".join([HOSTS, "[mpi]", *mpi]), n_sizes=12)
    assert _calibrate(tmp_path / "found.toml", "--from", raw).exit_code == 0
    found = tomllib.loads((tmp_path / "found.toml").read_text())["mpi"]
    assert [parse_bandwidth_bytes_per_s(rate) for rate in found["own_copy_bandwidth"].values()] == [40e9, 8e9]
    copied_s = 8 / 40e9  # packing also copies the block's 8 bytes
    times_s = [parse_time_s(time) - copied_s for time in found["block"].values()]
    assert times_s == pytest.approx([2e-9, 5e-9, 12e-9], rel=1e-3)
    assert "0" in found["block"]
    again = read_machine(tmp_path / "found.toml", 2)
    assert again.models.calls.block[0].above_bytes == 0
    (tmp_path / "written.toml").write_text(write_toml(again))
    assert read_machine(tmp_path / "written.toml", 2).models.calls == again.models.calls
