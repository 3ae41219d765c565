"""Commands of real MPIs, and runs of programs under them or under `smpy`, with one thread of BLAS."""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Final

SMPY: Final = Path(sys.executable).with_name("smpy")
_ONE_THREAD: Final = {f"{name}_NUM_THREADS": "1" for name in ("OPENBLAS", "OMP", "MKL")}
_TELL_SIZE: Final = "from mpi4py import MPI; MPI.COMM_WORLD.rank or print(MPI.COMM_WORLD.size)"


def add_option(parser: argparse.ArgumentParser) -> None:
    """Let a command line name MPIs; `mpis` reads them."""
    parser.add_argument("--mpi", action="append", default=[], metavar="NAME=COMMAND", help="a real MPI; repeatable")


def mpis(words: list[str]) -> dict[str, str]:
    """Command of each MPI, by name, after a look whether mpi4py belongs to it."""
    commands: dict[str, str] = {}
    for word in words:
        name, is_command, command = word.partition("=")
        if not name.replace("-", "").isalnum() or not is_command:
            raise SystemExit(f"--mpi {word}: it is no NAME=COMMAND")
        if run([*shlex.split(command), "-n", "2", sys.executable, "-c", _TELL_SIZE]).split() != ["2"]:
            raise SystemExit(
                f"--mpi {word}: two ranks do not meet; mpi4py has loaded another MPI than that of the command"
            )
        commands[name] = command
    return commands


def run(command: list[str]) -> str:
    """Output of a command; if it fails, the end of this script."""
    try:
        ran = subprocess.run(command, capture_output=True, text=True, env=os.environ | _ONE_THREAD, check=False)
    except OSError as error:
        raise SystemExit(f"cannot run {command[0]}: {error.strerror}") from None
    if ran.returncode:
        raise SystemExit(f"{shlex.join(command)}\n{ran.stdout}{ran.stderr}")
    return ran.stdout
