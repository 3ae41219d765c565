"""What operations on folded arrays give and cost, before it is made: shapes, one element each, and kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smpy.compute.charges import Charge, is_folded
from smpy.errors import UsageError

__all__ = [
    "Modelled",
    "New",
    "Rule",
    "are_folded",
    "arrays_in",
    "fits_into",
    "new",
    "one_of_each",
    "refused",
    "traffic_bytes",
]


@dataclass(frozen=True, slots=True)
class New:
    """A folded array to be made; of no dimension, a number.

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
        """Of the array that it stands for."""
        return int(np.prod(self.shape, dtype=object)) * self.element.itemsize


@dataclass(frozen=True, slots=True)
class Modelled:
    """What an operation gives and costs.

    Parameters
    ----------
    result : object
        A `New`, a tuple with such, or what is returned as it is.
    charges : tuple of Charge
        Its kernels.
    """

    result: Any
    charges: tuple[Charge, ...] = ()


Rule = Callable[..., Modelled]
"""Takes the arguments of the function that it models."""


def new(shape: Iterable[int], dtype: Any, *, is_array: bool = False) -> New:
    """An array of ones."""
    return New(tuple(shape), np.ones(1, dtype), is_array)


def arrays_in(arguments: Iterable[Any]) -> Iterator[np.ndarray[Any, Any]]:
    """Arrays among arguments, and in their lists and tuples."""
    for argument in arguments:
        if isinstance(argument, np.ndarray):
            yield argument
        elif isinstance(argument, (list, tuple)):
            yield from arrays_in(argument)


def one_of_each(argument: Any) -> Any:
    """An argument with its arrays cut to one element, of as many dimensions.

    What is done with that one has the type that the whole would have, and the errors that do not depend on shapes.
    """
    if isinstance(argument, np.ndarray):
        plain = argument.view(np.ndarray)
        return plain[(slice(0, 1),) * plain.ndim] if plain.ndim else plain
    if isinstance(argument, (list, tuple)) and any(True for _ in arrays_in(argument)):
        return type(argument)(map(one_of_each, argument))
    return argument


def traffic_bytes(read: Iterable[Any], written: Iterable[Any]) -> int:
    """Bytes of the arrays that are read, each once, and of those that are written."""
    arrays = {id(array): array for array in arrays_in(read)}
    results = sum(int(it.nbytes) for it in written if isinstance(it, (np.ndarray, New)) and it.shape)
    return sum(array.nbytes for array in arrays.values() if array.ndim) + results


def fits_into(shape: tuple[int, ...], room: tuple[int, ...]) -> bool:
    """Whether what has a shape can be assigned to another: by axes of 1, and more of them in front."""
    n_more = max(len(shape) - len(room), 0)
    pairs = zip(reversed(shape[n_more:]), reversed(room), strict=False)
    return all(size == 1 for size in shape[:n_more]) and all(size in (1, place) for size, place in pairs)


def refused(function: str, what: str = "") -> UsageError:
    """An operation that has no model."""
    return UsageError(
        f"{function} of a folded array is not modelled{what}: tell its time with smpy.execute or @smpy.kernel, or use "
        "an array that is there"
    )


def are_folded(arguments: Iterable[Any]) -> bool:
    """Whether an array among arguments is folded."""
    return any(map(is_folded, arrays_in(arguments)))
