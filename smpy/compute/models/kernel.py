"""Functions whose computing is modelled from their arguments."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import isasyncgenfunction, iscoroutinefunction, isgeneratorfunction, signature
from numbers import Integral
from typing import Any, Literal, NamedTuple, ParamSpec, TypeVar

from smpy.compute.models.device import bits_of, checked_device, refuse_work_of_host
from smpy.compute.models.execute import check_work
from smpy.compute.models.expressions import over_arguments
from smpy.compute.models.kernel_models import Unmeasured, charge_kernel, takes_time
from smpy.compute.models.modelling import Modelling
from smpy.engine.running import current, is_running, named_call, per_world
from smpy.errors import UsageError

__all__ = ["kernel"]

_WORK = "flop", "bytes", "working_set_bytes", "random_bytes"

P = ParamSpec("P")
R = TypeVar("R")


class _Place(NamedTuple):
    """Cores or device on which a kernel computes; `device_bits` are those of its numbers, 0 on cores."""

    threads: int | None
    device_bits: int
    stream: int


def kernel(
    *,
    flop: str | float = 0,
    bytes: str | float = 0,  # noqa: A002  # the field's word
    working_set_bytes: str | float = 0,
    random_bytes: str | float = 0,
    name: str = "",
    threads: int | None = None,
    device: Literal["cpu", "gpu"] | None = None,
    dtype: Any = "float64",
    stream: int = 0,
) -> Callable[[Callable[P, R]], Callable[P, R | None]]:
    """Decorate a function that computes: state its work in terms of its arguments.

    With ``--compute models`` or ``mixed`` a call takes the time of `smpy.execute` with these numbers, whatever its body
    computes; if the machine's `[kernels]` has a cost of that name, it is that time. The sizes of such a cost are
    arguments of the function that are whole numbers; or flop, bytes, working_set_bytes or random_bytes, with the
    numbers given here.
    Measured, or where computing is free, the function is unchanged. A call with a folded array among its arguments
    does not run the body and returns None; unless computing is free, it takes the modelled time. Outside a simulated
    run the function is unchanged.

    Parameters
    ----------
    flop, bytes, working_set_bytes, random_bytes : str or float
        Arguments of `smpy.execute`: numbers, or arithmetic over the function's arguments, such as ``"2*m*n*k"`` or
        ``"8*a.shape[0]**2"``; `len`, `log2`, `max` and `min` may be called.
    name : str, optional
        Name of the kernel in records; the function's own name unless given.
    threads : int, optional
        Number of threads, as of `smpy.execute`; without it, one on each of the rank's cores.
    device, dtype, stream : optional
        As of `smpy.execute`. A kernel of a device is modelled where computing is measured, too: this machine's time is
        not the device's. `[kernels]` are those of cores.

    Raises
    ------
    UsageError
        If there is no such device or type; on a call, if the host has none, or it has no speed for the type.
    ValueError
        If an expression is none, or has a name that is no argument; on a call, if it gives no number of at least 0.

    Examples
    --------
    >>> @kernel(flop="2*len(x)", bytes="24*len(x)")
    ... def axpy(a, x, y):
    ...     return [a * one + other for one, other in zip(x, y)]
    >>> axpy(2, [1, 2], [10, 20])
    [12, 24]
    """
    expressions = dict(zip(_WORK, (flop, bytes, working_set_bytes, random_bytes), strict=True))
    place = _Place(threads, bits_of(dtype) if checked_device(device) else 0, stream)
    if place.device_bits:
        refuse_work_of_host(threads, has_random=random_bytes != 0)

    def decorate(function: Callable[P, R]) -> Callable[P, R | None]:
        called = name or function.__name__
        if isgeneratorfunction(function) or iscoroutinefunction(function) or isasyncgenfunction(function):
            raise ValueError(
                f"kernel {called}: it must compute when it is called, and a generator or coroutine does not"
            )
        try:
            check_work(*(0 if isinstance(amount, str) else amount for amount in expressions.values()))
            amounts = over_arguments(function, expressions)
        except ValueError as wrong:
            raise ValueError(f"kernel {called}: {wrong}") from None

        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R | None:
            if not is_running():
                return function(*args, **kwargs)
            is_folded = any(getattr(argument, "__smpy_folded__", False) for argument in (*args, *kwargs.values()))
            is_charged = takes_time(is_folded=is_folded or place.device_bits > 0)
            if not is_charged:
                return None if is_folded else function(*args, **kwargs)
            with Unmeasured():
                _charge(called, function, amounts, place, args, kwargs)
                return None if is_folded else _inside(function, *args, **kwargs)

        wrapper: Any = call
        # frames show which call the program made
        wrapper.__code__ = wrapper.__code__.replace(co_name=function.__name__)
        return call

    return decorate


def _inside(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Call the body of a kernel whose time is charged."""
    inside, rank = per_world(Modelling).inside, current().rank
    inside.add(rank)
    try:
        return function(*args, **kwargs)
    finally:
        inside.discard(rank)


def _charge(
    name: str,
    function: Callable[..., Any],
    amounts: Callable[..., tuple[Any, ...]],
    place: _Place,
    args: Any,
    kwargs: Any,
) -> None:
    args, kwargs = tuple(map(_exact, args)), {key: _exact(argument) for key, argument in kwargs.items()}
    cost = per_world(Modelling).costs.get(name)
    try:
        work = flop, moved_bytes, working_set_bytes, random_bytes = tuple(map(float, amounts(*args, **kwargs)))
        if place.device_bits:
            _start(name, flop, moved_bytes, place)
            return
        sizes = () if cost is None else _sizes(name, cost.sizes, work, function, args, kwargs)
        charge_kernel(
            *(name, sizes),
            flop=flop,
            moved_bytes=moved_bytes,
            working_set_bytes=working_set_bytes,
            random_bytes=random_bytes,
            threads=place.threads,
        )
    except (TypeError, ValueError, ArithmeticError, AttributeError, LookupError) as wrong:
        signature(function).bind(*args, **kwargs)  # a call with wrong arguments gets Python's own error
        raise ValueError(f"kernel {name}: {wrong}") from None


@named_call("")
def _start(name: str, flop: float, moved_bytes: float, place: _Place) -> None:
    """Start a kernel on the running rank's device."""
    check_work(flop, moved_bytes, 0)
    current().start_kernel(flop, moved_bytes, place.device_bits, place.stream)


def _sizes(
    name: str,
    size_names: tuple[str, ...],
    work: tuple[float, ...],
    function: Callable[..., Any],
    args: Any,
    kwargs: Any,
) -> tuple[int, ...]:
    """Sizes for which the machine has a cost: arguments, or the work that the kernel states."""
    bound = signature(function).bind(*args, **kwargs)
    bound.apply_defaults()
    values = dict(zip(_WORK, map(int, work), strict=True)) | bound.arguments
    for size in size_names:
        if not isinstance(values.get(size), int):
            raise UsageError(
                f"kernel {name}: the machine's cost of it has the sizes {', '.join(size_names)}, and {size!r} is no "
                f"argument that is a whole number, nor one of {', '.join(_WORK)}: name the kernel otherwise (name=...)"
            )
    return tuple(values[size] for size in size_names)


def _exact(argument: Any) -> Any:
    """A numpy integer, whose products may overflow, as a Python integer; other values unchanged."""
    return int(argument) if isinstance(argument, Integral) else argument
