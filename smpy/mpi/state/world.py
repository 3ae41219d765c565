"""The state of one world: its communicators, shared by all their ranks, and the ranks that have finalized.

Handles hold the number of an object; the object itself is kept here, once for all ranks.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Hashable, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any

from smpy.collectives.comm_hosts import HostsOfComm
from smpy.collectives.hosts import Hosts
from smpy.collectives.schedule import NO_STEPS
from smpy.engine.running import current
from smpy.mpi.state.exceptions import fail
from smpy.mpi.state.members import Members, in_order
from smpy.mpi.state.per_rank_attributes import NOTHING_OF_ITS_OWN, Attributes, KeyKind, PerRankAttributes

if TYPE_CHECKING:
    from smpy.platforms.models.machine_models import CollectiveChoice

__all__ = ["Communicator", "SharedBySides", "World", "world"]


class SharedBySides:
    """State that both sides of a communicator share: its open collectives, and the number of ranks that have freed it.

    Parameters
    ----------
    sizes : int
        Number of ranks of the one group, or of side 0 and of side 1.

    Attributes
    ----------
    entered : array of int or None
        Number of collectives that each member has entered; None before the first one.
    open : dict of int to OpenCollective
        Collectives that some members have entered and not all have left, by their place in the order of collectives.
    n_members : int
        Number of ranks of all sides.
    n_freed : int
        Number of members that have freed the communicator.
    is_revoked : bool
        Whether a member has revoked the communicator, at a date that has come for all.
    revoked_by : set of int
        Members that have revoked it.
    """

    __slots__ = ("_n_first", "entered", "is_revoked", "n_freed", "n_members", "open", "revoked_by")

    def __init__(self, *sizes: int) -> None:
        self.entered: array[int] | None = None
        self.open: dict[int, Any] = {}
        self.n_members = sum(sizes)
        self.n_freed = 0
        self.is_revoked = False
        self.revoked_by: set[int] = set()
        self._n_first = sizes[0]

    def index(self, side: int, rank: int) -> int:
        """Place of a rank of a side among all members: side 0, then side 1."""
        return rank + self._n_first if side else rank


class Communicator:
    """A communicator as all ranks of one side share it; an intracommunicator has one side.

    Parameters
    ----------
    number : int
        The kernel's number; each side of an intercommunicator has its own.
    name : str
        Name until a rank sets its own.

    Attributes
    ----------
    size : int
        Number of ranks of this side.
    side : int
        0 or 1; 0 for an intracommunicator.
    hosts : HostsOfComm
        Hosts of the ranks of this side.
    remote : Communicator
        The side that messages go to and come from; itself for an intracommunicator.
    joint : SharedBySides
        State that both sides share.
    topology : object
        Its virtual topology, or None.
    edges : dict of int to RankEdges
        Edges of each rank that has taken part in a neighbourhood collective.
    own : dict of int to PerRankAttributes
        Own name, attributes, error handler and hints of each rank that has set any.
    locks : dict of int to dict
        Locks by their key, of each rank that has asked for any.
    n_private_uses : Counter of int
        Number of times that each rank has asked for the private duplicate.
    choices : dict of int to CollectiveChoice
        Choice of algorithms that ranks have made by hints; empty if none has.
    """

    __slots__ = (
        *("_duplicate", "_local", "_recovery", "_shadow", "_users", "_world_ranks"),
        *("choices", "edges", "hosts", "joint", "locks", "n_private_uses", "name", "number", "own", "remote", "side"),
        *("size", "topology"),
    )

    def __init__(self, number: int, name: str = "") -> None:
        self.number = number
        self.size = current().comm_size(number)
        self.side = 0
        self.remote = self
        self.joint = SharedBySides(self.size)
        self.topology: Any = None
        self.edges: dict[int, Any] = {}
        self.name = name
        self.own: dict[int, PerRankAttributes] = {}
        self.locks: dict[int, dict[Hashable, Lock]] = {}
        self.n_private_uses: Counter[int] = Counter()
        self.choices: dict[int, CollectiveChoice] = {}
        self._shadow = -1
        self._duplicate: Communicator | None = None
        self._local: Communicator | None = None
        self._recovery: Communicator | None = None
        self._users: bytearray | None = None
        self._world_ranks: Members | None = None
        self.hosts = HostsOfComm(lambda: Hosts(current().hosts_of(self.world_ranks())))

    @property
    def is_inter(self) -> bool:
        """Whether it joins two groups."""
        return self.remote is not self

    def own_of(self, rank: int, *, to_change: bool) -> PerRankAttributes:
        """The rank's own name, attributes and handler; a shared default if it has none and `to_change` is false."""
        own = self.own.get(rank)
        if own is None:
            own = NOTHING_OF_ITS_OWN
            if to_change:
                own = self.own[rank] = PerRankAttributes()
        return own

    def world_ranks(self) -> Members:
        """World rank of each rank of this side; always the same object."""
        if self._world_ranks is None:
            self._world_ranks = in_order(current().world_ranks(self.number))
        return self._world_ranks

    def groups(self) -> tuple[Members, Members]:
        """World ranks of side 0 and of side 1."""
        mine, its = self.world_ranks(), self.remote.world_ranks()
        return (its, mine) if self.side else (mine, its)

    def internal_context(self) -> int:
        """A second number with the same ranks, for messages that no receive of the program may catch."""
        if self._shadow < 0:
            if self.is_inter:
                pair = current().comm_new_inter(*self.groups())
                self._shadow, self.remote._shadow = pair[self.side], pair[1 - self.side]
            else:
                self._shadow = current().comm_new(self.world_ranks())
        return self._shadow

    def duplicate(self) -> Communicator:
        """The communicator that reductions of objects use, as mpi4py keeps one; the same for all ranks."""
        if self._duplicate is None:
            self._duplicate = world().new_like(self)
            self.remote._duplicate = self._duplicate.remote
            self._duplicate.choices = self.choices
            self.remote._duplicate.choices = self.remote.choices
        return self._duplicate

    def recovery(self) -> Communicator:
        """The communicator of agreements, which no revocation stops; the same for all ranks."""
        if self._recovery is None:
            self._recovery = world().new_like(self)
            self.remote._recovery = self._recovery.remote
        return self._recovery

    def local(self) -> Communicator:
        """The ranks of this side alone; itself for an intracommunicator."""
        if not self.is_inter:
            return self
        if self._local is None:
            self._local = world().new_communicator(self.world_ranks())
        return self._local

    def numbers(self) -> list[int]:
        """Kernel numbers of this side, with the numbers of its helper communicators."""
        numbers = [self.number] if self._shadow < 0 else [self.number, self._shadow]
        for helper in (self._duplicate, self._local, self._recovery):
            numbers += helper.numbers() if helper is not None else []
        return numbers

    def is_first_use(self, rank: int) -> bool:
        """Whether `rank` asks for the first time: then it still has to pay for the duplicate."""
        if self._users is None:
            self._users = bytearray(self.size)
        is_first = not self._users[rank]
        self._users[rank] = 1
        return is_first


class World:
    """State of the MPI layer for one engine.

    Attributes
    ----------
    initialized, finalized : set of int
        World ranks that have called Init, or Finalize.
    attributes : dict
        Attributes that a world rank has cached on an object, by rank, family and number; without communicators.
    keyvals : dict of int to KeyKind
        Keys of attributes that have not been freed; no two ranks have the same.
    n_keyvals : int
        Number of keys that have been made.
    leaderless_meetings : dict of object to list of LeaderlessMeeting
        Meetings, by key, of ranks that have no communicator of their own.
    n_sessions : int
        Number of sessions that have been opened.
    open_sessions : set of (int, int)
        World rank and number of each session that has not been finalized.
    parents : dict of int to int
        Number of the intercommunicator to the ranks that have started a rank, until it frees that.
    program_numbers : dict of int to int
        Place of a started rank's program among the programs that were started together.
    n_error_handlers : Counter
        Number of error handlers that a world rank has for objects of a family.
    """

    def __init__(self) -> None:
        self.initialized: set[int] = set()
        self.thread_levels: dict[int, int] = {}  # levels of threads that ranks asked for by Init_thread
        self.finalized: set[int] = set()
        self.attributes: dict[tuple[int, str, int], Attributes] = {}
        self.keyvals: dict[int, KeyKind] = {}
        self.n_keyvals = 0
        self.leaderless_meetings: dict[Hashable, list[Any]] = {}
        self.n_error_handlers: Counter[tuple[int, str]] = Counter()
        self.n_sessions = 0
        self.open_sessions: set[tuple[int, int]] = set()
        self.parents: dict[int, int] = {}
        self.program_numbers: dict[int, int] = {}
        self._no_steps = -1
        self._communicators: dict[int, Communicator] = {0: Communicator(0, "MPI_COMM_WORLD")}

    def no_steps(self) -> int:
        """The kernel's number of a schedule without steps, for ranks that only meet at a latch."""
        if self._no_steps < 0:
            self._no_steps = current().new_schedule(NO_STEPS)
        return self._no_steps

    def communicator(self, number: int) -> Communicator:
        """The communicator with a kernel number; raises ``ERR_COMM`` when all ranks have freed it."""
        known = self._communicators.get(number)
        if known is None:
            if not current().comm_is_self(number):
                fail("ERR_COMM", "all ranks have freed the communicator")
            known = self._communicators[number] = Communicator(number, "MPI_COMM_SELF")
        return known

    def new_world(self, number: int) -> Communicator:
        """COMM_WORLD of ranks that were added to the run, by its kernel number."""
        known = self._communicators[number] = Communicator(number, "MPI_COMM_WORLD")
        return known

    def new_communicator(self, world_ranks: Sequence[int]) -> Communicator:
        """A new communicator of these world ranks."""
        new = Communicator(current().comm_new(world_ranks))
        new._world_ranks = in_order(world_ranks)
        self._communicators[new.number] = new
        return new

    def new_intercommunicator(
        self, side0_world_ranks: Sequence[int], side1_world_ranks: Sequence[int]
    ) -> tuple[Communicator, Communicator]:
        """The two sides of a new intercommunicator of two disjoint groups of world ranks."""
        numbers = current().comm_new_inter(side0_world_ranks, side1_world_ranks)
        first, second = (Communicator(number) for number in numbers)
        first.remote, second.remote, second.side = second, first, 1
        first.joint = second.joint = SharedBySides(first.size, second.size)
        self._communicators.update({first.number: first, second.number: second})
        return first, second

    def new_like(self, communicator: Communicator) -> Communicator:
        """A new communicator of the same ranks: this side of it; its `remote` is the other side."""
        if communicator.is_inter:
            return self.new_intercommunicator(*communicator.groups())[communicator.side]
        return self.new_communicator(communicator.world_ranks())

    def forget(self, communicator: Communicator) -> None:
        """Remove a communicator that all its ranks have freed."""
        for side in (communicator, communicator.remote) if communicator.is_inter else (communicator,):
            for number in side.numbers():
                self._communicators.pop(number, None)
                current().comm_free(number)


def world() -> World:
    """State of the MPI layer for the running world."""
    kept = current().world_storage
    known: World | None = kept.get(World)
    if known is None:
        known = kept[World] = World()
    return known
