"""Runs one point of a study and returns its row of the table, in a Dask worker."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from smpy.errors import NoRoomError, SmpyError, UsageError
from smpy.runs.run import KilledError, MemoryLimitError, Run, RunError, TimeLimitError, again_if_killed
from smpy.runs.run_inputs import RunInputs
from smpy.runs.run_text import from_json
from smpy.runs.simulate import perform_run
from smpy.study.carried_variables import variables_of_a_run
from smpy.study.cost import parts_record
from smpy.study.journal import Entry
from smpy.study.results import kept_output

if TYPE_CHECKING:
    from smpy.records.summary import Summary

_ERROR_MAX: Final = 2_000


@dataclass(frozen=True, slots=True)
class Task:
    """A point as a worker receives it.

    Attributes
    ----------
    key : str
        Key of the point.
    run : str
        Its run in JSON.
    directory : str
        Folder it runs in.
    folder : str
        Folder of the study, for files to keep.
    patterns : tuple of str
        Regular expressions of the numbers to take from its output.
    keeps_profile, keeps_trace : bool
        Whether a profile and a trace are kept beside the row.
    limit_s, limit_bytes : float or None
        Limits of real time and memory.
    variables : mapping of str to (str or None)
        Environment variables that it carries (`smpy.study.carried_variables`).
    """

    key: str
    run: str
    directory: str
    folder: str
    patterns: tuple[str, ...]
    keeps_profile: bool
    keeps_trace: bool
    limit_s: float | None
    limit_bytes: int | None
    variables: Mapping[str, str | None] = field(default_factory=dict)


def perform(task: Task) -> tuple[Entry, RunInputs]:
    """Run a point.

    Returns
    -------
    Entry
        Also when it failed.
    Reads
        Files and environment variables that it read.

    Raises
    ------
    OSError
        If there is no room for the files to keep.
    """
    began_s = perf_counter()
    trace = None
    if task.keeps_trace:
        os.makedirs(os.path.join(task.folder, "traces"), exist_ok=True)
        trace = tempfile.mkdtemp(prefix=f".{task.key}.", dir=os.path.join(task.folder, "traces"))
    try:
        run = _run(task, trace)
    except SmpyError as error:
        wall_s = perf_counter() - began_s
        entry, reads, summary = (
            _failed(error, wall_s, task),
            getattr(error, "reads", RunInputs()),
            getattr(error, "summary", None),
        )
    else:
        wall_s = perf_counter() - began_s
        reads, summary = run.reads, run.summary
        output, matches = kept_output(run.stdout, task.patterns, run.stdout_file)
        is_measured = run.summary.compute == "measured" and run.summary.inputs.replayed_from is None
        entry = Entry(_row(run.summary, wall_s), output=output, is_measured=is_measured, matches=matches)
    if trace is not None:
        _put(Path(trace), Path(task.folder, "traces", task.key))
    if task.keeps_profile and summary is not None:
        profiles = Path(task.folder, "profiles")
        profiles.mkdir(exist_ok=True)
        summary.write_json(profiles / f"{task.key}.json")
    return entry, reads


def _run(task: Task, trace: str | None) -> Run:
    """Perform the run; perform it again if it is killed."""
    run = replace(from_json(task.run), trace=None if trace is None else Path(trace))

    def attempt() -> Run:
        return perform_run(
            run,
            timeout_s=task.limit_s,
            memory_limit_bytes=task.limit_bytes,
            directory=task.directory,
            environment=variables_of_a_run(task.variables, os.environ),
            notes_reads=True,
        )

    def between() -> None:
        if trace is not None:
            shutil.rmtree(trace)
            os.mkdir(trace, 0o700)

    return again_if_killed(attempt, between)


def _put(new: Path, place: Path) -> None:
    """Move a folder to its final path, in place of one from a run that was never recorded."""
    shutil.rmtree(place, ignore_errors=True)
    new.rename(place)


def _failed(error: SmpyError, wall_s: float, task: Task) -> Entry:
    over, limit = "", None
    if isinstance(error, TimeLimitError):
        over, limit = "time", task.limit_s
    elif isinstance(error, MemoryLimitError):
        over, limit = "memory", task.limit_bytes
    printed, whole = (error.stdout, error.stdout_file) if isinstance(error, RunError) else ("", None)
    output, matches = kept_output(printed, task.patterns, whole)
    message = str(error)[:_ERROR_MAX] or type(error).__name__
    is_outside = isinstance(error, (UsageError, KilledError)) or (
        isinstance(error, RunError) and isinstance(error.failure, NoRoomError)
    )
    return Entry({"wall_s": wall_s}, message, output, over, limit, is_outside=is_outside, matches=matches)


def _row(summary: Summary, wall_s: float) -> dict[str, Any]:
    machine, energy = summary.inputs.machine, summary.energy
    knows_hosts = machine is not None and energy is not None and len(energy.hosts_j) == machine.n_hosts
    return {
        "ranks": summary.n_ranks,
        "makespan_s": summary.makespan_s,
        "half_width_s": summary.uncertainty.half_width_s if summary.uncertainty else None,
        "messages": summary.messages,
        "bytes": summary.bytes,
        **{f"{name}_share": share for name, share in asdict(summary.shares).items()},
        "parts": parts_record(machine) if machine else None,
        "hosts_j": energy.hosts_total_j if energy is not None and knows_hosts else None,
        "links_j": energy.links_total_j if energy is not None and energy.links_j else None,
        "wall_s": wall_s,
        "peak_rss_bytes": summary.peak_rss_bytes,
    }
