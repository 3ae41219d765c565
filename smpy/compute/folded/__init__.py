"""Folded arrays: they have a shape and a type, and stand for memory whose content does not matter.

All elements are one element: the strides are 0. Messages of folded arrays take their time and carry nothing, and so
does computing with them (`array_functions`): numbers in a run that has folded anything are not results; its record
says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from operator import index
from pickle import PickleBuffer
from typing import Any, Final, Literal
from weakref import ref

import numpy as np
from numpy.typing import DTypeLike, NDArray

from smpy.compute.folded.array_functions import COPIES, RULES, VIEWS
from smpy.compute.folded.charges import charge
from smpy.compute.folded.elementwise import of_ufunc
from smpy.compute.folded.indexing import getitem, is_of_fields, setitem
from smpy.compute.folded.modelled_results import Modelled, New, are_folded, as_shape, refused
from smpy.compute.folded.on_device import bits_on_device, keep_on_device
from smpy.compute.models.device import checked_device
from smpy.compute.models.kernel_models import takes_time
from smpy.engine.running import current, is_running, named_call

__all__ = ["Folded", "folded", "perform", "without_backing"]

_FUNCTIONS: Final = [
    "all",
    "any",
    "argmax",
    "argmin",
    "clip",
    "cumprod",
    "cumsum",
    "dot",
    "max",
    "mean",
    "min",
    "prod",
    "ptp",
    "ravel",
    "repeat",
    "round",
    "std",
    "sum",
    "take",
    "trace",
    "var",
]
"""Methods that call the numpy function of the same name and arguments."""
_REFUSED: Final = [
    "__dlpack__",
    "argpartition",
    "argsort",
    "byteswap",
    "choose",
    "compress",
    "dump",
    "dumps",
    "nonzero",
    "partition",
    "put",
    "searchsorted",
    "setfield",
    "sort",
    "tobytes",
    "tofile",
]
_BASIC: Final = frozenset({int, slice, type(...), type(None)})
_getitem: Final = np.ndarray.__getitem__


class Folded(np.ndarray):
    """An array whose elements all share one; made by `folded`, by indexing, and by computing with one.

    Operations take the time of a memory or of a kernel, give folded arrays and touch nothing. Numbers are results, too,
    computed as if an array were its one element.
    """

    _taken: tuple[Any, Any] = (None, None)
    """Array of which this is a part, and the key of the part."""

    _threads: int | None = None
    """Number of threads of operations on it and its parts; None: one on each of the rank's cores."""

    _is_on_device: bool = False
    """Whether it is in the memory of the rank's device."""

    _viewed: Any = None
    """Array whose memory of a device this one shows with other elements."""

    _has_marks: bool = False
    """Whether one of the two was set: few arrays have them, and views are made often."""

    def __array_finalize__(self, source: Any) -> None:
        if isinstance(source, Folded) and source._has_marks:
            self._mark(source._threads, is_on_device=source._is_on_device)

    def _mark(self, threads: int | None, *, is_on_device: bool) -> None:
        """Set the attributes that an array shares with its parts."""
        self._has_marks = True
        self._threads, self._is_on_device = threads, is_on_device

    @property
    def device(self) -> Any:
        """Memory of the array: "gpu" for that of the rank's device, else "cpu", as of numpy's arrays."""
        return "gpu" if self._is_on_device else "cpu"

    def to_device(self, device: Any, /, *, stream: Any = None) -> Any:
        """Copy to the rank's device ("gpu") or to its host ("cpu"), and wait for the copy; there already, it is itself.

        Parameters
        ----------
        device : str
            "gpu" or "cpu".
        stream : int, optional
            Stream in which the copy follows earlier work; the first one unless given.
        """
        if checked_device(device) == self._is_on_device or not is_running():
            return self
        copy = without_backing(self.shape, self.dtype, is_on_device=not self._is_on_device)
        copy._mark(self._threads, is_on_device=copy._is_on_device)
        if takes_time(is_folded=True):
            number = 0 if stream is None else stream
            current().start_copy(self.nbytes, number, to_device=copy._is_on_device)
            current().synchronize(number)
        return copy

    @property
    def __smpy_folded__(self) -> bool:
        return self.size > 0 and not any(self.strides)

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Any, out: tuple[Any, ...] = (), **named: Any
    ) -> Any:
        if are_folded((inputs, out, named.get("where"))):
            return perform(of_ufunc, ufunc, method, inputs, out, named)
        if out:
            named["out"] = tuple(_plain(array) for array in out)
        if "where" in named:
            named["where"] = _plain(named["where"])
        return getattr(ufunc, method)(*(_plain(array) for array in inputs), **named)

    def __array_function__(self, func: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
        if func in VIEWS or not are_folded((args, *kwargs.values())):
            return super().__array_function__(func, types, args, kwargs)
        rule = RULES.get(func)
        if rule is None:
            raise refused(f"{func.__module__}.{func.__name__}")
        return perform(rule, *args, **kwargs)

    def __getitem__(self, key: Any) -> Any:
        if type(key) in _BASIC or _is_view(key) or not self.__smpy_folded__:
            part = _getitem(self, key)
            if isinstance(part, Folded):
                part._taken = ref(self), key
            return part
        return perform(getitem, self, key)

    def __contains__(self, value: Any) -> bool:
        return bool((self == value).any()) if self.__smpy_folded__ else super().__contains__(value)

    def __setitem__(self, key: Any, value: Any) -> None:
        if not self.__smpy_folded__:
            super().__setitem__(key, value)
        elif not (isinstance(value, Folded) and value._is_there(self, key)):
            perform(setitem, self, key, value)

    def _is_there(self, array: Any, key: Any) -> bool:
        """Whether the value is this very part: numpy copies nothing then, at the end of `array[key] += 1`."""
        source, taken_by = self._taken
        is_same = source is not None and source() is array and type(taken_by) is type(key)
        return is_same and bool(taken_by == key) and self.shape == _getitem(array, key).shape

    def __repr__(self) -> str:
        return f"folded({self.shape}, dtype={self.dtype})" if self.__smpy_folded__ else super().__repr__()

    __str__ = __repr__

    def astype(self, dtype: Any, order: Any = "K", casting: Any = "unsafe", subok: Any = True, copy: Any = True) -> Any:
        """Convert to another type, as `numpy.ndarray.astype` does."""
        if not self.__smpy_folded__:
            return super().astype(dtype, order, casting, subok, copy)
        self.view(np.ndarray)[(slice(0, 1),) * self.ndim].astype(dtype, order, casting)  # refuses what cannot be
        return perform(COPIES["astype"], self, dtype, copy=copy)

    @property
    def real(self) -> Any:
        """Real part, as of `numpy.ndarray`."""
        return np.ndarray.real.__get__(self)

    @real.setter
    def real(self, value: Any) -> None:
        self._set_part(np.ndarray.real, value)

    @property
    def imag(self) -> Any:
        """Imaginary part, as of `numpy.ndarray`."""
        if self.__smpy_folded__ and self.dtype.kind != "c":
            return _of_element(self.shape, np.zeros(1, self.dtype), is_on_device=self._is_on_device)
        return np.ndarray.imag.__get__(self)

    @imag.setter
    def imag(self, value: Any) -> None:
        self._set_part(np.ndarray.imag, value)

    def _set_part(self, part: Any, value: Any) -> None:
        if self.__smpy_folded__:
            part.__get__(self)[...] = value
        else:
            part.__set__(self, value)

    @property
    def flat(self) -> Any:
        """Refuse: not modelled, because a new element would appear everywhere."""
        if self.__smpy_folded__ and self.ndim:
            raise refused("numpy.ndarray.flat")
        return np.ndarray.flat.__get__(self)

    @flat.setter
    def flat(self, value: Any) -> None:
        if self.__smpy_folded__:
            raise refused("numpy.ndarray.flat")
        vars(np.ndarray)["flat"].__set__(self, value)

    def view(self, *args: Any, **kwargs: Any) -> Any:
        """View, as of `numpy.ndarray`; elements of another size change the length of the last axis."""
        dtype = kwargs.get("dtype", args[0] if args else None)
        if dtype is None or (isinstance(dtype, type) and issubclass(dtype, np.ndarray)) or not self.__smpy_folded__:
            return super().view(*args, **kwargs)
        element = np.dtype(dtype)
        if element.itemsize == self.itemsize:
            return super().view(*args, **kwargs)
        plain = np.empty((0, *self.shape[-1:]), self.dtype) if self.ndim else np.empty((), self.dtype)
        viewed = without_backing(self.shape[:-1] + plain.view(element).shape[1:], element)
        if self._has_marks:
            viewed._mark(self._threads, is_on_device=self._is_on_device)
            viewed._viewed = self
        return viewed

    def copy(self, order: Any = "C") -> Any:
        """Copy, as `numpy.ndarray.copy` does."""
        return perform(COPIES["copy"], self, order) if self.__smpy_folded__ else super().copy(order)

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy() if self.__smpy_folded__ else super().__deepcopy__(memo)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Pickle to as many bytes as a real array, as messages and files need; load as a folded array of the host."""
        if self._is_on_device:
            return self.to_device("cpu").__reduce_ex__(protocol)
        if not self.__smpy_folded__ or not self.nbytes:
            return super().__reduce_ex__(protocol)
        if self.dtype.hasobject:
            raise refused("pickle", " where its elements are objects")
        if protocol < 5:
            return _frombuffer, (super().tobytes(), self.dtype, self.shape, "C"), None
        content: Any = np.zeros(self.nbytes, np.uint8)  # only its first element is read back
        content[: self.itemsize] = memoryview(_getitem(self, (0,) * self.ndim).tobytes())
        return _frombuffer, (PickleBuffer(content), self.dtype, self.shape, "C"), None

    def __reduce__(self) -> Any:
        return self.__reduce_ex__(2) if self.__smpy_folded__ and self.nbytes else super().__reduce__()

    def __setstate__(self, state: Any) -> None:
        if state is not None:  # the array is not folded
            super().__setstate__(state)

    def flatten(self, order: Any = "C") -> Any:
        """Copy to one dimension, as `numpy.ndarray.flatten` does."""
        return self.copy(order).reshape(-1) if self.__smpy_folded__ else super().flatten(order)

    def fill(self, value: Any) -> None:
        """Fill with a value, as `numpy.ndarray.fill` does."""
        np.empty(0, self.dtype).fill(value)  # refuses values that are no element
        self[...] = value


def _delegate(name: str) -> Callable[..., Any]:
    """Method that calls a numpy function: compiled methods of arrays ignore subclasses."""
    function, of_array = getattr(np, name), getattr(np.ndarray, name, None)

    def method(self: Folded, *args: Any, **kwargs: Any) -> Any:
        if self.__smpy_folded__ or of_array is None:
            return function(self, *args, **kwargs)
        return of_array(self, *args, **kwargs)

    method.__name__, method.__doc__ = name, f"`numpy.{name}`."
    return method


def _refuse(name: str) -> Callable[..., Any]:
    of_array = getattr(np.ndarray, name)

    def method(self: Folded, *args: Any, **kwargs: Any) -> Any:
        if self.__smpy_folded__:
            raise refused(f"numpy.ndarray.{name}")
        return of_array(self, *args, **kwargs)

    method.__name__, method.__doc__ = name, "Not modelled."
    return method


for _name in _FUNCTIONS:
    if hasattr(np.ndarray, _name):
        setattr(Folded, _name, _delegate(_name))
for _name in _REFUSED:
    setattr(Folded, _name, _refuse(_name))


@named_call("")
def perform(rule: Callable[..., Modelled], *args: Any, **kwargs: Any) -> Any:
    """Take the time of an operation, and create its result."""
    modelled = rule(*args, **kwargs)
    threads = _threads_of((args, kwargs))
    device_bits = bits_on_device((args, kwargs))
    charge(modelled.charges, threads=threads, device_bits=device_bits)
    result = _as_folded(modelled.result, is_on_device=device_bits is not None)
    if threads is not None and isinstance(result, Folded):
        result._mark(threads, is_on_device=result._is_on_device)
    return result


def _threads_of(arguments: Any) -> int | None:
    """Number of threads set on the first array, among the arguments, that has one."""
    if isinstance(arguments, Folded):
        return arguments._threads
    if isinstance(arguments, dict):
        arguments = arguments.values()
    elif not isinstance(arguments, (tuple, list)):
        return None
    return next((threads for each in arguments if (threads := _threads_of(each)) is not None), None)


def _as_folded(result: Any, *, is_on_device: bool) -> Any:
    if isinstance(result, New):
        if result.shape or result.is_array:
            return _of_element(result.shape, result.element, is_on_device=is_on_device)
        if is_on_device:
            current().synchronize(0)  # a number is read once it is known
        return result.element[0]
    if isinstance(result, tuple):
        parts = (_as_folded(part, is_on_device=is_on_device) for part in result)
        return type(result)(*parts) if hasattr(result, "_fields") else tuple(parts)
    if isinstance(result, list):
        return [_as_folded(part, is_on_device=is_on_device) for part in result]
    return result


def _is_view(key: Any) -> bool:
    """Whether indexing with this key gives a view, or a single element."""
    for part in key if type(key) is tuple else (key,):
        if type(part) not in _BASIC and not isinstance(part, np.integer) and not is_of_fields(part):
            return False
    return True


def _plain(array: Any) -> Any:
    return array.view(np.ndarray) if isinstance(array, Folded) else array


def folded(
    shape: int | Sequence[int],
    dtype: DTypeLike = float,
    *,
    threads: int | None = None,
    device: Literal["cpu", "gpu"] | None = None,
) -> NDArray[Any]:
    """An array without backing: it can be sent and received as a buffer of its size, and holds none of it.

    Parameters
    ----------
    shape : int or sequence of int
        Shape of the array.
    dtype : data-type, optional
        Type of its elements.
    threads : int, optional
        Number of threads of BLAS and LAPACK in operations on it and on their results; without it, one on each of the
        rank's cores. Elementwise operations, copies and transforms have one, as numpy's own code has.
    device : {"cpu", "gpu"}, optional
        "gpu": it is in the memory of the rank's device. Operations on it and on its results are kernels that start
        there, in the first stream; `smpy.synchronize` waits for them, and so does a number as a result.

    Returns
    -------
    Folded
        An array whose content is meaningless.

    Raises
    ------
    UsageError
        If the host has no device, or its memory no room.

    Examples
    --------
    >>> matrix = folded((100_000, 100_000))
    >>> matrix.nbytes
    80000000000
    >>> matrix[:, 3].shape
    (100000,)
    """
    _note_in_run()
    is_on_device = checked_device(device) and is_running()
    array = without_backing(as_shape(shape), np.dtype(dtype), is_on_device=is_on_device)
    if threads is not None:
        number = current().threads_of(threads) if is_running() else index(threads)
        array._mark(number, is_on_device=is_on_device)
    return array


def _note_in_run() -> None:
    """Mark the run as one with folded arrays, and make numpy's functions check for them."""
    if is_running():
        import smpy.compute.folded.conversions  # noqa: F401  # which is what patches them

        current().has_folded = True


def _frombuffer(content: Any, dtype: np.dtype[Any], shape: tuple[int, ...], _order: str) -> Folded:
    """Load a pickled folded array, whose pickle names this function.

    Module and name are as long as numpy's, `numpy._core.numeric._frombuffer`, so that messages have as many bytes.
    """
    _note_in_run()
    return _of_element(shape, np.frombuffer(content, dtype, 1))


def without_backing(shape: tuple[int, ...], dtype: np.dtype[Any], *, is_on_device: bool = False) -> Folded:
    """Folded array as the result of an operation on others."""
    return _of_element(shape, _element(dtype), is_on_device=is_on_device)


def _of_element(shape: tuple[int, ...], element: NDArray[Any], *, is_on_device: bool = False) -> Folded:
    """Array with an element of its own: compiled code that writes to it changes no other array."""
    own = element.copy()
    array = np.ndarray.__new__(Folded, shape, element.dtype, own, strides=(0,) * len(shape))
    if is_on_device:
        keep_on_device(own, array.nbytes)
        array._mark(None, is_on_device=True)
    return array


@cache
def _element(dtype: np.dtype[Any]) -> NDArray[Any]:
    """Element of folded arrays of a type: 1 if the type has it, so that programs can divide by it."""
    return np.ones(1, dtype) if dtype.kind in "biufc" else np.zeros(1, dtype)
