"""Machines that change while a program runs: what profiles say, what the files say, and the dates that follow."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smpy.emulate.run.run import run
from smpy.errors import DeadlockError, MachineFailure, PlatformError, PlatformWarning
from smpy.options import RunConfig
from smpy.platforms import (
    Changing,
    Cluster,
    DeclaredRoute,
    Description,
    FlatCluster,
    FullZone,
    Hop,
    Host,
    Link,
    NumberedNames,
    Profile,
    ProfileConnection,
    Router,
    Sharing,
    read_profile,
    read_simgrid_xml,
)

STEPS = Path(__file__).parents[1] / "oracle" / "steps.py"
BANDWIDTH, LATENCY_S = 125e6, 50e-6
LATENCY_FACTOR, BANDWIDTH_FACTOR = 11.6436, 0.940694  # SMPI's, of large messages
LARGE = 10_000_000
SEND = f"0:send,1,{LARGE}/1:recv,0,{LARGE}"
SOME = settings(max_examples=25, deadline=None)


def finish_s(machine: Description, steps: str, n_ranks: int = 2, hosts: str = "", network: str = "smpi") -> list[float]:
    """Dates at which ranks end; `hosts`, one a word, says where they run."""
    with TemporaryDirectory() as folder:
        hostfile = Path(folder) / "hosts"
        hostfile.write_text("\n".join(hosts.split()))
        config = RunConfig(
            n_ranks=n_ranks,
            program=str(STEPS),
            args=(steps,),
            platform=machine,
            hostfile=hostfile if hosts else None,
            compute="none",
            options=(("network/model", network),),
        )
        outcome = run(config)
    if outcome.error is not None:
        raise outcome.error
    return outcome.summary.finish_s.tolist()


def computer(profile: Profile | None, cores: int = 1) -> Description:
    return Description("one", FullZone("z", (Host("a", 1e9, cores, speed_profile=profile),)))


def pair(sharing: Sharing = Sharing.FATPIPE, **profiles: Profile) -> Description:
    """Two hosts and a link; on a FATPIPE one, acknowledgements take nothing."""
    link = Link("L", BANDWIDTH, LATENCY_S, sharing, **profiles)
    parts = (Host("a", 1e9), Host("b", 1e9), link, DeclaredRoute("a", "b", (Hop("L"),)))
    return Description("a pair", FullZone("z", parts))


def piecewise_end_s(amount: float, start_s: float, rate: float, profile: Profile) -> float:
    """Date at which an amount is done that begins at `start_s` with a rate, whose factors follow."""
    factor = 1.0
    period_s = profile.period_s
    cycles = range(1 if period_s is None else 10_000)
    now_s = start_s
    for cycle in cycles:
        for date_s, value in profile.values:
            date_s += cycle * (period_s or 0)
            if date_s > now_s:
                if now_s + amount / (rate * factor) <= date_s:
                    return now_s + amount / (rate * factor)
                amount -= (date_s - now_s) * rate * factor
                now_s = date_s
            factor = value
    return now_s + amount / (rate * factor)


@st.composite
def profiles(draw: st.DrawFn, low: float, high: float, span_s: float) -> Profile:
    gaps = draw(st.lists(st.floats(0.01, 1.0), min_size=1, max_size=5))
    dates = [span_s * sum(gaps[: i + 1]) / len(gaps) for i in range(len(gaps))]
    values = draw(st.lists(st.floats(low, high), min_size=len(dates), max_size=len(dates)))
    period = draw(st.none() | st.floats(0.05, 1.0).map(lambda rest: dates[-1] + rest * span_s))
    return Profile(tuple(zip(dates, values, strict=True)), period)


# ---- closed forms ----


@SOME
@given(profiles(0.1, 4.0, 1.0), st.integers(1, 4))
def test_an_execution_ends_when_the_integral_of_its_speed_is_its_amount(profile: Profile, n_ranks: int) -> None:
    dates_s = finish_s(computer(profile, cores=2), "all:execute,1e9", n_ranks, "a")
    rate = 1e9 * min(1.0, 2 / n_ranks)
    assert dates_s == pytest.approx([piecewise_end_s(1e9, 0.0, rate, profile)] * n_ranks, rel=1e-9)


@SOME
@given(profiles(0.1, 1.0, 0.08))
def test_a_flow_ends_when_the_integral_of_its_bandwidth_is_its_size(profile: Profile) -> None:
    late = Profile(
        tuple((0.001 + date_s, value) for date_s, value in profile.values),
        profile.period_s and profile.period_s + 0.001,
    )
    bandwidths = Profile(tuple((date_s, value * BANDWIDTH) for date_s, value in late.values), late.period_s)
    expected_s = piecewise_end_s(LARGE + 16, LATENCY_S * LATENCY_FACTOR, BANDWIDTH * BANDWIDTH_FACTOR, late)
    assert finish_s(pair(bandwidth_profile=bandwidths), SEND) == pytest.approx([expected_s] * 2, rel=1e-9)


@pytest.mark.slow
@SOME
@given(profiles(0.1, 4.0, 0.5))
def test_a_profile_whose_values_are_those_of_the_machine_changes_nothing(profile: Profile) -> None:
    same = Profile(tuple((date_s, 1.0) for date_s, _ in profile.values), profile.period_s)
    steps = "0:execute,1e8;sleep,0.5/1:execute,3e8;execute,4e8/2:sleep,0.25;execute,2e8"
    plain_s = finish_s(computer(None), steps, 3, "a")
    assert finish_s(computer(same), steps, 3, "a") == pytest.approx(plain_s, rel=1e-12)


def test_a_run_with_a_profile_that_begins_later_has_the_bits_of_one_without() -> None:
    later = Profile(((1e6, 1.0),))
    with_profiles = pair(Sharing.SHARED, bandwidth_profile=later, latency_profile=later, state_profile=later)
    assert finish_s(with_profiles, SEND) == finish_s(pair(Sharing.SHARED), SEND)


@pytest.mark.slow
@SOME
@given(st.lists(st.integers(10, 99), min_size=3, max_size=3))
def test_a_way_through_zones_whose_links_have_lost_their_latency_is_one_that_never_had_any(
    latencies_us: list[int],
) -> None:
    def machine(latencies_us: list[int]) -> Description:
        none = Profile(((0.001, 0.0),))
        near, out, between = (
            Link(name, bandwidth, latency_us * 1e-6, latency_profile=none)
            for name, bandwidth, latency_us in zip("nom", (1e9, 1e9, 1e8), latencies_us, strict=True)
        )
        way_out = DeclaredRoute("a", "door", (Hop("n"), Hop("o")))
        zones = [FullZone("A", (Host("a", 1e9), Router("door"), near, out, way_out))]
        zones += [FullZone(name.upper(), (Host(name, 1e9),)) for name in "bcd"]
        late = Link("late", 1e9, 2e-4)
        ways = (
            DeclaredRoute("A", "B", (Hop("m"),), ("door", "b")),
            DeclaredRoute("C", "D", (Hop("m"), Hop("late")), ("c", "d")),
        )
        return Description("zones", FullZone("w", (*zones, between, late, *ways)))

    sends = "0:sleep,1;send,1,1000000/1:recv,0,1000000/2:sleep,1;send,3,1000000/3:recv,2,1000000"
    expected_s = finish_s(machine([0, 0, 0]), sends, 4, "a b c d")
    assert finish_s(machine(latencies_us), sends, 4, "a b c d") == expected_s


def test_a_host_that_stops_goes_on_when_it_has_a_speed_again() -> None:
    assert finish_s(computer(Profile(((0.25, 0.0), (1.0, 1.0)))), "0:execute,1e9", 1) == pytest.approx([1.75])


def test_a_blocking_probe_on_a_host_that_has_stopped_costs_what_it_costs_on_one_that_has_not() -> None:
    machine = pair()
    stopped = Description(
        "stopped",
        machine.zone,
        connections=(ProfileConnection(Changing.SPEED, "b", Profile(((0.0, 0.0), (2.0, 1.0)))),),
    )
    assert finish_s(stopped, "0:send,1,1/1:iprobe;recv,0,1")[1] > 2.0


def test_a_profile_of_a_host_of_a_cluster_and_of_its_links_is_connected_by_name() -> None:
    cluster = Cluster("k", NumberedNames("n", (range(4),)), 1e9, BANDWIDTH, LATENCY_S)
    slower = Profile(((0.0, 0.5),))
    half = Profile(((0.0, BANDWIDTH / 2),))
    machine = Description(
        "connected",
        FlatCluster(cluster),
        connections=(
            ProfileConnection(Changing.SPEED, "n1", slower),
            ProfileConnection(Changing.BANDWIDTH, "k_link_1_DOWN", half),
        ),
    )
    plain = Description("plain", FlatCluster(cluster))
    assert finish_s(machine, "all:execute,1e9") == pytest.approx([1.0, 2.0])
    sent_s, plain_s = (finish_s(each, SEND)[0] for each in (machine, plain))
    latency_s = 2 * LATENCY_S * LATENCY_FACTOR
    assert sent_s - latency_s == pytest.approx(2 * (plain_s - latency_s), rel=1e-9)


# ---- ideal parts ----

LATENCIES = Profile(((2e-4, 3e-4), (0.02, 1e-5), (0.09, 2e-4)))
BANDWIDTHS = Profile(((3e-4, 5e7), (0.05, 2e8), (0.1, 9e7)))


@pytest.mark.slow
@SOME
@given(profiles(5e7, 2e8, 0.3), profiles(1e-7, 1e-3, 0.3), st.sampled_from([Sharing.SHARED, Sharing.FATPIPE]))
def test_messages_one_at_a_time_take_the_same_time_without_contention(
    bandwidths: Profile, latencies: Profile, sharing: Sharing
) -> None:
    machine = pair(sharing, bandwidth_profile=bandwidths, latency_profile=latencies)
    turns = [(f"send,1,{size}", f"recv,0,{size}") for size in (LARGE, 1000, 200_000)]
    there, back = ";".join(turn[0] for turn in turns), ";".join(turn[1] for turn in turns)
    steps = f"0:{there};recv,1,{LARGE}/1:{back};send,0,{LARGE}"
    alone_s = finish_s(machine, steps, network="ideal:contention")
    assert alone_s == pytest.approx(finish_s(machine, steps), rel=1e-12, abs=0)


def test_without_contention_each_message_takes_what_it_takes_alone() -> None:
    machine = pair(Sharing.SHARED, bandwidth_profile=BANDWIDTHS, latency_profile=LATENCIES)
    alone_s = finish_s(machine, SEND)
    steps = f"0:isend,1,{LARGE};isend,1,{LARGE};waitall/1:irecv,0,{LARGE};irecv,0,{LARGE};waitall"
    assert finish_s(machine, steps, network="ideal:contention") == pytest.approx(alone_s, rel=1e-12)
    assert finish_s(machine, steps)[1] > 1.5 * alone_s[1]


def test_without_latency_a_link_is_one_whose_latency_is_0() -> None:
    link = Link("L", BANDWIDTH, 0.0, Sharing.SHARED, bandwidth_profile=BANDWIDTHS)
    parts = (Host("a", 1e9), Host("b", 1e9), link, DeclaredRoute("a", "b", (Hop("L"),)))
    fast = Description("no latency", FullZone("z", parts))
    machine = pair(Sharing.SHARED, bandwidth_profile=BANDWIDTHS, latency_profile=LATENCIES)
    assert finish_s(machine, SEND, network="ideal:latency") == pytest.approx(finish_s(fast, SEND), rel=1e-12)


def test_without_a_limit_of_bandwidth_a_message_takes_its_latency_of_now() -> None:
    machine = pair(bandwidth_profile=Profile(((0.3, 1.0),)), latency_profile=Profile(((0.5, 1e-3),)))
    steps = f"0:{SEND[2:].split('/', maxsplit=1)[0]};sleep,1;send,1,{LARGE}/1:recv,0,{LARGE};recv,0,{LARGE}"
    dates_s = finish_s(machine, steps, network="ideal:contention,bandwidth")
    assert dates_s == pytest.approx([1 + (LATENCY_S + 1e-3) * LATENCY_FACTOR] * 2, rel=1e-12)


def test_on_an_ideal_network_only_computing_takes_time_however_links_change() -> None:
    machine = pair(bandwidth_profile=BANDWIDTHS, latency_profile=LATENCIES)
    steps = f"0:execute,3e8;send,1,{LARGE};execute,1e8/1:recv,0,{LARGE};execute,2e8"
    assert finish_s(machine, steps, network="ideal") == pytest.approx([0.4, 0.5], rel=1e-12)


def test_a_link_that_is_off_carries_no_message_of_an_ideal_network() -> None:
    machine = pair(state_profile=Profile(((0.0, 0.0),)))
    with pytest.raises(MachineFailure, match="link 'L'"):
        finish_s(machine, SEND, network="ideal")


# ---- what is off ----

OFF_SOON = Profile(((0.01, 0.0), (0.02, 1.0)))


def test_a_message_on_a_link_that_goes_off_fails_the_run_and_is_named() -> None:
    message = "the message of 10,000,000 bytes from rank 0 on host 'a' to rank 1 on host 'b' needs it"
    with pytest.raises(MachineFailure, match=re.escape(f"at 0.01 s: link 'L' is off, and {message}")):
        finish_s(pair(state_profile=OFF_SOON), SEND)


def test_a_message_in_its_latency_phase_fails_likewise() -> None:
    with pytest.raises(MachineFailure, match=re.escape("at 0.0001 s: link 'L' is off")):
        finish_s(pair(state_profile=Profile(((0.0001, 0.0),))), SEND)


def test_a_message_that_begins_while_a_link_is_off_fails_then() -> None:
    with pytest.raises(MachineFailure, match=re.escape("at 0.015625 s: link 'L' is off, and the message of 7 bytes")):
        finish_s(pair(state_profile=OFF_SOON), "0:sleep,0.015625;send,1,7/1:recv,0,7")


def test_a_link_that_is_off_while_nobody_needs_it_does_no_harm() -> None:
    assert finish_s(pair(state_profile=OFF_SOON), "0:sleep,0.5;send,1,1/1:recv,0,1")[1] > 0.5


@pytest.mark.parametrize("date_s", [0.0, 0.25])
def test_a_host_that_goes_off_fails_the_run_and_names_its_lowest_rank(date_s: float) -> None:
    off = Host("b", 1e9, 2, state_profile=Profile(((date_s, 0.0),)))
    machine = Description("two", FullZone("z", (Host("a", 1e9), off)))
    with pytest.raises(MachineFailure, match=re.escape(f"at {date_s:g} s: host 'b' is off, and rank 1 lives on it")):
        finish_s(machine, "0:sleep,2/1:sleep,1/2:sleep,3/3:execute,1e9", 4, "a b")


def test_a_host_may_go_off_once_its_ranks_have_ended() -> None:
    hosts = (Host("a", 1e9), Host("b", 1e9, state_profile=Profile(((1.5, 0.0),))))
    assert finish_s(Description("two", FullZone("z", hosts)), "0:execute,2e9/1:execute,1e9") == [2.0, 1.0]


def test_a_host_whose_speed_stays_0_fails_the_rank_that_computes_there() -> None:
    with pytest.raises(MachineFailure, match=re.escape("at 0.25 s: the speed of host 'a' stays 0")):
        finish_s(computer(Profile(((0.25, 0.0),))), "0:execute,1e9", 1)


@pytest.mark.parametrize("what", [Changing.SPEED, Changing.BANDWIDTH])
def test_a_deadlock_is_found_although_the_machine_goes_on_changing(what: Changing) -> None:
    for_ever = Profile(((0.1, 1.0), (0.2, 2.0)), 0.25)
    machine = pair()
    name = "a" if what is Changing.SPEED else "L"
    changing = Description("changing", machine.zone, connections=(ProfileConnection(what, name, for_ever),))
    with pytest.raises(DeadlockError, match="waits for messages nobody will send"):
        finish_s(changing, "0:execute,1e9/1:recv,0,1")


def test_a_host_that_never_goes_on_is_found_although_a_link_goes_on_changing() -> None:
    for_ever = ProfileConnection(Changing.BANDWIDTH, "L", Profile(((0.1, 1e6), (0.2, 1e7)), 0.25))
    stops = ProfileConnection(Changing.SPEED, "a", Profile(((0.25, 0.0), (0.5, 0.0)), 1.0))
    with pytest.raises(MachineFailure, match="the speed of host 'a' stays 0"):
        finish_s(Description("both", pair().zone, connections=(for_ever, stops)), "0:execute,1e9")


# ---- what profiles may say ----


@pytest.mark.parametrize(
    ("text", "values", "period_s"),
    [
        ("", (), None),
        ("# nothing\n% at all\n\n", (), None),
        ("0.5 2\n", ((0.5, 2.0),), None),
        ("  0.5\t2  # twice as fast\n1e1 .5", ((0.5, 2.0), (10.0, 0.5)), None),
        ("0.5 2\nLOOPAFTER 1.5", ((0.5, 2.0),), 2.0),
        ("PERIODICITY 3\n0.5 2\n", ((0.5, 2.0),), 3.0),
        ("LOOPAFTER 3\n", (), None),
    ],
)
def test_lines_of_dates_and_values_are_read(
    text: str, values: tuple[tuple[float, float], ...], period_s: float | None
) -> None:
    assert read_profile(text, "f") == Profile(values, period_s)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0 1\n0.5s 2", "f:2: '0.5s 2' is neither 'date value', two numbers without units"),
        ("0 1 2", "f:1: '0 1 2' is neither"),
        ("0 nan", "f:1: '0 nan' is neither"),
        ("1_0 1", "f:1: '1_0 1' is neither"),
        ("0 1\nLOOPAFTER 1\nPERIODICITY 2", "f:3: 'PERIODICITY 2': the profile repeats already: say once how"),
        ("STOCHASTIC LOOP\nDET 1 DET 1", "f:1: stochastic profiles are not supported"),
        ("x" * 1000, "f:1: '" + "x" * 57 + "...' is neither"),
    ],
)
def test_a_line_that_says_something_else_is_refused_by_its_number(text: str, message: str) -> None:
    with pytest.raises(PlatformError, match="^" + re.escape(message)):
        read_profile(text, "f")


@pytest.mark.parametrize(
    ("what", "text", "message"),
    [
        (Changing.SPEED, "1 1\n0.5 1", "f: after 1 s comes 0.5 s: dates are at least 0 and in order"),
        (Changing.SPEED, "-1 1", "f: its first date is -1 s"),
        (Changing.SPEED, "1 -1", "f: at 1 s the value is -1: no value can be negative"),
        (Changing.SPEED, "1 1e999", "f: at 1 s the value is inf: dates and values are finite numbers"),
        (Changing.BANDWIDTH, "1 0", "f: at 1 s the value is 0: turn the link off by a state profile instead"),
        (Changing.LATENCY, "1 -1e-3", "f: at 1 s the value is -0.001"),
        (Changing.LATENCY, "1 1e300", "f: at 1 s the value is 1e+300: it is neither 0 nor from 1e-30 to 1e+30"),
        (Changing.SPEED, "1 1e-300", "f: at 1 s the value is 1e-300: it is neither 0 nor from"),
        (Changing.SPEED, "1 1\nPERIODICITY 0.5", "f: it repeats every 0.5 s: at least its last date, 1 s"),
        (Changing.SPEED, "0 1\nLOOPAFTER 0", "f: it repeats every 0 s"),
    ],
)
def test_a_profile_that_nothing_can_follow_is_refused(what: Changing, text: str, message: str) -> None:
    with pytest.raises(PlatformError, match="^" + re.escape(message)):
        read_profile(text, "f").check(what)


@given(st.text() | st.from_regex(r"([0-9.e+-]{1,5}[ \t][0-9.e+-]{1,9}\n){0,3}(LOOPAFTER|PERIODICITY)? ?[0-9.e-]{0,4}"))
def test_any_text_is_a_profile_or_refused(text: str) -> None:
    try:
        profile = read_profile(text, "f")
        profile.check(Changing.BANDWIDTH)
    except PlatformError:
        return
    Description("any", pair(bandwidth_profile=profile).zone).build()


@pytest.mark.parametrize(
    ("connection", "message"),
    [
        (ProfileConnection(Changing.SPEED, "c", Profile(((0.0, 1.0),))), "unknown host 'c'"),
        (ProfileConnection(Changing.LATENCY, "a", Profile(((0.0, 1.0),))), "unknown link 'a'"),
        (ProfileConnection(Changing.BANDWIDTH, "L", Profile(((0.0, 0.0),))), "at 0 s the value is 0"),
    ],
)
def test_a_connection_that_does_not_fit_the_machine_is_refused(connection: ProfileConnection, message: str) -> None:
    with pytest.raises(PlatformError, match=message):
        Description("wrong", pair().zone, connections=(connection,)).build()


def test_a_property_follows_one_profile() -> None:
    connection = ProfileConnection(Changing.BANDWIDTH, "L", Profile(((1.0, 2.0),)))
    with pytest.raises(PlatformError, match="'L' follows two profiles of the same: keep one"):
        Description("two", pair(bandwidth_profile=Profile(((0.0, 1.0),))).zone, connections=(connection,)).build()


# ---- XML ----

Read = Callable[..., Description]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Reads a machine: a host's and a link's attributes, what stands behind, and files beside it."""

    def reader(host: str = "", link: str = "", after: str = "", **files: str) -> Description:
        for name, text in files.items():
            (tmp_path / name).write_text(text)
        path = tmp_path / "machine.xml"
        path.write_text(
            f"<platform version='4.1'><zone id='z' routing='Full'>\n<host id='a' speed='1Gf' {host}/>\n"
            f"<host id='b' speed='1Gf'/>\n<link id='L' bandwidth='125MBps' latency='50us' {link}/>\n"
            f"<route src='a' dst='b'><link_ctn id='L'/></route>\n{after}</zone></platform>"
        )
        return read_simgrid_xml(path)

    return reader


def test_attributes_name_files_beside_the_platform(read: Read) -> None:
    text = "0.5 2\n"
    described = read(
        "speed_file='s' state_file='t'",
        "bandwidth_file='b' latency_file='l' state_file='o'",
        s=text,
        t=text,
        b=text,
        l=text,
        o=text,
    )
    assert isinstance(described.zone, FullZone)
    host, link = described.zone.parts[0], described.zone.parts[2]
    profile = Profile(((0.5, 2.0),))
    assert isinstance(host, Host)
    assert isinstance(link, Link)
    assert (host.speed_profile, host.state_profile) == (profile, profile)
    assert (link.bandwidth_profile, link.latency_profile, link.state_profile) == (profile, profile, profile)


def test_availability_is_a_speed(read: Read) -> None:
    described = read("availability_file='s'", s="0.5 2")
    assert isinstance(described.zone, FullZone)
    assert described.zone.parts[0] == Host("a", 1e9, speed_profile=Profile(((0.5, 2.0),)))


@pytest.mark.parametrize(
    ("kind", "what", "name"),
    [
        ("kind='SPEED'", Changing.SPEED, "a"),
        ("kind='HOST_AVAIL'", Changing.HOST_IS_ON, "a"),
        ("", Changing.HOST_IS_ON, "a"),
        ("kind='LINK_AVAIL'", Changing.LINK_IS_ON, "L"),
        ("kind='BANDWIDTH'", Changing.BANDWIDTH, "L"),
        ("kind='LATENCY'", Changing.LATENCY, "L"),
    ],
)
def test_a_trace_is_connected_wherever_it_stands(read: Read, kind: str, what: Changing, name: str) -> None:
    connect = f"<trace_connect {kind} trace='t' element='{name}'/>"
    described = read(after=f"{connect}<trace id='t' periodicity='2'>0.5 2\n1 0.25</trace>")
    assert described.connections == (ProfileConnection(what, name, Profile(((0.5, 2.0), (1.0, 0.25)), 2.0)),)
    described.build()


def test_the_period_of_a_trace_of_a_file_is_ignored_with_a_warning(read: Read) -> None:
    trace = "<trace id='t' file='f' periodicity='2'/><trace_connect kind='SPEED' trace='t' element='a'/>"
    with pytest.warns(PlatformWarning, match="'periodicity' is for lines inside"):
        described = read(after=trace, f="0.5 2")
    assert described.connections[0].profile == Profile(((0.5, 2.0),))


@pytest.mark.parametrize(
    ("host", "after", "message"),
    [
        ("speed_file='gone'", "", r"machine.xml:2: <host id='a'>: cannot read profile '.*gone': No such file"),
        ("speed_file='s'", "", r"/s:2: '1 x' is neither"),
        ("speed_file='b'", "", r"/b: at 0 s the value is -1"),
        ("speed_file='g' availability_file='s'", "", r"attribute 'availability_file': another one gives a profile"),
        ("", "<trace id='t'>0 1</trace><trace id='t'>0 1</trace>", r"<trace id='t'>: it is declared twice"),
        ("", "<trace id='t'>0 1\n\nx</trace>", r"machine.xml:8: 'x' is neither"),
        ("", "<trace id='t' file='g'>0 1</trace>", r"it names a file and has lines of its own"),
        ("", "<trace id='t' periodicity='1s'>0 1</trace>", r"attribute 'periodicity': '1s' is no number of seconds"),
        ("", "<trace_connect trace='t' element='a'/>", r"machine.xml:6: <trace_connect>: unknown trace 't'"),
        ("", "<trace_connect kind='POWER' trace='t' element='a'/>", r"attribute 'kind': 'POWER' is none of"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_profile_is_told_with_its_place(read: Read, host: str, after: str, message: str) -> None:
    with pytest.raises(PlatformError, match=message):
        read(host, after=after, s="0 1\n1 x", b="0 -1", g="0 1").build()


def test_a_peer_has_the_profiles_of_a_host(tmp_path: Path) -> None:
    peers = "".join(
        f"<peer id='{name}' speed='1Gf' bw_in='1GBps' bw_out='1GBps' coordinates='0 0 1' {profile}/>"
        for name, profile in (("a", "speed_file='s'"), ("b", "availability_file='s'"), ("c", "state_file='t'"))
    )
    (tmp_path / "s").write_text("0.5 0.5")
    (tmp_path / "t").write_text("2 0")
    path = tmp_path / "machine.xml"
    path.write_text(f"<platform version='4.1'><zone id='z' routing='Vivaldi'>{peers}</zone></platform>")
    assert finish_s(read_simgrid_xml(path), "all:execute,1e9", 3) == pytest.approx([1.5, 1.5, 1.0])
    with pytest.raises(MachineFailure, match="host 'c' is off, and rank 2 lives on it"):
        finish_s(read_simgrid_xml(path), "all:execute,3e9", 3)


def test_a_cluster_has_no_profile_of_its_own(tmp_path: Path) -> None:
    cluster = "<cluster id='k' prefix='n' suffix='' radical='0-3' speed='1Gf' bw='1GBps' lat='1us' speed_file='f'/>"
    (tmp_path / "machine.xml").write_text(f"<platform version='4.1'>{cluster}</platform>")
    with pytest.raises(PlatformError, match="unknown attribute 'speed_file'"):
        read_simgrid_xml(tmp_path / "machine.xml")


def test_a_trace_may_stand_outside_of_all_zones(tmp_path: Path) -> None:
    cluster = "<cluster id='k' prefix='n' suffix='' radical='0-3' speed='1Gf' bw='1GBps' lat='1us'/>"
    connected = "<trace id='t'>0 0.5</trace><trace_connect kind='SPEED' trace='t' element='n1'/>"
    (tmp_path / "machine.xml").write_text(f"<platform version='4.1'>{cluster}{connected}</platform>")
    assert finish_s(read_simgrid_xml(tmp_path / "machine.xml"), "all:execute,1e9") == pytest.approx([1.0, 2.0])
