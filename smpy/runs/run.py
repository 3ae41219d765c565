"""A run that has ended, and the errors of runs that failed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any, Final, TextIO, TypeVar
from weakref import finalize

from smpy.errors import SmpyError
from smpy.records.profile import RunProfile
from smpy.records.summary import Summary
from smpy.records.trace import Trace
from smpy.runs.request import RunInputs
from smpy.units import format_time

_TRIES_MAX: Final = 3

_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True, weakref_slot=True, repr=False, eq=False)
class Run:
    """A run that has ended, all its ranks with exit code 0.

    Attributes
    ----------
    summary : Summary
        Summary of the run.
    stdout, stderr : str
        Output of the program; if more than 16 MiB, its first and last 8 MiB, and between them a line that says how much
        is left out.
    exit_code : int
        Exit code of `smpy run`.
    trace_folder : Path or None
        Folder of the recorded trace, if the run had `trace`.
    reads : RunInputs
        Files and environment variables that it has read, if they were noted.
    returned : tuple of object
        Value that the program, a function, returned on each rank: None if the rank called `sys.exit`. Empty if the
        program is a file.
    stdout_file, stderr_file : TextIO or None
        All that the program printed, if that was more than 16 MiB: a file without a name, open for reading, which is
        gone with the run.
    """

    summary: Summary
    stdout: str
    stderr: str
    exit_code: int = 0
    trace_folder: Path | None = None
    reads: RunInputs = field(default_factory=RunInputs)
    returned: tuple[Any, ...] = ()
    stdout_file: TextIO | None = None
    stderr_file: TextIO | None = None

    def __post_init__(self) -> None:
        _close_with(self, self.stdout_file, self.stderr_file)

    @property
    def makespan_s(self) -> float:
        """Simulated time until the last rank ended, in seconds."""
        return self.summary.makespan_s

    @property
    def profile(self) -> RunProfile | None:
        """Profile of the run's time and bytes."""
        return self.summary.profile

    @property
    def trace(self) -> Trace | None:
        """Recorded trace, read from its folder; None: the run had no `trace=FOLDER`."""
        return None if self.trace_folder is None else Trace(self.trace_folder)

    def to_json(self) -> str:
        """The summary, as `smpy run --json` writes it."""
        return self.summary.to_json()

    def __repr__(self) -> str:
        ranks = "1 rank" if self.summary.n_ranks == 1 else f"{self.summary.n_ranks:,} ranks"
        return (
            f"<Run of {self.summary.inputs.program} on {ranks}, {self.summary.platform}: "
            f"{format_time(self.makespan_s)} simulated>"
        )

    def _repr_html_(self) -> str:
        head, *facts = self.summary.render().splitlines()
        rows = (
            f"<tr><th style='text-align: left'>{escape(fact[:17].strip())}</th>"
            f"<td style='text-align: left'>{escape(fact[17:])}</td></tr>"
            for fact in facts
        )
        return f"<table><caption>{escape(head)}</caption>{''.join(rows)}</table>"


class RunError(SmpyError):
    """A run failed; the message is what `smpy run` prints.

    It is not in `smpy.errors` because it holds a summary.

    Attributes
    ----------
    stdout, stderr : str
        Output of the program, in the form of `Run.stdout`.
    exit_code : int
        Exit code of `smpy run`.
    summary : Summary or None
        Summary of the run until then; None: its process could not report one.
    failure : SmpyError or None
        Error in the run, a `DeadlockError` for instance; None: ranks ended with another exit code than 0, or the
        process of the run died.
    reads : RunInputs
        The same as in a `Run`.
    stdout_file, stderr_file : TextIO or None
        The same as in a `Run`; None in an unpickled error.
    """

    def __init__(
        self,
        message: str,
        *,
        stdout: str = "",
        stderr: str = "",
        exit_code: int = 1,
        summary: Summary | None = None,
        failure: SmpyError | None = None,
        reads: RunInputs | None = None,
        stdout_file: TextIO | None = None,
        stderr_file: TextIO | None = None,
    ) -> None:
        super().__init__(message)
        self.stdout = stdout
        self.stderr = stderr
        self.exit_code = exit_code
        self.summary = summary
        self.failure = failure
        self.reads = reads or RunInputs()
        self.stdout_file = stdout_file
        self.stderr_file = stderr_file
        _close_with(self, stdout_file, stderr_file)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self.args, {**vars(self), "stdout_file": None, "stderr_file": None}


def _close_with(run: object, *files: TextIO | None) -> None:
    """Close files once the last reference to the run is gone."""
    for file in files:
        if file is not None:
            finalize(run, file.close)


class TimeLimitError(RunError):
    """A run took longer than it was allowed to."""


class MemoryLimitError(RunError):
    """A run held more memory than it was allowed to."""


class KilledError(RunError):
    """A run, or the process that starts runs, was killed, neither by the program nor for a limit."""


def again_if_killed(attempt: Callable[[], _Value], between: Callable[[], object] = bool) -> _Value:
    """Call a function that performs a run; call it again if the run is killed.

    Parameters
    ----------
    attempt : callable
        Performs the run.
    between : callable
        Called after each run that was killed; it may remove files that the run has left.

    Raises
    ------
    KilledError
        If the last run was killed, too.
    """
    for _ in range(_TRIES_MAX - 1):
        try:
            return attempt()
        except KilledError:
            between()
    return attempt()
