"""`Errhandler`: who is told of an error before it is raised.

Errors are raised as `MPI.Exception`, as mpi4py has it: that is ``ERRORS_RETURN``. An object with another handler
has its calls watched from then on (`guard`); until a program sets one, calls cost nothing more.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from typing import Any, ClassVar, Final, NoReturn, Self

from smpy.engine.running import current, mpi_call
from smpy.mpi.state.environment import abort
from smpy.mpi.state.exceptions import Exception as MpiException
from smpy.mpi.state.exceptions import fail
from smpy.mpi.state.handle import Handle, of_family
from smpy.mpi.state.world import Own, world

__all__ = [
    "ERRHANDLER_NULL",
    "ERRORS_ABORT",
    "ERRORS_ARE_FATAL",
    "ERRORS_RETURN",
    "Errhandler",
    "ErrorHandler",
    "ErrorHandling",
]

_MAX_MADE: Final = 32
"""Error handlers of one kind that a rank can have at a time, as in mpi4py."""


class ErrorHandler:
    """What is done about errors.

    Parameters
    ----------
    family : str
        Kind of object that it serves.
    function : callable, optional
        Called with the object and the error code; without it the run ends (``ends_run``), or nothing is done.
    ends_run : bool
        Whether an error ends the run.
    """

    __slots__ = ("_n_handles", "ends_run", "family", "function")

    def __init__(self, family: str, function: Callable[[Any, int], None] | None = None, ends_run: bool = False) -> None:
        self.family = family
        self.function = function
        self.ends_run = ends_run
        self._n_handles = 0

    def take(self) -> None:
        """One handle more."""
        if self.function is not None:
            counts, key = world().n_error_handlers, (current().rank, self.family)
            if self._n_handles == 0 and counts[key] == _MAX_MADE:
                raise RuntimeError(f"a rank has {_MAX_MADE} error handlers of a {self.family} at a time: Free() others")
            counts[key] += self._n_handles == 0
            self._n_handles += 1

    def give_back(self) -> None:
        """One handle less."""
        if self.function is not None:
            self._n_handles -= 1
            world().n_error_handlers[current().rank, self.family] -= self._n_handles == 0

    def tell(self, holder: object, code: int, reason: object) -> None:
        """Do what is to be done about an error of `holder`."""
        if self.ends_run:
            _end_run(reason, code)
        if self.function is not None:
            try:
                self.function(holder, code)
            except Exception as error:  # noqa: BLE001  # whatever the program's function raises
                traceback.print_exc(file=sys.stderr)
                _end_run(f"an error handler raised {type(error).__name__}", code)


def _end_run(reason: object, code: int) -> NoReturn:
    sys.stderr.write(f"rank {current().rank} ends the run: {reason}\n")
    abort(code)


class Errhandler(Handle):
    """What is done about errors of a communicator, a window, a file or a session.

    Parameters
    ----------
    errhandler : Errhandler, optional
        One to make another handle of; null without it.
    """

    __slots__ = ("__weakref__", "_handler_or_null")
    _family: ClassVar = "Errhandler"

    _handler_or_null: ErrorHandler | None

    def __new__(cls, errhandler: Errhandler | None = None) -> Self:
        self = super().__new__(cls)
        self._handler_or_null = None if errhandler is None else of_family(errhandler, Errhandler)._handler_or_null
        return self

    def _identity(self) -> int:
        return 0 if self._handler_or_null is None else id(self._handler_or_null)

    def _become_null(self) -> None:
        self._handler_or_null = None

    @property
    def _handler(self) -> ErrorHandler:
        """What the handle refers to; raises ``ERR_ERRHANDLER`` when it is null."""
        if self._handler_or_null is None:
            fail("ERR_ERRHANDLER", "the error handler is null")
        return self._handler_or_null

    def Free(self) -> None:
        """Give the error handler back; the handle becomes null. It goes on where it has been set."""
        handler = self._handler
        if any(known is self for known in self._predefined.values()):
            fail("ERR_ERRHANDLER", "Free: the error handler is predefined")
        handler.give_back()
        self._become_null()


def _handle(handler: ErrorHandler) -> Errhandler:
    handler.take()
    made = Errhandler()
    made._handler_or_null = handler
    return made


ERRHANDLER_NULL: Final = Errhandler()
ERRORS_RETURN: Final = _handle(ErrorHandler(""))
ERRORS_ABORT: Final = _handle(ErrorHandler("", ends_run=True))
ERRORS_ARE_FATAL: Final = _handle(ErrorHandler("", ends_run=True))
Errhandler._know(
    {
        "ERRHANDLER_NULL": ERRHANDLER_NULL,
        "ERRORS_RETURN": ERRORS_RETURN,
        "ERRORS_ABORT": ERRORS_ABORT,
        "ERRORS_ARE_FATAL": ERRORS_ARE_FATAL,
    }
)


class ErrorHandling(Handle):
    """An object that has an error handler."""

    __slots__ = ()

    def _own_part(self, call: str, *, to_change: bool = False) -> Own:
        """What the running rank has made of the object; raises when the handle is null."""
        raise NotImplementedError

    @classmethod
    def Create_errhandler(cls, errhandler_fn: Callable[[Any, int], None]) -> Errhandler:
        """Make an error handler of a function.

        Parameters
        ----------
        errhandler_fn : callable
            Called with the object and the error code; the error is raised when it returns.

        Raises
        ------
        RuntimeError
            If the rank has 32 of them.
        """
        if not callable(errhandler_fn):
            raise TypeError(f"{errhandler_fn!r} is not callable")
        return _handle(ErrorHandler(cls._family, errhandler_fn))

    def Get_errhandler(self) -> Errhandler:
        """The error handler of this object, on the running rank."""
        return _handle(self._own_part("Get_errhandler").error_handler or ERRORS_RETURN._handler)

    def Set_errhandler(self, errhandler: Errhandler) -> None:
        """Give this object an error handler, on the running rank.

        Parameters
        ----------
        errhandler : Errhandler
            ``ERRORS_RETURN``: errors are raised; ``ERRORS_ARE_FATAL``, ``ERRORS_ABORT``: they end the run.
        """
        own, handler = self._own_part("Set_errhandler", to_change=True), errhandler._handler
        if handler.family not in ("", self._family):
            fail("ERR_ARG", f"Set_errhandler: this is the error handler of a {handler.family}")
        own.error_handler = None if handler is ERRORS_RETURN._handler else handler
        if own.error_handler is not None:
            from smpy.mpi.state.guard import watch_calls  # it imports what it watches

            watch_calls()

    @mpi_call
    def Call_errhandler(self, errorcode: int) -> None:
        """Have the error handler called.

        Parameters
        ----------
        errorcode : int
            What has happened; nothing, when ``SUCCESS``.
        """
        handler = self._own_part("Call_errhandler").error_handler
        if handler is not None and errorcode:
            handler.tell(self, errorcode, MpiException(errorcode))
