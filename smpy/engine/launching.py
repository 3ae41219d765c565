"""Programs to be started on ranks that are added to a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Command:
    """Program that a rank asks to start.

    Attributes
    ----------
    name : str
        A path, or a name to be searched for.
    args : tuple of str
        Its arguments.
    n_ranks : int
        Number of ranks that run it.
    hints : mapping of str to str
        Hints of the caller: ``host``, ``hostfile``, ``wdir``, ``path``.
    """

    name: str
    args: tuple[str, ...]
    n_ranks: int
    hints: Mapping[str, str]


class CannotStart(Exception):
    """A program cannot be started; the message says why."""


class Launcher(Protocol):
    """Starter of programs on ranks that are added to the run."""

    def launch(self, commands: Sequence[Command], begin: Callable[[], None]) -> range:
        """Start the programs at the running rank's date; `begin` is called on each new rank before its program."""
