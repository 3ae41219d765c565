"""Results and costs of operations on folded arrays: shapes, one element each, and kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smpy.compute.folded.charges import Charge, is_folded, streaming
from smpy.errors import UsageError

__all__ = [
    "Modelled",
    "New",
    "Rule",
    "are_folded",
    "arrays_in",
    "as_arrays",
    "as_shape",
    "fits_into",
    "into",
    "new",
    "one_of_each",
    "one_pass",
    "refused",
    "room_like",
    "traffic_bytes",
]


@dataclass(frozen=True, slots=True)
class New:
    """Folded array to be created; without dimensions, a number.

    Parameters
    ----------
    shape : tuple of int
        Its shape.
    element : numpy.ndarray
        All of its elements, which are one.
    is_array : bool
        Whether it is an array also if it has no dimension.
    """

    shape: tuple[int, ...]
    element: NDArray[Any]
    is_array: bool = False

    @property
    def nbytes(self) -> int:
        """Size in bytes of the array that this stands for."""
        return int(np.prod(self.shape, dtype=object)) * self.element.itemsize


@dataclass(frozen=True, slots=True)
class Modelled:
    """Result and cost of an operation.

    Parameters
    ----------
    result : object
        A `New`, a tuple or list with such, or an object that is returned as it is.
    charges : tuple of Charge
        Its kernels.
    """

    result: Any
    charges: tuple[Charge, ...] = ()


Rule = Callable[..., Modelled]
"""Take the arguments of the modelled function."""


def new(shape: Iterable[int], dtype: Any, *, is_array: bool = False) -> New:
    """Array of ones."""
    return New(tuple(shape), np.ones(1, dtype), is_array)


def arrays_in(arguments: Iterable[Any]) -> Iterator[np.ndarray[Any, Any]]:
    """Arrays among arguments, also in lists and tuples."""
    for argument in arguments:
        if isinstance(argument, np.ndarray):
            yield argument
        elif isinstance(argument, (list, tuple)):
            yield from arrays_in(argument)


def as_arrays(arguments: Iterable[Any]) -> tuple[Any, ...]:
    """Arguments with lists replaced by the arrays that numpy makes of them."""
    return tuple(np.asanyarray(argument) if isinstance(argument, (list, tuple)) else argument for argument in arguments)


def as_shape(argument: Any) -> tuple[int, ...]:
    """A shape as numpy reads it: an integer is one axis.

    Raises
    ------
    TypeError, ValueError
        If it is none.
    """
    try:
        shape: tuple[int, ...] = (index(argument),)
    except TypeError:
        shape = tuple(map(index, argument))
    if min(shape, default=0) < 0:
        raise ValueError("negative dimensions are not allowed")
    return shape


def one_of_each(argument: Any) -> Any:
    """An argument with its arrays cut to one element, of as many dimensions.

    An operation on it has the type that the whole would have, and the errors that do not depend on shapes.
    """
    if isinstance(argument, np.ndarray):
        plain = argument.view(np.ndarray)
        return plain[(slice(0, 1),) * plain.ndim] if plain.ndim else plain
    if isinstance(argument, (list, tuple)) and any(True for _ in arrays_in(argument)):
        return type(argument)(map(one_of_each, argument))
    return argument


def traffic_bytes(read: Iterable[Any], written: Iterable[Any]) -> int:
    """Bytes of the arrays that are read, once each, and of the arrays that are written."""
    arrays = {id(array): array for array in arrays_in(read)}
    results = sum(int(array.nbytes) for array in written if isinstance(array, (np.ndarray, New)) and array.shape)
    return sum(array.nbytes for array in arrays.values() if array.ndim) + results


def one_pass(read: Sequence[Any], written: Sequence[Any], flop: float = 0) -> tuple[Charge, ...]:
    """Charge of an elementwise operation: arrays are read once; results are written, perhaps in place."""
    arrays = {id(array) for array in arrays_in(read)}
    rewritten_bytes = sum(int(array.nbytes) for array in written if id(array) in arrays)
    return streaming(traffic_bytes(read, written), flop, rewritten_bytes)


def fits_into(shape: tuple[int, ...], room: tuple[int, ...]) -> bool:
    """Whether an array of one shape can be assigned to another: axes of 1 stretch, leading axes are added."""
    n_more = max(len(shape) - len(room), 0)
    pairs = zip(reversed(shape[n_more:]), reversed(room), strict=False)
    return all(size == 1 for size in shape[:n_more]) and all(size in (1, place) for size, place in pairs)


def room_like(out: np.ndarray[Any, Any], shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Array with the type and flags of `out`: numpy refuses to write a result to it where it would refuse `out`."""
    room = np.empty(shape, out.dtype)
    room.flags.writeable = out.flags.writeable
    return room


def into(out: Any, new_array: New, element: Any, call: Callable[[Any], Any], *, is_broadcast: bool = False) -> Any:
    """Array passed for the result, unchanged; the result if none was passed.

    Parameters
    ----------
    out : numpy.ndarray, None or ...
        The array; with `...`, numbers are arrays of no dimension.
    new_array : New
        The result.
    element : array_like
        Result of numpy for the small arrays that stand for the arguments.
    call : callable
        The same call, given an array as small to receive its result: numpy refuses types and flags.
    is_broadcast : bool
        Whether a result may be repeated along axes of the array.

    Raises
    ------
    ValueError
        If the shapes do not fit.
    """
    if out is None:
        return new_array
    room: Any = out
    if isinstance(out, np.ndarray):
        room = room_like(out, (1,) * out.ndim if is_broadcast else np.shape(element))
    with np.errstate(all="ignore"):
        returned = call(room)
    if out is ... or returned is not room:  # some functions do not check it
        return replace(new_array, is_array=isinstance(returned, np.ndarray))
    if not isinstance(out, np.ndarray):
        raise TypeError(f"out is of type {type(out).__name__}, not an array")
    if out.shape != new_array.shape and not (is_broadcast and fits_into(new_array.shape, out.shape)):
        raise ValueError(f"output array has the shape {out.shape}, and the result {new_array.shape}")
    return out


def refused(function: str, what: str = "") -> UsageError:
    """Refuse an operation without a model."""
    return UsageError(
        f"{function} of a folded array is not modelled{what}: tell its time with smpy.execute or @smpy.kernel, or use "
        "an array that is there"
    )


def are_folded(arguments: Iterable[Any]) -> bool:
    """Whether an argument is or contains a folded array."""
    return any(map(is_folded, arrays_in(arguments)))
