"""Transforms of `scipy.fft` and `scipy.fftpack` on folded arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any

import numpy as np

from smpy.compute.folded import perform
from smpy.compute.fourier import transforms
from smpy.compute.modelled_results import Rule

__all__ = ["scipy_transforms"]

OnFolded = Callable[[tuple[Any, ...], Mapping[str, Any]], Any]


def scipy_transforms(functions: Mapping[str, Callable[..., Any]]) -> dict[str, OnFolded]:
    """Functions to call with folded arrays instead of a module's transforms, by name.

    Parameters
    ----------
    functions : mapping
        Functions of the module, by name.
    """
    names_of = {name: tuple(signature(functions[name]).parameters) for name in transforms(functions)}
    with_sizes = {
        name: _with_shape(functions[name]) if "shape" in names else functions[name] for name, names in names_of.items()
    }
    return {name: _on_folded(rule, names_of[name], name.endswith("n")) for name, rule in transforms(with_sizes).items()}


def _with_shape(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of `scipy.fftpack`, which calls sizes a shape."""
    return lambda x, s=None, **named: function(x, shape=s, **named)


def _on_folded(rule: Rule, names: tuple[str, ...], is_of_all_axes: bool) -> OnFolded:
    def call(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        if len(args) > len(names):
            raise TypeError(f"{len(names)} positional arguments are taken, and {len(args)} were given")
        given = dict(zip(names, args, strict=False)) | dict(kwargs)
        if "shape" in given:
            shape = given["s"] = given.pop("shape")
            if is_of_all_axes and given.get("axes") is None and shape is not None:
                given["axes"] = range(np.ndim(given["x"]))  # there must be as many of them
        return perform(rule, given.pop("x"), **given)

    return call
