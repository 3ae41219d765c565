"""Network models by name: the dates SimGrid gives, those a pencil gives, and what an ideal network takes away."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import pytest

from smpy.errors import PlatformError
from smpy.platforms.models.machine_models import SMPI_BANDWIDTH_FACTOR, SMPI_LATENCY_FACTOR
from smpy.platforms.models.network_models import IDEAL_PARTS
from tests.oracle.performed import performed_s
from tests.peer.case import PLATFORMS

HERE = Path(__file__).parent
ORACLE = json.loads((HERE / "networks.json").read_text())
EXAMPLES = {example["id"]: example for example in ORACLE["examples"]}

LATENCY_S, BANDWIDTH_BYTES_PER_S = 50e-6, 125e6  # link between the first two hosts of the platform `full`
ENVELOPE_BYTES = 16


def finish_s(
    steps: str, hosts: list[str], settings: dict[str, str], folder: Path, platform: str | Path = "full"
) -> list[float]:
    path = PLATFORMS / f"{platform}.xml" if isinstance(platform, str) else platform
    return performed_s(steps, hosts, path, folder, settings.items())


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_network_model_gives_the_dates_of_simgrid(name: str, tmp_path: Path) -> None:
    example = EXAMPLES[name]
    dates_s = finish_s(example["steps"], example["hosts"], example["settings"], tmp_path, example["platform"])
    assert dates_s == pytest.approx(example["finish_s"], rel=ORACLE["relative_tolerance"], abs=0)


@pytest.mark.parametrize(
    ("name", "date_s"),
    [
        ("E10-CM02", LATENCY_S + 1_000_016 * 1.05 / BANDWIDTH_BYTES_PER_S),
        ("E10-LV08", 13.01 * LATENCY_S + 1_000_016 * 1.05 / (0.97 * BANDWIDTH_BYTES_PER_S)),
        ("LV08-factors", 2 * LATENCY_S + 1_000_016 * 1.05 / (0.5 * BANDWIDTH_BYTES_PER_S)),
        ("constant", 13.01),
        ("constant-half", 1 + 2 * 0.5),
    ],
)
def test_a_network_model_gives_the_date_of_its_closed_form(name: str, date_s: float, tmp_path: Path) -> None:
    example: dict[str, Any] = EXAMPLES[name]
    dates_s = finish_s(example["steps"], example["hosts"], example["settings"], tmp_path, example["platform"])
    assert max(dates_s) == pytest.approx(date_s, rel=1e-12, abs=0)


def test_raw_is_latency_and_bytes_over_bandwidth(tmp_path: Path) -> None:
    steps = "0:isend,1,1000000;isend,1,1000000;waitall/1:irecv,0,1000000;irecv,0,1000000;waitall"
    dates_s = finish_s(steps, ["h0", "h1"], {"network/model": "raw"}, tmp_path)
    assert max(dates_s) == pytest.approx(LATENCY_S + 2 * 1_000_016 / BANDWIDTH_BYTES_PER_S, rel=1e-12)


# ---- calls ----


def test_an_early_message_is_there_when_its_receive_comes(tmp_path: Path) -> None:
    steps = "0:send,1,{0}/1:execute,1e9;recv,0,{0}"
    early = {"smpi/async-small-thresh": "1000"}
    assert finish_s(steps.format(999), ["h0", "h1"], early, tmp_path) == [0, 1]
    assert max(finish_s(steps.format(1000), ["h0", "h1"], early, tmp_path)) > 1  # not below the threshold


def test_an_early_message_under_way_ends_its_receive_when_it_arrives(tmp_path: Path) -> None:
    early = {"smpi/async-small-thresh": "1000"}
    dates_s = finish_s("0:send,1,100/1:execute,3e4;recv,0,100", ["h0", "h1"], early, tmp_path)
    assert dates_s[1] == pytest.approx(2.01467 * LATENCY_S + 116 * 1.05 / (0.812084 * BANDWIDTH_BYTES_PER_S), rel=1e-12)


def test_a_synchronous_message_never_travels_early(tmp_path: Path) -> None:
    early = {"smpi/async-small-thresh": "1000"}
    assert min(finish_s("0:ssend,1,100/1:execute,1e9;recv,0,100", ["h0", "h1"], early, tmp_path)) > 1


CROWDED: Final = """<platform version="4.1"><zone id="world" routing="Full">
<host id="h0" speed="1Gf"/><host id="h1" speed="1Gf"/>
<link id="L" bandwidth="125MBps" latency="50us"/><route src="h0" dst="h1"><link_ctn id="L"/></route>
</zone></platform>
"""


@pytest.mark.parametrize("part", [0.25, 0.5])
def test_a_probe_leaves_a_part_of_its_core_to_others(part: float, tmp_path: Path) -> None:
    (tmp_path / "crowded.xml").write_text(CROWDED)
    settings = {"smpi/iprobe-cpu-usage": str(part), "smpi/iprobe": "1ms", "smpi/grow-injected-times": "no"}
    steps = "0:execute,1.95e7;send,1,10/1:iprobe;recv,0,10/2:execute,1e6"
    dates_s = finish_s(steps, ["h0", "h1", "h1"], settings, tmp_path, tmp_path / "crowded.xml")
    assert dates_s[2] == pytest.approx(1e-3 / (1 - part), rel=1e-9)  # 20 probes of 1 ms, each of which takes its part
    assert dates_s[1] == pytest.approx(20e-3 + 2.01467 * LATENCY_S + 26 * 1.05 / (0.812084 * BANDWIDTH_BYTES_PER_S))


def test_a_probe_of_more_than_a_core_takes_so_many_times_as_long(tmp_path: Path) -> None:
    (tmp_path / "crowded.xml").write_text(CROWDED)
    settings = {"smpi/iprobe-cpu-usage": "2", "smpi/iprobe": "1ms", "smpi/grow-injected-times": "no"}
    steps = "0:execute,1.95e7;send,1,10/1:iprobe;recv,0,10/2:execute,1e6"
    dates_s = finish_s(steps, ["h0", "h1", "h1"], settings, tmp_path, tmp_path / "crowded.xml")
    assert dates_s[2] == pytest.approx(2e-3, rel=1e-12)  # beside the first probe, which has 2e6 flop
    receive_s = 2.01467 * LATENCY_S + 26 * 1.05 / (0.812084 * BANDWIDTH_BYTES_PER_S)
    assert dates_s[1] == pytest.approx(3e-3 + 9 * 2e-3 + receive_s, rel=1e-9)  # smpirun: 0.021101002437696102


def test_starting_mpi_takes_its_time(tmp_path: Path) -> None:
    dates_s = finish_s("0:send,1,100/1:execute,1e9", ["h0", "h1"], {"smpi/init": "0.5"}, tmp_path)
    assert dates_s == pytest.approx([0.5, 1.5], rel=1e-12)


def test_ending_mpi_may_be_a_barrier(tmp_path: Path) -> None:
    settings = {"smpi/finalization-barrier": "yes", "network/model": "constant", "network/latency-factor": "1"}
    assert finish_s("0:sleep,1/1:sleep,2", ["h0", "h1"], settings, tmp_path) == [3, 4]  # to rank 0, and back
    settings["smpi/finalization-barrier"] = "no"
    assert finish_s("0:sleep,1/1:sleep,2", ["h0", "h1"], settings, tmp_path) == [1, 2]


def test_a_synchronous_send_takes_its_constant_however_late_its_receive_is(tmp_path: Path) -> None:
    """Some of these messages take 26.02 s under smpirun, and others never end: see docs/models.md."""
    pairs = range(0, 8, 2)
    steps = "/".join(
        f"{sender}:ssend,{sender + 1},1000000/{sender + 1}:execute,{23e3 * (sender + 1)};recv,{sender},1000000"
        for sender in pairs
    )
    hosts = [f"h{rank}" for rank in range(8)]
    dates_s = finish_s(steps, hosts, {"network/model": "constant"}, tmp_path, "unlinked")
    expected_s = [13.01 + 23e-6 * (sender + 1) for sender in pairs for _ in range(2)]
    assert dates_s == pytest.approx(expected_s, rel=1e-12)


OWN_HOST: Final = """<platform version="4.1"><config id="c"><prop id="smpi/os" value="0:1ms"/></config>
<zone id="world" routing="Full">
<host id="h0" speed="1Gf"/>
<host id="h1" speed="1Gf"><prop id="smpi/os" value="0:2ms;50:5ms"/><prop id="smpi/or" value="0:3ms:1us"/>
<prop id="smpi/ois" value="0:7ms"/></host>
<link id="L" bandwidth="125MBps" latency="50us"/><route src="h0" dst="h1"><link_ctn id="L"/></route>
</zone></platform>
"""


@pytest.mark.parametrize(
    ("steps", "dates_s"),
    [
        ("0:send,1,100/1:recv,0,100", (1e-3, 2e-3 + 3e-3 + 100e-6)),
        ("0:isend,1,100;waitall/1:recv,0,100", (0, 1e-3 + 3e-3 + 100e-6)),
        ("1:send,0,50/0:recv,1,50", (3e-3, 2e-3)),
        ("1:send,0,51/0:recv,1,51", (6e-3, 5e-3)),
        ("1:isend,0,51;waitall/0:recv,1,51", (8e-3, 7e-3)),
    ],
)
def test_a_host_has_overheads_of_its_own(steps: str, dates_s: tuple[float, float], tmp_path: Path) -> None:
    (tmp_path / "own.xml").write_text(OWN_HOST)
    constant = {"network/model": "constant", "network/latency-factor": "1ms"}
    assert finish_s(steps, ["h0", "h1"], constant, tmp_path, tmp_path / "own.xml") == pytest.approx(dates_s, rel=1e-9)


def test_an_overhead_of_a_host_that_cannot_be_read_is_refused_at_its_line(tmp_path: Path) -> None:
    (tmp_path / "own.xml").write_text(OWN_HOST.replace("0:7ms", "0:soon"))
    with pytest.raises(
        PlatformError, match=r"own.xml:5: <prop id='smpi/ois'>: property smpi/ois: 'soon' is not a time"
    ):
        finish_s("0:sleep,1", ["h0"], {}, tmp_path, tmp_path / "own.xml")


# ---- the rule of 2017: the bandwidth factor F bounds a flow, so n on one link get min(F B, B / n) each ----

SIZES_BYTES: Final = (1, 500, 1000, 2000, 5000, 9000, 12_000, 40_000, 1_000_000)


def factors_of(size_bytes: int) -> tuple[float, float]:
    """Factors of latency and bandwidth, for a size on the wire."""
    latency = [step.value for step in SMPI_LATENCY_FACTOR if step.above_bytes < size_bytes]
    return latency[-1], [step.value for step in SMPI_BANDWIDTH_FACTOR if step.above_bytes < size_bytes][-1]


def test_the_sizes_are_one_of_each_class() -> None:
    assert [factors_of(size + ENVELOPE_BYTES) for size in SIZES_BYTES] == [
        (latency.value, bandwidth.value)
        for latency, bandwidth in zip(SMPI_LATENCY_FACTOR, SMPI_BANDWIDTH_FACTOR, strict=True)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("n_flows", [1, 2])
@pytest.mark.parametrize("size_bytes", SIZES_BYTES)
@pytest.mark.parametrize("crosstraffic", ["no", "yes"])
def test_the_factor_of_2017_bounds_a_flow(size_bytes: int, n_flows: int, crosstraffic: str, tmp_path: Path) -> None:
    steps = "0:" + f"isend,1,{size_bytes};" * n_flows + "waitall/1:" + f"irecv,0,{size_bytes};" * n_flows + "waitall"
    settings = {"smpy/compat": "simgrid-2017", "network/crosstraffic": crosstraffic}
    wire_bytes = size_bytes + ENVELOPE_BYTES
    latency_factor, bandwidth_factor = factors_of(wire_bytes)
    load = 1.05 if crosstraffic == "yes" else 1.0
    rate = min(bandwidth_factor * BANDWIDTH_BYTES_PER_S, BANDWIDTH_BYTES_PER_S / (load * n_flows))
    expected_s = LATENCY_S * latency_factor + wire_bytes / rate
    assert max(finish_s(steps, ["h0", "h1"], settings, tmp_path)) == pytest.approx(expected_s, rel=1e-12)
    today_s = LATENCY_S * latency_factor + wire_bytes * load * n_flows / (bandwidth_factor * BANDWIDTH_BYTES_PER_S)
    settings["smpy/compat"] = "simgrid-3.32"
    assert max(finish_s(steps, ["h0", "h1"], settings, tmp_path)) == pytest.approx(today_s, rel=1e-12)


def test_the_window_of_2017_has_no_factor(tmp_path: Path) -> None:
    settings = {"smpy/compat": "simgrid-2017", "network/TCP-gamma": "1000"}
    dates_s = finish_s("0:send,1,1000000/1:recv,0,1000000", ["h0", "h1"], settings, tmp_path)
    assert max(dates_s) == pytest.approx(11.6436 * LATENCY_S + 1_000_016 / (1000 / (2 * LATENCY_S)), rel=1e-12)


# ---- ideal networks ----

LARGE_LATENCY_S, LARGE_BYTES_S = 11.6436 * LATENCY_S, 1_000_016 * 1.05 / (0.940694 * BANDWIDTH_BYTES_PER_S)
TWO_FLOWS: Final = "0:isend,1,1000000;isend,1,1000000;waitall/1:irecv,0,1000000;irecv,0,1000000;waitall"


@pytest.mark.parametrize(
    ("parts", "date_s"),
    [
        ("contention", LARGE_LATENCY_S + LARGE_BYTES_S),
        ("bandwidth", LARGE_LATENCY_S),
        ("latency", 2 * LARGE_BYTES_S),
        ("contention,latency", LARGE_BYTES_S),
        ("overhead", LARGE_LATENCY_S + 2 * LARGE_BYTES_S),
    ],
)
def test_an_ideal_part_of_the_network_takes_no_time(parts: str, date_s: float, tmp_path: Path) -> None:
    dates_s = finish_s(TWO_FLOWS, ["h0", "h1"], {"network/model": f"ideal:{parts}"}, tmp_path)
    assert dates_s == pytest.approx([date_s, date_s], rel=1e-12)


@pytest.mark.parametrize("platform", ["full", "fat_tree_3_shared"])
def test_an_ideal_latency_is_that_of_links_without_any(platform: str, tmp_path: Path) -> None:
    text = (PLATFORMS / f"{platform}.xml").read_text()
    (tmp_path / "bare.xml").write_text(re.sub(r'(lat|latency)="\S+?"', r'\1="0s"', text))
    hosts = [f"{'h' if platform == 'full' else 'n'}{host}" for host in range(4)]
    steps = "0:isend,1,70000;isend,2,300;isend,2,500000;waitall/1:recv,0,70000;send,2,90/2:irecv,0,300;irecv,0,500000;"
    steps += "irecv,1,90;waitall/3:execute,1e6"
    ideal, bare = (
        finish_s(steps, hosts, settings, tmp_path, where)
        for settings, where in (({"network/model": "ideal:latency"}, platform), ({}, tmp_path / "bare.xml"))
    )
    assert ideal == pytest.approx(bare, rel=1e-12)
    assert max(ideal) > 0


def test_an_ideal_network_keeps_what_waits_for_what(tmp_path: Path) -> None:
    steps = "0:execute,1e9;send,1,1;recv,2,100000/1:recv,0,1/2:ssend,0,1;sleep,9/3:execute,5e8"
    hosts = ["h0", "h1", "h2", "h3"]
    with_receive = steps.replace("recv,2,100000", "recv,2,100000;execute,1e9")
    costs = {"smpi/os": "0:1", "smpi/or": "0:1"}
    dates_s = finish_s(with_receive, hosts, {"network/model": "ideal", **costs}, tmp_path)
    assert dates_s == pytest.approx([2, 1, 10, 0.5], abs=1e-9)


@pytest.mark.parametrize("platform", ["cluster", "fat_tree_3"])
def test_each_part_that_becomes_ideal_shortens_a_run(platform: str, tmp_path: Path) -> None:
    hosts = [f"n{host}" for host in range(16)]
    settings = {"smpi/os": "0:1us", "smpi/or": "0:1us", "smpi/ois": "0:1us"}
    dates_s = [max(finish_s("all:alltoall,70000;bcast,1000", hosts, settings, tmp_path, platform))]
    for n_parts in range(1, len(IDEAL_PARTS) + 1):
        ideal = {"network/model": "ideal:" + ",".join(IDEAL_PARTS[:n_parts])}
        dates_s.append(max(finish_s("all:alltoall,70000;bcast,1000", hosts, settings | ideal, tmp_path, platform)))
    assert all(later < earlier for earlier, later in pairwise(dates_s))
    assert dates_s[-1] == 0


def test_one_message_at_a_time_knows_no_contention(tmp_path: Path) -> None:
    hosts = [f"n{host}" for host in range(16)]
    steps = "0:send,15,1;recv,15,100000;send,3,5000/15:recv,0,1;send,0,100000/3:recv,0,5000"
    own, alone = (
        finish_s(steps, hosts, settings, tmp_path, "fat_tree_3_shared")
        for settings in ({}, {"network/model": "ideal:contention"})
    )
    assert alone == pytest.approx(own, rel=1e-12)
