"""`os.environ` on a rank: what a launcher of MPI tells a process there, and what the rank itself has changed."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from smpy.emulate.patches import Patches
from smpy.emulate.ranks import RankState, running

if TYPE_CHECKING:
    from smpy.engine.engine import Engine


_Environ: Any = type(os.environ)  # the class has no public name


class _Launched(Mapping[bytes, bytes]):
    """The process's variables, and those by which MPICH's launcher tells a process its rank.

    Programs look at them to find out whether they run under MPI at all, before they import it.
    """

    def __init__(self, common: Mapping[bytes, bytes], engine: Engine) -> None:
        self._common = common
        self._engine = engine
        self._told: dict[bytes, Callable[[RankState], int]] = {
            b"PMI_RANK": lambda state: state.rank,
            b"PMI_SIZE": lambda _: engine.n_ranks,
            b"MPI_LOCALRANKID": lambda state: self._places[0][state.rank],
            b"MPI_LOCALNRANKS": lambda state: self._places[1][engine.host_name(state.rank)],
        }

    @cached_property
    def _places(self) -> tuple[list[int], Counter[str]]:
        """Each rank's number among those of its host, and how many ranks a host has."""
        n_there: Counter[str] = Counter()
        local_ranks = []
        for rank in range(self._engine.n_ranks):
            host = self._engine.host_name(rank)
            local_ranks.append(n_there[host])
            n_there[host] += 1
        return local_ranks, n_there

    def __getitem__(self, key: bytes) -> bytes:
        tell = self._told.get(key)
        state = running()
        return self._common[key] if tell is None or state is None else b"%d" % tell(state)

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._common.keys() | self._told.keys())

    def __len__(self) -> int:
        return len(self._common.keys() | self._told.keys())


class _Variables:
    """The encoded variables of whichever rank runs: those it was launched with, until it changes one."""

    def __init__(self, common: dict[bytes, bytes], engine: Engine) -> None:
        self._common = common
        self._launched = _Launched(common, engine)
        self._touched: set[bytes] = set()

    def now(self) -> Mapping[bytes, bytes]:
        state = running()
        if state is None:
            return self._common
        return self._launched if state.environment is None else state.environment

    def own(self) -> dict[bytes, bytes]:
        state = running()
        if state is None:
            return self._common
        if state.environment is None:
            state.environment = dict(self._launched)
        return state.environment

    def touch(self, key: bytes) -> None:
        """The running rank is about to change a variable."""
        if self.own() is not self._common:
            self._touched.add(key)

    def restore(self) -> None:
        """Undo for the process what ranks have changed."""
        for key in self._touched:
            value = self._common.get(key)
            if value is None:
                os.unsetenv(key)
            else:
                os.putenv(key, value)


class _RankEnviron(_Environ):  # type: ignore[misc]
    """`os.environ` or `os.environb` of whichever rank runs.

    A rank's changes also reach the process, where libraries in C and child processes look: they see the last one.
    """

    def __init__(self, real: Any, variables: _Variables) -> None:
        self._variables = variables
        super().__init__(None, real.encodekey, real.decodekey, real.encodevalue, real.decodevalue)

    @property
    def _data(self) -> Mapping[bytes, bytes]:
        return self._variables.now()

    @_data.setter
    def _data(self, data: object) -> None:
        """Given by the base class, which would keep it."""

    def __setitem__(self, key: Any, value: Any) -> None:
        self._variables.touch(self.encodekey(key))
        super().__setitem__(key, value)

    def __delitem__(self, key: Any) -> None:
        self._variables.touch(self.encodekey(key))
        super().__delitem__(key)

    def __reduce__(self) -> Any:
        """As one of this rank alone, which shares its variables: so copies are made."""
        codecs = self.encodekey, self.decodekey, self.encodevalue, self.decodevalue
        return _Environ(self._variables.own(), *codecs).__reduce__()


def install_environment(patches: Patches, engine: Engine) -> None:
    """Give every rank its own environment variables until the patches are undone."""
    variables = _Variables(vars(os.environ)["_data"], engine)
    patches.later(variables.restore)
    for name in ("environ", "environb"):
        patches.attribute(os, name, _RankEnviron(getattr(os, name), variables))
