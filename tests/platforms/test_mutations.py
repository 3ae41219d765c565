"""Machines of every kind, with a few bits, numbers or elements exchanged: they run, or are refused in a few words."""

from __future__ import annotations

import io
import warnings
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from smpy.emulate.run.run import run
from smpy.errors import SmpyError
from smpy.options import RunConfig
from tests.peer.campaign import KINDS
from tests.peer.machines import Draw
from tests.peer.runners import PROGRAMS
from tests.platforms.mutations import mutate

HOSTS = b"# hosts\nc-0\nc-1:2\n\nc-2 : 3  # three\n"
OPTIONS = b"network/model=SMPI smpi/os=0:1e-5:1e-9;1000:2e-5:0 network/TCP-gamma=4194304 smpi/wtime=10ns smpi/test=1e-4"
CLUSTER = (
    "<platform version='4.1'><cluster id='c' prefix='c-' suffix='' radical='0-7' speed='1Gf' bw='1GBps' lat='1us'/>"
    "</platform>"
)

FEW_AND_MANY = [range(20), pytest.param(range(20, 60), marks=pytest.mark.campaign)]

pytestmark = pytest.mark.timeout(60)


def refusal(folder: Path, options: tuple[tuple[str, str], ...] = ()) -> str:
    """Refusal of a run; empty when it can be made. Any other error fails the test."""
    hostfile = folder / "hosts"
    config = RunConfig(
        n_ranks=2,
        program=str(PROGRAMS / "phases.py"),
        args=("pingpong:1:1000", "pingpong:1:100000"),
        platform=folder / "platform.xml",
        hostfile=hostfile if hostfile.exists() else None,
        options=options,
        compute="none",
    )
    with warnings.catch_warnings(), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        try:
            outcome = run(config)
        except SmpyError as error:
            return str(error)
    return "" if outcome.error is None else str(outcome.error)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "seeds", [range(6), pytest.param(range(6, 50), marks=pytest.mark.campaign)], ids=["few", "many"]
)
def test_a_mutated_machine_runs_or_is_refused_in_a_few_words(tmp_path: Path, kind: str, seeds: range) -> None:
    machine = KINDS[kind](Draw(f"{kind}-mutations"))
    texts = {"platform.xml": machine.xml, **machine.files}
    for seed in seeds:
        for name, text in texts.items():
            # a mutation of the file, or of one that it names
            mutated = mutate(text.encode(), seed) if (name == "platform.xml") != (seed % 3 == 2) else text.encode()
            (tmp_path / name).write_bytes(mutated)
        assert len(refusal(tmp_path, machine.settings)) < 3000, f"seed {seed}"


@pytest.mark.parametrize("seeds", FEW_AND_MANY, ids=["few", "many"])
def test_a_mutated_hostfile_places_ranks_or_is_refused_in_a_few_words(tmp_path: Path, seeds: range) -> None:
    (tmp_path / "platform.xml").write_text(CLUSTER)
    for seed in seeds:
        (tmp_path / "hosts").write_bytes(mutate(HOSTS, seed))
        assert len(refusal(tmp_path)) < 3000, f"seed {seed}"


@pytest.mark.parametrize("seeds", FEW_AND_MANY, ids=["few", "many"])
def test_a_mutated_option_is_taken_or_refused_in_a_few_words(tmp_path: Path, seeds: range) -> None:
    (tmp_path / "platform.xml").write_text(CLUSTER)
    for seed in seeds:
        words = mutate(OPTIONS, seed).decode(errors="surrogateescape").split(" ")
        options = tuple((name, value) for name, equals, value in (word.partition("=") for word in words) if equals)
        assert len(refusal(tmp_path, options)) < 3000, f"seed {seed}"
