"""Conversion between counts of bytes and of basic elements, for messages that may end inside an entry."""

from __future__ import annotations

from smpy.mpi.data.typemaps import Typemap
from smpy.mpi.state.constants import UNDEFINED

__all__ = ["bytes_of_elements", "elements_in"]


def elements_in(typemap: Typemap, nbytes: int) -> int:
    """Number of basic elements in the first `nbytes` bytes of entries; ``UNDEFINED`` if the bytes end inside one."""
    n_elements, rest = 0, nbytes
    if rest:
        if not typemap.size:
            return UNDEFINED
        entries, rest = divmod(rest, typemap.size)
        n_elements = entries * typemap.n_elements
    while rest:  # less than an entry
        if not typemap.elements:
            return UNDEFINED
        for count, part in typemap.elements:
            entries = min(count, rest // part.size) if part.size else 0
            n_elements, rest = n_elements + entries * part.n_elements, rest - entries * part.size
            if entries < count and rest < part.size:
                typemap = part
                break
    return n_elements


def bytes_of_elements(typemap: Typemap, n_elements: int) -> int:
    """Number of bytes of the first `n_elements` basic elements of entries."""
    if not typemap.n_elements:
        return 0
    entries, rest = divmod(n_elements, typemap.n_elements)
    nbytes = entries * typemap.size
    while rest:  # less than an entry
        for count, part in typemap.elements:
            entries = min(count, rest // part.n_elements) if part.n_elements else 0
            nbytes, rest = nbytes + entries * part.size, rest - entries * part.n_elements
            if entries < count and rest < part.n_elements:
                typemap = part
                break
    return nbytes
