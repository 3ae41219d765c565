"""Calls that are watched: none, until a rank has ended MPI, has yet to start it, or has set an error handler.

From then on every call of the world asks first whether its rank may call, and tells the error handler what it raises;
the compiled calls go through the same door. A world that never comes to that pays one comparison a call, and the
compiled calls nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MethodDescriptorType
from typing import TYPE_CHECKING, Any, Final
from weakref import ref

from smpy.engine.running import current, guard_calls, mpi_call
from smpy.mpi.comms.comm import COMM_WORLD, Comm
from smpy.mpi.io.file import FILE_NULL, File
from smpy.mpi.requests.request import Request
from smpy.mpi.state.bases import CommBase, RequestBase
from smpy.mpi.state.environment import check_under_way
from smpy.mpi.state.error_handlers import ErrorHandling
from smpy.mpi.state.exceptions import Exception as MpiException

if TYPE_CHECKING:
    from smpy.engine.engine import Engine

__all__ = ["watch_calls"]

_COMPILED: Final = {
    Comm: (
        CommBase,
        (
            *("Send", "Recv", "Isend", "Irecv", "Sendrecv", "Sendrecv_replace"),
            *("Iprobe", "Allreduce", "Get_rank", "Get_size"),
        ),
    ),
    Request: (RequestBase, ("Wait", "Test")),
}
_PROPERTIES: Final = {"rank": "Get_rank", "size": "Get_size"}

_assign, _remove = type.__setattr__, type.__delattr__  # programs may not (`FixedClass`)
_watched: ref[Engine] | None = None


def watch_calls() -> None:
    """Have the calls of the running world watched."""
    global _watched
    if _watched is not None and _watched() is current():
        return
    _watched = ref(current())
    guard_calls(_guarded)
    for owner, (base, names) in _COMPILED.items():
        for name in names:
            _assign(owner, name, mpi_call(getattr(base, name)))
    for name, method in _PROPERTIES.items():
        _assign(Comm, name, property(getattr(Comm, method)))
    _assign(Request, "Waitall", classmethod(mpi_call(_Waitall)))


def _forget() -> None:
    """The watched world is over: the compiled calls are themselves again."""
    global _watched
    _watched = None
    guard_calls(None)
    for owner, (_, names) in _COMPILED.items():
        for name in names:
            _remove(owner, name)
    for name in _PROPERTIES:
        _remove(Comm, name)
    _remove(Request, "Waitall")


def _Waitall(cls: type[Request], *args: Any, **kwargs: Any) -> Any:  # errors name the call by it
    return vars(RequestBase)["Waitall"].__get__(None, cls)(*args, **kwargs)


def _guarded(method: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    if _watched is None or _watched() is not current():
        _forget()
        return method(*args, **kwargs)
    if not _is_of_mpi(method):
        return method(*args, **kwargs)
    check_under_way(method.__name__.removeprefix("_"))
    try:
        return method(*args, **kwargs)
    except MpiException as error:
        if not error._is_told:
            error._is_told = True
            _tell(args, error)
        raise


def _is_of_mpi(method: Callable[..., Any]) -> bool:
    """Whether it is a call of MPI's, and not of what goes on around it: output, sleep."""
    return isinstance(method, MethodDescriptorType) or str(getattr(method, "__module__", "")).startswith("smpy.mpi")


def _tell(args: tuple[Any, ...], error: MpiException) -> None:
    holder = _holder(args[0] if args else None)
    handler = holder._own_part("error handler").error_handler
    if handler is not None:
        handler.tell(holder, int(error), error)


def _holder(first: object) -> ErrorHandling:
    """Whose handler is told, given the first argument of the call; a request does not know its communicator."""
    if isinstance(first, ErrorHandling) and first:
        return first
    is_of_files = isinstance(first, File) or (isinstance(first, type) and issubclass(first, File))
    return FILE_NULL if is_of_files else COMM_WORLD
