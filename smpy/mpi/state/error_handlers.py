"""`Errhandler`: functions that are called with an error before it is raised.

Errors are raised as `MPI.Exception`, as in mpi4py: this is ``ERRORS_RETURN``. Calls on an object with another handler
are watched (`guard`); until a program sets one, calls cost nothing more.
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
from smpy.mpi.state.guard import tell_of_errors, watch_calls
from smpy.mpi.state.handle import Handle, of_family
from smpy.mpi.state.per_rank_attributes import ErrorHandler, PerRankAttributes
from smpy.mpi.state.world import world

__all__ = [
    "ERRHANDLER_NULL",
    "ERRORS_ABORT",
    "ERRORS_ARE_FATAL",
    "ERRORS_RETURN",
    "Errhandler",
    "ErrorHandling",
    "tell",
]

_MAX_MADE: Final = 32
"""Error handlers of one kind that a rank can have at a time, as in mpi4py."""


def tell(handler: ErrorHandler, holder: object, code: int, reason: object) -> None:
    """Apply a handler to an error of `holder`: call its function, or end the run."""
    if handler.ends_run:
        _end_run(reason, code)
    if handler.function is not None:
        try:
            handler.function(holder, code)
        except Exception as error:  # noqa: BLE001  # whatever the program's function raises
            traceback.print_exc(file=sys.stderr)
            _end_run(f"an error handler raised {type(error).__name__}", code)


def _end_run(reason: object, code: int) -> NoReturn:
    sys.stderr.write(f"rank {current().rank} ends the run: {reason}\n")
    abort(code)


class Errhandler(Handle):
    """A handler of errors of a communicator, a window, a file or a session.

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
        """The handler that the handle refers to; raises ``ERR_ERRHANDLER`` when it is null."""
        if self._handler_or_null is None:
            fail("ERR_ERRHANDLER", "the error handler is null")
        return self._handler_or_null

    def Free(self) -> None:
        """Give the error handler back; the handle becomes null. It goes on where it has been set."""
        handler = self._handler
        if any(known is self for known in self._predefined.values()):
            fail("ERR_ERRHANDLER", "Free: the error handler is predefined")
        if handler.function is not None:
            handler.n_handles -= 1
            world().n_error_handlers[current().rank, handler.family] -= handler.n_handles == 0
        self._become_null()


def _handle(handler: ErrorHandler) -> Errhandler:
    if handler.function is not None:
        counts, key = world().n_error_handlers, (current().rank, handler.family)
        if handler.n_handles == 0 and counts[key] == _MAX_MADE:
            raise RuntimeError(f"a rank has {_MAX_MADE} error handlers of a {handler.family} at a time: Free() others")
        counts[key] += handler.n_handles == 0
        handler.n_handles += 1
    new = Errhandler()
    new._handler_or_null = handler
    return new


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
    _in_place_of_none: ClassVar[ErrorHandling]
    """Object whose handler gets the errors of calls on no object; a family may have its own."""

    def _own_part(self, call: str, *, to_change: bool = False) -> PerRankAttributes:
        """The running rank's own name, attributes, error handler and hints; raises when the handle is null."""
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
            watch_calls()

    @mpi_call
    def Call_errhandler(self, errorcode: int) -> None:
        """Have the error handler called.

        Parameters
        ----------
        errorcode : int
            Code of the error; ``SUCCESS``: the handler is not called.
        """
        handler = self._own_part("Call_errhandler").error_handler
        if handler is not None and errorcode:
            tell(handler, self, errorcode, MpiException(errorcode))


def _tell_of_error(args: tuple[Any, ...], error: MpiException) -> None:
    first = args[0] if args else None
    if isinstance(first, ErrorHandling) and first:
        holder = first
    else:  # a request, say, does not know its communicator
        kind = first if isinstance(first, type) else type(first)
        holder = (kind if issubclass(kind, ErrorHandling) else ErrorHandling)._in_place_of_none
    handler = holder._own_part("error handler").error_handler
    if handler is not None:
        tell(handler, holder, int(error), error)


tell_of_errors(_tell_of_error)
