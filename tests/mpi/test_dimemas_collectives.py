"""Collectives that Dimemas' network times as a whole take what its formulas say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from smpy.collectives.choice import selection_on
from smpy.collectives.world_schedules import choose
from smpy.engine.running import current
from smpy.errors import PlatformError
from smpy.mpi import MPI
from smpy.platforms import read_machine
from smpy.platforms.models.collective_models import COLLECTIVE_MODELS
from smpy.platforms.models.dimemas import Dimemas
from smpy.platforms.own_format.writing import write_toml
from smpy.records.trace import Trace
from smpy.replay import replay
from tests.conftest import Emulated
from tests.mpi.conftest import World, run_world

TIMED = COLLECTIVE_MODELS[:-1]
N = 1000


class Medium(NamedTuple):
    """Latency and bandwidth, and how often the phases of a call take them."""

    latency_s: float
    bandwidth_bytes_per_s: float

    def phases_s(self, times: float, sent: int, received: int) -> float:
        return times * (2 * self.latency_s + (sent + received) / self.bandwidth_bytes_per_s)


BETWEEN, WITHIN = Medium(10e-6, 1e8), Medium(1e-6, 1e9)
NETWORK = Dimemas(
    **BETWEEN._asdict(),
    **{f"local_{name}": number for name, number in WITHIN._asdict().items()},
    eager_bytes=65536.0,
)


def times(model: str, n: int, buses: int = 0) -> int:
    """Messages that follow each other in a phase among n ends."""
    if model == "log":
        rounds = [range(2**i - 1, n - 1, 2 ** (i + 1)) for i in range((n - 1).bit_length())]
        return sum(ceil(len(messages) / buses) if buses else 1 for messages in rounds)
    return {"none": 0, "const": 1, "linear": n - 1}[model]


def call_s(model: str, sent: int, received: int, *, hosts: int, per_host: int = 1, buses: int = 0) -> float:
    """Time of a call after its last rank has come."""
    between_s = BETWEEN.phases_s(times(model, hosts, buses), sent, received)
    return between_s + WITHIN.phases_s(times(model, per_host), sent, received)


def run(
    model: str, hosts: int, rank_main: Callable[[int], Any], *, cores: int = 1, n: int = 0, **changes: Any
) -> World:
    """Run `n` ranks, which fill hosts one after the other; without it as many as cores."""
    n_ranks = n or hosts * cores
    machine = read_machine(f"flat hosts={hosts} cores={cores}", n_ranks)
    network = replace(NETWORK, collective_model=COLLECTIVE_MODELS.index(model), **changes)
    models = replace(machine.models, network=network)
    return run_world(
        *(n_ranks, rank_main),
        machine=replace(machine, models=models),
        prepare=lambda engine: choose(engine, selection_on(models)),
    )


def close(seconds: float) -> Any:
    return pytest.approx(seconds, rel=1e-9, abs=1e-15)


def filled(n_bytes: int = N) -> np.ndarray[Any, Any]:
    return np.ones(n_bytes, "u1")


def sizes(comm: MPI.Intracomm) -> list[int]:
    return [100 * (1 + rank) for rank in range(comm.size)]


CALLS: dict[str, tuple[Callable[[MPI.Intracomm], Any], Callable[[int], tuple[int, int]]]] = {
    "barrier": (lambda comm: comm.Barrier(), lambda _: (0, 0)),
    "bcast": (lambda comm: comm.Bcast(filled(), 1), lambda _: (N, 0)),
    "gather": (lambda comm: comm.Gather(filled(), filled(comm.size * N), 1), lambda p: (N, p * N)),
    "scatter": (lambda comm: comm.Scatter(filled(comm.size * N), filled(), 1), lambda p: (p * N, N)),
    "allgather": (lambda comm: comm.Allgather(filled(), filled(comm.size * N)), lambda p: (N, p * N)),
    "alltoall": (lambda comm: comm.Alltoall(filled(comm.size * N), filled(comm.size * N)), lambda p: (p * N, p * N)),
    "allreduce": (lambda comm: comm.Allreduce(filled(), filled()), lambda _: (N, N)),
    "scan": (lambda comm: comm.Scan(filled(), filled()), lambda _: (N, N)),
    "exscan": (lambda comm: comm.Exscan(filled(), filled()), lambda _: (N, N)),
    "reduce_scatter_block": (
        lambda comm: comm.Reduce_scatter_block(filled(comm.size * N), filled()),
        lambda p: (p * N, N),
    ),
    "reduce_scatter": (
        lambda comm: comm.Reduce_scatter(filled(sum(sizes(comm))), filled(sizes(comm)[comm.rank]), sizes(comm)),
        lambda p: (50 * p * (p + 1), 100 * p),
    ),
    "gatherv": (
        lambda comm: comm.Gatherv(filled(sizes(comm)[comm.rank]), (filled(sum(sizes(comm))), sizes(comm)), 1),
        lambda p: (200, 50 * p * (p + 1)),
    ),
    "scatterv": (
        lambda comm: comm.Scatterv((filled(sum(sizes(comm))), sizes(comm)), filled(sizes(comm)[comm.rank]), 1),
        lambda p: (50 * p * (p + 1), 200),
    ),
    "allgatherv": (
        lambda comm: comm.Allgatherv(filled(sizes(comm)[comm.rank]), (filled(sum(sizes(comm))), sizes(comm))),
        lambda p: (100 * p, 50 * p * (p + 1)),
    ),
    "alltoallv": (
        lambda comm: comm.Alltoallv(
            (filled(comm.size * sizes(comm)[comm.rank]), [sizes(comm)[comm.rank]] * comm.size),
            (filled(sum(sizes(comm))), sizes(comm)),
        ),
        lambda p: (100 * p * p, 50 * p * (p + 1)),
    ),
}
"""Calls of a rank, and the bytes sent and received that the formula takes: the root's, or the most of any rank."""


@pytest.mark.parametrize("model", TIMED)
@pytest.mark.parametrize("name", CALLS)
def test_a_call_takes_its_fan_in_and_its_fan_out_after_the_last_rank_has_come(name: str, model: str) -> None:
    call, bytes_of = CALLS[name]

    def main(rank: int) -> None:
        current().sleep(1e-3 * (rank == 2))
        call(MPI.COMM_WORLD)

    assert run(model, 5, main).finish_s == [close(1e-3 + call_s(model, *bytes_of(5), hosts=5))] * 5


@pytest.mark.parametrize("model", TIMED)
@pytest.mark.parametrize("buses", [0, 1, 2, 3])
@pytest.mark.parametrize("hosts", [2, 3, 7, 8, 9])
def test_buses_delay_the_rounds_of_a_tree_alone(model: str, buses: int, hosts: int) -> None:
    finish_s = run(model, hosts, lambda _: CALLS["allreduce"][0](MPI.COMM_WORLD), buses=buses).finish_s
    assert finish_s == [close(call_s(model, N, N, hosts=hosts, buses=buses))] * hosts


def test_a_tree_of_eight_on_one_bus_takes_seven_messages() -> None:
    finish_s = run("log", 8, lambda _: MPI.COMM_WORLD.Barrier(), buses=1).finish_s
    assert finish_s[0] == close(2 * 7 * 10e-6 + 0)


@pytest.mark.parametrize("model", TIMED)
@pytest.mark.parametrize(("hosts", "cores", "n"), [(3, 4, 12), (3, 4, 10), (2, 3, 3), (1, 6, 6)])
def test_ranks_of_the_fullest_host_add_phases_within_it(model: str, hosts: int, cores: int, n: int) -> None:
    finish_s = run(model, hosts, lambda _: CALLS["allreduce"][0](MPI.COMM_WORLD), cores=cores, n=n).finish_s
    between_s = BETWEEN.phases_s(times(model, ceil(n / cores)), N, N) if hosts > 1 else 0
    assert finish_s == [close(between_s + WITHIN.phases_s(times(model, min(n, cores)), N, N))] * n


def test_a_call_holds_no_bus_and_no_link() -> None:
    def main(rank: int) -> None:
        if rank < 2:
            MPI.COMM_WORLD.Sendrecv(filled(), 1 - rank, recvbuf=filled(), source=1 - rank)
        comm.Barrier()

    comm = MPI.COMM_WORLD
    barrier_s = call_s("const", 0, 0, hosts=3)
    assert run("const", 3, main).finish_s == [close(10e-6 + N / 1e8 + barrier_s)] * 3


def test_a_started_call_goes_on_beside_its_ranks_from_the_last_start() -> None:
    def main(rank: int) -> float:
        current().sleep(1e-3 * rank)
        request = MPI.COMM_WORLD.Iallreduce(filled(), filled())
        current().sleep(1e-3 * (rank == 0))
        request.Wait()
        return current().now_s

    takes_s = call_s("log", N, N, hosts=3)
    assert run("log", 3, main).finish_s == [close(2e-3 + takes_s)] * 3


def test_calls_of_one_communicator_do_not_mix() -> None:
    def main(rank: int) -> None:
        requests = [MPI.COMM_WORLD.Iallreduce(filled(n), filled(n)) for n in (1000, 5000, 2000)]
        for request in reversed(requests) if rank else requests:
            request.Wait()

    assert run("linear", 4, main).finish_s == [close(call_s("linear", 5000, 5000, hosts=4))] * 4


def test_a_part_of_the_ranks_counts_its_own_hosts() -> None:
    def main(rank: int) -> float:
        comm = MPI.COMM_WORLD.Create_group(MPI.COMM_WORLD.group.Incl([0, 1, 2, 4]))  # on three hosts
        MPI.COMM_WORLD.Barrier()
        start_s = current().now_s
        if comm != MPI.COMM_NULL:
            comm.Allreduce(filled(), filled())
            took_s.append(current().now_s - start_s)
        return 0.0

    took_s: list[float] = []
    run("linear", 4, main, cores=2)
    assert took_s == [pytest.approx(call_s("linear", N, N, hosts=3, per_host=2), rel=1e-6)] * 4


def test_a_reduce_is_a_message_from_each_rank_and_its_root_alone_waits() -> None:
    def main(rank: int) -> None:
        current().sleep(1e-3 * (rank == 2))
        MPI.COMM_WORLD.Reduce(filled(), filled(), root=0)

    finish_s = run("log", 3, main).finish_s
    assert finish_s == [close(1e-3 + 10e-6 + N / 1e8), close(10e-6), close(1e-3 + 10e-6)]


def test_results_are_those_of_any_other_algorithm() -> None:
    def main(rank: int) -> None:
        comm, taken = MPI.COMM_WORLD, np.zeros(4, "i8")
        mine = np.arange(4, dtype="i8") + rank
        comm.Allreduce(mine, taken)
        assert taken.tolist() == [6, 10, 14, 18]
        comm.Alltoall(mine, taken)
        assert taken.tolist() == [rank, rank + 1, rank + 2, rank + 3]
        comm.Scan(mine[:1], taken[:1])
        assert taken[0] == rank * (rank + 1) // 2
        comm.Reduce(mine, taken, root=3)
        assert rank != 3 or taken.tolist() == [6, 10, 14, 18]
        assert comm.allgather(rank) == [0, 1, 2, 3]
        assert comm.bcast("word" if rank == 2 else None, 2) == "word"
        request = comm.Igather(mine[:1], taken, 1)
        request.Wait()
        assert rank != 1 or taken.tolist() == [0, 1, 2, 3]

    for model in TIMED:
        run(model, 4, main)


# ---- choices, records, replays ----

ALLREDUCE = """
import numpy, time
from mpi4py import MPI
comm = MPI.COMM_WORLD
time.sleep(1e-3 * comm.rank)
comm.Allreduce(numpy.ones(1000, "u1"), numpy.zeros(1000, "u1"))
comm.Ibarrier().Wait()
"""
OPTIONS = [("dimemas.latency", "10us"), ("dimemas.bandwidth", "100MB/s")]


@pytest.fixture
def traced(emulated: Callable[..., Emulated], tmp_path: Path) -> Callable[..., Trace]:
    def here(model: str, more: str = "", **config: Any) -> Trace:
        options = [*OPTIONS, ("dimemas.collectives", model)]
        machine = read_machine("flat hosts=4 cores=1", 4, options, network="dimemas")
        ran = emulated(ALLREDUCE + more, 4, trace=tmp_path / "trace", platform=machine, **config)
        assert ran.outcome.error is None
        return Trace(tmp_path / "trace")

    return here


def algorithms_of(trace: Trace) -> dict[str, str]:
    return {row["operation"]: row["algorithm"] for row in trace.table("collectives").to_pylist()}


def test_a_trace_names_the_model_and_its_replay_takes_as_long_or_has_another_model(
    traced: Callable[..., Trace],
) -> None:
    trace = traced("log")
    assert algorithms_of(trace) == {"allreduce": "dimemas log", "ibarrier": "dimemas log"}
    assert max(replay(trace.folder).finish_s) == close(
        3e-3 + call_s("log", N, N, hosts=4) + call_s("log", 0, 0, hosts=4)
    )
    linear = replay(trace.folder, options=[("dimemas.collectives", "linear")])
    assert max(linear.finish_s) == close(3e-3 + call_s("linear", N, N, hosts=4) + call_s("linear", 0, 0, hosts=4))
    schedules = replay(trace.folder, options=[("dimemas.collectives", "schedules")])
    assert schedules.messages > 0
    assert replay(trace.folder).messages == 0


def test_a_forced_algorithm_and_a_hint_of_a_table_go_before_the_model(traced: Callable[..., Trace]) -> None:
    hint = """
other = comm.Dup_with_info(MPI.Info.Create({"smpy_collectives": "mpich-4"}))
other.Allgather([b"1", MPI.BYTE], [bytearray(4), MPI.BYTE])
"""
    algorithms = algorithms_of(traced("log", hint, algorithms=(("allreduce", "ring"),)))
    assert algorithms.pop("allgather") != "dimemas log"
    assert algorithms["allreduce"] == "ring"
    assert algorithms["ibarrier"] == "dimemas log"


def test_a_machine_file_names_the_model_and_is_written_with_it(tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_text(
        '[topology]\nkind = "flat"\n[host]\ncount = 2\n'
        '[network]\nmodel = "dimemas"\n[dimemas]\ncollectives = "linear"\n'
    )
    machine = read_machine(tmp_path / "m.toml", 2)
    assert machine.models.network.times_collectives_by == "dimemas linear"
    (tmp_path / "again.toml").write_text(write_toml(machine))
    assert 'collectives = "linear"' in (tmp_path / "again.toml").read_text()
    assert read_machine(tmp_path / "again.toml", 2).models.network == machine.models.network


def test_a_machine_file_of_dimemas_has_collectives_as_messages_until_a_model_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "m.cfg").write_text(
        "#DIMEMAS_CONFIGURATION\n"
        '"environment information" {"", 0, "", 2, 100.0, 0, 3};;\n'
        '"multi node information" {0, 2, "", 1, 1.0, 0.0, 0.0, 1, 1, 0, 5e-6, 1, 1, 0.0};;\n'
    )
    assert not selection_on(read_machine(tmp_path / "m.cfg", 2).models).is_timed("bcast")
    asked = read_machine(tmp_path / "m.cfg", 2, [("dimemas.collectives", "log")])
    assert selection_on(asked.models).is_timed("bcast")


def test_an_unknown_model_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(PlatformError, match=r"'logg' is no model of collectives: none, const, .* did you mean 'log'"):
        read_machine("flat hosts=2", 2, [("dimemas.collectives", "logg")], network="dimemas")


def test_another_network_times_messages_and_says_that_the_model_is_ignored() -> None:
    with pytest.warns(UserWarning, match=r"dimemas\.collectives is ignored"):
        machine = read_machine("flat hosts=2", 2, [("dimemas.collectives", "log")])
    assert not selection_on(machine.models).is_timed("bcast")


def test_the_summary_names_the_operations_that_the_network_has_timed(emulated: Callable[..., Emulated]) -> None:
    machine = read_machine("flat hosts=2", 2, [("dimemas.collectives", "const")], network="dimemas")
    source = "from mpi4py import MPI; comm = MPI.COMM_WORLD; comm.Barrier(); comm.Ibarrier().Wait()"
    remarks = emulated(source, 2, platform=machine).outcome.summary.remarks
    assert [remark.facts["operations"] for remark in remarks if remark.topic == "collectives"] == [
        ["barrier", "ibarrier"]
    ]
