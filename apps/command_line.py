"""The command line of a parallel program: every rank reads it, and rank 0 alone speaks about it."""

from __future__ import annotations

import argparse
from typing import NoReturn, TextIO

from mpi4py import MPI

__smpy_shared__ = True


class Parser(argparse.ArgumentParser):
    """Argument parser whose help and errors rank 0 alone prints."""

    def error(self, message: str) -> NoReturn:
        if MPI.COMM_WORLD.rank == 0:
            super().error(message)
        raise SystemExit(2)

    def print_help(self, file: TextIO | None = None) -> None:
        if MPI.COMM_WORLD.rank == 0:
            super().print_help(file)
