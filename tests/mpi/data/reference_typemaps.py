"""Datatypes as MPI defines them: a list of elements and where they are. Slow, and easy to believe."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from smpy.mpi import MPI

BASIC = [MPI.BYTE, MPI.SHORT, MPI.INT, MPI.DOUBLE, MPI.C_DOUBLE_COMPLEX, MPI.DOUBLE_INT, MPI.SHORT_INT]


@dataclass(frozen=True, slots=True)
class Reference:
    """The elements of an entry as (offset, size), its bounds, whether those were set, and its alignment."""

    elements: list[tuple[int, int]]
    lb: int
    ub: int
    is_resized: bool
    alignment: int

    @property
    def extent(self) -> int:
        return self.ub - self.lb

    @property
    def places(self) -> list[int]:
        """Offset of each byte, in the order in which they travel."""
        return [byte for offset, size in self.elements for byte in range(offset, offset + size)]

    @property
    def is_empty(self) -> bool:
        return not self.elements and not self.is_resized


NOTHING = Reference([], 0, 0, False, 1)


def of_basic(datatype: MPI.Datatype) -> Reference:
    """A predefined datatype."""
    if datatype == MPI.DOUBLE_INT:
        return Reference([(0, 8), (8, 4)], 0, 16, False, 8)
    if datatype == MPI.SHORT_INT:
        return Reference([(0, 2), (4, 4)], 0, 8, False, 4)
    alignment = 8 if datatype == MPI.C_DOUBLE_COMPLEX else datatype.size
    return Reference([(0, datatype.size)], 0, datatype.size, False, alignment)


def copies(old: Reference, offsets: list[int]) -> Reference:
    """Entries at these offsets."""
    if not offsets or old.is_empty:
        return NOTHING
    return Reference(
        [(at + offset, size) for at in offsets for offset, size in old.elements],
        old.lb + min(offsets),
        old.ub + max(offsets),
        old.is_resized,
        old.alignment,
    )


def structure(members: list[tuple[int, int, Reference]]) -> Reference:
    """Blocks of (count, offset, kind); bounds that were set hold for all, others are rounded up to the alignment."""
    blocks = [copies(old, [at + i * old.extent for i in range(count)]) for count, at, old in members]
    blocks = [block for block in blocks if not block.is_empty]
    if not blocks:
        return NOTHING
    is_resized = any(block.is_resized for block in blocks)
    bounding = [block for block in blocks if block.is_resized == is_resized]
    lb, ub = min(block.lb for block in bounding), max(block.ub for block in bounding)
    alignment = max(block.alignment for block in blocks)
    while not is_resized and (ub - lb) % alignment:
        ub += 1
    return Reference([e for block in blocks for e in block.elements], lb, ub, is_resized, alignment)


def _in_rows(old: Reference, first: int, length: int) -> list[int]:
    return [first + i * old.extent for i in range(length)]


def reference(recipe: Any) -> Reference:
    """Reference typemap of a recipe of `recipes`."""
    if isinstance(recipe, MPI.Datatype):
        return of_basic(recipe)
    name, old_recipe, *arguments = recipe
    if name == "struct":
        return structure([(count, at, reference(old)) for count, at, old in arguments[0]])
    old = reference(old_recipe)
    if name == "contiguous":
        return copies(old, _in_rows(old, 0, arguments[0]))
    if name in {"vector", "hvector"}:
        count, length, stride = arguments
        step = stride * (old.extent if name == "vector" else 1)
        return copies(old, [at for i in range(count) for at in _in_rows(old, i * step, length)])
    if name in {"indexed", "hindexed"}:
        unit = old.extent if name == "indexed" else 1
        return copies(old, [at for length, place in arguments[0] for at in _in_rows(old, place * unit, length)])
    if name in {"indexed_block", "hindexed_block"}:
        length, places = arguments
        unit = old.extent if name == "indexed_block" else 1
        return copies(old, [at for place in places for at in _in_rows(old, place * unit, length)])
    assert name == "resized"
    lb, extent = arguments
    return Reference(old.elements, lb, lb + extent, True, old.alignment)


def datatype(recipe: Any) -> MPI.Datatype:
    """The datatype that a recipe makes."""
    if isinstance(recipe, MPI.Datatype):
        return recipe
    name, old_recipe, *arguments = recipe
    if name == "struct":
        counts, places, olds = zip(*arguments[0], strict=True)
        return MPI.Datatype.Create_struct(counts, places, [datatype(old) for old in olds])
    if name in {"indexed", "hindexed"}:
        arguments = list(zip(*arguments[0], strict=True))
    constructor = getattr(datatype(old_recipe), f"Create_{name}")
    made: MPI.Datatype = constructor(*arguments)
    return made


def recipes(lowest: int = -20) -> st.SearchStrategy[Any]:
    """Nested constructor calls, whose displacements and strides are `lowest` or more."""
    count, place = st.integers(0, 3), st.integers(lowest, 40)
    few = {"min_size": 1, "max_size": 4}

    def nested(old: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        blocks = st.lists(st.tuples(count, place), **few)
        return st.one_of(
            st.tuples(st.just("contiguous"), old, count),
            st.tuples(st.sampled_from(["vector", "hvector"]), old, count, count, place),
            st.tuples(st.sampled_from(["indexed", "hindexed"]), old, blocks),
            st.tuples(
                st.sampled_from(["indexed_block", "hindexed_block"]),
                old,
                count,
                st.lists(place, min_size=1, max_size=30),
            ),
            st.tuples(st.just("struct"), st.none(), st.lists(st.tuples(count, place, old), **few)),
            st.tuples(st.just("resized"), old, st.integers(max(lowest, -8), 8), st.integers(1, 60)),
        )

    return st.recursive(st.sampled_from(BASIC), nested, max_leaves=5)
