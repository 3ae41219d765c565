"""Profile of a run's time and bytes: by call site, by rank, by pair of ranks."""

from __future__ import annotations

import json
import math
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from smpy.compute.clock.burst_spread import Spread
from smpy.records.computing_lines import ComputingLine, sites_by_line
from smpy.records.profile import KINDS, LATE, SIZES_BYTES, CallSite, LinkLoad, MessagePairs, RunProfile
from smpy.records.profile_text import highlights, tables

LATE_S = 0.25
HEAD = """import time
import numpy as np
from mpi4py import MPI
comm = MPI.COMM_WORLD
big, small = np.zeros(10**6), np.zeros(1)
"""
LATE_SENDER = (
    HEAD + "if comm.rank == 0:\n    time.sleep(0.25)\n    comm.Send(small, 1)\nelse:\n    comm.Recv(small, 0)\n"
)
LATE_RECEIVER = HEAD + "if comm.rank == 0:\n    comm.Send(big, 1)\nelse:\n    time.sleep(0.25)\n    comm.Recv(big, 0)\n"
LATE_MEMBER = HEAD + "if comm.rank == 2:\n    time.sleep(0.25)\ncomm.Barrier()\n"
APPS = Path(__file__).parents[2] / "apps"
PROGRAMS = [
    ("ring.py", 7, ()),
    ("pingpong.py", 2, ()),
    ("jacobi.py", 6, ("--n", "24", "--iterations", "5")),
    ("jacobi3d.py", 8, ("--n", "8", "--iterations", "3")),
    ("conjugate_gradient.py", 5, ("--n", "12")),
    ("fft2d.py", 4, ("--n", "16", "--m", "16")),
    ("master_worker.py", 5, ("--limit", "3000", "--tasks", "32")),
    ("nbody.py", 4, ()),
    ("hpl.py", 6, ("--n", "60", "--nb", "8", "--p", "2", "--q", "3", "--skeleton")),
]


def profile(ran) -> RunProfile:
    assert ran.error == ""
    found = ran.outcome.summary.profile
    assert isinstance(found, RunProfile)
    return found


def spent(found: RunProfile, call: str, kind: str) -> float:
    at = KINDS.index(kind)
    return sum(it.spent_s[at] for it in found.by_site() if it.site.call == call)


def rank_kept_waiting_longest(found: RunProfile) -> int:
    return max(range(len(found.kept_waiting_s)), key=found.kept_waiting_s.__getitem__)


@pytest.mark.parametrize(("program", "n_ranks", "args"), PROGRAMS)
def test_what_each_rank_spent_adds_up_to_the_makespan_and_what_was_sent_was_received(
    emulated: Callable, program: str, n_ranks: int, args: tuple[str, ...]
):
    ran = emulated(None, n_ranks, program=str(APPS / program), args=args)
    found, summary = profile(ran), ran.outcome.summary
    assert [math.fsum(row) for row in found.by_rank()] == pytest.approx([summary.makespan_s] * n_ranks, rel=1e-9)
    assert sum(messages for _, _, messages, _ in found.pairs) == summary.messages
    assert (
        sum(nbytes for *_, nbytes in found.pairs) == summary.bytes == sum(found.sent_bytes) == sum(found.received_bytes)
    )
    assert sum(map(sum, found.messages_of_size)) == summary.messages
    waited_s = sum(sum(found.spent_s[KINDS.index(kind)]) for kind in ("late_sender", "late_receiver", "late_members"))
    assert sum(found.kept_waiting_s) == pytest.approx(waited_s, rel=1e-9)


@pytest.mark.parametrize(
    ("source", "call", "kind", "line", "who"),
    [
        (LATE_SENDER, "Recv", "late_sender", 10, 0),
        (LATE_RECEIVER, "Send", "late_receiver", 7, 1),
        (LATE_MEMBER, "Barrier", "late_members", 8, 2),
    ],
)
def test_who_is_late_is_told_where_others_waited(
    emulated: Callable, source: str, call: str, kind: str, line: int, who: int
):
    found = profile(emulated(source, 3 if who == 2 else 2))
    assert spent(found, call, kind) == pytest.approx(LATE_S * (2 if who == 2 else 1), rel=1e-3)
    assert rank_kept_waiting_longest(found) == who
    assert {it.site.line for it in found.by_site() if it.site.call == call} == {f"program.py:{line}"}
    assert spent(found, "sleep", "sleep") == LATE_S


def test_a_call_inside_another_belongs_to_that_one(emulated: Callable):
    source = HEAD + "comm.allreduce(comm.rank)\nif comm.rank:\n    comm.send(b'x', 0)\nelse:\n    comm.recv()\n"
    found = profile(emulated(source, 2))
    assert [it.site.call for it in found.by_site() if it.sent_bytes] == ["allreduce", "send"]
    assert {it.site.call: it.count for it in found.by_site()} == {"allreduce": 2, "send": 1, "recv": 1}


def test_a_call_that_the_compiled_surface_hands_over_is_one_call(emulated: Callable):
    source = HEAD + "comm.Send(small, MPI.PROC_NULL)\ncomm.Sendrecv(small, comm.rank, 0, small.copy(), comm.rank)\n"
    assert {it.site.call: it.count for it in profile(emulated(source, 2)).by_site()} == {"Send": 2, "Sendrecv": 2}


def test_calls_are_told_apart_by_line_and_communicator(emulated: Callable):
    source = HEAD + "half = comm.Split(comm.rank % 2)\nfor c in (comm, half):\n    c.Barrier()\ncomm.Barrier()\n"
    barriers = [it for it in profile(emulated(source, 4)).by_site() if it.site.call == "Barrier"]
    found = sorted((it.site.line, it.site.comm_size, it.count) for it in barriers)
    assert found == [("program.py:8", 2, 2), ("program.py:8", 2, 2), ("program.py:8", 4, 4), ("program.py:9", 4, 4)]


def test_calls_are_counted_at_their_lines_in_any_order(emulated: Callable):
    source = HEAD + (
        "import random\n"
        "other, draw = comm.Dup(), random.Random(1)\n"
        "for _ in range(60):\n"
        "    which = draw.randrange(3)\n"
        "    if which == 0:\n        comm.Barrier()\n"
        "    for each in (comm, other)[: which]:\n        each.Barrier()\n"
        "    getattr(comm, ('Barrier', 'barrier')[which % 2])()\n"
    )
    draw = random.Random(1)
    expected: Counter[tuple[str, str, bool]] = Counter()
    for which in (draw.randrange(3) for _ in range(60)):
        expected["Barrier", "program.py:11", False] += 2 * (which == 0)
        expected["Barrier", "program.py:13", False] += 2 * (which >= 1)
        expected["Barrier", "program.py:13", True] += 2 * (which == 2)
        expected[("Barrier", "barrier")[which % 2], "program.py:14", False] += 2
    counts: Counter[tuple[str, str, bool]] = Counter()
    for each in profile(emulated(source, 2)).by_site():
        if each.site.call.lower() == "barrier":
            counts[each.site.call, each.site.line, each.site.comm > 0] += each.count
    assert counts == +expected


def test_messages_are_counted_by_size_and_pair(emulated: Callable):
    sizes = [0, 1, 3, 4, 15, 16, 10**6]
    source = HEAD + f"for n in {sizes}:\n    if comm.rank == 0:\n        comm.Send(np.zeros(n, 'B'), 1)\n"
    source += "    else:\n        comm.Recv(np.zeros(n, 'B'), 0)\n"
    found = profile(emulated(source, 2))
    assert list(found.pairs) == [(0, 1, len(sizes), sum(sizes))]
    (send,) = (it for it in found.by_site() if it.site.call == "Send")
    expected = [
        sum(low <= n < high for n in sizes) for low, high in zip(SIZES_BYTES, [*SIZES_BYTES[1:], 1e99], strict=True)
    ]
    assert send.messages_of_size == expected


def test_computing_is_the_kernels_that_is_named_and_else_the_programs_own(emulated: Callable):
    source = (
        HEAD + "import smpy\n\n@smpy.kernel(flop='2*n')\ndef relax(n):\n    pass\n\nrelax(10**6)\nsmpy.execute(10**6)\n"
    )
    source += "smpy.blas.dgemm(1.0, np.eye(100), np.eye(100))\n"
    found = profile(emulated(source, 1, compute="models"))
    assert {it.site.call for it in found.by_site() if it.total_s} >= {"relax", "execute", "dgemm"}
    assert spent(found, "relax", "compute") == pytest.approx(2 * spent(found, "execute", "compute"))


def test_what_the_program_computes_itself_stands_at_the_line_that_ends_it(emulated: Callable):
    source = HEAD + "began = time.process_time\nsum(range(2_000_000))\ncomm.Barrier()\n"
    own = [it for it in profile(emulated(source, 1, compute="measured")).by_site() if not it.site.call]
    assert own[0].site.line == "program.py:8"
    assert own[0].spent_s[KINDS.index("compute")] == own[0].total_s > 1e-3


def test_a_run_that_stops_early_has_a_profile_up_to_there(emulated: Callable):
    ran = emulated(HEAD + "if comm.rank == 0:\n    time.sleep(1)\n    comm.Abort(3)\ncomm.Recv(small, 0)\n", 2)
    found = ran.outcome.summary.profile
    assert spent(found, "Recv", "late_sender") == pytest.approx(1)
    assert [math.fsum(row) for row in found.by_rank()] == pytest.approx([1, 1], rel=1e-9)


def test_the_profile_is_in_the_json_and_its_tables_are_printed_on_demand(smpy_run: Callable, tmp_path: Path):
    ran = smpy_run(LATE_SENDER, 2, "--compute", "none", "--json", "out.json", "--profile")
    record = json.loads((tmp_path / "out.json").read_text())["profile"]
    assert record["kinds"] == list(KINDS)
    assert record["sites"][0]["line"] in ("program.py:7", "program.py:10")
    by_rank: dict[int, float] = defaultdict(float)
    for row, rank in enumerate(record["calls"]["rank"]):
        by_rank[rank] += sum(column[row] for column in record["calls"]["spent_s"])
    assert by_rank[1] == pytest.approx(0.25, rel=1e-3)
    assert record["messages"] == {"of": "ranks", "source": [0], "target": [1], "messages": [1], "bytes": [8]}
    assert all(title in ran.err for title in ("All ranks, by call site", "By rank", "Communication matrix"))
    assert "costs most" in ran.err
    assert "waits due to   rank 0 most: 100.0%" in ran.err


N = 10**6 - 16  # with its envelope a message of 1 MB
TWO_HOSTS = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1"><zone id="z" routing="Full">
<host id="a" speed="1Gf" core="2"/><host id="b" speed="1Gf" core="2"/>
<link id="wire" bandwidth="100MBps" latency="1ms"/><link id="unused" bandwidth="1MBps" latency="1s"/>
<route src="a" dst="b"><link_ctn id="wire"/></route></zone></platform>
"""


@pytest.mark.parametrize(("sizes", "busy_s"), [((N, N), 0.02), ((N, 0), 0.01), ((N, 3 * 10**6 - 16), 0.04)])
def test_a_link_is_busy_and_saturated_while_messages_share_it(
    emulated: Callable, sizes: tuple[int, int], busy_s: float
):
    source = HEAD + f"data = np.zeros({sizes}[comm.rank % 2], 'B')\nif comm.rank < 2 and data.size:\n"
    source += "    comm.Send(data, comm.rank + 2)\nelif data.size:\n    comm.Recv(data, comm.rank - 2)\n"
    options = (("network/model", "raw"), ("network/crosstraffic", "0"), ("network/TCP-gamma", "0"))
    ran = emulated(source, 4, files={"two.xml": TWO_HOSTS}, platform="two.xml", ranks_per_host=2, options=options)
    (wire,) = profile(ran).links
    assert (wire.link, wire.bytes, wire.most_flows) == ("wire", sum(sizes), sum(map(bool, sizes)))
    assert (wire.busy_s, wire.saturated_s) == pytest.approx((busy_s, busy_s), rel=1e-9)


def test_a_link_that_has_room_for_all_its_messages_is_busy_and_not_saturated(emulated: Callable):
    source = (
        HEAD
        + f"if comm.rank == 0:\n    comm.Send(np.zeros({N}, 'B'), 1)\nelse:\n    comm.Recv(np.zeros({N}, 'B'), 0)\n"
    )
    thin = TWO_HOSTS.replace('<link_ctn id="wire"/>', '<link_ctn id="wire"/><link_ctn id="thin"/>')
    thin = thin.replace('<link id="unused"', '<link id="thin" bandwidth="10MBps" latency="1ms"/><link id="unused"')
    options = (("network/model", "raw"), ("network/crosstraffic", "0"), ("network/TCP-gamma", "0"))
    ran = emulated(source, 2, files={"two.xml": thin}, platform="two.xml", options=options)
    found = {it.link: it for it in profile(ran).links}
    assert found["thin"].saturated_s == pytest.approx(0.1, rel=1e-9)
    assert found["wire"].busy_s == pytest.approx(0.1, rel=1e-9)
    assert found["wire"].saturated_s == 0


def test_a_link_whose_messages_wait_for_another_one_is_not_saturated(emulated: Callable):
    """Two hosts send to a third, each over a link of its own and a common one of the same bandwidth."""
    three = """<?xml version='1.0'?>
    <!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
    <platform version="4.1"><zone id="z" routing="Full">
    <host id="a" speed="1Gf"/><host id="b" speed="1Gf"/><host id="c" speed="1Gf"/>
    <link id="from_a" bandwidth="100MBps" latency="1ms"/><link id="from_b" bandwidth="100MBps" latency="1ms"/>
    <link id="to_c" bandwidth="100MBps" latency="1ms"/>
    <route src="a" dst="c"><link_ctn id="from_a"/><link_ctn id="to_c"/></route>
    <route src="b" dst="c"><link_ctn id="from_b"/><link_ctn id="to_c"/></route></zone></platform>
    """
    source = HEAD + f"data = np.zeros({N}, 'B')\nif comm.rank < 2:\n    comm.Send(data, 2)\nelse:\n"
    source += "    MPI.Request.Waitall([comm.Irecv(data, 0), comm.Irecv(data.copy(), 1)])\n"
    options = (("network/model", "raw"), ("network/crosstraffic", "0"), ("network/TCP-gamma", "0"))
    ran = emulated(source, 3, files={"three.xml": three.strip()}, platform="three.xml", options=options)
    found = {it.link: (it.busy_s, it.saturated_s) for it in profile(ran).links}
    assert found["to_c"] == pytest.approx((0.02, 0.02), rel=1e-9)
    assert found["from_a"] == found["from_b"] == pytest.approx((0.02, 0.0), rel=1e-9)


def test_the_computing_of_a_hosts_ranks_is_added_up(emulated: Callable):
    source = HEAD + "import smpy\nsmpy.execute(1e9 * (1 + comm.rank))\n"
    ran = emulated(source, 4, files={"two.xml": TWO_HOSTS}, platform="two.xml", ranks_per_host=2)
    assert profile(ran).by_host() == pytest.approx({"a": 3.0, "b": 7.0})


@pytest.mark.slow
def test_beyond_a_million_pairs_of_ranks_messages_are_counted_by_pair_of_hosts(emulated: Callable):
    source = HEAD + "comm.Alltoall(np.zeros(comm.size, 'B'), np.zeros(comm.size, 'B'))\n"
    config = {"platform": "fat-tree hosts=11 cores=100", "algorithms": (("alltoall", "linear"),)}
    ran = emulated(source, 1100, **config)
    found = profile(ran)
    assert found.pairs_are_of_hosts
    assert {source for source, *_ in found.pairs} == set(range(11))
    assert sum(messages for _, _, messages, _ in found.pairs) == ran.outcome.summary.messages
    all_of_them = profile(emulated(source, 1100, **config, profile_matrix=True))
    assert not all_of_them.pairs_are_of_hosts
    assert len(all_of_them.pairs) > 10**6
    assert sum(nbytes for *_, nbytes in all_of_them.pairs) == sum(nbytes for *_, nbytes in found.pairs)


# ---- as text ----


def of_rows(rows: list[tuple[int, int, list[float]]], finish_s: list[float]) -> RunProfile:
    """A profile of (rank, site, seconds by kind)."""
    n = len(rows)
    return RunProfile(
        sites=[CallSite("Recv", "a.py:1"), CallSite("", "a.py:2"), CallSite("Bcast", "")],
        rank=[rank for rank, _, _ in rows],
        site=[site for _, site, _ in rows],
        count=[1] * n,
        spent_s=[[seconds[kind] for _, _, seconds in rows] for kind in range(len(KINDS))],
        sent_bytes=[0] * n,
        received_bytes=[0] * n,
        messages_of_size=[[0] * n for _ in SIZES_BYTES],
        kept_waiting_s=[0.0] * len(finish_s),
        finish_s=finish_s,
        makespan_s=max(finish_s),
        pairs=MessagePairs(),
        host_of_rank=["h"] * len(finish_s),
    )


@settings(deadline=None)
@example([(0, 0, [0.0] * (len(KINDS) - 1) + [5e-324])])  # a share of it is nothing
@given(
    st.lists(
        st.tuples(
            st.integers(0, 3),
            st.integers(0, 2),
            st.lists(st.floats(0, 1e3), min_size=len(KINDS), max_size=len(KINDS)),
        ),
        max_size=12,
    )
)
def test_any_profile_has_text_and_json(rows: list[tuple[int, int, list[float]]]):
    found = of_rows(rows, [0.0, 1.0, 2.0, 3.0])
    assert all(len(topic) <= 14 for topic, _ in highlights(found))
    assert tables(found).startswith("All ranks, by call site")
    record = json.loads(json.dumps(found.to_record()))
    totals = [total for column in record["calls"]["spent_s"] for total in column]
    assert sum(totals) == pytest.approx(sum(sum(seconds) for _, _, seconds in rows), rel=1e-9, abs=1e-12)


def test_nothing_stands_out_where_no_time_passes():
    assert highlights(of_rows([(0, 0, [0.0] * len(KINDS))], [0.0])) == []


def test_large_profiles_leave_the_rows_of_ranks_out_of_the_json():
    seconds = [1.0] + [0.0] * (len(KINDS) - 1)
    record = of_rows([(0, 0, seconds)] * 100_001, [1.0]).to_record()
    assert record["calls"] is None
    assert record["sites"][0]["spent_s"][0] == 100_001


def waits_of(caused_waits_s: list[float], relative: float | None, largest_s: float = 0.0) -> dict[str, str]:
    """Lines of a summary: four ranks computed a second each, and waited a second for each other."""
    seconds = [1.0] + [0.0] * (len(KINDS) - 1)
    waits = [0.0] * len(KINDS)
    waits[KINDS.index("late_sender")] = sum(caused_waits_s)
    profile = of_rows([*((rank, 0, seconds) for rank in range(4)), (0, 0, waits)], [1.0 + sum(caused_waits_s)] * 4)
    sites = [CallSite("", "heat.py:55")]
    spread = None if relative is None else Spread(relative, 100, largest_s)
    return dict(highlights(replace(profile, sites=sites, caused_waits_s=caused_waits_s, burst_spread=spread)))


@pytest.mark.parametrize(("caused_s", "largest_s"), [(0.3, 0.0), (0.79, 0.0), (0.9, 0.04)])
def test_no_rank_is_blamed_for_waits_that_noise_explains(caused_s: float, largest_s: float):
    lines = waits_of([0.1, caused_s, 0.0, 0.05], 0.2, largest_s)
    assert lines["waits due to"] == "no rank more than noise of this machine explains"
    assert lines["noise"] == "equal computing differs by up to 20.0% (95 % of pairs)"


@pytest.mark.parametrize("order", [1, -1])
def test_of_ranks_that_cause_as_many_waits_the_first_is_named_and_the_others_are_counted(order: int):
    lines = waits_of([0.0, *[0.3, 0.3 * (1 + 1e-12)][::order], 0.2], None)
    assert lines["waits due to"].startswith("rank 1 most (and 1 more as much): 37.5% of what ranks wait for others")


SLOW = """
import numpy as np, smpy
from mpi4py import MPI
comm = MPI.COMM_WORLD
for _ in range(3):
    smpy.execute(4e9 if comm.rank in {slow} else 1e9)
    comm.Allreduce(np.ones(1), np.zeros(1))
"""


@pytest.mark.parametrize(("slow", "words"), [((1, 3), ", and so is rank"), ((1, 2, 4), ", and so are 2 other ranks")])
def test_ranks_that_are_as_slow_as_the_one_that_is_named_are_told(emulated, slow: tuple[int, ...], words: str):
    ran = emulated(SLOW.replace("{slow}", str(slow)), 6, compute="none")
    told = dict(highlights(profile(ran)))["waits due to"]
    named, others = re.fullmatch(r"rank (\d) most: .* longer in execute program.py:6(, .*)", told).groups()
    assert int(named) in slow
    assert others.startswith(words)
    assert len(slow) > 2 or {int(named), int(others[-1])} == set(slow)


def test_of_ranks_that_differ_by_rounding_alone_the_first_is_the_slowest():
    seconds = [[s] + [0.0] * (len(KINDS) - 1) for s in (0.5, 1.0, 1.0 + 1e-15, 0.7)]
    found = of_rows([(rank, 0, each) for rank, each in enumerate(seconds)], [1.0] * 4)
    assert found.by_site()[0].slowest == 1


@pytest.mark.parametrize(("caused_s", "relative"), [(0.81, 0.2), (0.3, None), (0.3, 0.0)])
def test_a_rank_is_blamed_for_waits_beyond_noise(caused_s: float, relative: float | None):
    lines = waits_of([0.0, caused_s, 0.0, 0.0], relative)
    assert lines["waits due to"].startswith("rank 1 most: 100.0%")
    assert ("noise" in lines) == (relative is not None)


def test_the_place_where_a_rank_is_longer_than_others_is_named():
    seconds, more, alike = ([each] + [0.0] * (len(KINDS) - 1) for each in (1.0, 3.0, 9.0))
    waits = [6.0 if kind == LATE[0] else 0.0 for kind in KINDS]
    rows = [(0, 0, waits), *((rank, 1, more if rank == 2 else seconds) for rank in range(4))]
    rows += [(rank, 2, alike) for rank in range(4)]  # the longest, but equally long on all ranks
    rows += [(2, 2, [30.0 if kind == "transfer" else 0.0 for kind in KINDS])]  # transfers are not the rank's own work
    profile = replace(of_rows(rows, [18.0] * 4), caused_waits_s=[0.0, 0.0, 6.0, 0.0])
    told = "rank 2 most: 100.0% of what ranks wait for others"
    assert dict(highlights(profile))["waits due to"] == f"{told}; it is 2 s longer in user code up to a.py:2"
    lines = [ComputingLine("a.py:2", "sweep", "a.py:7", 0.75, 3), ComputingLine("a.py:2", "rest", "a.py:9", 0.25, 1)]
    sampled = dict(highlights(replace(profile, computing_lines=lines)))["waits due to"]
    assert sampled == f"{told}; it is 1.5 s longer in sweep() a.py:7"
    pipeline = replace(profile, caused_waits_s=[0.0, 0.0, 60.0, 0.0])  # late, but no longer
    assert "longer" not in dict(highlights(pipeline))["waits due to"]


HOT = LinkLoad("wire", 7, 1e6, 1.0, 0.5)


@pytest.mark.parametrize(
    ("link", "is_hot"),
    [
        (HOT, True),
        (HOT._replace(most_flows=1), False),  # its bandwidth is too low, but no messages share it
        (HOT._replace(is_shared=False), False),
        (HOT._replace(saturated_s=0.05), False),
    ],
)
def test_a_link_that_messages_share_and_saturate_is_hot(link: LinkLoad, is_hot: bool):
    profile = replace(
        of_rows([(0, 0, [1.0] * len(KINDS))], [1.0]), links=[link._replace(link="a", saturated_s=0.0), link]
    )
    lines = highlights(profile)
    assert ("hot link", "wire, saturated 50.0% of the time by up to 7 messages at once") in lines or not is_hot
    assert any(line.startswith("contention in the network: ") for _, line in lines) is is_hot
    assert ("Links, saturated by several messages at once: contention in the network\n" in tables(profile)) is is_hot


def test_a_fatpipe_is_shared_by_no_messages(emulated: Callable):
    two = TWO_HOSTS.replace('latency="1ms"/>', 'latency="1ms" sharing_policy="FATPIPE"/>', 1)
    source = HEAD + f"data = np.zeros({N}, 'B')\nif comm.rank < 2:\n    comm.Send(data, comm.rank + 2)\n"
    source += "else:\n    comm.Recv(data, comm.rank - 2)\n"
    options = {"platform": "two.xml", "ranks_per_host": 2, "options": (("network/crosstraffic", "0"),)}
    ran = emulated(source, 4, files={"two.xml": two}, **options)
    (wire,) = profile(ran).links
    assert (wire.most_flows, wire.is_shared) == (2, False)


def test_computing_without_samples_says_which_call_ended_it():
    assert waits_of([0.0] * 4, None)["costs most"] == "100.0% user code up to heat.py:55"


def test_lines_of_one_function_are_told_together():
    seconds = [1.0] + [0.0] * (len(KINDS) - 1)
    lines = [
        ComputingLine("heat.py:55", "Grid.sweep", "heat.py:31", 0.5, 5),
        ComputingLine("heat.py:55", "busy", "heat.py:7", 0.3, 3),
        ComputingLine("heat.py:55", "Grid.sweep", "heat.py:32", 0.2, 2),
    ]
    profile = replace(of_rows([(0, 0, seconds)], [1.0]), sites=[CallSite("", "heat.py:55")], computing_lines=lines)
    assert [text for _, text in highlights(profile)] == [
        "70.0% user code in Grid.sweep() heat.py:31: line 31 71%, line 32 29%",
        "30.0% user code in busy() heat.py:7",
    ]
    table = tables(profile).split("\n\n")[1].splitlines()
    assert table[0] == "User code of all ranks, by line (sampled)"
    assert table[2].split() == ["500", "ms", "50.0%", "Grid.sweep()", "heat.py:31"]
    assert [row["seconds"] for row in profile.to_record()["computing_lines"]] == [0.5, 0.3, 0.2]
    assert [site["call"] for site in sites_by_line(profile.to_record())] == ["Grid.sweep()", "busy()", "Grid.sweep()"]
