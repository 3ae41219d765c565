"""The `smpy` command: loads only the module of the command that is called."""

from __future__ import annotations

from typing import Final

import click

from smpy import __version__
from smpy.cli.click_classes import CommandGroup

COMMANDS: Final = (
    "run",
    "analyze",
    "replay",
    "report",
    "import",
    "export",
    "platform",
    "coll",
    "calibrate",
    "study",
)


@click.group(
    cls=CommandGroup,
    modules={name: f"smpy.cli.{name}" for name in COMMANDS} | {"import": "smpy.cli.import_"},
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, message="smpy %(version)s")
def main() -> None:
    """Run MPI programs written in Python on machines that do not exist.

    Every rank of an unmodified mpi4py program runs in this one process; its MPI calls are answered in simulated time by
    a model of the machine: how long would it take there, and where would the time go?

    \b
      smpy run -np 4096 jacobi.py              on a cluster of today, sized to the run
      smpy run -np 64 --platform ours.xml -m solver --size 20000
    """
