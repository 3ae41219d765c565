"""Name, attributes and properties of a window."""

from __future__ import annotations

from typing import ClassVar

from smpy.mpi.comms.collective_handles import CollectiveHandle
from smpy.mpi.rma.window_parts import WindowPart
from smpy.mpi.state import constants
from smpy.mpi.state.attributes import Attributed
from smpy.mpi.state.per_rank_attributes import Attributes

__all__ = ["WindowIdentity"]


class WindowIdentity(CollectiveHandle, Attributed):
    """Name, attributes and properties of a window."""

    __slots__ = ()
    _family: ClassVar = "Win"
    _error_class: ClassVar = "ERR_WIN"
    _predefined_keyvals: ClassVar = frozenset(
        {
            *(constants.WIN_BASE, constants.WIN_SIZE, constants.WIN_DISP_UNIT),
            *(constants.WIN_CREATE_FLAVOR, constants.WIN_MODEL),
        }
    )

    def Get_name(self) -> str:
        """Name of the window on this rank."""
        return "MPI_WIN_NULL" if not self else self._member("Get_name").own.name or ""

    def Set_name(self, name: str) -> None:
        """Name the window on this rank.

        Parameters
        ----------
        name : str
            New name; at most ``MAX_OBJECT_NAME - 1`` characters are kept.
        """
        self._member("Set_name").own.name = name[: constants.MAX_OBJECT_NAME - 1]

    def _attributes_of_rank(self, call: str) -> Attributes:
        return self._own_part(call).attributes

    def _predefined_attribute(self, keyval: int) -> int:
        part: WindowPart = self._member("Get_attr")
        return {
            constants.WIN_BASE: part.piece.lent().address,
            constants.WIN_SIZE: part.piece.nbytes,
            constants.WIN_DISP_UNIT: part.piece.disp_unit,
            constants.WIN_CREATE_FLAVOR: part.window.flavor,
            constants.WIN_MODEL: constants.WIN_UNIFIED,
        }[keyval]

    @property
    def name(self) -> str:
        """Name of the window on this rank."""
        return self.Get_name()

    @name.setter
    def name(self, value: str) -> None:
        self.Set_name(value)

    @property
    def attrs(self) -> tuple[int, int, int]:
        """Address and length of the running rank's memory, and its unit of displacements."""
        part: WindowPart = self._member("attrs")
        return part.piece.lent().address, part.piece.nbytes, part.piece.disp_unit

    @property
    def flavor(self) -> int:
        """Call that created the window: one of the ``WIN_FLAVOR_`` constants."""
        return self._predefined_attribute(constants.WIN_CREATE_FLAVOR)

    @property
    def model(self) -> int:
        """``WIN_UNIFIED``: public and private copy of the memory are the same."""
        return self._predefined_attribute(constants.WIN_MODEL)
