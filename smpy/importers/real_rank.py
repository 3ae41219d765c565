"""State of the ranks of a real run: calls, messages and collectives under way, and rows that are held."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf

from smpy.importers.call_sorts import NO_CALL, CallSort
from smpy.importers.held_rows import HeldRows, Row


@dataclass(slots=True, eq=False)
class RealMessage:
    """A message, and the calls that wait for it to be matched."""

    number: int
    source: int
    target: int
    tag: int
    nbytes: int
    site: int
    sent_s: float
    done_s: float = inf  # end of the sender's call, or wait
    calls: list[WaitingCall] = field(default_factory=list)
    is_matched: bool = False
    posted_s: float = 0.0  # its receive
    receive_site: int = 0


@dataclass(slots=True, eq=False)
class RealReceive:
    """A receive; once it is complete, the key of its message: communicator, source, target, tag."""

    posted_s: float
    site: int
    row: int = -1
    request: int = 0
    key: tuple[int, int, int, int] | None = None
    is_over: bool = False
    is_passed: bool = False  # by receives that were posted later
    call: WaitingCall | None = None
    message: RealMessage | None = None


@dataclass(slots=True, eq=False)
class MeetingPart:
    """Part of a rank in a collective call; at last, the rank that entered last before it left, and when."""

    state: RealRank
    site: int
    row: int
    entered_s: float
    request: int = 0
    left_s: float = 0.0
    root: int = 0
    sent: int = 0
    received: int = 0
    meeting: Meeting | None = None
    call: WaitingCall | None = None
    last_s: float | None = None
    last_rank: int = -1


@dataclass(slots=True, eq=False)
class Meeting:
    """The n-th call of a collective in a communicator: parts of ranks that have come, and number of those that left."""

    operation: str
    comm: int
    n: int
    parts: list[MeetingPart] = field(default_factory=list)
    n_left: int = 0


@dataclass(slots=True, eq=False)
class WaitingCall:
    """A call that waits for others; `n_open` of them have not told their dates."""

    state: RealRank
    place: int
    entered_s: float
    left_s: float
    site: int
    sends: list[RealMessage]
    receives: list[RealReceive]
    parts: list[MeetingPart]
    n_open: int = 0


@dataclass(slots=True, eq=False)
class RealPoll:
    """Poll as smpy told it: a probe of a source and a tag in a communicator, or a test of requests.

    `success` is the number of the request that was complete at last, from 1, or 1 for a message; 0 for none.
    """

    action: str
    n_in_vain: int
    success: int
    comm: int
    source: int
    tag: int
    requests: list[int]


@dataclass(slots=True, eq=False)
class RealRank:
    """A rank: the call that it is in, what it has started, and its rows."""

    rank: int
    has_begun: bool = False
    since_s: float = 0.0
    sort: CallSort = NO_CALL
    depth: int = 0
    site: int = 0
    entered_s: float = 0.0
    n_requests: int = 0
    sends: list[tuple[int, int, int, int]] = field(default_factory=list)  # of this call: comm, peer, tag, bytes
    receives: list[tuple[int, int, int, int]] = field(default_factory=list)
    begun: dict[int, Row] = field(default_factory=dict)  # sends that this call starts
    waited: list[int] = field(default_factory=list)
    poll: RealPoll | None = None
    sent: list[RealMessage] = field(default_factory=list)
    got: list[RealReceive] = field(default_factory=list)
    parts: list[MeetingPart] = field(default_factory=list)
    open_sends: dict[int, tuple[int, RealMessage]] = field(default_factory=dict)
    open_receives: dict[int, RealReceive] = field(default_factory=dict)
    open_parts: dict[int, MeetingPart] = field(default_factory=dict)
    posted: deque[RealReceive] = field(default_factory=deque)
    regions: list[tuple[str, float, int]] = field(default_factory=list)
    counters: Mapping[str, float] = field(default_factory=dict)
    counters_since: Mapping[str, float] = field(default_factory=dict)
    intervals: HeldRows = field(default_factory=HeldRows)
    actions: HeldRows = field(default_factory=HeldRows)

    def new_request(self) -> int:
        """Number of a new request."""
        self.n_requests += 1
        return self.n_requests
