"""`Cartcomm`: communicators on a grid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from smpy.engine.running import mpi_call
from smpy.mpi.comms.topology_arguments import ints
from smpy.mpi.comms.topology_creation import placed
from smpy.mpi.state.arguments import integer
from smpy.mpi.state.comm_core import handle_on, member_of
from smpy.mpi.state.exceptions import fail
from smpy.mpi.state.virtual_topologies import CartTopology
from smpy.mpi.state.world import world
from smpy.mpi.topology.topologies import Topocomm

__all__ = ["Cartcomm"]


class Cartcomm(Topocomm):
    """A communicator on a grid.

    Parameters
    ----------
    comm : Comm, optional
        One to make another handle of; null without it.

    Raises
    ------
    TypeError
        If `comm` is not on a grid.
    """

    __slots__ = ()
    _topology_class: ClassVar = CartTopology

    @mpi_call
    def Get_dim(self) -> int:
        """Number of dimensions."""
        return len(placed(self, CartTopology, "Get_dim")[0].dims)

    @mpi_call
    def Get_topo(self) -> tuple[list[int], list[int], list[int]]:
        """Dimensions, whether they are periodic, and this rank's coordinates."""
        grid, rank = placed(self, CartTopology, "Get_topo")
        return list(grid.dims), [int(is_periodic) for is_periodic in grid.periods], grid.coords(rank)

    @mpi_call
    def Get_cart_rank(self, coords: Sequence[int]) -> int:
        """The rank at a place.

        Parameters
        ----------
        coords : sequence of int
            Coordinates; those of periodic dimensions may lie outside.
        """
        grid, _ = placed(self, CartTopology, "Get_cart_rank")
        place = ints(coords, len(grid.dims))
        rank = grid.rank_at(place)
        if rank < 0:
            fail("ERR_ARG", f"Get_cart_rank({place}): outside the grid of dimensions {list(grid.dims)}")
        return rank

    @mpi_call
    def Get_coords(self, rank: int) -> list[int]:
        """Coordinates of a rank.

        Parameters
        ----------
        rank : int
            A rank of the grid.
        """
        rank = integer("Get_coords", "rank", rank)
        grid, _ = placed(self, CartTopology, "Get_coords")
        if not 0 <= rank < grid.n_ranks:
            fail("ERR_RANK", f"Get_coords({rank}): the grid has ranks 0 to {grid.n_ranks - 1}")
        return grid.coords(rank)

    @mpi_call
    def Shift(self, direction: int, disp: int) -> tuple[int, int]:
        """Source and destination of a shift along a dimension.

        Parameters
        ----------
        direction : int
            The dimension.
        disp : int
            Number of steps, negative ones downwards.
        """
        direction, disp = integer("Shift", "direction", direction), integer("Shift", "disp", disp)
        grid, rank = placed(self, CartTopology, "Shift")
        if not 0 <= direction < len(grid.dims):
            fail("ERR_DIMS", f"Shift(direction={direction}): the grid has {len(grid.dims)} dimensions")
        return grid.moved(rank, direction, -disp), grid.moved(rank, direction, disp)

    @mpi_call
    def Sub(self, remain_dims: Sequence[bool]) -> Cartcomm:
        """The part of the grid that this rank reaches along some of the dimensions.

        Parameters
        ----------
        remain_dims : sequence of bool
            Whether each dimension remains.
        """
        grid, rank = placed(self, CartTopology, "Sub")
        remains = [bool(flag) for flag in ints(remain_dims, len(grid.dims))]
        if any(remains):
            new = world().communicator(self.Split(grid.color(rank, remains), rank)._kernel_comm)
        else:
            communicator, _ = member_of(self, "Sub")
            new = world().new_communicator(communicator.world_ranks()[rank : rank + 1])
        if new.topology is None:
            new.topology = grid.sub_grid(remains)
        return handle_on(Cartcomm, new.number)

    @property
    def dim(self) -> int:
        """Number of dimensions."""
        return self.Get_dim()

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return self.Get_dim()

    @property
    def topo(self) -> tuple[list[int], list[int], list[int]]:
        """Dimensions, whether they are periodic, and this rank's coordinates."""
        return self.Get_topo()

    @property
    def dims(self) -> list[int]:
        """Ranks along each dimension."""
        return self.Get_topo()[0]

    @property
    def periods(self) -> list[int]:
        """Whether dimensions are periodic."""
        return self.Get_topo()[1]

    @property
    def coords(self) -> list[int]:
        """This rank's coordinates."""
        return self.Get_topo()[2]


CartTopology.comm_class = Cartcomm
