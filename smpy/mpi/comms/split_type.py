"""Splitting by shared resources: on a simulated machine, by host.

It takes no time, like SMPI's: a rank knows the ranks on its host. It waits only for these, which may choose to stay
outside. Between groups it is a `Split` by hosts.
"""

from __future__ import annotations

from typing import Any, Final

from smpy.engine.running import current, mpi_call
from smpy.mpi.collectives.open_collective import Signature, enter
from smpy.mpi.comms.creation import Creation
from smpy.mpi.comms.creation_messages import pay_for_new, split_both
from smpy.mpi.comms.hints import give_hints
from smpy.mpi.state.arguments import integer
from smpy.mpi.state.comm_core import member_of
from smpy.mpi.state.constants import (
    COMM_TYPE_HW_GUIDED,
    COMM_TYPE_HW_UNGUIDED,
    COMM_TYPE_RESOURCE_GUIDED,
    COMM_TYPE_SHARED,
    UNDEFINED,
)
from smpy.mpi.state.exceptions import fail
from smpy.mpi.state.info import INFO_NULL, Info, pairs_of
from smpy.mpi.state.world import Communicator, world

__all__ = ["TypeSplitting"]

_RESOURCE: Final = "mpi_hw_resource_type"
_SHARED_MEMORY: Final = "mpi_shared_memory"
_TYPES: Final = (
    UNDEFINED,
    COMM_TYPE_SHARED,
    COMM_TYPE_HW_GUIDED,
    COMM_TYPE_HW_UNGUIDED,
    COMM_TYPE_RESOURCE_GUIDED,
)


class TypeSplitting(Creation):
    """Communicators of ranks that share a resource."""

    __slots__ = ()

    @mpi_call
    def Split_type(self, split_type: int, key: int = 0, info: Info = INFO_NULL) -> Any:
        """A communicator of the ranks that share a host with the running rank.

        Parameters
        ----------
        split_type : int
            ``COMM_TYPE_SHARED``; ``COMM_TYPE_HW_GUIDED`` or ``COMM_TYPE_RESOURCE_GUIDED`` with the hint
            ``mpi_hw_resource_type`` set to ``mpi_shared_memory``, which is the same (null for any other resource);
            ``COMM_TYPE_HW_UNGUIDED``: null unless there are several hosts; ``UNDEFINED``: null.
        key : int
            Order in the new communicator.
        info : Info
            Resource to split by; an unguided split stores there the resource that it has used. Others are hints of the
            new communicator, as `Set_info` takes them.
        """
        split_type, key = integer("Split_type", "split_type", split_type), integer("Split_type", "key", key)
        communicator, rank = member_of(self, "Split_type")
        if split_type not in _TYPES:
            fail("ERR_ARG", f"Split_type({split_type}): use one of the COMM_TYPE_ constants, or UNDEFINED")
        is_in = _splits_by_host(split_type, info)
        if communicator.is_inter:
            color = _host_of(communicator, rank) if is_in else UNDEFINED
            new = split_both(communicator, rank, color, key)
            if new is not None:
                pay_for_new(new, current().comm_rank(new.number), "Split_type")
                _give_hints(new, info)
            return self._handle_or_null(new)
        collective = enter(communicator, rank, Signature("Split_type"), _Hosts, communicator)
        hosts: _Hosts = collective.payload
        if split_type == COMM_TYPE_HW_UNGUIDED:
            is_in = len(hosts.ranks) > 1
        new = hosts.split(rank, key if is_in else None)
        collective.leave()
        if new is not None:
            _give_hints(new, info)
        if new is not None and split_type == COMM_TYPE_HW_UNGUIDED and info:
            info.Set(_RESOURCE, _SHARED_MEMORY)
        return self._handle_or_null(new)


def _splits_by_host(split_type: int, info: Info) -> bool:
    if split_type in (COMM_TYPE_HW_GUIDED, COMM_TYPE_RESOURCE_GUIDED):
        return bool(info) and info.Get(_RESOURCE) == _SHARED_MEMORY
    return split_type == COMM_TYPE_SHARED


def _give_hints(new: Communicator, info: Info) -> None:
    hints = {key: value for key, value in pairs_of(info).items() if key != _RESOURCE}
    give_hints(new, current().comm_rank(new.number), hints, "Split_type")


def _host_of(communicator: Communicator, rank: int) -> str:
    return current().host_name(communicator.world_ranks()[rank])


class _Hosts:
    """Hosts of a communicator's ranks, the keys of ranks that join, and the new communicator of each host."""

    __slots__ = ("_host_of", "_keys", "_latches", "_new", "_number", "_world_ranks", "ranks")

    def __init__(self, communicator: Communicator) -> None:
        engine = current()
        self._number = communicator.number
        self._world_ranks = communicator.world_ranks()
        self._host_of = [engine.host_name(world_rank) for world_rank in self._world_ranks]
        self.ranks: dict[str, list[int]] = {}
        for rank, host in enumerate(self._host_of):
            self.ranks.setdefault(host, []).append(rank)
        self._keys: dict[int, int] = {}
        self._latches: dict[str, int] = {}
        self._new: dict[str, Communicator] = {}

    def split(self, rank: int, key: int | None) -> Communicator | None:
        """The communicator of the ranks with a key on the rank's host; None when the rank has no key."""
        host = self._host_of[rank]
        if key is not None:
            self._keys[rank] = key
        self._wait(host)
        if key is None:
            return None
        if host not in self._new:
            together = sorted((self._keys[mate], mate) for mate in self.ranks[host] if mate in self._keys)
            self._new[host] = world().new_communicator([self._world_ranks[mate] for _, mate in together])
        return self._new[host]

    def _wait(self, host: str) -> None:
        """Wait, for no time of one's own, until all on the host have chosen."""
        engine, n_there = current(), len(self.ranks[host])
        if n_there == 1:
            return
        if host not in self._latches:
            self._latches[host] = engine.new_latch(n_there)
        coming = engine.start_collective(self._number, world().no_steps(), 0, 0, (), self._latches[host])
        engine.wait(coming, "Split_type")
