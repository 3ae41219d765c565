"""Fourier transforms of folded arrays: one kernel per axis, with as many lines as the array has.

Shapes, types and errors are numpy's own, which transforms an empty stack of such arrays. A transform of n numbers is
5 n log2(n) operations, one between real numbers and half a spectrum as half of that (Frigo & Johnson 2005, benchFFT).
"""

from __future__ import annotations

from collections.abc import Mapping
from math import log2, prod
from typing import Any, Final

import numpy as np

from smpy.compute.folded.charges import BLAS_LETTERS, Charge, copying
from smpy.compute.folded.modelled_results import Modelled, New, Rule, into, new, one_of_each

__all__ = ["FOURIER"]

_OF_ONE_AXIS: Final = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
"""Transforms that take n and an axis; the others take sizes and axes."""
_OF_AXES: Final = ("fft2", "ifft2", "fftn", "ifftn", "rfft2", "irfft2", "rfftn", "irfftn")
_HALF_SPECTRA: Final = ("rfft", "irfft", "hfft", "ihfft")
_FLOP_PER_N_LOG_N: Final = 5


def _lines(n: int, n_elements: int, dtype: np.dtype[Any], *, is_half: bool) -> tuple[Charge, ...]:
    """Charge of transforms of n numbers, as many as the array has room for."""
    if not n or not n_elements:
        return ()
    spectrum = np.result_type(dtype, np.complex64)
    letter = BLAS_LETTERS.get(np.empty(0, spectrum).real.dtype.char if is_half else spectrum.char, "")
    name = f"{letter}fft" if letter else f"fft_{spectrum.name}"
    flop = _FLOP_PER_N_LOG_N * n_elements * log2(max(n, 2)) / (2 if is_half else 1)
    moved_bytes = 2 * n_elements * spectrum.itemsize / (2 if is_half else 1)
    return (Charge(name, (n, n_elements // n), flop, moved_bytes),)


def _of_one_axis(name: str) -> Rule:
    function = getattr(np.fft, name)

    def rule(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Modelled:
        a = np.asanyarray(a)
        if not -a.ndim <= axis < a.ndim:
            function(one_of_each(a), n, axis, norm)  # refuses it; in a stack it would be a valid axis
        stack, at = np.empty((0, *a.shape), a.dtype), axis - a.ndim if axis >= 0 else axis
        small_result = function(stack, n, at, norm)
        transform = new(small_result.shape[1:], small_result.dtype, is_array=True)
        result = into(out, transform, small_result, lambda room: function(stack, n, at, norm, room))
        length = transform.shape[axis] if name in ("irfft", "hfft") else a.shape[axis] if n is None else int(n)
        others = prod(transform.shape) // max(transform.shape[axis], 1)
        return Modelled(result, _lines(length, length * others, small_result.dtype, is_half=name in _HALF_SPECTRA))

    return rule


def _of_axes(name: str) -> Rule:
    function = getattr(np.fft, name)
    default = (-2, -1) if name.endswith("2") else None

    def rule(a: Any, s: Any = None, axes: Any = default, norm: Any = None, out: Any = None) -> Modelled:
        a = np.asanyarray(a)
        if axes is None:
            axes = range(-(a.ndim if s is None else len(s)), 0)
        if not all(-a.ndim <= at < a.ndim for at in axes) or (s is not None and len(s) != len(axes)):
            function(one_of_each(a), s, axes, norm)  # likewise
        axes = [at - a.ndim if at >= 0 else at for at in axes]  # counted from the end: the stack's axis is in front
        stack = np.empty((0, *a.shape), a.dtype)
        small_result = function(stack, s, axes, norm)
        transform = new(small_result.shape[1:], small_result.dtype, is_array=True)
        result = into(out, transform, small_result, lambda room: function(stack, s, axes, norm, room))
        full = list(transform.shape if name.startswith("irfft") else a.shape)
        if s is not None:
            for at, size in zip(axes, s, strict=True):
                full[at] = transform.shape[at] if size == -1 else size
        spectrum = list(full)
        if name.startswith(("rfft", "irfft")):
            spectrum[axes[-1]] = full[axes[-1]] // 2 + 1
        charges: list[Charge] = []
        for at in axes:
            is_half = name.startswith(("rfft", "irfft")) and at == axes[-1]
            charges += _lines(full[at], prod(full if is_half else spectrum), small_result.dtype, is_half=is_half)
        return Modelled(result, tuple(charges))

    return rule


def _shifted(name: str) -> Rule:
    function = getattr(np.fft, name)

    def rule(x: Any, axes: Any = None) -> Modelled:
        spectrum = New(x.shape, function(one_of_each(x), axes).reshape(1))
        return Modelled(spectrum, copying(x.nbytes))

    return rule


FOURIER: Final[Mapping[str, Rule]] = {
    **{f"fft.{name}": _of_one_axis(name) for name in _OF_ONE_AXIS},
    **{f"fft.{name}": _of_axes(name) for name in _OF_AXES},
    **{f"fft.{name}": _shifted(name) for name in ("fftshift", "ifftshift")},
}
"""Models of numpy's functions, by their names in it."""
