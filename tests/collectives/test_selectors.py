"""Algorithm that a collective uses: by the table, or as the run was told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from smpy.cli.main import main
from smpy.collectives.algorithm_names import choosable
from smpy.collectives.comm_hosts import HostsOfComm
from smpy.collectives.facts import FACTS, HOST_FACTS, Query, fact
from smpy.collectives.hosts import Hosts
from smpy.collectives.register import OPERATIONS, algorithms_of
from smpy.collectives.selection import DEFAULT, Selection, selection_with
from smpy.collectives.tables import _parsed, table, table_names
from smpy.collectives.world_schedules import algorithms_in, choose
from smpy.emulate.run.run import run
from smpy.engine.engine import Engine
from smpy.errors import UsageError
from smpy.options import RunConfig
from smpy.platforms import default_cluster, place, read_simgrid_xml

PLATFORM = """<?xml version="1.0"?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1"><config id="General"><prop id="smpi/alltoall" value="{}"/></config>
<cluster id="c" prefix="n" suffix="" radical="0-7" speed="1Gf" bw="1GBps" lat="10us"/></platform>
"""
PROGRAM = """
from mpi4py import MPI
MPI.COMM_WORLD.Alltoall(bytearray(800), bytearray(800))
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


def makespan_s(program: Path, **config: Any) -> float:
    outcome = run(RunConfig(n_ranks=8, program=str(program), compute="none", **config))
    assert outcome.error is None
    return outcome.summary.makespan_s


def select(
    op: str, n_ranks: int, nbytes: int, hosts: Hosts | None = None, selection: Selection = DEFAULT, **more: Any
) -> str:
    """The algorithm a selection chooses, as "operation:name"."""
    return str(selection.rules(op).choose(Query(n_ranks, nbytes, **more), lambda: hosts or Hosts(range(n_ranks))))


def test_the_first_row_that_fits_chooses() -> None:
    assert select("reduce", 8, 100) == "reduce:linear"
    assert select("reduce", 8, 100, commutative=False) == "reduce:basic_linear"
    assert select("alltoall", 20, 100) == "alltoall:bruck"
    assert select("alltoall", 20, 100_000) == "alltoall:linear"
    assert select("allreduce", 8, 100, is_derived=True) == "allreduce:recursive_doubling"
    assert select("reduce_scatter", 8, 100, are_equal=False) == "reduce_scatter:recursive_doubling"
    assert select("reduce_scatter", 8, 100, are_equal=False, n_entries=524_289) == "reduce_scatter:pair"


@pytest.mark.parametrize("name", table_names())
def test_a_table_has_rows_for_every_choice_and_names_what_exists(name: str) -> None:
    rules = table(name)
    assert rules.keys() >= {*choosable(), "reduce_scatter_block"}
    for operation, of_operation in rules.items():
        known = {each for a in algorithms_of(operation).values() for each in (a.name, *a.simgrid_names)}
        assert {row.use for row in of_operation.rows} <= known
        parts = {part for row in of_operation.rows for _, part in row.parts}
        assert parts <= known | {*table_names(), *OPERATIONS}


def test_a_row_may_use_simgrids_name_or_leave_the_choice_to_another_table() -> None:
    rows = [{"bytes_max": 9, "use": "rab_rdb"}, {"ranks_min": 3, "use_table": "smpi"}, {"use": "recursive_doubling"}]
    rules = _parsed("allreduce", rows)
    chosen = [
        rules.choose(query, lambda: Hosts([0])).name
        for query in (Query(4, 9), Query(4, 10), Query(4, 10, commutative=False), Query(2, 10))
    ]
    assert chosen == ["rabenseifner", "reduce_bcast", "basic_reduce_bcast", "recursive_doubling"]
    with pytest.raises(ValueError, match="does not say which algorithm, or which table, to use"):
        _parsed("barrier", [{"ranks": 3}, {"use": "linear"}])
    with pytest.raises(UsageError, match="barrier has no algorithm 'shout'"):
        rules = _parsed("barrier", [{"use": "shout"}])
        rules.choose(Query(4, 0), lambda: Hosts([0]))


def test_open_mpis_decisions_hold_at_their_thresholds() -> None:
    rules = table("smpi-ompi")

    def use(operation: str, n_ranks: int, nbytes: int, **facts: Any) -> str:
        return rules[operation].row_for(Query(n_ranks, nbytes, **facts), lambda: Hosts([0])).use

    assert [use("allreduce", 16, n) for n in (63, 64, 4095, 4096)] == ["ompi_ring_segmented", "rdb", "rdb", "rab_rdb"]
    assert [use("allreduce", n, 100) for n in (31, 32, 63, 64)] == ["rdb", *2 * ["ompi_ring_segmented"], "rdb"]
    assert use("allreduce", 8, 1 << 20, commutative=False) == "redbcast"
    assert [use("bcast", 4, n) for n in (63, 64, 128, 2048, 8192, 1 << 20)] == [
        *("NTSB", "binomial_tree", "NTSB", "binomial_tree", "NTSL", "ompi_pipeline")
    ]
    assert [use("alltoall", 40, n) for n in (511, 512)] == ["bruck", "basic_linear"]
    assert [use("allgatherv", 7, 0, total_bytes=7 * 256 + n) for n in (-1, 0)] == ["GB", "ompi_neighborexchange"]
    assert [use("reduce_scatter", 7, 1, total_bytes=n, n_entries=n) for n in (7, 8)] == [
        *("reduce_then_scatterv", "ompi_basic_recursivehalving")
    ]
    assert use("reduce_scatter_block", 40, 2, n_entries=80) == "ompi_basic_recursivehalving"
    assert use("reduce_scatter_block", 40, 1, n_entries=40) == "reduce_then_scatterv"
    assert [use("barrier", n, 0) for n in (3, 4, 8, 64, 256)] == [
        *("ompi_recursivedoubling", "ompi_basic_linear", "ompi_recursivedoubling", "ompi_bruck", "ompi_tree")
    ]


def test_mpichs_decisions_hold_at_their_thresholds_and_apart_for_parts() -> None:
    rules = table("smpi-mpich")

    def chosen(operation: str, n_ranks: int, nbytes: int, **facts: Any) -> tuple[str, bool]:
        uniform, uneven = Hosts(r // 2 for r in range(n_ranks)), Hosts([0, 0, *range(n_ranks - 2)])
        hosts = uneven if facts.pop("uneven", False) else uniform
        row = rules[operation].row_for(Query(n_ranks, nbytes, **facts), lambda: hosts)
        return row.use, row.searches_hosts

    assert chosen("bcast", 8, 1) == ("SMP_binomial", True)
    assert chosen("bcast", 10, 12_287, uneven=True) == ("binomial_tree", True)
    assert chosen("bcast", 10, 12_288, uneven=True) == ("scatter_rdb_allgather", True)
    assert chosen("bcast", 8, 12_288, is_part=True) == ("binomial_tree", False)
    assert chosen("bcast", 9, 12_288, is_part=True) == ("scatter_LR_allgather", False)
    assert chosen("reduce", 8, 1) == chosen("allreduce", 8, 1) == ("mvapich2_two_level", True)
    assert chosen("reduce", 8, 9999, commutative=False, n_entries=9) == ("in_order_binomial_tree", True)
    assert chosen("reduce", 8, 2048, n_entries=8, is_part=True) == ("scatter_gather", False)
    assert chosen("reduce", 8, 2048, n_entries=7, is_part=True) == ("binomial", False)
    assert chosen("allreduce", 8, 2048, n_entries=8, is_part=True) == ("rdb", False)
    assert chosen("allreduce", 8, 2049, n_entries=8, is_part=True) == ("rab_rdb", False)
    assert chosen("allgatherv", 8, 0, n_entries=81_920, total_bytes=9) == ("mpich_rdb", False)
    assert chosen("allgatherv", 10, 0, n_entries=81_920, total_bytes=9) == ("ompi_bruck", False)
    assert chosen("allgatherv", 10, 0, n_entries=81_921, total_bytes=9) == ("mpich_ring", False)
    assert [chosen("alltoall", n, 32_768)[0] for n in (5, 6)] == ["pair", "ring"]


def test_open_mpi_4_uses_the_algorithms_that_its_numbers_mean() -> None:
    rules = table("openmpi-4")

    def use(operation: str, n_ranks: int, nbytes: int, **facts: Any) -> str:
        return rules[operation].row_for(Query(n_ranks, nbytes, **facts), lambda: Hosts([0])).use

    assert [use("bcast", 4, n) for n in (63, 64, 8191, 8192, 1 << 20)] == [
        *("binary_tree", "doubling_tree", "doubling_tree", "linear", "chain")
    ]
    assert use("bcast", 10, 100) == "radix_4_tree"
    assert [use("reduce", 2, 7, n_entries=n) for n in (1, 2)] == ["basic_linear", "balanced_rabenseifner"]
    assert [use("reduce", 20, n) for n in (4095, 4096)] == ["binary_tree", "posted_binomial_tree"]
    assert [use("allreduce", 2, n, n_entries=9) for n in (7, 8, 1 << 16, 1 << 18)] == [
        *("open_mpi_ring", "recursive_doubling", "open_mpi_ring", "balanced_rabenseifner")
    ]
    assert [use("allreduce", 5, 1 << 13, n_entries=n) for n in (3, 4)] == [
        *("linear_reduce_bcast", "balanced_rabenseifner")
    ]
    assert [use("allgather", n, 9) for n in (2, 16, 31)] == ["pair", "recursive_doubling", "bruck"]
    assert [use("allgather", n, 1024) for n in (33, 34)] == ["logical_ring", "neighbour_exchange"]
    assert [use("alltoall", 6, n) for n in (1 << 19, 1 << 20)] == ["ring", "linear"]
    assert use("reduce_scatter", 6, 1, commutative=False) == "chosen_reduce_then_scatterv"
    assert [use("reduce_scatter_block", 3, n) for n in (3, 4)] == ["recursive_doubling", "ompi_butterfly"]


def test_facts_of_hosts_tell_blocked_from_dealt_ranks() -> None:
    blocked, dealt, uneven = Hosts([0, 0, 1, 1]), Hosts([0, 1, 0, 1]), Hosts([0, 0, 1])
    assert [HOST_FACTS["is_blocked"](hosts) for hosts in (blocked, dealt, uneven)] == [True, False, True]
    assert [HOST_FACTS["is_uniform"](hosts) for hosts in (blocked, dealt, uneven)] == [True, True, False]
    assert [HOST_FACTS["ranks_per_host"](hosts) for hosts in (blocked, dealt, uneven)] == [2, 2, 1]


def test_only_the_default_cluster_uses_its_table(program: Path, tmp_path: Path) -> None:
    platform = tmp_path / "platform.xml"
    platform.write_text(PLATFORM.format("default"))
    assert read_simgrid_xml(platform).models.collectives.table == "smpi"
    assert default_cluster(8).models.collectives.table == "mpich-4"
    theirs_s, other_s = (makespan_s(program, algorithms=(("alltoall", name),)) for name in ("scattered", "bruck"))
    assert makespan_s(program) == theirs_s != other_s


def test_what_no_table_speaks_of_has_one_algorithm() -> None:
    assert select("ialltoall", 8, 100) == "ialltoall:linear"
    assert select("inter_bcast", 8, 100) == "inter_bcast:linear"
    assert select("neighbour", 8, 100) == "neighbour:exchange"


@pytest.mark.parametrize("rows", [[], [{"ranks": 3, "use": "linear"}], [{"ranks_max": 3, "use": "linear"}]])
def test_a_table_that_is_not_total_is_refused(rows: list[dict[str, Any]]) -> None:
    with pytest.raises(ValueError, match="barrier"):
        _parsed("barrier", rows)


def test_a_table_that_asks_for_an_unknown_fact_is_told_which_there_are() -> None:
    with pytest.raises(ValueError, match="no row can ask for 'colour': there are the facts ranks, bytes"):
        _parsed("barrier", [{"colour": 3, "use": "linear"}, {"use": "linear"}])


def test_a_fact_is_computed_when_a_row_asks_for_it() -> None:
    asked = []

    @fact
    def is_odd_number_of_ranks(query: Query) -> bool:
        asked.append(query.n_ranks)
        return query.n_ranks % 2 == 1

    rows = [{"ranks_max": 4, "use": "linear"}, {"is_odd_number_of_ranks": True, "use": "dissemination"}]
    rules = _parsed("barrier", [*rows, {"ranks_min": 10, "use": "binomial_tree"}, {"use": "linear"}])
    chosen = [rules.choose(Query(n_ranks, 0), lambda: Hosts([0])).name for n_ranks in (3, 5, 8, 10)]
    assert chosen == ["linear", "dissemination", "linear", "binomial_tree"]
    assert asked == [5, 8, 10]
    with pytest.raises(ValueError, match="there is a fact 'is_odd_number_of_ranks' already"):
        fact(is_odd_number_of_ranks)
    del FACTS["is_odd_number_of_ranks"]


def test_a_choice_is_made_once_and_asks_for_hosts_only_if_its_table_does() -> None:
    platform, asked = default_cluster(8).build(), []
    engine = Engine(platform, platform.models, place(platform, 8))
    choose(engine, Selection("mpich-4"))
    algorithms = algorithms_in(engine)

    def find() -> Hosts:
        asked.append(True)
        return Hosts([0] * 8)

    hosts = HostsOfComm(find)

    numbers = {algorithms.schedule(engine, "alltoall", Query(8, 4096), hosts) for _ in range(3)}
    assert len(numbers) == 1
    assert asked == []
    algorithms.schedule(engine, "bcast", Query(8, 100_000), hosts)
    assert asked != []
    assert algorithms.used() == {
        "alltoall": ["scattered"],
        "bcast": ["two_level_host_of_root_first"],
    }


def test_a_forced_algorithm_holds_for_every_size() -> None:
    selection = selection_with([("alltoall", "ring"), ("allreduce", "rab_rdb")])
    assert select("alltoall", 4096, 8, selection=selection) == "alltoall:ring"
    assert select("allreduce", 2, 1, selection=selection) == "allreduce:rabenseifner"
    assert select("bcast", 2, 1, selection=selection) == "bcast:binomial_tree"


def test_the_last_word_on_a_collective_holds_and_default_takes_it_back() -> None:
    assert selection_with([("bcast", "linear"), ("bcast", "binomial_tree")]).forced == {"bcast": "binomial_tree"}
    assert selection_with([("bcast", "linear"), ("bcast", "default")]).forced == {}


def test_a_forced_reduce_scatter_holds_for_equal_blocks_too() -> None:
    selection = selection_with([("reduce_scatter", "mpich_pair")])
    assert select("reduce_scatter_block", 4, 8, selection=selection) == "reduce_scatter_block:pair"


def test_an_algorithm_for_two_ranks_refuses_others_with_the_numbers() -> None:
    platform = default_cluster(5).build()
    engine = Engine(platform, platform.models, place(platform, 5))
    choose(engine, selection_with([("barrier", "ompi_two_procs")]))
    hosts = HostsOfComm(lambda: Hosts(range(5)))
    with pytest.raises(UsageError, match="barrier: the algorithm 'two_ranks' wants 2 ranks; this communicator has 5"):
        algorithms_in(engine).schedule(engine, "barrier", Query(5, 0), hosts)


@pytest.mark.parametrize(("table_name", "gather"), [("smpi", "linear"), ("mpich-4", "binomial_tree")])
def test_a_split_gathers_as_the_table_says_whatever_gather_is_forced(
    tmp_path: Path, table_name: str, gather: str
) -> None:
    program = tmp_path / "program.py"
    program.write_text("from mpi4py import MPI; MPI.COMM_WORLD.Split(MPI.COMM_WORLD.rank % 2, 0)")
    platform = {"platform": tmp_path / "platform.xml"} if table_name == "smpi" else {}
    (tmp_path / "platform.xml").write_text(PLATFORM.format("default"))
    plain_s = makespan_s(program, **platform)
    for name in ("basic_linear", "linear", "binomial_tree"):
        assert makespan_s(program, algorithms=(("gather", name),), **platform) == plain_s
    assert select("split", 8, 8, selection=Selection(table_name)) == f"split:{gather}"
    with pytest.raises(UsageError, match="there is no choice of algorithms for 'split'"):
        selection_with([("split", "linear")])


def test_an_unknown_algorithm_is_told_which_there_are() -> None:
    with pytest.raises(UsageError, match=r"alltoall has no algorithm 'quick'.*bruck, linear \(basic_linear\), mesh_2d"):
        selection_with([("alltoall", "quick")])
    with pytest.raises(UsageError, match=rf"'shuffle': there is for {', '.join(choosable())}"):
        selection_with([("shuffle", "ring")])


def test_a_platform_file_may_force_an_algorithm_and_the_run_has_the_last_word(program: Path, tmp_path: Path) -> None:
    platform = tmp_path / "platform.xml"
    times_s = {}
    for name in ("ring", "bruck", "default"):
        platform.write_text(PLATFORM.format(name))
        assert read_simgrid_xml(platform).models.collectives.algorithms == (("alltoall", name),)
        times_s[name] = makespan_s(program, platform=platform)
    assert len(set(times_s.values())) == 3
    assert makespan_s(program, platform=platform, algorithms=(("alltoall", "ring"),)) == times_s["ring"]


def test_the_command_forces_algorithms(program: Path) -> None:
    arguments = ["run", "-np", "4", "--compute", "none", "--quiet"]
    assert CliRunner().invoke(main, [*arguments, "--algorithm", "alltoall=ring", str(program)]).exit_code == 0
    for wrong, told in (("alltoall=quick", "it has bruck, linear"), ("alltoall", "is not COLLECTIVE=NAME")):
        result = CliRunner().invoke(main, [*arguments, "--algorithm", wrong, str(program)])
        assert result.exit_code == 2
        assert told in result.output


def test_the_command_sets_options_of_the_network_model(program: Path) -> None:
    arguments = ["run", "-np", "4", "--compute", "none"]
    plain, slower = (
        CliRunner().invoke(main, [*arguments, *more, str(program)]) for more in ((), ("--set", "smpi/ois=0:1ms"))
    )
    assert plain.exit_code == slower.exit_code == 0
    assert " us simulated" in plain.output
    assert " ms simulated" in slower.output
    for wrong, told in (
        ("smpi/tset=1", "did you mean 'smpi/test'"),
        ("smpi/test", "is not KEY=VALUE"),
        ("a=1", "is not KEY"),
        ("nic=200Gb/s", "write nic.bandwidth=200Gb/s"),
    ):
        result = CliRunner().invoke(main, [*arguments, "--set", wrong, str(program)])
        assert result.exit_code == 2
        assert told in result.output


@pytest.mark.parametrize(
    ("platform", "chosen"),
    [(None, "two_level_host_of_root_first"), ("flat hosts=64 cores=1", "scatter_recursive_doubling_allgather")],
)
def test_a_broadcast_takes_hosts_first_where_ranks_share_them(
    tmp_path: Path, platform: str | None, chosen: str
) -> None:
    program = tmp_path / "program.py"
    program.write_text("import smpy; from mpi4py import MPI; MPI.COMM_WORLD.Bcast(smpy.folded(2048))")
    outcome = run(RunConfig(64, str(program), compute="none", platform=platform))
    assert outcome.summary.inputs.algorithms == {"bcast": [chosen]}
