"""Name and attributes that a rank sets on a datatype."""

from __future__ import annotations

from typing import ClassVar

from smpy.engine.running import current, is_running, mpi_call, per_world
from smpy.mpi.data.datatype_core import DatatypeCore
from smpy.mpi.state.attributes import Attributed, attributes_of, copy_attributes, delete_attributes
from smpy.mpi.state.constants import MAX_OBJECT_NAME
from smpy.mpi.state.exceptions import fail
from smpy.mpi.state.per_rank_attributes import Attributes
from smpy.mpi.state.world import world

__all__ = ["Marks"]


class _NamesOfPredefined(dict[tuple[int, int], str]):
    """Names that ranks of a world have set for predefined datatypes, by rank and number."""


class Marks(DatatypeCore, Attributed):
    """Methods for the name and the attributes of a datatype."""

    __slots__ = ()
    _family: ClassVar = "Datatype"

    def _attributes_of_rank(self, call: str) -> Attributes:
        self._layout.has_attributes = True
        return attributes_of(self._family, self._layout.number)

    def _inherit(self, old: Marks) -> None:
        """Copy attributes of `old` to this duplicate of it."""
        if old._layout.has_attributes and is_running():
            self._attributes_of_rank("Dup").update(copy_attributes(old, old._attributes_of_rank("Dup"), "Dup"))

    def _is_predefined(self) -> bool:
        return self._layout_or_null is None or self._layout_or_null.is_basic

    def Get_name(self) -> str:
        """Name in the standard, or the name that the rank has set."""
        layout = self._layout_or_null
        if layout is None:
            return "MPI_DATATYPE_NULL"
        own = per_world(_NamesOfPredefined) if layout.is_basic and is_running() else {}
        return own.get((current().rank, layout.number), layout.name) if own else layout.name

    def Set_name(self, name: str) -> None:
        """Set the datatype's name, on this rank."""
        layout, name = self._layout, name[: MAX_OBJECT_NAME - 1]
        if layout.is_basic:  # all ranks share its layout
            per_world(_NamesOfPredefined)[current().rank, layout.number] = name
        else:
            layout.name = name

    @mpi_call
    def Free(self) -> None:
        """Free the datatype; unfinished messages can still use it. Predefined ones cannot be freed."""
        layout = self._layout
        if layout.is_basic:
            fail("ERR_TYPE", f"{self.Get_name() or 'the datatype'} is predefined and cannot be freed")
        if layout.has_attributes and is_running():
            attributes = world().attributes.pop((current().rank, self._family, layout.number), {})
            delete_attributes(self, attributes, "Type_free")
        self._become_null()

    @property
    def name(self) -> str:
        """Name in the standard, or the name that the rank has set."""
        return self.Get_name()

    @name.setter
    def name(self, value: str) -> None:
        self.Set_name(value)
