"""Fourier transforms of folded arrays: one kernel an axis, of as many lines as there are.

Shapes, types and errors are those of numpy and scipy, which transform an empty stack of such arrays. A transform of n
numbers is 5 n log2(n) operations, one between real numbers and half a spectrum as half of that (Frigo & Johnson 2005,
benchFFT), and cosine and sine transforms as much as those.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import log2, prod
from typing import Any, Final

import numpy as np

from smpy.compute.charges import BLAS_LETTERS, Charge, copying
from smpy.compute.modelled_results import Modelled, New, Rule, into, new, one_of_each

__all__ = ["FOURIER", "OF_ONE_AXIS", "transforms"]

OF_ONE_AXIS: Final = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "dct", "idct", "dst", "idst")
"""Transforms that take n and an axis; the others take sizes and axes."""
_OF_AXES: Final = (
    *("fft2", "ifft2", "fftn", "ifftn", "rfft2", "irfft2", "rfftn", "irfftn"),
    *("dctn", "idctn", "dstn", "idstn"),
)
_OF_REAL_NUMBERS: Final = ("dct", "idct", "dst", "idst", "dctn", "idctn", "dstn", "idstn")
_HALF_SPECTRA: Final = ("rfft", "irfft", "hfft", "ihfft")
_FLOP_PER_N_LOG_N: Final = 5


def _lines(n: int, n_elements: int, dtype: np.dtype[Any], *, is_half: bool) -> tuple[Charge, ...]:
    """Transforms of n numbers, as many as make so many elements."""
    if not n or not n_elements:
        return ()
    spectrum = np.result_type(dtype, np.complex64)
    letter = BLAS_LETTERS.get(np.empty(0, spectrum).real.dtype.char if is_half else spectrum.char, "")
    name = f"{letter}fft" if letter else f"fft_{spectrum.name}"
    flop = _FLOP_PER_N_LOG_N * n_elements * log2(max(n, 2)) / (2 if is_half else 1)
    moved_bytes = 2 * n_elements * spectrum.itemsize / (2 if is_half else 1)
    return (Charge(name, (n, n_elements // n), flop, moved_bytes),)


def _of_one_axis(name: str, function: Callable[..., Any]) -> Rule:
    def rule(a: Any, n: Any = None, axis: int = -1, *, out: Any = None, **named: Any) -> Modelled:
        a = np.asanyarray(a)
        if not -a.ndim <= axis < a.ndim:
            function(one_of_each(a), n=n, axis=axis, **named)  # refuses it; in a stack it would be another one
        stack, at = np.empty((0, *a.shape), a.dtype), axis - a.ndim if axis >= 0 else axis
        found = function(stack, n=n, axis=at, **named)
        made = new(found.shape[1:], found.dtype, is_array=True)
        result = into(out, made, found, lambda room: function(stack, n=n, axis=at, out=room, **named))
        is_half = name in _HALF_SPECTRA or name in _OF_REAL_NUMBERS
        length = made.shape[axis] if name in ("irfft", "hfft") else a.shape[axis] if n is None else int(n)
        others = prod(made.shape) // max(made.shape[axis], 1)
        return Modelled(result, _lines(length, length * others, found.dtype, is_half=is_half))

    return rule


def _of_axes(name: str, function: Callable[..., Any]) -> Rule:
    default = (-2, -1) if name.endswith("2") else None

    def rule(a: Any, s: Any = None, axes: Any = default, *, out: Any = None, **named: Any) -> Modelled:
        a = np.asanyarray(a)
        s, axes = (None if it is None else (it,) if not np.ndim(it) else it for it in (s, axes))
        if axes is None:
            axes = range(-(a.ndim if s is None else len(s)), 0)
        if not all(-a.ndim <= at < a.ndim for at in axes) or (s is not None and len(s) != len(axes)):
            function(one_of_each(a), s=s, axes=axes, **named)  # likewise
        axes = [at - a.ndim if at >= 0 else at for at in axes]  # from the end: the stack's axis is in front
        stack = np.empty((0, *a.shape), a.dtype)
        found = function(stack, s=s, axes=axes, **named)
        made = new(found.shape[1:], found.dtype, is_array=True)
        result = into(out, made, found, lambda room: function(stack, s=s, axes=axes, out=room, **named))
        full = list(made.shape if name.startswith("irfft") else a.shape)
        if s is not None:
            for at, size in zip(axes, s, strict=True):
                full[at] = made.shape[at] if size == -1 else size
        spectrum = list(full)
        if name.startswith(("rfft", "irfft")):
            spectrum[axes[-1]] = full[axes[-1]] // 2 + 1
        charges: list[Charge] = []
        for at in axes:
            is_half = name in _OF_REAL_NUMBERS or (name.startswith(("rfft", "irfft")) and at == axes[-1])
            n_elements = prod(full if is_half else spectrum)
            charges += _lines(full[at], n_elements, found.dtype, is_half=is_half)
        return Modelled(result, tuple(charges))

    return rule


def _shifted(name: str) -> Rule:
    function = getattr(np.fft, name)

    def rule(x: Any, axes: Any = None) -> Modelled:
        made = New(x.shape, function(one_of_each(x), axes).reshape(1))
        return Modelled(made, copying(x.nbytes))

    return rule


def transforms(functions: Mapping[str, Callable[..., Any]]) -> dict[str, Rule]:
    """Rules of the transforms among a module's functions, by name; arguments are numpy's, or scipy's."""
    return {
        name: rule_of(name, functions[name])
        for names, rule_of in ((OF_ONE_AXIS, _of_one_axis), (_OF_AXES, _of_axes))
        for name in names
        if name in functions
    }


def _of_numpy(name: str, rule: Rule) -> Rule:
    """With numpy's order of arguments: the norm is the fourth, the array that receives the result the fifth."""

    def in_order(a: Any, size: Any = None, *axis: Any, **named: Any) -> Modelled:
        for told in (size, *axis[:1], named.get("s"), named.get("axes")) if name in _OF_AXES else ():
            if told is not None and not np.ndim(told):
                raise TypeError(f"{name}: sizes and axes are sequences, not {told!r}")
        placed = dict(zip(("axis" if name in OF_ONE_AXIS else "axes", "norm", "out"), axis, strict=False))
        return rule(a, **({"n" if name in OF_ONE_AXIS else "s": size} | placed | named))

    return in_order


FOURIER: Final[Mapping[str, Rule]] = {
    **{f"fft.{name}": _of_numpy(name, rule) for name, rule in transforms(vars(np.fft)).items()},
    **{f"fft.{name}": _shifted(name) for name in ("fftshift", "ifftshift")},
}
"""Models of numpy's functions, by their names in it."""
