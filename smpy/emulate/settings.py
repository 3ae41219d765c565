"""What a process has but one of: working directory and warning filters, exchanged as ranks switch.

Nothing is exchanged while all ranks have the same; as long as one has others, each switch looks whether the next rank's
differ (0.3 us a switch). Ranks with equal settings share them.
"""

from __future__ import annotations

import functools
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from smpy.emulate.patches import Patches
from smpy.emulate.ranks import RankState, running
from smpy.emulate.switches import Switches


@dataclass(slots=True, eq=False)
class _Settings:
    """Values in force while a rank runs."""

    folder: str
    filters: list[Any]
    show: tuple[Any, ...]  # the functions that show a warning

    def key(self) -> tuple[Any, ...]:
        return (self.folder, tuple(self.filters), self.show)


class Settings:
    """Exchanges the process's settings when ranks switch.

    Parameters
    ----------
    patches : Patches
        Where to note what to put back.
    switches : Switches
        Tells when another rank runs.
    is_for_all : callable
        Whether a shared module is being imported: what it changes, it changes for every rank.
    """

    def __init__(self, patches: Patches, switches: Switches, is_for_all: Callable[[], bool]) -> None:
        self._switches = switches
        self._is_for_all = is_for_all
        self._common = _Settings(os.getcwd(), list(warnings.filters), _show())
        self._in_force = self._common
        self._changed_by: RankState | None = None
        self._alike: dict[tuple[Any, ...], _Settings] = {self._common.key(): self._common}
        self._n_apart = 0  # ranks that have settings of their own: as long as there are any, switches are watched
        patches.later(functools.partial(_set_filters, warnings.filters, _show()))
        patches.later(functools.partial(os.chdir, self._common.folder))
        for owner, name in (
            (os, "chdir"),
            (os, "fchdir"),
            (warnings, "simplefilter"),
            (warnings, "filterwarnings"),
            (warnings, "resetwarnings"),
            (warnings.catch_warnings, "__enter__"),
            (warnings.catch_warnings, "__exit__"),
        ):
            patches.attribute(owner, name, self._announcing(getattr(owner, name)))

    def _announcing(self, real: Callable[..., Any]) -> Callable[..., Any]:
        """`real`, which changes a setting: from now on it is the running rank's own."""

        @functools.wraps(real)
        def function(*args: Any, **kwargs: Any) -> Any:
            state = running()
            is_for_all = self._is_for_all()
            if is_for_all and self._changed_by is not None:
                self._store(self._changed_by)
            if state is not None and not is_for_all:
                self._set_apart(state)
            result = real(*args, **kwargs)
            if is_for_all and self._in_force is self._common:
                self._take_as_common()
            return result

        return function

    def _take_as_common(self) -> None:
        self._alike = {key: settings for key, settings in self._alike.items() if settings is not self._common}
        self._common.folder, self._common.filters = os.getcwd(), list(warnings.filters)
        self._alike[self._common.key()] = self._common

    def _set_apart(self, state: RankState) -> None:
        if state.settings is None:
            if self._n_apart == 0:
                self._switches.watch(self._exchange)
            self._n_apart += 1
        if self._changed_by is None:
            now = self._in_force
            self._in_force = _Settings(now.folder, list(warnings.filters), _show())
            _set_filters(self._in_force.filters, self._in_force.show)
            state.settings = self._in_force
            self._changed_by = state

    def _exchange(self) -> None:
        if self._changed_by is not None:
            self._store(self._changed_by)
        state = running()
        next_ = self._common if state is None or state.settings is None else state.settings
        if next_ is not self._in_force:
            assert isinstance(next_, _Settings)
            if next_.folder != self._in_force.folder:
                _real_chdir(next_.folder)
            _set_filters(next_.filters, next_.show)
            self._in_force = next_

    def _store(self, state: RankState) -> None:
        """The rank that has changed something leaves: keep what it had, with ranks that have the same."""
        self._changed_by = None
        left = self._in_force
        left.folder, left.filters, left.show = os.getcwd(), list(warnings.filters), _show()
        state.settings = self._in_force = self._alike.setdefault(left.key(), left)
        _set_filters(self._in_force.filters, self._in_force.show)
        if self._in_force is self._common:
            state.settings = None
            self._n_apart -= 1
            if self._n_apart == 0:
                self._switches.ignore(self._exchange)


_real_chdir = os.chdir


_SHOW: Final = ("showwarning", "_showwarnmsg_impl")  # `catch_warnings(record=True)` replaces both


def _show() -> tuple[Any, ...]:
    return tuple(vars(warnings)[name] for name in _SHOW)


def _set_filters(filters: Any, show: tuple[Any, ...]) -> None:
    warnings.filters = filters
    vars(warnings).update(zip(_SHOW, show, strict=True))
    _tell_interpreter()


def _tell_interpreter() -> None:
    """Have the interpreter look at the filters again."""
    tell: Callable[[], None] | None = vars(warnings).get("_filters_mutated")
    if tell is not None:
        tell()
        return
    with vars(warnings)["_lock"]:  # from Python 3.14
        vars(warnings)["_filters_mutated_lock_held"]()
