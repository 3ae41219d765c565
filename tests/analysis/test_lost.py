"""Each rank-second of a run has one cause."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings

pytest.importorskip("pyarrow")

from smpy.analysis import lost
from smpy.analysis.lost_time import CATEGORIES, LostTime
from smpy.cli.main import main
from smpy.errors import UsageError
from smpy.records.trace import Trace
from tests.analysis.drawn_programs import programs
from tests.analysis.small_run import Barrier, Compute, InMemory, Message, Rules, Step, perform
from tests.records.synthetic_trace import SyntheticTrace

CLUSTER = "fat-tree hosts=4 cores=1 speed=1Gf nic=1Gb/s"


def of(n_ranks: int, steps: list[Step], **rules: float) -> LostTime:
    return lost(InMemory(perform(n_ranks, steps, Rules(**rules))))


def nonzero(result: LostTime) -> dict[str, float]:
    return {name: seconds for name, seconds in result.seconds.items() if seconds}


def traced(tmp_path: Path, program: str, *options: str) -> Trace:
    """The trace of a run of a program text."""
    (tmp_path / "prog.py").write_text(f"import numpy as np\nimport smpy\nfrom mpi4py import MPI\n{program}")
    words = ["run", "--compute", "none", "--trace", str(tmp_path / "trace"), *options, str(tmp_path / "prog.py")]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0, done.output
    return Trace(tmp_path / "trace")


@settings(max_examples=100)
@given(programs())
def test_categories_add_up_to_ranks_times_makespan(program: tuple[int, list[Step]]):
    run = perform(*program)
    if max(run.now_s) == 0:
        return
    result = lost(InMemory(run))
    assert sum(result.seconds.values()) == pytest.approx(program[0] * max(run.now_s), rel=1e-12)
    assert sum(row.seconds for row in result.rows) == pytest.approx(program[0] * max(run.now_s), rel=1e-12)
    assert min(result.seconds.values()) >= 0


def test_waiting_for_several_ranks_is_imbalance_and_for_one_is_insufficient_parallelism():
    """Ranks that compute 10, 20, 30 and 40 ms end with the last one."""
    computing: list[Step] = [Compute(rank, 0.01 * (rank + 1), 3) for rank in range(4)]
    assert nonzero(of(4, computing)) == pytest.approx(
        {"computing": 0.1, "load_imbalance": 0.03, "insufficient_parallelism": 0.03}, rel=1e-9
    )


def test_a_serial_section_costs_all_other_ranks_its_length():
    """Three workers wait for what the master computes alone."""
    serial: list[Step] = [Compute(0, 0.7, 3), *(Message(0, rank, 0, 4, eager=True) for rank in (1, 2, 3))]
    assert nonzero(of(4, serial)) == pytest.approx({"computing": 0.7, "insufficient_parallelism": 2.1}, rel=1e-9)


def test_waiting_in_a_barrier_is_synchronisation_whoever_computes():
    steps: list[Step] = [*(Compute(rank, 0.01 * (rank + 1), 3) for rank in range(4)), Barrier(5)]
    assert nonzero(of(4, steps)) == pytest.approx({"computing": 0.1, "synchronisation": 0.06}, rel=1e-9)


def test_a_message_under_way_is_communication():
    assert nonzero(of(2, [Message(0, 1, 10**9, 3)], latency_s=0.5)) == pytest.approx({"communication": 3.0})


def test_a_message_that_shares_its_link_is_contention_for_the_extra_time():
    """Two messages of 1 s take 2 s: both receivers lose 1 s of each to contention."""
    run = SyntheticTrace(["a", "b", "c", "d"])
    for source, target in ((0, 2), (1, 3)):
        send, receive = run.site(source, "Send", 3), run.site(target, "Recv", 4)
        number = run.message(
            source, target, 10**9, send_site=send, receive_site=receive, send_posted_s=0.0, receive_posted_s=0.0,
            started_s=None, ended_s=2.0, alone_s=1.0,
        )  # fmt: skip
        for rank, site in ((source, send), (target, receive)):
            run.spend(rank, "transfer", 2.0, site, message=number)
    assert nonzero(lost(InMemory(run))) == pytest.approx({"communication": 4.0, "contention": 4.0})


def test_two_messages_over_one_link_lose_the_extra_time_to_contention(tmp_path: Path):
    """Three ranks send 10 MB to a fourth one, whose link takes 80 ms for each: all four wait 160 ms longer."""
    program = """
comm = MPI.COMM_WORLD
a = np.zeros((3, 10_000_000), np.uint8)
if comm.rank:
    comm.Send(a[0], 0)
else:
    MPI.Request.Waitall([comm.Irecv(a[rank - 1], rank) for rank in (1, 2, 3)])
"""
    seconds = lost(traced(tmp_path, program, "-np", "4", "--platform", CLUSTER, "--network", "raw")).seconds
    assert seconds["contention"] == pytest.approx(4 * 2 * (10_000_000 + 16) / 125e6, rel=1e-6)  # with its envelope


def test_a_synchronous_send_waits_for_its_receiver_in_synchronisation(tmp_path: Path):
    program = """
comm = MPI.COMM_WORLD
if comm.rank:
    smpy.execute(1e9)
    comm.Recv(np.zeros(1), 0)
else:
    comm.Ssend(np.zeros(1), 1)
"""
    trace = traced(tmp_path, program, "-np", "2", "--platform", CLUSTER)
    assert lost(trace).seconds["synchronisation"] == pytest.approx(1.0, rel=1e-3)


def test_a_rank_computes_while_one_of_its_threads_does(tmp_path: Path):
    """Both ranks wait for threads that compute 1 s and 3 s."""
    program = """
import threading
thread = threading.Thread(target=smpy.execute, args=(1e9 if MPI.COMM_WORLD.rank else 3e9,))
thread.start()
thread.join()
"""
    trace = traced(tmp_path, program, "-np", "2", "--platform", CLUSTER)
    seconds = lost(trace).seconds
    assert seconds["computing"] == pytest.approx(4.0, rel=1e-3)
    assert seconds["insufficient_parallelism"] == pytest.approx(2.0, rel=1e-3)
    assert sum(seconds.values()) == pytest.approx(2 * trace.makespan_s, rel=1e-12)


def test_a_kernel_that_shares_its_host_loses_the_extra_time_to_contention():
    run = perform(2, [Compute(0, 3.0, 3, "dgemm"), Compute(1, 3.0, 3, "dgemm")])
    trace = InMemory(run)
    trace.info["remarks"] = [
        {"topic": "memory", "bytes": 1},
        {"topic": "shared hosts", "kernels": {"dgemm": {"seconds": 6.0, "alone_s": 4.0}}},
    ]
    assert nonzero(lost(trace)) == pytest.approx({"computing": 4.0, "contention": 2.0})


def test_ranks_that_others_start_have_lost_the_time_before(tmp_path: Path):
    (tmp_path / "child.py").write_text("import smpy\nfrom mpi4py import MPI\nMPI.Comm.Get_parent()\nsmpy.execute(1e9)")
    program = f"""
smpy.execute(1e9)
MPI.COMM_SELF.Spawn(__import__("sys").executable, [{str(tmp_path / "child.py")!r}], maxprocs=1)
"""
    trace = traced(tmp_path, program, "-np", "1", "--platform", CLUSTER)
    seconds = lost(trace).seconds
    assert sum(seconds.values()) == pytest.approx(2 * trace.makespan_s, rel=1e-12)
    assert seconds["insufficient_parallelism"] == pytest.approx(2.0, rel=1e-2)


def test_lines_say_where_time_is_lost():
    rows = of(3, [Compute(0, 0.7, 3), Barrier(5), Compute(1, 0.1, 7)]).rows
    by_line = {(row.category, row.place.line): row.seconds for row in rows}
    assert by_line == pytest.approx(
        {
            ("computing", 3): 0.7,
            ("synchronisation", 5): 1.4,
            ("computing", 7): 0.1,
            ("insufficient_parallelism", 0): 0.2,
        }
    )


def test_a_priced_machine_gives_each_category_its_share_of_the_cost(tmp_path: Path):
    trace = traced(tmp_path, "smpy.execute(1e9)", "-np", "2", "--platform", f"{CLUSTER} price.host_hour_eur=9")
    done = CliRunner().invoke(main, ["analyze", "lost", str(trace.folder), "--json", "-"])
    record = json.loads(done.stdout)
    assert record["run_eur"] == pytest.approx(4 * 9 * trace.makespan_s / 3600)
    assert record["lines"][0]["eur"] == pytest.approx(record["run_eur"])
    assert "EUR" in CliRunner().invoke(main, ["analyze", "lost", str(trace.folder)]).stdout


def test_a_record_has_all_categories_and_no_cost_where_none_is_known(tmp_path: Path):
    trace = traced(tmp_path, "smpy.execute(1e9)", "-np", "2")
    record = lost(trace).to_record()
    assert [record[f"{name}_s"] for name in CATEGORIES] == pytest.approx([2 * trace.makespan_s, *[0] * 6])
    assert record["run_eur"] is None
    assert "EUR" not in lost(trace).table()


def test_the_figure_has_bars_for_each_category_that_lost_time():
    pytest.importorskip("plotly")
    figure = of(3, [Compute(0, 0.7, 3), Barrier(5)]).plot()
    assert {bars.name for bars in figure.data} == {"computing", "synchronisation"}


def test_a_trace_of_some_ranks_is_refused(tmp_path: Path):
    trace = traced(tmp_path, "smpy.execute(1e9)", "-np", "2", "--trace-ranks", "0")
    with pytest.raises(UsageError, match="has some ranks only"):
        lost(trace)
