"""Programs that are exported, imported and replayed on the machine of the run end when the run did."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

import smpy
from smpy.export import dimemas, otf2, paraver, ti
from smpy.records.recorded_machine import recorded_machine
from smpy.records.trace import Trace
from smpy.replay import replay
from tests.export.programs import ALL
from tests.peer.case import Case
from tests.peer.cases import CASES
from tests.peer.runners import smpy_outcome

TOLERANCE = {"ti": 1e-9, "paraver": 1e-6, "dimemas": 1e-6, "otf2": 1e-6}
WRITERS = {"ti": (ti, "x"), "paraver": (paraver, "x.prv"), "dimemas": (dimemas, "x.dim"), "otf2": (otf2, "x.otf2")}
MAIN_FILES = {"ti": "main", "otf2": "traces.otf2"}
EVERYWHERE = re.compile(
    "pingpong-i?send|halo|collectives|varying-(gatherv|scatterv|allgatherv|reduce_scatter)|pipeline|mesh"
)
WITHOUT_UNWAITED_SENDS = re.compile("collectives|pipeline|varying|pingpong-send")
ONE_RANK_A_HOST = [case for case in CASES if "perhost" not in case.name and "cyclic" not in case.name]
OF_ALL = [case for case in ONE_RANK_A_HOST if EVERYWHERE.match(case.name)]
OF_DIMEMAS = [case for case in ONE_RANK_A_HOST if WITHOUT_UNWAITED_SENDS.match(case.name) and case in OF_ALL]


def check(case: Case, folder: Path, form: str) -> None:
    smpy_outcome(case, folder, trace=folder / "trace")
    round_trip(Trace(folder / "trace"), folder, form)


def round_trip(trace: Trace, folder: Path, form: str) -> None:
    writer, name = WRITERS[form]
    writer.write(trace, folder / name)
    path = folder / name / MAIN_FILES.get(form, "")
    imported = smpy.import_trace(path, folder / "imported", n_ranks=trace.n_ranks)
    assert imported.info["trace"]["imported"]["form"] == form
    machine = recorded_machine(trace)
    hosts = [host for host, n_ranks in trace.info["trace"]["hosts_of_ranks"] for _ in range(n_ranks)]
    names = machine.build().host_names
    (folder / "hosts").write_text("".join(f"{names[host]}\n" for host in hosts))
    again = replay(imported, platform=machine, hostfile=folder / "hosts")
    assert again.makespan_s == pytest.approx(trace.makespan_s, rel=TOLERANCE[form])
    assert (again.messages, again.bytes) == (trace.info["messages"], trace.info["bytes"])


@pytest.mark.parametrize("form", ["ti", "paraver", "dimemas", "otf2"])
def test_communicators_of_subsets_are_made_as_in_the_run(tmp_path: Path, form: str):
    if form == "otf2":
        pytest.importorskip("otf2")
    round_trip(Trace(ALL["split"].trace(tmp_path)), tmp_path, form)


def drawn(cases: list[Case], n: int, seed: int) -> list[Case]:
    return random.Random(seed).sample(cases, min(n, len(cases)))


@pytest.mark.parametrize(
    ("form", "case"),
    [
        pytest.param(form, case, id=f"{form}-{case.name}", marks=() if at < 8 else pytest.mark.campaign)
        for form in ("ti", "paraver", "dimemas")
        for at, case in enumerate(drawn(OF_DIMEMAS if form == "dimemas" else OF_ALL, 60, 11))
    ],
)
def test_a_program_ends_when_the_run_did(tmp_path: Path, form: str, case: Case):
    check(case, tmp_path, form)
