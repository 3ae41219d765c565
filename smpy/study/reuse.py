"""Results of other studies, where the run is the same: same sources, arguments, machine, options and versions."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from smpy.errors import UsageError
from smpy.options import RunConfig
from smpy.runs.files_read import are_as_they_were
from smpy.runs.run_text import to_json
from smpy.runs.simulate import check_run
from smpy.runs.variables_read import changed_variables
from smpy.study.definition import Definition
from smpy.study.journal import Entry, Journal, RunOrigin
from smpy.study.points import Point
from smpy.study.results import are_known
from smpy.study.versions import versions

_OF_MACHINE: Final = ("platform", "options", "network", "compat", "kernels")
_SIZES: Final = ("ranks_per_host", "cpus_per_task")  # of a machine without a size of its own, and of the run itself


class Results:
    """A folder with results that studies share.

    Runs that measure computing are not kept: another run takes another time.

    Parameters
    ----------
    folder : Path
        Created if it is missing.
    definition : Definition
        The study that uses them.

    Raises
    ------
    UsageError
        If it cannot be written.
    """

    def __init__(self, folder: Path, definition: Definition) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"cannot make the folder {folder}: {error.strerror}") from error
        self._journal = Journal(folder / "results.sqlite")
        self._definition = definition
        self._directory: Final = definition.folder
        self._fingerprints: dict[RunConfig, str] = {}
        self._states: dict[str, str | None] = {}

    def find(self, point: Point) -> tuple[RunOrigin, Entry] | None:
        """Origin and entry of the same run in another study; None: none, or its inputs changed or are not all known."""
        kept = self._journal.get(self._key(point.run))
        if kept is None:
            return None
        origin, entry = kept
        files = located(origin.files, self._directory)
        if origin.versions != versions() or not are_as_they_were(files, self._states):
            return None
        if changed_variables(origin.variables, os.environ):
            return None
        if not (
            files.keys() >= self._definition.input_paths
            and origin.variables.keys() >= set(self._definition.environment)
            and are_known(self._definition.results, entry)
        ):
            return None
        ours = replace(origin, files=relative_to(files, self._directory))
        return ours, replace(entry, row={**entry.row, "is_reused": True})

    def keep(self, point: Point, origin: RunOrigin, entry: Entry) -> None:
        """Keep the entry of a run for other studies."""
        if entry.error or entry.is_measured:
            return
        files = located(origin.files, self._directory)
        named = {name: state for path, state in files.items() for name in self._names(path, self._home(point.run))}
        self._journal.add([(self._key(point.run), replace(origin, files=named), entry)])

    def close(self) -> None:
        self._journal.close()

    def _home(self, run: RunConfig) -> str:
        """The program's own folder."""
        if run.is_module:
            return self._directory
        return os.path.dirname(os.path.abspath(os.path.join(self._directory, run.program)))

    def _names(self, path: str, home: str) -> list[str]:
        """Names under which another study must find the same content.

        A file beside a run's program or in its folder has its counterpart beside the program or in the folder of the
        other study. A file elsewhere may have been named by its full path or relative to the folder: both are returned,
        unless it belongs to Python itself.
        """
        relative = os.path.relpath(path, self._directory)
        if path.startswith((os.path.join(self._directory, ""), os.path.join(home, ""))):
            return [relative]
        return [path] if path.startswith(os.path.join(sys.prefix, "")) else [path, relative]

    def _key(self, run: RunConfig) -> str:
        place = "" if run.is_module else os.path.relpath(self._home(run), self._directory)
        nowhere = RunConfig(run.n_ranks, os.path.basename(run.program))
        others = replace(run, program=nowhere.program, **{name: getattr(nowhere, name) for name in _OF_MACHINE})
        text = json.dumps([self._fingerprint(run), place, to_json(others)])
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    def _fingerprint(self, run: RunConfig) -> str:
        there = RunConfig(run.n_ranks, "program", **{name: getattr(run, name) for name in (*_OF_MACHINE, *_SIZES)})
        if there not in self._fingerprints:
            self._fingerprints[there] = check_run(there, self._directory)
        return self._fingerprints[there]


def relative_to(files: Mapping[str, str], folder: str) -> dict[str, str]:
    """Files by path; paths inside the folder are relative to it."""
    inside = os.path.join(folder, "")
    return {path.removeprefix(inside): state for path, state in files.items()}


def located(files: Mapping[str, str], folder: str) -> dict[str, str]:
    """Files by full path; relative paths begin at the folder."""
    return {os.path.abspath(os.path.join(folder, path)): state for path, state in files.items()}
