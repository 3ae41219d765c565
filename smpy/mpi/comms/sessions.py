"""`Session`: MPI without COMM_WORLD. Its sets of processes are the world and the rank itself."""

from __future__ import annotations

from typing import Any, ClassVar, Final, Self

from smpy.engine.running import current, mpi_call, mpi_question
from smpy.mpi.comms.groups import Group
from smpy.mpi.requests.attached import Flush, attach, attached, detach
from smpy.mpi.requests.request import Request, new_request
from smpy.mpi.state.error_handlers import Errhandler, ErrorHandling
from smpy.mpi.state.exceptions import fail
from smpy.mpi.state.handle import of_family
from smpy.mpi.state.info import INFO_NULL, Info, pairs_of
from smpy.mpi.state.members import Members
from smpy.mpi.state.per_rank_attributes import PerRankAttributes
from smpy.mpi.state.world import world

__all__ = ["SESSION_NULL", "Session"]

_PSETS: Final = ("mpi://WORLD", "mpi://SELF")


class _Open:
    """A session that has been opened."""

    __slots__ = ("number", "own")

    def __init__(self, info: Info) -> None:
        known = world()
        known.n_sessions += 1
        self.number = known.n_sessions
        known.open_sessions.add((current().rank, self.number))
        self.own = PerRankAttributes()
        self.own.info = {"thread_level": "MPI_THREAD_MULTIPLE", **pairs_of(info)}


class Session(ErrorHandling):
    """A rank's own use of MPI.

    Parameters
    ----------
    session : Session, optional
        One to make another handle of; null without it.
    """

    __slots__ = ("__weakref__", "_open")
    _family: ClassVar = "Session"
    _giving_back: ClassVar = "Finalize"

    _open: _Open | None

    def __new__(cls, session: Session | None = None) -> Self:
        self = super().__new__(cls)
        self._open = None if session is None else of_family(session, Session)._open
        return self

    def _identity(self) -> int:
        return 0 if self._open is None else self._open.number

    def _become_null(self) -> None:
        self._open = None

    def _opened(self, call: str) -> _Open:
        if self._open is None:
            fail("ERR_SESSION", f"{call}: the session is null")
        return self._open

    def _own_part(self, call: str, *, to_change: bool = False) -> PerRankAttributes:
        return self._opened(call).own

    # ---- start and end ----

    @classmethod
    def Init(cls, info: Info = INFO_NULL, errhandler: Errhandler | None = None) -> Self:
        """Open a session.

        Parameters
        ----------
        info : Info
            Its hints.
        errhandler : Errhandler, optional
            Its error handler.
        """
        self = cls()
        self._open = _Open(info)
        if errhandler is not None:
            self.Set_errhandler(errhandler)
        return self

    def Finalize(self) -> None:
        """Close the session; the handle becomes null."""
        world().open_sessions.discard((current().rank, self._opened("Finalize").number))
        self._become_null()

    # ---- sets of processes ----

    @mpi_question
    def Get_num_psets(self, info: Info = INFO_NULL) -> int:
        """Number of sets of processes."""
        self._opened("Get_num_psets")
        return len(_PSETS)

    @mpi_question
    def Get_nth_pset(self, n: int, info: Info = INFO_NULL) -> str:
        """Name of a set of processes.

        Parameters
        ----------
        n : int
            Number of the set, counted from 0.
        info : Info
            Ignored.
        """
        self._opened("Get_nth_pset")
        if not 0 <= n < len(_PSETS):
            fail("ERR_ARG", f"Get_nth_pset({n}): there are {len(_PSETS)} sets, counted from 0")
        return _PSETS[n]

    @mpi_question
    def Get_info(self) -> Info:
        """Hints of the session, in a new object."""
        return Info.Create(self._own_part("Get_info").info)

    @mpi_question
    def Get_pset_info(self, pset_name: str) -> Info:
        """Properties of a set of processes: its size.

        Parameters
        ----------
        pset_name : str
            Its name.
        """
        return Info.Create({"mpi_size": str(len(self._members(pset_name, "Get_pset_info")))})

    @mpi_question
    def Create_group(self, pset_name: str) -> Group:
        """The group of a set of processes.

        Parameters
        ----------
        pset_name : str
            Its name.
        """
        return Group._of(self._members(pset_name, "Create_group"))

    def _members(self, pset_name: str, call: str) -> Members:
        self._opened(call)
        if pset_name not in _PSETS:
            fail("ERR_ARG", f"{call}({pset_name!r}): the sets are {' and '.join(_PSETS)}")
        engine = current()
        return range(engine.n_ranks) if pset_name == _PSETS[0] else range(engine.rank, engine.rank + 1)

    # ---- its buffer ----

    @mpi_question
    def Attach_buffer(self, buf: Any) -> None:
        """Give buffered sends on the session's communicators memory.

        Parameters
        ----------
        buf : buffer-like
            The memory, or ``BUFFER_AUTOMATIC``.
        """
        attach(self._place("Attach_buffer"), buf)

    @mpi_call
    def Detach_buffer(self) -> Any:
        """Wait for the buffered sends and take the memory back."""
        return detach(self._place("Detach_buffer"))

    @mpi_call
    def Flush_buffer(self) -> None:
        """Wait until all buffered messages have been delivered."""
        attached(self._place("Flush_buffer"), "Flush_buffer").flush("Flush_buffer")

    @mpi_call
    def Iflush_buffer(self) -> Request:
        """A request that completes when all buffered messages have been delivered."""
        return new_request(0, finish=Flush(attached(self._place("Iflush_buffer"), "Iflush_buffer")))

    def _place(self, call: str) -> int:
        """Key of the session's buffer, below `ALL_COMMUNICATORS` and all numbers of communicators."""
        return -1 - self._opened(call).number


SESSION_NULL: Final = Session()
Session._know({"SESSION_NULL": SESSION_NULL})
