"""`datetime` on a rank: "now" is the simulated time, as in `time.time()`.

The types themselves stay in place, because other modules and C code may hold them. During a run only those of their
methods that read the clock are replaced. Functions that ask the operating system directly keep real time:
`numpy.datetime64("now")`, dates of files, `resource.getrusage`.
"""

from __future__ import annotations

import ctypes
import gc
import sys
import warnings
from datetime import UTC, date, datetime, tzinfo
from functools import partial
from typing import Any, Final

from smpy.emulate.patches import Patches
from smpy.emulate.process.virtual_time import EPOCH_S, look_s
from smpy.emulate.ranks import running

_DEPRECATED: Final = (
    "datetime.datetime.utcnow() is deprecated and scheduled for removal in a future version. "
    "Use timezone-aware objects to represent datetimes in UTC: datetime.datetime.now(datetime.UTC)."
)


def install_dates(patches: Patches) -> None:
    """Make `datetime` return simulated dates until the patches are undone."""
    for kind, name, make in ((datetime, "now", _now), (datetime, "utcnow", _utcnow), (date, "today", _today)):
        real = vars(kind)[name]
        _set_method(kind, name, make(real))
        patches.later(partial(_set_method, kind, name, real))


def _set_method(kind: type, name: str, method: object) -> None:
    """Set an attribute of a type that is written in C and does not allow it."""
    (attributes,) = gc.get_referents(vars(kind))  # the dictionary behind the proxy
    attributes[name] = method
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))


def _now(real: Any) -> Any:
    from_timestamp = vars(datetime)["fromtimestamp"].__get__

    def now(cls: type[datetime], tz: tzinfo | None = None) -> datetime:
        state = running()
        if state is None:
            return real.__get__(None, cls)(tz)  # type: ignore[no-any-return]
        return from_timestamp(None, cls)(EPOCH_S + look_s(state, sys._getframe(1)), tz)  # type: ignore[no-any-return]

    return classmethod(_named(now, real))


def _utcnow(real: Any) -> Any:
    from_timestamp = vars(datetime)["fromtimestamp"].__get__

    def utcnow(cls: type[datetime]) -> datetime:
        state = running()
        if state is None:
            return real.__get__(None, cls)()  # type: ignore[no-any-return]
        if sys.version_info >= (3, 12):
            warnings.warn(_DEPRECATED, DeprecationWarning, stacklevel=2)
        now: datetime = from_timestamp(None, cls)(EPOCH_S + look_s(state, sys._getframe(1)), UTC)
        return now.replace(tzinfo=None)

    return classmethod(_named(utcnow, real))


def _today(real: Any) -> Any:
    def today(cls: type[date]) -> date:
        state = running()
        if state is None:
            return real.__get__(None, cls)()  # type: ignore[no-any-return]
        return cls.fromtimestamp(EPOCH_S + look_s(state, sys._getframe(1)))

    return classmethod(_named(today, real))


def _named(function: Any, real: Any) -> Any:
    """Copy the name and docstring of the real function, by which pickle finds it again."""
    function.__name__, function.__qualname__, function.__doc__ = real.__name__, real.__qualname__, real.__doc__
    return function
