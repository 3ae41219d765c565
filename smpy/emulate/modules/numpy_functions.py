"""Replaces functions of numpy that would turn folded arrays into ordinary ones, once a program folds an array."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from operator import attrgetter
from typing import Any

from smpy.emulate.modules.imports import Importer
from smpy.emulate.modules.operands import becomes_operand
from smpy.emulate.patches import Patches
from smpy.engine.surface import surface


def install_numpy_conversions(patches: Patches, importer: Importer) -> None:
    """Keep folded arrays folded, from the first one on until the patches are undone."""
    importer.when_imported("smpy.compute.folded.conversions", partial(_install, patches))


def give_arrays_own_pages() -> None:
    """Allocate arrays on pages that the surface can protect."""
    if surface is not None:
        surface.use_own_pages(_array_api())


def give_ranks_own_heaps(importer: Importer) -> None:
    """Let each rank take and return memory as in a process of its own."""
    if surface is not None and surface.begin_rank_heaps():
        importer.when_imported("numpy", lambda: surface.place_arrays(_array_api(), _have_huge_pages(), becomes_operand))


def _array_api() -> Any:
    return _compiled()._ARRAY_API


def _have_huge_pages() -> bool:
    """Whether numpy asks for huge pages for large arrays."""
    compiled = _compiled()
    asks: bool = compiled._set_madvise_hugepage(True)
    compiled._set_madvise_hugepage(asks)
    return asks


def _compiled() -> Any:
    return sys.modules.get("numpy._core._multiarray_umath") or sys.modules["numpy.core._multiarray_umath"]


def _install(patches: Patches) -> None:
    from smpy.compute.folded.conversions import CONVERSIONS, REFUSED

    numpy = sys.modules["numpy"]
    for name, rule in CONVERSIONS.items():
        patches.attribute(numpy, name, _converting(getattr(numpy, name), name, rule))
    refusing: dict[Callable[..., Any], Callable[..., Any]] = {}  # one for a function with two names
    for name in REFUSED:
        home, _, last = name.rpartition(".")
        owner = attrgetter(home)(numpy) if home else numpy
        original = getattr(owner, last)
        patches.attribute(owner, last, refusing.setdefault(original, _refusing(original, f"numpy.{name}")))
    patches.attribute(numpy.vectorize, "__call__", _refusing(numpy.vectorize.__call__, "numpy.vectorize"))


def _converting(original: Callable[..., Any], name: str, rule: Callable[..., Any]) -> Callable[..., Any]:
    """Conversion that has a rule for folded arrays; without a type argument some of them keep the array's type."""
    from smpy.compute.folded import Folded, perform
    from smpy.compute.folded.conversions import has_one_of
    from smpy.compute.folded.modelled_results import are_folded

    keeps, keyword = name in ("asarray", "asanyarray"), "object" if name == "array" else "a"

    def call(*args: Any, **kwargs: Any) -> Any:
        first: Any = args[0] if args else kwargs.get(keyword)
        kind = type(first)
        if kind is Folded:
            if keeps and len(args) == 1 and not kwargs:
                return first
            if first.__smpy_folded__:
                return perform(rule, *args, **kwargs)
        elif (kind is list or kind is tuple) and has_one_of(Folded, first) and are_folded(first):
            return perform(rule, *args, **kwargs)
        return original(*args, **kwargs)

    return call


def _refusing(original: Callable[..., Any], name: str) -> Callable[..., Any]:
    from smpy.compute.folded.modelled_results import are_folded, refused

    def call(*args: Any, **kwargs: Any) -> Any:
        if are_folded((*args, *kwargs.values())):
            raise refused(name)
        return original(*args, **kwargs)

    return call
