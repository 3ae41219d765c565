"""`Comm`, `Intracomm` and the predefined communicators: the families, put together."""

from __future__ import annotations

from typing import Any, Final, Self

from smpy.mpi.comm_core import handle_on
from smpy.mpi.comm_management import Management
from smpy.mpi.comm_object_collectives import ObjectCollectives
from smpy.mpi.comm_objects import ObjectPointToPoint
from smpy.mpi.handles import MYSELF

__all__ = ["COMM_NULL", "COMM_SELF", "COMM_WORLD", "Comm", "Intracomm"]


class Comm(ObjectPointToPoint, ObjectCollectives, Management):
    """A communicator: ranks, and messages that stay among them.

    Parameters
    ----------
    comm : Comm, optional
        One to make another handle of; null without it.
    """

    __slots__ = ("__weakref__",)

    def __new__(cls, comm: Comm | None = None) -> Self:
        self = super().__new__(cls)
        if comm is not None:
            self.comm = comm.comm
        return self

    @classmethod
    def _new_intracomm(cls, number: int) -> Any:
        return handle_on(Intracomm, number)

    @classmethod
    def _null_handle(cls) -> Any:
        return Comm()


class Intracomm(Comm):
    """A communicator of one group of ranks.

    Parameters
    ----------
    comm : Comm, optional
        One to make another handle of; null without it.
    """

    __slots__ = ()


COMM_NULL: Final = Comm()
COMM_SELF: Final[Intracomm] = handle_on(Intracomm, MYSELF)
COMM_WORLD: Final[Intracomm] = handle_on(Intracomm, 0)
Comm.know({"COMM_NULL": COMM_NULL, "COMM_SELF": COMM_SELF, "COMM_WORLD": COMM_WORLD})
