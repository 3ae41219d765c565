"""Ranks that are added to a run, with a COMM_WORLD of their own."""

from __future__ import annotations

from collections.abc import Sequence

from smpy.engine.collectives import Collectives
from smpy.engine.kernel import lib
from smpy.engine.loop import check
from smpy.engine.machine_devices import tell_devices
from smpy.engine.surface import surface


class AddedRanks(Collectives):
    """Adds ranks, and returns the COMM_WORLD of each."""

    def add_ranks(self, hosts: Sequence[int]) -> range:
        """Start a rank on each of these hosts, at the present date; return the new ranks, with their own COMM_WORLD.

        Raises
        ------
        SmpyError
            If there is no memory for them.
        """
        first = self.n_ranks
        self.devices += tell_devices(self._sim, self.platform, set(hosts).difference(self._host_of_rank))
        for host in hosts:
            rank = int(lib.sim_rank_new(self._sim, host))
            check(rank)
            timeline = int(lib.sim_timeline_new(self._sim, rank))
            check(timeline)
            self._host_of_rank.append(host)
            n_new = timeline + 1 - len(self._greenlets)
            self._greenlets.extend([None] * n_new)
            self._waits_in.extend([""] * n_new)
            self._first_of_added.append(timeline)
            self.n_ranks += 1
        self._ranks_of_host = None
        if self.bursts is not None:
            self.bursts.start(range(first, self.n_ranks))
        check(lib.sim_tell_launch(self._sim, self.timeline, first, len(hosts)))
        self.has_added_ranks = True
        ranks = range(first, self.n_ranks)
        world = self.comm_new(ranks)
        self._added_worlds.extend([world] * len(ranks))
        if surface is not None:
            surface.add_ranks(len(ranks), world)
        return ranks

    def rank_in_world(self, rank: int) -> int:
        """Rank in its COMM_WORLD of a world rank: ranks that are started together have consecutive numbers."""
        return rank - int(lib.sim_comm_world_rank(self._sim, self.world_of(rank), 0))

    def world_of(self, rank: int) -> int:
        """Number of the communicator that is COMM_WORLD for a world rank: 0 for those that the run began with."""
        return 0 if rank < self.n_first_ranks else self._added_worlds[rank - self.n_first_ranks]
