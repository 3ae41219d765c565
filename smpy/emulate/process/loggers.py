"""`logging` on a rank: its own loggers, handlers, classes and record factory, created at its first use of them.

A logger that a shared package created during its import keeps the level that the importing rank set; its messages go
to the handlers of the running rank.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any, Final

from smpy.emulate.patches import Patches
from smpy.emulate.process.virtual_time import EPOCH_S
from smpy.emulate.ranks import RankState, running


class _Loggers:
    """One rank's root logger, manager, handlers and record factory, of which module `logging` has one set."""

    __slots__ = ("handlers", "make_record", "manager", "root")

    def __init__(self, root: Any) -> None:
        self.root = logging.RootLogger(logging.WARNING)
        self.manager = logging.Manager(root)
        self.handlers: list[Any] = []
        self.make_record: Callable[..., Any] = logging.LogRecord


def install_loggers(patches: Patches) -> None:
    """Give every rank its own loggers until the patches are undone."""
    common = _Loggers(logging.root)
    common.root, common.manager = logging.root, logging.Logger.manager
    common.handlers = vars(logging)["_handlerList"]
    common.make_record = logging.getLogRecordFactory()

    def own() -> _Loggers:
        state = running()
        if state is None:
            return common
        if state.loggers is None:
            state.loggers = _Loggers(root)
        return state.loggers  # type: ignore[return-value]  # an object to `ranks`, which knows no loggers

    def set_logger_class(klass: type[logging.Logger]) -> None:
        own().manager.setLoggerClass(klass)

    root = _delegate(logging.RootLogger, lambda: own().root)
    manager = _delegate(logging.Manager, lambda: own().manager)
    patches.attribute(logging, "root", root)
    patches.attribute(logging.Logger, "root", root)
    patches.attribute(logging.Logger, "manager", manager)
    patches.attribute(logging, "_handlerList", _Handlers(lambda: own().handlers))
    patches.attribute(logging, "_logRecordFactory", lambda *args, **kwargs: own().make_record(*args, **kwargs))
    patches.attribute(logging, "getLogRecordFactory", lambda: own().make_record)
    patches.attribute(logging, "setLogRecordFactory", lambda factory: setattr(own(), "make_record", factory))
    patches.attribute(logging, "setLoggerClass", set_logger_class)
    start = vars(logging)["_startTime"]  # in seconds; from Python 3.13 in nanoseconds
    patches.attribute(logging, "_startTime", type(start)(EPOCH_S if isinstance(start, float) else EPOCH_S * 10**9))


def shut_down(state: RankState) -> None:
    """Flush and close a rank's handlers, as `logging` does when a process exits."""
    loggers = state.loggers
    if isinstance(loggers, _Loggers):
        logging.shutdown(loggers.handlers)


def _delegate(kind: type, target: Callable[[], Any]) -> Any:
    """Subclass of `kind` whose instances read every attribute from the target."""

    class Delegate(kind):  # type: ignore[misc]  # any class
        def __init__(self) -> None:
            """Keep nothing of its own."""

        def __getattribute__(self, name: str) -> Any:
            return getattr(target(), name)

        def __setattr__(self, name: str, value: object) -> None:
            setattr(target(), name, value)

        def __repr__(self) -> str:
            return repr(target())

    Delegate.__name__, Delegate.__qualname__ = kind.__name__, kind.__qualname__
    return Delegate()


class _Handlers(list[Any]):
    """Handlers of the running rank, with the operations that `logging` uses."""

    def __init__(self, handlers: Callable[[], list[Any]]) -> None:
        super().__init__()
        self._handlers: Final = handlers

    def append(self, item: Any) -> None:
        self._handlers().append(item)

    def remove(self, item: Any) -> None:
        self._handlers().remove(item)

    def __contains__(self, item: object) -> bool:
        return item in self._handlers()

    def __getitem__(self, index: Any) -> Any:
        return self._handlers()[index]

    def __delitem__(self, index: Any) -> None:
        del self._handlers()[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._handlers())

    def __len__(self) -> int:
        return len(self._handlers())
