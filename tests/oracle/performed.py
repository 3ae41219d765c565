"""Performs the steps of an example (steps.py) under smpy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from smpy.emulate.run.run import run
from smpy.options import RunConfig


def performed_s(
    steps: str, hosts: Sequence[str], platform: Path, folder: Path, settings: Iterable[tuple[str, str]] = ()
) -> list[float]:
    """The dates at which ranks finish, rank by rank; rank i runs on the i-th host."""
    hostfile = folder / "hosts"
    hostfile.write_text("".join(f"{host}\n" for host in hosts))
    config = RunConfig(
        n_ranks=len(hosts),
        program=str(Path(__file__).with_name("steps.py")),
        args=(steps,),
        platform=platform,
        hostfile=hostfile,
        options=tuple(settings),
        compute="none",
    )
    outcome = run(config)
    if outcome.error is not None:
        raise outcome.error
    return outcome.summary.finish_s.tolist()
