"""`os.environ` on a rank: variables that an MPI launcher would set, and the rank's own changes."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, MutableMapping
from typing import TYPE_CHECKING, Any

from smpy.emulate.patches import Patches
from smpy.emulate.process_state import PerRankProcessState
from smpy.emulate.ranks import RankState, running

if TYPE_CHECKING:
    from smpy.engine.engine import Engine


class _Variables(MutableMapping[bytes, bytes]):
    """The encoded variables of the running rank: the process's, a launcher's, and the rank's changes.

    Programs look at those by which MPICH's launcher tells a process its rank, to find out whether they run under MPI at
    all before they import it. A change that a shared module makes when it is imported holds for all ranks.

    The rank's changes are a setting: libraries in C and child processes see them.
    """

    def __init__(self, common: dict[bytes, bytes], engine: Engine, settings: PerRankProcessState) -> None:
        self._common = common
        self._engine = engine
        self._settings = settings
        self._change = settings.add(self)
        self._touched: set[bytes] = set()
        self._told: dict[bytes, Callable[[RankState], int]] = {
            b"PMI_RANK": lambda state: engine.rank_in_world(state.rank),
            b"PMI_SIZE": lambda state: engine.comm_size(engine.world_of(state.rank)),
            b"MPI_LOCALRANKID": lambda state: self._places(state)[0][state.rank],
            b"MPI_LOCALNRANKS": lambda state: self._places(state)[1][engine.host_name(state.rank)],
        }
        self._places_in: dict[int, tuple[dict[int, int], Counter[str]]] = {}

    def _places(self, state: RankState) -> tuple[dict[int, int], Counter[str]]:
        """Rank of each world rank on its host, and the number of ranks of each host."""
        world = self._engine.world_of(state.rank)
        if world not in self._places_in:
            n_there: Counter[str] = Counter()
            local_ranks = {}
            for rank in self._engine.world_ranks(world):
                host = self._engine.host_name(rank)
                local_ranks[rank] = n_there[host]
                n_there[host] += 1
            self._places_in[world] = local_ranks, n_there
        return self._places_in[world]

    def _find(self, key: bytes) -> bytes | None:
        state = running()
        if state is not None:
            if state.environment is not None and key in state.environment:
                return state.environment[key]
            if key in self._told:
                return b"%d" % self._told[key](state)
        return self._common.get(key)

    def __getitem__(self, key: bytes) -> bytes:
        value = self._find(key)
        if value is None:
            raise KeyError(key)
        return value

    def __iter__(self) -> Iterator[bytes]:
        state = running()
        own = {} if state is None else {**dict.fromkeys(self._told, b""), **(state.environment or {})}
        return iter([key for key in {**dict.fromkeys(self._common), **own} if own.get(key, b"") is not None])

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __setitem__(self, key: bytes, value: bytes) -> None:
        self._assign(key, value)

    def __delitem__(self, key: bytes) -> None:
        self[key]
        self._assign(key, None)

    def _assign(self, key: bytes, value: bytes | None) -> None:
        state = running()
        if state is not None and not self._settings.is_for_all():
            self._change(self._assign_own, state, key, value)
        elif value is not None:
            self._common[key] = value
        else:
            self._common.pop(key, None)

    def _assign_own(self, state: RankState, key: bytes, value: bytes | None) -> None:
        self._touched.add(key)
        if state.environment is None:
            state.environment = {}
        state.environment[key] = value
        if key not in self._told and value == self._common.get(key):
            del state.environment[key]

    def __reduce__(self) -> Any:
        """Pickle as a dictionary: a process outside the run has one here."""
        return dict, (dict(self),)

    # ---- as a setting ----

    def read(self, state: RankState | None) -> Hashable:
        return frozenset((state.environment or {}).items()) if state is not None else frozenset()

    def write(self, value: frozenset[tuple[bytes, bytes | None]]) -> None:
        own = dict(value)
        for key in self._touched:
            current_value = own.get(key, self._common.get(key))
            if current_value is None:
                os.unsetenv(key)
            else:
                os.putenv(key, current_value)


def install_environment(patches: Patches, engine: Engine, settings: PerRankProcessState) -> None:
    """Give every rank its own environment variables until the patches are undone."""
    variables = _Variables(vars(os.environ)["_data"], engine, settings)
    for environ in (os.environ, os.environb):
        patches.attribute(environ, "_data", variables)
