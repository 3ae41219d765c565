"""Constructors of datatypes: each provides a method of handles, the typemap, and the arguments to remember."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Self

from smpy.engine.running import mpi_call
from smpy.mpi.data.datatype_core import DatatypeCore
from smpy.mpi.data.datatype_marks import Marks
from smpy.mpi.data.layout import DatatypeOrigin, Layout
from smpy.mpi.data.typemap_arrays import darray, subarray
from smpy.mpi.data.typemaps import Typemap, joined, placed, repeated, resized
from smpy.mpi.state.arguments import integer
from smpy.mpi.state.constants import ORDER_C, ORDER_FORTRAN
from smpy.mpi.state.exceptions import fail
from smpy.mpi.state.handle import of_family

__all__ = ["Constructors"]


class Constructors(Marks):
    """Datatypes made of others."""

    __slots__ = ()

    @mpi_call
    def Dup(self) -> Self:
        """Make a copy of the datatype with the same entries."""
        old = self._layout
        origin = DatatypeOrigin("DUP", {}, (old,))
        new = self._of(Layout(old.typemap, "", old.kind, old._typestr, old.code, origin, old.is_committed))
        new._inherit(self)
        return new

    Create_dup = Dup

    @mpi_call
    def Create_contiguous(self, count: int) -> Self:
        """Consecutive entries.

        Parameters
        ----------
        count : int
            Number of entries.
        """
        old, count = self._layout, _count(count, "Create_contiguous")
        return self._derived(repeated(old.typemap, count, old.extent), "CONTIGUOUS", [old], count=count)

    @mpi_call
    def Create_vector(self, count: int, blocklength: int, stride: int) -> Self:
        """Blocks of entries at a fixed distance.

        Parameters
        ----------
        count : int
            Number of blocks.
        blocklength : int
            Entries in each.
        stride : int
            Entries from the start of one block to the next.
        """
        old, count, blocklength = self._layout, _count(count, "Create_vector"), _count(blocklength, "Create_vector")
        stride = integer("Create_vector", "stride", stride)
        typemap = _vector(old.typemap, count, blocklength, stride * old.extent)
        return self._derived(typemap, "VECTOR", [old], count=count, blocklength=blocklength, stride=stride)

    @mpi_call
    def Create_hvector(self, count: int, blocklength: int, stride: int) -> Self:
        """Blocks of entries at a fixed distance in bytes.

        Parameters
        ----------
        count : int
            Number of blocks.
        blocklength : int
            Entries in each.
        stride : int
            Bytes from the start of one block to the next.
        """
        old, count, blocklength = self._layout, _count(count, "Create_hvector"), _count(blocklength, "Create_hvector")
        stride = integer("Create_hvector", "stride", stride)
        typemap = _vector(old.typemap, count, blocklength, stride)
        return self._derived(typemap, "HVECTOR", [old], count=count, blocklength=blocklength, stride=stride)

    @mpi_call
    def Create_indexed(self, blocklengths: Sequence[int], displacements: Sequence[int]) -> Self:
        """Blocks of entries, each at its own displacement.

        Parameters
        ----------
        blocklengths : sequence of int
            Entries in each block.
        displacements : sequence of int
            Entries from the start to each block.
        """
        lengths, places = _blocks(blocklengths, displacements, "Create_indexed")
        old = self._layout
        typemap = placed(old.typemap, lengths, [place * old.extent for place in places])
        return self._derived(typemap, "INDEXED", [old], blocklengths=lengths, displacements=places)

    @mpi_call
    def Create_hindexed(self, blocklengths: Sequence[int], displacements: Sequence[int]) -> Self:
        """Blocks of entries, each at its own displacement in bytes.

        Parameters
        ----------
        blocklengths : sequence of int
            Entries in each block.
        displacements : sequence of int
            Bytes from the start to each block.
        """
        lengths, places = _blocks(blocklengths, displacements, "Create_hindexed")
        old = self._layout
        typemap = placed(old.typemap, lengths, places)
        return self._derived(typemap, "HINDEXED", [old], blocklengths=lengths, displacements=places)

    @mpi_call
    def Create_indexed_block(self, blocklength: int, displacements: Sequence[int]) -> Self:
        """Blocks of the same number of entries, each at its own displacement.

        Parameters
        ----------
        blocklength : int
            Entries in each block.
        displacements : sequence of int
            Entries from the start to each block.
        """
        length, places = _count(blocklength, "Create_indexed_block"), list(map(index, displacements))
        old = self._layout
        typemap = placed(old.typemap, [length] * len(places), [place * old.extent for place in places])
        return self._derived(typemap, "INDEXED_BLOCK", [old], blocklength=length, displacements=places)

    @mpi_call
    def Create_hindexed_block(self, blocklength: int, displacements: Sequence[int]) -> Self:
        """Blocks of the same number of entries, each at its own displacement in bytes.

        Parameters
        ----------
        blocklength : int
            Entries in each block.
        displacements : sequence of int
            Bytes from the start to each block.
        """
        length, places = _count(blocklength, "Create_hindexed_block"), list(map(index, displacements))
        old = self._layout
        typemap = placed(old.typemap, [length] * len(places), places)
        return self._derived(typemap, "HINDEXED_BLOCK", [old], blocklength=length, displacements=places)

    @classmethod
    @mpi_call
    def Create_struct(
        cls, blocklengths: Sequence[int], displacements: Sequence[int], datatypes: Sequence[DatatypeCore]
    ) -> Self:
        """Blocks of entries of different datatypes.

        Parameters
        ----------
        blocklengths : sequence of int
            Entries in each block.
        displacements : sequence of int
            Bytes from the start to each block.
        datatypes : sequence of Datatype
            Datatype of each block's entries.
        """
        lengths, places = _blocks(blocklengths, displacements, "Create_struct")
        if len(datatypes) != len(lengths):
            raise ValueError(f"expecting {len(lengths)} items, got {len(datatypes)}")
        olds = [of_family(datatype, DatatypeCore)._layout for datatype in datatypes]
        typemap = joined(tuple(zip(lengths, places, [old.typemap for old in olds], strict=True)))
        return cls._derived(typemap, "STRUCT", olds, blocklengths=lengths, displacements=places)

    @mpi_call
    def Create_subarray(
        self, sizes: Sequence[int], subsizes: Sequence[int], starts: Sequence[int], order: int = ORDER_C
    ) -> Self:
        """A box of an array.

        Parameters
        ----------
        sizes : sequence of int
            Shape of the array.
        subsizes : sequence of int
            Shape of the box.
        starts : sequence of int
            Index of the box's first entry in each dimension.
        order : int
            ``ORDER_C`` or ``ORDER_FORTRAN``: which dimension is contiguous, the last one or the first.
        """
        whole, box, first = (list(map(index, numbers)) for numbers in (sizes, subsizes, starts))
        for numbers in (box, first):
            _check_same_length(numbers, len(whole))
        for size, subsize, start in zip(whole, box, first, strict=True):
            if not (0 <= start <= start + subsize <= size):
                fail("ERR_ARG", f"Create_subarray: {subsize} entries from {start} on, in a dimension of {size}")
        _check_order(order, "Create_subarray")
        old = self._layout
        typemap = subarray(old.typemap, whole, box, first, is_c=order == ORDER_C)
        return self._derived(typemap, "SUBARRAY", [old], sizes=whole, subsizes=box, starts=first, order=order)

    @mpi_call
    def Create_darray(
        self,
        size: int,
        rank: int,
        gsizes: Sequence[int],
        distribs: Sequence[int],
        dargs: Sequence[int],
        psizes: Sequence[int],
        order: int = ORDER_C,
    ) -> Self:
        """One rank's share of a distributed array.

        Parameters
        ----------
        size : int
            Number of ranks.
        rank : int
            Rank that owns the share.
        gsizes : sequence of int
            Shape of the array.
        distribs : sequence of int
            ``DISTRIBUTE_BLOCK``, ``DISTRIBUTE_CYCLIC`` or ``DISTRIBUTE_NONE`` in each dimension.
        dargs : sequence of int
            Entries of a block in each dimension, or ``DISTRIBUTE_DFLT_DARG``.
        psizes : sequence of int
            Shape of the grid of ranks; its last dimension varies fastest.
        order : int
            ``ORDER_C`` or ``ORDER_FORTRAN``: which dimension is contiguous, the last one or the first.
        """
        whole, kinds, blocks, grid = (list(map(index, numbers)) for numbers in (gsizes, distribs, dargs, psizes))
        for numbers in (kinds, blocks, grid):
            _check_same_length(numbers, len(whole))
        _check_order(order, "Create_darray")
        size, rank = integer("Create_darray", "size", size), integer("Create_darray", "rank", rank)
        old = self._layout
        return self._derived(
            darray(old.typemap, size, rank, whole, kinds, blocks, grid, is_c=order == ORDER_C),
            "DARRAY",
            [old],
            size=size,
            rank=rank,
            gsizes=whole,
            distribs=kinds,
            dargs=blocks,
            psizes=grid,
            order=order,
        )

    @mpi_call
    def Create_resized(self, lb: int, extent: int) -> Self:
        """The same entries between other bounds.

        Parameters
        ----------
        lb : int
            Lower bound.
        extent : int
            Bytes from one entry to the next.
        """
        lb, extent = integer("Create_resized", "lb", lb), integer("Create_resized", "extent", extent)
        old = self._layout
        return self._derived(resized(old.typemap, lb, extent), "RESIZED", [old], lb=lb, extent=extent)

    Resized = Create_resized


def _vector(old: Typemap, count: int, blocklength: int, stride: int) -> Typemap:
    return repeated(repeated(old, blocklength, old.extent), count, stride)


def _count(number: int, call: str) -> int:
    count = integer(call, "count", number)
    if count < 0:
        fail("ERR_COUNT", f"{call}: a count is not negative, {count} is")
    return count


def _blocks(lengths: Sequence[int], displacements: Sequence[int], call: str) -> tuple[list[int], list[int]]:
    counts, places = list(map(index, lengths)), list(map(index, displacements))
    if counts and min(counts) < 0:
        _count(min(counts), call)
    _check_same_length(places, len(counts))
    return counts, places


def _check_same_length(numbers: list[int], length: int) -> None:
    if len(numbers) != length:
        raise ValueError(f"expecting {length} items, got {len(numbers)}")


def _check_order(order: int, call: str) -> None:
    if order not in (ORDER_C, ORDER_FORTRAN):
        fail("ERR_ARG", f"{call}(order={order}): expecting ORDER_C or ORDER_FORTRAN")
