"""Machines of a study's runs, read in this process: a machine takes a millisecond."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import chdir
from dataclasses import replace
from typing import Any

from smpy.emulate.config import description_of
from smpy.errors import UsageError
from smpy.options import RunConfig
from smpy.platforms.description import Description
from smpy.runs.run_text import run_config


class MachineReader:
    """Reads machines, each once.

    Parameters
    ----------
    folder : str
        Folder that their files are relative to.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._machines: dict[RunConfig, Description] = {}

    def machine(self, run: RunConfig) -> Description:
        """Machine of a run.

        Raises
        ------
        UsageError
            If there is no such machine.
        """
        about = RunConfig(
            *(run.n_ranks, ""),
            platform=run.platform,
            options=run.options,
            ranks_per_host=run.ranks_per_host,
            cpus_per_task=run.cpus_per_task,
            network=run.network,
            compat=run.compat,
        )
        if about not in self._machines:
            with chdir(self._folder):
                self._machines[about] = description_of(about)
        return self._machines[about]

    def ranks_of_all_cores(self, options: Mapping[str, Any]) -> int:
        """Number of ranks that take all cores of a machine, or all places on its hosts that `ppn` allows.

        Raises
        ------
        UsageError
            If the machine is sized to its ranks, or has no list of its hosts.
        """
        run = run_config("", [], {**options, "ranks": 1})
        parts = self.machine(run).parts_list
        if parts is None:
            raise UsageError('ranks = "all": the cores of this topology are not known: say a number')
        n_ranks = sum(kind.count * _places(run, kind.cores) for kind in parts.hosts)
        if self.machine(replace(run, n_ranks=n_ranks + 1)).n_hosts != parts.n_hosts:
            raise UsageError('ranks = "all": the machine has as many hosts as its ranks need: say set.host.count')
        return n_ranks


def check_sizes(sizes: Iterable[object]) -> None:
    """Check that a machine has the same size for all programs.

    Raises
    ------
    UsageError
        If it has not.
    """
    if len(set(sizes)) > 1:
        raise UsageError("a machine has another size for each program: say how many hosts it has (set.host.count)")


def _places(run: RunConfig, n_cores: int) -> int:
    """Ranks that go on a host."""
    room = n_cores // run.cpus_per_task
    return room if run.ranks_per_host is None else min(run.ranks_per_host, room)


def has_places(run: RunConfig, machine: Description) -> bool:
    """Whether each rank of a run has cores of its own on a machine; true if the machine has no list of hosts."""
    parts = machine.parts_list
    return parts is None or sum(kind.count * _places(run, kind.cores) for kind in parts.hosts) >= run.n_ranks
