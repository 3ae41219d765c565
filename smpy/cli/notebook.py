"""`%%smpy` in IPython and Jupyter: a cell as a program.

%load_ext smpy

%%smpy -np 4 --compute none -- --its --arguments
from mpi4py import MPI
...
"""

from __future__ import annotations

import codecs
import os
import shlex
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

import click

from smpy.cli.run import config_from
from smpy.errors import SmpyError, UsageError
from smpy.options import RunConfig
from smpy.runs.request import MadeProgram
from smpy.runs.run import Run
from smpy.runs.simulate import perform_run


class Shell(Protocol):
    """The part of IPython's shell that smpy uses."""

    user_ns: Mapping[str, Any]

    def register_magic_function(self, func: object, magic_kind: str, magic_name: str) -> None:
        """Register a function for cells that begin with its name."""


def load_ipython_extension(shell: Shell) -> None:
    """Register `%%smpy`; `%load_ext smpy` calls this."""
    shell.register_magic_function(partial(run_cell, shell), "cell", "smpy")


def run_cell(shell: Shell, line: str, cell: str) -> Run:
    """Run a cell as a program, and show its output as it appears.

    Parameters
    ----------
    shell : Shell
        Shell of the cell.
    line : str
        Options of `smpy run`; behind `--` the program's arguments.
    cell : str
        The program.

    Raises
    ------
    SmpyError
        Under the conditions of `smpy.simulate`.
    """
    number = len(shell.user_ns.get("In", "?")) - 1  # in some versions, execution_count is that of the next cell
    with TemporaryDirectory(prefix="smpy-") as folder:
        file = Path(folder, f"cell_{number}.py")
        file.write_text(f"# %%smpy {line}\n{cell}", encoding="utf-8")  # keeps the line numbers of the cell
        program = MadeProgram(str(file), f"cell {number}", os.getcwd())
        try:
            return perform_run(_config(line, str(file)), program, show=_Printer())
        except (SmpyError, KeyboardInterrupt) as error:
            # IPython shows this in place of a traceback through our code
            vars(error)["_render_traceback_"] = partial(_traceback_lines, error)
            raise


def _config(line: str, file: str) -> RunConfig:
    """The run of a cell."""
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise UsageError(f"%%smpy {line}: {error}") from None
    middle = words.index("--") if "--" in words else len(words)
    try:
        return config_from([*words[:middle], file, *words[middle + 1 :]])
    except click.exceptions.Exit:
        raise UsageError("these options show something, and run nothing") from None
    except click.ClickException as error:
        raise UsageError(error.format_message()) from None


def _traceback_lines(error: BaseException) -> list[str]:
    return [f"{type(error).__name__}: {str(error) or 'the run has ended'}"]


class _Printer:
    """Prints output in pieces, which may end within a character."""

    def __init__(self) -> None:
        self._decoders = [codecs.getincrementaldecoder("utf-8")("backslashreplace") for _ in range(2)]

    def __call__(self, out: bytes, err: bytes) -> None:
        for decoder, piece, stream in zip(self._decoders, (out, err), (sys.stdout, sys.stderr), strict=True):
            stream.write(decoder.decode(piece))
            stream.flush()
