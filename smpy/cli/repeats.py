"""Runs after the first one, each in a process of its own: of `smpy run --repeat`, and without `--background`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from smpy.options import RunConfig

if TYPE_CHECKING:
    from smpy.records.summary import Summary


def other_runs(config: RunConfig, directory: str) -> Iterator[Summary]:
    """Perform the runs after the first, one after the other: they show no output and get no input.

    Only the first run writes records, traces and bursts. Each run has the next seed.

    Parameters
    ----------
    config : RunConfig
        The first run.
    directory : str
        Directory in which it ran.

    Raises
    ------
    UsageError, RunError, KeyboardInterrupt
        Under the conditions of `smpy.simulate`.
    """
    from smpy.runs.simulate import perform_run

    other = _quiet(config)
    for number in range(1, config.repeat):
        yield perform_run(replace(other, seed=config.seed + number), directory=directory).summary


def run_without_background(config: RunConfig, directory: str) -> Summary:
    """Perform the run without messages of other jobs; arguments and errors are those of `other_runs`."""
    from smpy.runs.simulate import perform_run

    return perform_run(replace(_quiet(config), background=None), directory=directory).summary


def _quiet(config: RunConfig) -> RunConfig:
    return replace(config.without_records(), check_wildcards=False)
