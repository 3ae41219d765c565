"""Requested hosts of a machine in our own formats: their description, number and names."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain, groupby

from smpy.errors import PlatformError, meant
from smpy.platforms.cluster import Cluster, HostGroup, JoinedNames, ListedNames, NumberedNames
from smpy.platforms.own_format.settings import TomlTable


@dataclass(frozen=True, slots=True)
class RunSize:
    """Size of the run that a machine is for, if it does not give its number of hosts.

    Parameters
    ----------
    n_ranks : int
        Number of ranks.
    ranks_per_host : int
        Largest number of ranks on a host; 0: as many as it has cores for.
    cpus_per_task : int
        Cores of each rank.
    """

    n_ranks: int
    ranks_per_host: int = 0
    cpus_per_task: int = 1


@dataclass(frozen=True, slots=True)
class WantedHosts:
    """Hosts that a machine requests and its topology has places for.

    Parameters
    ----------
    settings : TomlTable
        The table [host], for messages.
    like : Cluster
        A cluster of such hosts.
    names : NumberedNames or JoinedNames
        Their names, perhaps without numbers; joined, if there are groups of them.
    count : int or None
        Number of hosts that are wanted; None: as many as the topology has places.
    needed : int
        Number of hosts that the run's ranks need.
    """

    settings: TomlTable
    like: Cluster
    names: NumberedNames | JoinedNames
    count: int | None
    needed: int = 1

    def for_run(self, run_size: RunSize) -> WantedHosts:
        """The same hosts, as many as a run needs."""
        room = max(self.like.cores // run_size.cpus_per_task, 1)
        return replace(self, needed=-(-run_size.n_ranks // min(room, run_size.ranks_per_host or room)))

    def with_name(self, name: str) -> WantedHosts:
        """The same hosts, in a cluster of this name."""
        return replace(self, like=replace(self.like, name=name))

    def cluster(self, n_places: int) -> Cluster:
        """Cluster of a topology with this number of places, each with a host.

        Raises
        ------
        PlatformError
            If another number of hosts was asked for.
        """
        if self.count is not None and self.count != n_places:
            key = "count" if self.settings.is_written("count") else "names"
            advice = ", none of which can be empty: change one of them" if self.count < n_places else ""
            raise self.settings.error(
                key, f"{self.count} hosts are wanted, and the topology has {n_places} places{advice}"
            )
        return self._cluster(n_places)

    def cluster_within(self, n_places: int) -> Cluster:
        """Cluster of a topology with this number of places, the last of which may be empty.

        Raises
        ------
        PlatformError
            If there are fewer places than hosts.
        """
        if self.count is not None and self.count > n_places:
            return self.cluster(n_places)
        return self._cluster(n_places if self.count is None else self.count)

    def cluster_of(self, names: tuple[str, ...]) -> Cluster:
        """Cluster of a topology whose own description names its hosts.

        Raises
        ------
        PlatformError
            If another number of hosts was asked for, or they were named.
        """
        if self.settings.is_written("names"):
            raise self.settings.error("names", "the topology names its hosts itself: remove it")
        self.cluster(len(names))
        return replace(self.like, hosts=ListedNames(names), groups=self._groups_of(names))

    def _groups_of(self, names: tuple[str, ...]) -> tuple[HostGroup, ...]:
        """Groups of these names, in their order; the cluster has the names in another order."""
        sizes = [group.n_hosts for group in self.like.groups]
        numbers = chain.from_iterable([number] * size for number, size in enumerate(sizes))
        number_of = dict(zip(self.names, numbers, strict=True)) if sizes else {}
        stray = next((name for name in names if name not in number_of), None) if sizes else None
        if stray is not None:
            close = meant(stray, number_of)
            raise PlatformError(f"host {stray!r} of the topology is in no group of hosts{close}: name it in one")
        runs = groupby(number_of[name] for name in names) if sizes else ()
        return tuple(replace(self.like.groups[number], n_hosts=len(list(run))) for number, run in runs)

    def _cluster(self, n_hosts: int) -> Cluster:
        names = self.names
        if isinstance(names, JoinedNames):
            return replace(self.like, hosts=names)
        ranges = names.ranges or (range(n_hosts),)
        return replace(self.like, hosts=NumberedNames(names.prefix, ranges, names.suffix))
