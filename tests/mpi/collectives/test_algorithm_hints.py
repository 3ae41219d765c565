"""Hints of a communicator choose the algorithms of its collectives: all its ranks give the same ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from smpy.cli.main import main
from smpy.emulate.run.run import Outcome, run
from smpy.options import RunConfig

HEAD = """
import numpy as np
from mpi4py import MPI
comm = MPI.COMM_WORLD
def timed(comm, n=100):
    comm.Barrier()
    before_s = MPI.Wtime()
    comm.Alltoall(np.zeros(n * comm.size), np.zeros(n * comm.size))
    return MPI.Wtime() - before_s
"""


def outcome_of(tmp_path: Path, body: str, n_ranks: int = 8, **config: Any) -> Outcome:
    path = tmp_path / "program.py"
    path.write_text(HEAD + body)
    return run(RunConfig(n_ranks, str(path), compute="none", **config))


def used(tmp_path: Path, body: str, operation: str = "alltoall", **config: Any) -> list[str]:
    outcome = outcome_of(tmp_path, body, **config)
    assert outcome.error is None
    return list(outcome.summary.inputs.algorithms[operation])


def failure(tmp_path: Path, body: str) -> str:
    outcome = outcome_of(tmp_path, body, 4)
    assert outcome.error is not None
    return str(outcome.error)


@pytest.mark.parametrize(
    "made",
    [
        "comm.Set_info(info); new = comm",
        "new = comm.Dup_with_info(info)",
        "new = comm.Dup(info)",
        "new, request = comm.Idup(info); request.Wait()",
        "new = comm.Dup(info).Dup()",
        "new = MPI.Intracomm.Create_from_group(comm.group, info=info)",
        "new = comm.Create_dist_graph_adjacent([], [], info=info)",
        "new = comm.Create_dist_graph([], [], [], info=info)",
        "new = comm.Split_type(MPI.COMM_TYPE_SHARED, info=info)",
    ],
)
def test_hints_of_any_making_choose_algorithms(tmp_path: Path, made: str) -> None:
    body = f"""
info = MPI.Info.Create({{"smpy_algorithm_alltoall": "ring", "other": "1"}})
{made}
assert new.Get_info().Get("smpy_algorithm_alltoall") == "ring"
timed(new)
"""
    assert used(tmp_path, body) == ["ring"]


def test_a_communicator_made_without_hints_uses_the_runs_choice(tmp_path: Path) -> None:
    body = """
new = comm.Dup(MPI.Info.Create({"smpy_algorithm_alltoall": "ring"}))
timed(new.Split(0))
"""
    assert used(tmp_path, body, algorithms=(("alltoall", "pair"),)) == ["pair"]


def test_hints_stand_above_what_the_run_says_and_default_leaves_it_to_the_table(tmp_path: Path) -> None:
    forced = {"algorithms": (("alltoall", "pair"),)}
    hints = {"smpy_collectives": "smpi"}
    assert used(tmp_path, f"comm.Set_info(MPI.Info.Create({hints})); timed(comm)", **forced) == ["pair"]
    hints["smpy_algorithm_alltoall"] = "default"
    assert used(tmp_path, f"comm.Set_info(MPI.Info.Create({hints})); timed(comm)", **forced) == ["linear"]
    hints["smpy_algorithm_alltoall"] = "ring"
    assert used(tmp_path, f"comm.Set_info(MPI.Info.Create({hints})); timed(comm)", **forced) == ["ring"]


def test_hints_may_name_a_file(tmp_path: Path) -> None:
    (tmp_path / "table.json").write_text('{"alltoall": [{"use": "ring"}]}')
    hints = {"smpy_collectives": str(tmp_path / "table.json")}
    assert used(tmp_path, f"comm.Set_info(MPI.Info.Create({hints})); timed(comm)") == ["ring"]


def test_hints_hold_for_reductions_of_objects_and_for_started_collectives(tmp_path: Path) -> None:
    body = """
comm.Set_info(MPI.Info.Create({"smpy_algorithm_allreduce": "recursive_doubling", "smpy_collectives": "smpi"}))
comm.Allreduce(np.zeros(10), np.zeros(10))
comm.Iallreduce(np.zeros(10), np.zeros(10)).Wait()
"""
    assert used(tmp_path, body, "allreduce") == ["recursive_doubling"]


def test_a_call_takes_as_long_as_with_the_algorithm_forced(tmp_path: Path) -> None:
    hinted = """
comm.Set_info(MPI.Info.Create({"smpy_algorithm_alltoall": "ring"}))
timed(comm)
"""
    forced = outcome_of(tmp_path, "timed(comm)", algorithms=(("alltoall", "ring"),))
    assert outcome_of(tmp_path, hinted).summary.makespan_s == forced.summary.makespan_s


def test_ranks_that_give_different_hints_are_both_named(tmp_path: Path) -> None:
    body = """
name = "ring" if comm.rank < 2 else "pair"
comm.Set_info(MPI.Info.Create({"smpy_algorithm_alltoall": name}))
timed(comm)
"""
    message = failure(tmp_path, body)
    assert "collective argument differs between ranks" in message
    assert "rank 0: smpy_algorithm_alltoall=ring" in message
    assert "rank 2: smpy_algorithm_alltoall=pair" in message
    assert message.count("program.py:6") + message.count("program.py:7") == 2


@pytest.mark.parametrize("call", ["timed(comm)", "comm.Allreduce(np.zeros(9), np.zeros(9))", "comm.allreduce(1)"])
def test_a_rank_that_gives_none_is_named_too(tmp_path: Path, call: str) -> None:
    for who in ("comm.rank == 3", "comm.rank < 3"):
        body = f"""
if {who}:
    comm.Set_info(MPI.Info.Create({{"smpy_algorithm_alltoall": "ring"}}))
{call}
"""
        message = failure(tmp_path, body)
        assert "smpy_algorithm_alltoall=ring" in message
        assert "no smpy_... hints" in message
        assert "All ranks of a communicator give it the same hints" in message


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("smpy_collectives", "mpich4", "no table of collectives 'mpich4'"),
        ("smpy_algorithm_alltoall", "rign", "did you mean 'ring'?"),
        ("smpy_algorithm_altoall", "ring", "did you mean 'alltoall'?"),
        (
            "smpy_algorithms",
            "ring",
            "no key is called 'smpy_algorithms': there are smpy_collectives and smpy_algorithm_OPERATION",
        ),
        ("smpy_algo", "ring", "smpy_algorithm_OPERATION, such as smpy_algorithm_alltoall"),
        ("smpy_algoritm_bcast", "ring", "did you mean 'smpy_algorithm_bcast'?"),
        ("smpy_colectives", "smpi", "did you mean 'smpy_collectives'?"),
    ],
)
def test_wrong_hints_are_refused_where_they_are_given(tmp_path: Path, key: str, value: str, told: str) -> None:
    message = failure(tmp_path, f"comm.Set_info(MPI.Info.Create({{{key!r}: {value!r}}}))")
    assert told in message
    assert "Set_info" in message


def test_a_replay_repeats_the_choice_of_hints(tmp_path: Path) -> None:
    (tmp_path / "table.json").write_text('{"alltoall": [{"use": "pair"}]}')
    body = f"""
timed(comm)
timed(comm.Dup(MPI.Info.Create({{"smpy_algorithm_alltoall": "ring"}})))
timed(comm.Dup(MPI.Info.Create({{"smpy_collectives": {str(tmp_path / "table.json")!r}}})))
"""
    trace = tmp_path / "trace"
    traced = outcome_of(tmp_path, body, trace=trace)
    assert traced.error is None
    assert traced.summary.inputs.algorithms["alltoall"] == ["pair", "ring", "scattered"]
    assert traced.summary.makespan_s == outcome_of(tmp_path, body).summary.makespan_s
    (tmp_path / "table.json").unlink()
    result = CliRunner().invoke(main, ["replay", str(trace)])
    assert result.exit_code == 0, result.output
    assert "times" not in result.output
