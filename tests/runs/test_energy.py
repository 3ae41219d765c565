"""Energy of runs: closed forms, and the places where it shows."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import smpy
from smpy.cli.main import main
from smpy.errors import UsageError
from smpy.platforms import Description, read_machine
from smpy.records.energy import Energy
from smpy.records.trace import Trace
from smpy.replay.replay import replay
from tests.runs.energy_programs import (
    change_states,
    compute,
    compute_and_add,
    compute_steps,
    mix,
    move,
    send_one,
    set_state,
    unbalanced_ring,
)

CLUSTER = """
[host]
count = 4
cores = 2
speed = "4Gf"
[nic]
bandwidth = "1GB/s"
latency = "10us"
[network]
model = "raw"
[mpi]
costs = "smpi"
[topology]
kind = "flat"
"""
POWER = '[power]\nidle = "100W"\none_core = "120W"\nbusy = "220W"\n'


def machine(tmp_path: Path, text: str) -> Description:
    file = tmp_path / "machine.toml"
    file.write_text(CLUSTER + text)
    return read_machine(str(file), 1)


def energy_of(run: smpy.Run) -> Energy:
    assert run.summary.energy is not None
    return run.summary.energy


def test_a_machine_that_says_no_power_has_no_energy(tmp_path: Path) -> None:
    run = smpy.simulate(compute, 4e9, ranks=1, platform=machine(tmp_path, ""), compute="none")
    assert run.summary.energy is None
    assert json.loads(run.summary.to_json())["energy"] is None
    assert "\n  energy" not in run.summary.render()
    assert run.profile.above_idle_j == ()


def test_power_is_that_of_the_busy_cores_until_the_run_ends(tmp_path: Path) -> None:
    run = smpy.simulate(compute, 4e9, ranks=3, platform=machine(tmp_path, POWER), compute="none")  # 1, 2 and 3 s
    energy = energy_of(run)
    assert list(energy.hosts_j) == ["node-0", "node-1", "node-2", "node-3"]
    assert energy.hosts_j["node-0"] == pytest.approx(220 * 1 + 170 * 1 + 100 * 1)
    assert energy.hosts_j["node-1"] == pytest.approx(170 * 3)
    assert energy.hosts_j["node-2"] == energy.hosts_j["node-3"] == pytest.approx(300)
    assert energy.used_hosts_j == pytest.approx(490 + 510)
    assert energy.idle_hosts_j == pytest.approx(600)
    assert energy.links_j == {}
    assert energy.cost_eur is None
    assert "1600 J (hosts 1600, of them idle 600)" in run.summary.render()


def test_ranks_of_a_host_share_what_is_above_its_idle_power(tmp_path: Path) -> None:
    run = smpy.simulate(compute, 4e9, ranks=2, platform=machine(tmp_path, POWER), compute="none")
    joules = run.profile.above_idle_by_rank_j()
    assert joules == pytest.approx([120 / 2 * 1, 120 / 2 * 1 + 70 * 1])
    energy = energy_of(run)
    assert energy.above_idle_j == pytest.approx(sum(joules))
    assert energy.hosts_total_j == pytest.approx(4 * 100 * 2 + sum(joules))
    sites = json.loads(run.summary.to_json())["profile"]["sites"]
    assert sum(site["above_idle_j"] for site in sites) == pytest.approx(sum(joules))
    assert run.profile.to_pandas()["calls"]["above_idle_j"].sum() == pytest.approx(sum(joules))


def test_a_message_draws_the_power_of_busy_links_from_its_start_to_its_end(tmp_path: Path) -> None:
    text = '[power]\nlink = "2W:6W"\nswitch = "30W"\n[price]\nkwh_eur = 0.3\n'
    run = smpy.simulate(send_one, 10_000_000, ranks=2, ppn=1, platform=machine(tmp_path, text), compute="none")
    energy, seconds = energy_of(run), run.summary.makespan_s
    assert energy.hosts_j == {}
    assert len(energy.links_j) == 2 * 4
    busy = [name for name, joules in energy.links_j.items() if joules == pytest.approx(6 * seconds)]
    assert busy == ["cluster_link_0_UP", "cluster_link_1_DOWN"]
    assert energy.links_total_j == pytest.approx(2 * 6 * seconds + 6 * 2 * seconds)
    assert energy.switches_j == pytest.approx(30 * seconds)
    assert energy.total_kwh == pytest.approx((energy.links_total_j + 30 * seconds) / 3.6e6)
    assert energy.cost_eur == pytest.approx(0.3 * energy.total_kwh)


def test_power_changes_no_date(tmp_path: Path) -> None:
    runs = [
        smpy.simulate(send_one, 100_000, ranks=4, platform=machine(tmp_path, text), compute="none")
        for text in ("", POWER + 'link = "2W:6W"\n')
    ]
    assert list(runs[0].summary.finish_s) == list(runs[1].summary.finish_s)
    assert len({run.summary.inputs.machine.fingerprint for run in runs}) == 1  # type: ignore[union-attr]


def test_a_computation_that_moves_bytes_keeps_its_core_busy_to_its_end(tmp_path: Path) -> None:
    described = CLUSTER.replace('speed = "4Gf"', 'speed = "4Gf"\nmemory_bandwidth = "1GB/s"') + POWER
    file = tmp_path / "machine.toml"
    file.write_text(described)
    run = smpy.simulate(move, ranks=1, platform=str(file), compute="none")
    assert run.summary.makespan_s == pytest.approx(2)
    assert energy_of(run).hosts_j["node-0"] == pytest.approx(170 * 2)


def test_large_machines_list_their_largest_hosts(tmp_path: Path) -> None:
    many = {f"h{i}": float(i) for i in range(10_001)}
    record: dict[str, Any] = Energy(many, {}, 0.0).to_record()
    assert record["hosts_j"] == {f"h{i}": float(i) for i in range(10_000, 9_990, -1)}
    assert record["hosts_total_j"] == math.fsum(many.values())
    assert len(Energy(many, {}, 0.0, lists_all=True).to_record()["hosts_j"]) == 10_001


STATES = """
[power]
states = [{speed = "4Gf", idle = "100W", one_core = "130W", busy = "250W"},
          {speed = "3Gf", idle = "92W", one_core = "110W", busy = "180W"}]
"""


def test_a_state_that_a_rank_sets_acts_at_once_on_what_its_host_computes(tmp_path: Path) -> None:
    run = smpy.simulate(change_states, ranks=2, platform=machine(tmp_path, STATES), compute="none")
    assert run.summary.finish_s[0] == pytest.approx(0.525)
    assert energy_of(run).hosts_j["node-0"] == pytest.approx(190 * 0.2 + 145 * 0.1 + 190 * 0.225)
    assert run.stdout.splitlines()[:2] == ["1 145.0 38.0", "0 190.0 52.5"]
    run = smpy.simulate(change_states, ranks=2, ppn=1, platform=machine(tmp_path, STATES), compute="none")
    assert run.summary.finish_s[0] == pytest.approx(0.5)


@pytest.mark.parametrize(("text", "state"), [("", 1), (POWER, -1), (STATES, 2)])
def test_a_state_that_is_not_there_is_an_index_error_at_the_programs_line(
    tmp_path: Path, text: str, state: int
) -> None:
    has = "2 states" if text == STATES else "1 state"
    wanted = rf"in set_state\n.*\n(.*\n)*IndexError: host 'node-0' has {has}, counted from 0: it has no state {state}$"
    with pytest.raises(smpy.RunError, match=wanted):
        smpy.simulate(set_state, state, ranks=1, platform=machine(tmp_path, text), compute="none")


def test_a_state_is_a_whole_number(tmp_path: Path) -> None:
    with pytest.raises(smpy.RunError, match="state is of type float, not an integer"):
        smpy.simulate(set_state, 1.5, ranks=1, platform=machine(tmp_path, STATES), compute="none")
    smpy.simulate(set_state, 0, ranks=1, platform=machine(tmp_path, ""), compute="none")


def test_outside_of_a_run_states_do_nothing_and_energy_is_not_known() -> None:
    smpy.set_host_pstate(3)
    assert smpy.host_pstate() == 0
    assert math.isnan(smpy.host_energy_j())
    assert math.isnan(smpy.host_power_w())


def test_a_replay_sets_the_states_that_the_run_did(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    run = smpy.simulate(change_states, ranks=2, platform=machine(tmp_path, STATES), compute="none", trace=trace)
    result = replay(trace)
    assert list(result.finish_s) == list(run.summary.finish_s)


@pytest.mark.parametrize(
    ("governor", "finish_s", "joules"),
    [
        ("performance", 1.0, 190 * 1.0),
        ("powersave:250ms", 0.25 + 1.0, 190 * 0.25 + 145 * 1.0),
        ("ondemand:0.25", 0.25 + 1.0, 190 * 0.25 + 145 * 1.0),  # its second daemon finds no load
        ("conservative:0.5s", 0.5 + 0.5 + 0.125, 190 * 0.625 + 145 * 0.5),  # slower; from the slowest faster again
    ],
)
def test_governors_set_the_states_of_hosts(tmp_path: Path, governor: str, finish_s: float, joules: float) -> None:
    options: dict[str, Any] = {"ranks": 1, "platform": machine(tmp_path, STATES), "compute": "none"}
    run = smpy.simulate(compute_steps, governor=governor, **options)
    assert run.makespan_s == pytest.approx(finish_s)
    assert energy_of(run).hosts_j["node-0"] == pytest.approx(joules)


def test_a_governor_without_hosts_that_have_states_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match=r"--governor powersave: no host of .* has several states: list them in \[power"
    ):
        smpy.simulate(compute, 1e9, ranks=1, platform=machine(tmp_path, POWER), governor="powersave")
    with pytest.raises(UsageError, match=r"'powersafe' is none of performance, .*: did you mean 'powersave'"):
        smpy.simulate(compute, 1e9, ranks=1, governor="powersafe")
    with pytest.raises(UsageError, match="'powersave:0': a governor looks every 1us or more"):
        smpy.simulate(compute, 1e9, ranks=1, governor="powersave:0")


def test_a_trace_of_a_run_with_a_governor_is_not_replayed(tmp_path: Path) -> None:
    options: dict[str, Any] = {"ranks": 1, "platform": machine(tmp_path, STATES), "compute": "none"}
    smpy.simulate(compute, 1e9, governor="powersave", trace=tmp_path / "trace", **options)
    with pytest.raises(UsageError, match="hosts with --governor: trace the whole run, without these"):
        replay(tmp_path / "trace")


def test_power_that_a_run_sets_counts_on_a_machine_of_xml(tmp_path: Path) -> None:
    file = tmp_path / "machine.xml"
    prop = "<prop id='wattage_per_state' value='1:2'/>"
    host = f"<host id='h' speed='4Gf'>{prop}</host>"
    file.write_text(f"<platform version='4.1'><zone id='z' routing='Full'>{host}</zone></platform>")
    power = {"power.idle": "100W", "power.busy": "200W"}
    run = smpy.simulate(compute, 4e9, ranks=1, platform=file, compute="none", set=power)
    assert energy_of(run).hosts_j == pytest.approx({"h": 200})
    run = smpy.simulate(compute, 4e9, ranks=1, platform=file, compute="none")
    assert energy_of(run).hosts_j == pytest.approx({"h": 2})


def test_ranks_that_wait_save_energy_in_a_slower_state(tmp_path: Path) -> None:
    states = """[power]
        states = [{speed = "4Gf", idle = "100W", busy = "250W"}, {speed = "2Gf", idle = "90W", busy = "150W"}]"""
    options: dict[str, Any] = {"ranks": 4, "ppn": 1, "compute": "none"}
    file = tmp_path / "machine.toml"
    file.write_text(CLUSTER.replace("cores = 2", "cores = 1") + states)
    fast, slow = (smpy.simulate(unbalanced_ring, is_slow, platform=file, **options) for is_slow in (False, True))
    assert slow.makespan_s == pytest.approx(fast.makespan_s, rel=1e-3)
    assert energy_of(fast).total_j == pytest.approx(10 * (250 + 3 * (125 + 50)), rel=1e-3)
    assert energy_of(slow).total_j == pytest.approx(10 * (250 + 3 * 150), rel=1e-3)


# ---- traces and replays ----


def traced(function: Any, described: Description | str, folder: Path, **options: Any) -> smpy.Run:
    return smpy.simulate(function, 6, ranks=6, platform=described, compute="none", trace=folder, **options)


def numbers_of(energy: Energy) -> dict[str, float]:
    record = energy.to_record()
    named = {**record.pop("hosts_j"), **record.pop("links_j"), **record}
    return {name: number for name, number in named.items() if number is not None}


def joules_by_rank(trace: Trace) -> list[float]:
    """Joules of each rank, by the power of its intervals."""
    rows = trace.table("intervals", ["rank", "start_s", "end_s", "power_w"]).to_pydict()
    joules = [0.0] * trace.n_ranks
    for rank, start_s, end_s, power_w in zip(*rows.values(), strict=True):
        joules[rank] += power_w * (end_s - start_s)
    return joules


def test_power_of_a_ranks_intervals_adds_up_to_its_joules_above_idle(tmp_path: Path) -> None:
    run = traced(mix, machine(tmp_path, STATES), tmp_path / "trace")
    profile, expected = run.profile, [0.0] * 6
    for rank, joules in zip(profile.rank, profile.above_idle_j, strict=True):
        expected[rank] += joules
    assert min(expected) > 1
    assert joules_by_rank(Trace(tmp_path / "trace")) == pytest.approx(expected, rel=1e-9)
    kinds = Trace(tmp_path / "trace").table("intervals", ["kind", "power_w"]).to_pydict()
    drawing = {kind for kind, power_w in zip(*kinds.values(), strict=True) if power_w}
    assert drawing == {"compute", "polling"}  # looks of Iprobe compute, too


def test_power_is_null_where_a_host_says_none_and_no_column_where_none_does(tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_text(
        "topology.kind = 'flat'\n[group.a]\ncount = 1\npower = {idle = '10W', busy = '90W'}\n[group.b]\ncount = 1\n"
    )
    traced(compute_and_add, str(tmp_path / "m.toml"), tmp_path / "some", map_by="host")
    rows = Trace(tmp_path / "some").table("intervals", ["rank", "power_w"]).to_pydict()
    unknown = {rank for rank, power_w in zip(*rows.values(), strict=True) if power_w is None}
    assert unknown == {1, 3, 5}
    traced(compute_and_add, machine(tmp_path, ""), tmp_path / "none")
    assert "power_w" not in Trace(tmp_path / "none").schema("intervals").names


def test_a_counter_of_each_host_in_perfetto_has_what_its_ranks_draw_above_idle(tmp_path: Path) -> None:
    run = traced(mix, machine(tmp_path, STATES), tmp_path / "trace")
    done = CliRunner().invoke(main, ["export", str(tmp_path / "trace"), "--to", "perfetto", "-o", str(tmp_path / "p")])
    assert done.exit_code == 0, done.output
    events = json.loads((tmp_path / "p").read_text())["traceEvents"]
    counters: dict[int, list[tuple[float, float]]] = {}
    for event in events:
        if event["ph"] == "C":
            counters.setdefault(event["pid"], []).append((event["ts"], event["args"]["W"]))
    assert len(counters) == len(dict(run.summary.inputs.mapping))
    joules = 0.0
    for changes in counters.values():
        assert changes[-1][1] == 0
        joules += sum(w * (later - date) * 1e-6 for (date, w), (later, _) in pairwise(changes))
    assert joules == pytest.approx(energy_of(run).above_idle_j, rel=1e-4)


def test_a_replay_tells_the_energy_of_the_run(tmp_path: Path) -> None:
    run = traced(
        mix, machine(tmp_path, STATES + 'link = "2W:6W"\nswitch = "30W"\n[price]\nkwh_eur = 0.3\n'), tmp_path / "t"
    )
    again = replay(tmp_path / "t").energy
    assert again is not None
    assert numbers_of(again) == pytest.approx(numbers_of(energy_of(run)), rel=1e-9, abs=0)


@pytest.mark.parametrize(
    "options",
    [
        [("power.busy", "300W")],
        [("power.idle", "50W"), ("power.one_core", "60W")],
        [("power.busy", "x2")],
        [("power.switch", "99W"), ("power.link", "1W:20W")],
        [("host.speed", "8Gf")],
    ],
)
def test_a_replay_tells_the_energy_of_a_changed_machine(options: list[tuple[str, str]], tmp_path: Path) -> None:
    machine(tmp_path, POWER + 'link = "2W:6W"\nswitch = "30W"\n')
    traced(compute_and_add, str(tmp_path / "machine.toml"), tmp_path / "trace", host_speed="4Gf")
    there = traced(
        compute_and_add, str(tmp_path / "machine.toml"), tmp_path / "other", set=dict(options), host_speed="4Gf"
    )
    again = replay(tmp_path / "trace", options=options).energy
    assert again is not None
    assert numbers_of(again) == pytest.approx(numbers_of(energy_of(there)), rel=1e-9, abs=0)


def test_a_replay_tells_the_energy_of_another_machine(tmp_path: Path) -> None:
    traced(compute_and_add, machine(tmp_path, ""), tmp_path / "trace")
    assert replay(tmp_path / "trace").energy is None
    other = "torus 2x3 cores=1 power.idle=80W power.busy=400W power.link=1W:3W"
    there = traced(compute_and_add, other, tmp_path / "other")
    again = replay(tmp_path / "trace", platform=other).energy
    assert again is not None
    assert again.total_j == pytest.approx(energy_of(there).total_j, rel=1e-9)
    done = CliRunner().invoke(main, ["replay", str(tmp_path / "trace"), "--platform", other, "--json", "-"])
    assert json.loads(done.output)["energy"] == again.to_record()
    done = CliRunner().invoke(main, ["replay", str(tmp_path / "trace"), "--platform", other])
    assert f"energy         {again.render()}\n" in done.output
