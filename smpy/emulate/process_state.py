"""Saves and restores process-wide state (umask, working directory, ...) when the running rank changes.

Nothing is exchanged while all ranks have equal settings; as long as one rank's differ, each switch compares those of
the next rank (0.3 us a switch). Ranks with equal settings share them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from typing import Any, Final, Protocol
from weakref import WeakValueDictionary

from smpy.emulate.patches import Patches
from smpy.emulate.rank_switch_hooks import RankSwitchHooks
from smpy.emulate.ranks import RankState, running

Change = Callable[..., Any]


class ProcessSetting(Protocol):
    """One piece of process-wide state."""

    def read(self, state: RankState | None) -> Hashable:
        """Value that the rank has left; None: the value before any rank runs."""
        ...

    def write(self, value: Any) -> None:
        """Set the value for the rank that runs next."""
        ...


class Value:
    """A setting that one function reads and another one writes."""

    def __init__(self, read: Callable[[], Hashable], write: Callable[[Any], object]) -> None:
        self._read = read
        self._write = write

    def read(self, state: RankState | None) -> Hashable:
        return self._read()

    def write(self, value: Any) -> None:
        self._write(value)


class _Values:
    """Values of all settings, in force while certain ranks run."""

    __slots__ = ("__weakref__", "n_ranks", "values")

    def __init__(self, values: tuple[Hashable, ...], n_ranks: int = 0) -> None:
        self.values = values
        self.n_ranks = n_ranks


class PerRankProcessState:
    """Exchanges the process's settings when ranks switch.

    Parameters
    ----------
    patches : Patches
        Notes the values to put back.
    switches : RankSwitchHooks
        Tells when another rank runs.
    is_for_all : callable
        Whether a shared module is being imported: what it changes, it changes for every rank.
    n_ranks : int
        Ranks of the world.

    Attributes
    ----------
    is_for_all : callable
        The parameter of that name.
    """

    def __init__(
        self, patches: Patches, switches: RankSwitchHooks, is_for_all: Callable[[], bool], n_ranks: int
    ) -> None:
        self._patches: Final = patches
        self._switches: Final = switches
        self.is_for_all: Final = is_for_all
        self._n_ranks = n_ranks
        self._settings: list[ProcessSetting] = []
        self._common = self._in_force = _Values((), n_ranks)
        self._alike: WeakValueDictionary[tuple[Hashable, ...], _Values] = WeakValueDictionary()
        self._changed_by: RankState | None = None
        self._changed: set[int] = set()
        self._is_watching = False

    def add_ranks(self, n: int) -> None:
        """Expect further ranks, which begin with the common values."""
        self._n_ranks += n
        self._common.n_ranks += n

    def add(self, setting: ProcessSetting) -> Change:
        """Exchange a setting, too; before any rank runs.

        The returned function is to be called with a function that changes the setting, and its arguments.
        """
        before = setting.read(None)
        self._patches.later(partial(setting.write, before))
        self._settings.append(setting)
        self._common.values = (*self._common.values, before)
        return partial(self._change, len(self._settings) - 1)

    def _change(self, number: int, real: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Call a function that changes a setting: from now on its value is the running rank's own.

        A change that a shared module makes when it is imported is made for all ranks that had the same value.
        """
        state = running()
        if state is None or not state.engine.is_here():  # in a thread, another rank may be running
            return real(*args, **kwargs)
        if not self.is_for_all():
            self._changed_by = state
            self._changed.add(number)
            self._watch()
            return real(*args, **kwargs)
        self._store()
        result = real(*args, **kwargs)
        before, now = self._in_force.values[number], self._settings[number].read(state)
        there = {self._common, *self._alike.values()}
        for kept in there:
            if kept.values[number] == before:
                kept.values = (*kept.values[:number], now, *kept.values[number + 1 :])
        self._alike = WeakValueDictionary({kept.values: kept for kept in there})
        return result

    def _exchange(self) -> None:
        self._store()
        state = running()
        following = self._common if state is None or state.settings is None else state.settings
        if following is not self._in_force:
            assert isinstance(following, _Values)
            for setting, now, next_value in zip(self._settings, self._in_force.values, following.values, strict=True):
                if now is not next_value and now != next_value:
                    setting.write(next_value)
            self._in_force = following

    def _store(self) -> None:
        """Store the settings that the leaving rank has changed; ranks with equal ones share them."""
        state = self._changed_by
        if state is None:
            return
        self._changed_by = None
        values = list(self._in_force.values)
        for number in self._changed:
            values[number] = self._settings[number].read(state)
        self._changed.clear()
        left = self._values(tuple(values))
        before = state.settings if isinstance(state.settings, _Values) else self._common
        before.n_ranks -= 1
        left.n_ranks += 1
        state.settings = self._in_force = left
        if left.n_ranks == self._n_ranks:
            self._common = left
            self._is_watching = False
            self._switches.ignore(self._exchange)

    def _values(self, values: tuple[Hashable, ...]) -> _Values:
        return self._common if values == self._common.values else self._alike.setdefault(values, _Values(values))

    def _watch(self) -> None:
        if not self._is_watching:
            self._is_watching = True
            self._switches.watch(self._exchange)
