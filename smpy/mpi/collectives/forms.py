"""The non-blocking and the persistent form of a collective call, made from the blocking one."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, Concatenate, ParamSpec, TypeVar

from smpy.engine.running import mpi_call
from smpy.mpi.collectives.call import CollectiveCall
from smpy.mpi.requests.persistent import Prequest
from smpy.mpi.requests.request import Request
from smpy.mpi.state.comm_core import CommCore
from smpy.mpi.state.info import INFO_NULL

__all__ = ["persistent", "started"]

C = TypeVar("C", bound=CommCore)
P = ParamSpec("P")


def started(
    blocking: Callable[Concatenate[C, P], None], part: Callable[..., CollectiveCall]
) -> Callable[Concatenate[C, P], Request]:
    """The form of a call that returns at once: ``Gather`` gives ``Igather``.

    Parameters
    ----------
    blocking : method
        The blocking form: name and signature follow from it.
    part : callable
        Called with the arguments and the name of the form: one rank's part in the collective.
    """
    name = blocking.__name__
    doc = f"Start {_article(name)} `{name}`."
    form: Callable[Concatenate[C, P], Request] = _form(
        blocking, part, f"I{name[0].lower()}{name[1:]}", "start", doc, "Request"
    )
    return form


def persistent(
    blocking: Callable[Concatenate[C, P], None], part: Callable[..., CollectiveCall]
) -> Callable[Concatenate[C, P], Prequest]:
    """The form of a call that is described once and started often: ``Gather`` gives ``Gather_init``.

    Parameters
    ----------
    blocking, part
        See `started`. The form has one parameter more, ``info``, which is ignored.
    """
    name = blocking.__name__
    doc = f"{_article(name).capitalize()} `{name}` to be started; `info` is ignored."
    form: Callable[Concatenate[C, P], Prequest] = _form(
        blocking, part, f"{name}_init", "persistent", doc, "Prequest", has_info=True
    )
    return form


def _form(
    blocking: Any,
    part: Callable[..., CollectiveCall],
    name: str,
    use: str,
    doc: str,
    result: str,
    *,
    has_info: bool = False,
) -> Any:
    """A real method, with the parameters of `blocking`, so that errors and `help` name them."""
    method: FunctionType = vars(blocking)["__wrapped__"]
    code = method.__code__
    names = code.co_varnames[: code.co_argcount]
    parameters = ", ".join((*names, "info") if has_info else names)
    text = f"def {name}({parameters}): return part({', '.join(names)}, {name!r}).{use}()"
    variables: dict[str, Any] = {"__name__": method.__module__, "part": part}
    exec(compile(text, code.co_filename, "exec"), variables)  # noqa: S102  # made of names alone
    form: FunctionType = variables[name]
    types = {key: value for key, value in method.__annotations__.items() if key != "return"}
    form.__defaults__ = (*(method.__defaults__ or ()), INFO_NULL) if has_info else method.__defaults__
    form.__annotations__ = {**types, "info": "Info", "return": result} if has_info else {**types, "return": result}
    form.__qualname__ = method.__qualname__.replace(method.__name__, name)
    form.__doc__ = doc
    return mpi_call(form)


def _article(name: str) -> str:
    return "an" if name[0] in "AE" else "a"
