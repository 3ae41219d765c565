"""Layouts of the predefined datatypes: basic ones, pairs, and Fortran types by precision and range."""

from __future__ import annotations

from functools import cache
from typing import Final

from smpy.mpi.data.basic_types import ALIASES, BASIC, NOT_HERE, PAIRS
from smpy.mpi.data.layout import DatatypeOrigin, Layout
from smpy.mpi.data.typemaps import Typemap, basic, joined
from smpy.mpi.state import constants
from smpy.mpi.state.exceptions import fail

__all__ = ["LAYOUTS", "f90_complex", "f90_integer", "f90_real", "pair_of", "sized"]

_STANDARD_NAMES: Final = {"LONG_LONG": "MPI_LONG_LONG_INT", "C_FLOAT_COMPLEX": "MPI_C_COMPLEX"}
_INTEGER_DIGITS: Final = ((2, "INTEGER1"), (4, "INTEGER2"), (9, "INTEGER4"), (18, "INTEGER8"))
_REAL_DIGITS: Final = ((6, 37, "REAL4"), (15, 307, "REAL8"), (18, 4931, "REAL16"))
_COMPLEX_OF: Final = {"REAL4": "COMPLEX8", "REAL8": "COMPLEX16", "REAL16": "COMPLEX32"}


def _typemap(name: str) -> Typemap:
    return basic(name, BASIC[name].size, BASIC[name].alignment)


def _basic_layout(name: str) -> Layout:
    described = BASIC[name]
    return Layout(
        _typemap(name),
        name=_STANDARD_NAMES.get(name, f"MPI_{name}"),
        kind=described.kind,
        typestr=described.typestr,
        code=described.code,
        is_committed=True,
    )


def _pair_layout(name: str) -> Layout:
    standard_name, value, location = PAIRS[name]
    first, second = _typemap(value), _typemap(location)
    at = -(-first.size // second.alignment) * second.alignment
    return Layout(
        joined([(1, 0, first), (1, at, second)]),
        name=standard_name,
        kind="pair",
        typestr=f"{BASIC[value].typestr},{BASIC[location].typestr}",
        is_committed=True,
    )


def _predefined() -> dict[str, Layout | None]:
    known: dict[str, Layout | None] = {"DATATYPE_NULL": None}
    known |= {name: _basic_layout(name) for name in BASIC} | {name: _pair_layout(name) for name in PAIRS}
    for alias, name in ALIASES.items():
        known[alias] = known[name]
    return known | dict.fromkeys(NOT_HERE)


LAYOUTS: Final = _predefined()
"""Predefined layouts by their names in `mpi4py.MPI`; None when there is no such datatype."""


def pair_of(value: Layout, location: Layout) -> Layout | None:
    """Pair of these two types; None when it is not predefined."""
    for name, (_, first, second) in PAIRS.items():
        if LAYOUTS[first] is value and LAYOUTS[second] is location:
            return LAYOUTS[name]
    return None


def sized(typeclass: int, size: int) -> Layout:
    """Fortran datatype of a class and a size; raises ``ERR_ARG`` when there is none."""
    names = {number: name for name, number in vars(constants).items() if name.startswith("TYPECLASS_")}
    name = names.get(typeclass, "").removeprefix("TYPECLASS_")
    layout = LAYOUTS.get(f"{name}{size}")
    if layout is None:
        fail("ERR_ARG", f"Match_size: there is no {name or typeclass} of {size} bytes")
    return layout


@cache
def f90_integer(r: int) -> Layout:
    """Fortran integer of `r` decimal digits."""
    name = next((name for digits, name in _INTEGER_DIGITS if r <= digits), "")
    return _of_fortran(name, "F90_INTEGER", r=r)


@cache
def f90_real(p: int, r: int) -> Layout:
    """Fortran real of `p` decimal digits and exponents of ten up to `r`; either may be ``UNDEFINED``."""
    return _of_fortran(_real_of(p, r), "F90_REAL", p=p, r=r)


@cache
def f90_complex(p: int, r: int) -> Layout:
    """Fortran complex number of `p` decimal digits and exponents of ten up to `r`."""
    return _of_fortran(_COMPLEX_OF.get(_real_of(p, r), ""), "F90_COMPLEX", p=p, r=r)


def _real_of(p: int, r: int) -> str:
    return next((name for digits, exponent, name in _REAL_DIGITS if p <= digits and r <= exponent), "")


def _of_fortran(name: str, combiner: str, **arguments: int) -> Layout:
    alike = LAYOUTS.get(name)
    if alike is None:
        fail("ERR_ARG", f"Create_{combiner.lower()}: no datatype has so many digits: {arguments}")
    return Layout(
        alike.typemap,
        kind=alike.kind,
        typestr=alike.typestr,
        code=alike.code,
        origin=DatatypeOrigin(combiner, dict(arguments)),
        is_committed=True,
    )
