"""`os.environ` on a rank: what a rank changes there, it alone sees."""

from __future__ import annotations

import os
from typing import Any

from smpy.emulate.patches import Patches
from smpy.emulate.ranks import running


class _RankEnviron(type(os.environ)):  # type: ignore[misc]  # the class has no public name
    """Environment variables of whichever rank runs.

    A rank's changes also reach the process, where libraries in C and child processes look: they see the last one.
    """

    def __init__(self, real: Any) -> None:
        self._common: dict[Any, Any] = vars(real)["_data"]
        self._touched: set[Any] = set()
        super().__init__(self._common, real.encodekey, real.decodekey, real.encodevalue, real.decodevalue)

    @property
    def _data(self) -> dict[Any, Any]:
        state = running()
        own = None if state is None else state.environment
        return self._common if own is None else own

    @_data.setter
    def _data(self, data: object) -> None:
        """Given by the base class, which would keep it."""

    def _change(self, key: str) -> None:
        state = running()
        if state is not None and state.environment is None:
            state.environment = self._common.copy()
        if state is not None:
            self._touched.add(self.encodekey(key))

    def __setitem__(self, key: str, value: str) -> None:
        self._change(key)
        super().__setitem__(key, value)

    def __delitem__(self, key: str) -> None:
        self._change(key)
        super().__delitem__(key)

    def restore(self) -> None:
        """Undo for the process what ranks have changed."""
        for key in self._touched:
            value = self._common.get(key)
            if value is None:
                os.unsetenv(key)
            else:
                os.putenv(key, value)


def install_environment(patches: Patches) -> None:
    """Give every rank its own environment variables until the patches are undone."""
    environ = _RankEnviron(os.environ)
    patches.later(environ.restore)
    patches.attribute(os, "environ", environ)
