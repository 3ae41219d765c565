"""Converts lines of a time-independent trace to rows of actions for the kernel.

A line consists of words: a rank, an action and its arguments (`_ACTIONS`). Sizes count entries of a datatype, which
is given by SimGrid's number. All communicators are COMM_WORLD.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from itertools import accumulate
from math import isfinite
from typing import Final

from smpy.collectives.facts import Query
from smpy.collectives.parts import ring_parts
from smpy.engine.trace import ACTIONS
from smpy.errors import UsageError, meant

Row = tuple[float, int, int, int, int, int, int, int, int, int, int]
ROW_FIELDS: Final = ("amount", "bytes", "rank", "action", "account", "comm", "peer", "tag", "request", "detail", "line")
ScheduleOf = Callable[[str, Query], int]
"""Returns the world's number for the schedule of a collective on all ranks."""
SiteOf = Callable[[int, str, tuple[str, int]], int]
"""Returns the number of the site of a rank's call, given its name, file and line."""

_NUMBER: Final = {name: number for number, name in enumerate(ACTIONS)}
_ANY: Final = -1
_ANY_SOURCE, _ANY_TAG = -333, -444  # SMPI's numbers
_COMPLETE, _FOUND = 0, -1  # request names of sends that were complete at once: before a test, and after one
_DIGITS_MAX: Final = 18
_COUNT_MAX: Final = 1 << 40  # entries: the bytes that all ranks receive together still fit a number
_ANY_BYTES: Final = 1 << 62
_TAG_MAX: Final = (1 << 31) - 1
_REQUESTS_MAX: Final = (1 << 31) - 1

# Sizes of SimGrid's datatypes on 64-bit Linux, by number, as in the messages of `smpirun -replay` 3.32.
_NATIVE: Final = (8, 4, 1, 2, 8, 4, 1, 8, 1, 1, 2, 4, 8, 8, 16, 4, 1)  # double to C bool
_SIZED: Final = (1, 2, 4, 8, 1, 2, 4, 8, 8, 16, 32, 8, 8)  # int8 to uint64, complex ones, AINT, OFFSET
_PAIRS: Final = (8, 16, 16, 8, 8, 8, 16, 16)  # FLOAT_INT to 2LONG
_FORTRAN: Final = (4, 4, 8, 16, 8, 16, 16, 4, 2, 4, 8, 16)  # REAL to INTEGER16
_CXX: Final = (32, 1, 8, 16, 32)  # LONG_DOUBLE_INT, then C++'s
_ENTRY_BYTES: Final = {
    **dict(enumerate((*_NATIVE, *_SIZED, *_PAIRS, *_FORTRAN, *_CXX))),
    57: 1,
    58: 8,
    59: 8,  # PACKED, PTR, COUNT
}
_DOUBLE, _BYTE = 0, 6


class Actions:
    """Converter of the lines of one rank to rows.

    Parameters
    ----------
    rank, n_ranks : int
        Rank that performs the actions, and number of ranks.
    schedule_of : callable
        Returns the number of the schedule of a collective.
    is_sent_at_once : callable
        Takes a rank and a number of bytes, and returns whether such a send is complete at once.
    faster : float
        Divisor of the rank's work.
    site_of : callable, optional
        Returns the number of a call site; without it rows have none.

    Attributes
    ----------
    rows : list of tuple
        Rows of the lines so far, with the fields `ROW_FIELDS`; the reader removes them.
    line : int
        Line of the rows to come.
    """

    __slots__ = (
        *("_entry_bytes", "_faster", "_is_begun", "_is_sent_at_once", "_n_requests", "_open", "_place", "_schedule_of"),
        *("_site", "_site_of", "_sites", "line", "n", "rank", "rows"),
    )

    def __init__(
        self,
        rank: int,
        n_ranks: int,
        schedule_of: ScheduleOf,
        is_sent_at_once: Callable[[int, int], bool],
        faster: float = 1.0,
        site_of: SiteOf | None = None,
    ) -> None:
        self.rank, self.n, self.line = rank, n_ranks, 0
        self._site_of, self._place = site_of, ("", 0)
        self._sites: dict[str, int] = {}  # of the calls at this place
        self._site = 0
        self.rows: list[Row] = []
        self._faster = faster
        self._schedule_of, self._is_sent_at_once = schedule_of, is_sent_at_once
        self._entry_bytes = _ENTRY_BYTES[_BYTE]
        self._is_begun = False
        self._n_requests = 0
        self._open: dict[tuple[int, int, int], deque[int]] = defaultdict(deque)  # by source, target, tag

    def add(self, words: Sequence[str]) -> None:
        """Convert a line, given as the words after its rank.

        Raises
        ------
        UsageError
            If the line has no known form; the message does not name the line.
        """
        name = words[0]
        known = _ACTIONS.get(name)
        if known is None:
            raise UsageError(_unknown(name))
        if not self._is_begun and name != "init":
            raise UsageError(f"{name} comes before init")
        perform, form = known
        if self._site_of is not None:
            self._site = self._sites.get(name, -1)
            if self._site < 0:
                self._site = self._sites[name] = self._new_site(name, self._site_of)
        perform(self, Words(words, name, form))

    def _new_site(self, name: str, site_of: SiteOf) -> int:
        call = _CALLS.get(name)
        return 0 if call is None else site_of(self.rank, call, self._place)

    def end(self) -> None:
        """End the rank after its last line: it waits for its open requests.

        Raises
        ------
        UsageError
            If it has had none.
        """
        if not self._is_begun:
            raise UsageError(f"there is no line of rank {self.rank}")
        self._site = 0
        self.wait_all()
        self._row("end")

    def _row(
        self,
        action: str,
        *,
        peer: int = _ANY,
        tag: int = 0,
        nbytes: int = 0,
        amount: float = 0.0,
        request: int = 0,
        detail: int = 0,
    ) -> None:
        number = _NUMBER[action]
        self.rows.append((amount, nbytes, self.rank, number, self._site, 0, peer, tag, request, detail, self.line))

    # ---- alone ----

    def init(self, words: Words) -> None:
        """Start the rank; an extra word makes double the default datatype."""
        self._is_begun = True
        self._entry_bytes = _ENTRY_BYTES[_DOUBLE if words.n else _BYTE]

    def nothing(self, words: Words) -> None:
        """Ignore an action that takes no time."""

    def location(self, words: Words) -> None:
        """Note the place of the next calls; a line without one changes nothing."""
        if words.n >= 2:
            place = words.text("file"), words.number("line")
            if place != self._place:
                self._place = place
                self._sites.clear()

    def compute(self, words: Words) -> None:
        self._compute(words.amount("flop"))

    def _compute(self, flop: float) -> None:
        """Compute outside of calls, as the program does after it has received the operands of a reduction."""
        self._site = 0
        if flop:
            self._row("compute", amount=flop / self._faster)

    def sleep(self, words: Words) -> None:
        self._row("sleep", amount=words.amount("seconds"))

    # ---- messages ----

    def send(self, words: Words) -> None:
        peer, tag, nbytes = self._message(words)
        self._row("send", peer=peer, tag=tag, nbytes=nbytes, amount=1, request=self._new_name(), detail=0)

    def isend(self, words: Words) -> None:
        peer, tag, nbytes = self._message(words)
        name = self._isend(peer, tag, nbytes)
        self._open[self.rank, peer, tag].append(name)

    def _isend(self, peer: int, tag: int, nbytes: int) -> int:
        """Start a send and return the name of its request; `_COMPLETE` if it was complete at once."""
        is_complete = self._is_sent_at_once(self.rank, nbytes)
        name = self._new_name()
        self._row("isend", peer=peer, tag=tag, nbytes=nbytes, amount=float(is_complete), request=name)
        return _COMPLETE if is_complete else name

    def recv(self, words: Words) -> None:
        source, tag, nbytes = self._expected(words)
        self._row("recv", peer=source, tag=_any_tag(tag), nbytes=nbytes, request=self._new_name())

    def irecv(self, words: Words) -> None:
        source, tag, nbytes = self._expected(words)
        name = self._irecv(source, tag, nbytes)
        self._open[source, self.rank, tag].append(name)

    def _irecv(self, source: int, tag: int, nbytes: int) -> int:
        name = self._new_name()
        self._row("irecv", peer=source, tag=_any_tag(tag), nbytes=nbytes, request=name)
        return name

    def sendrecv(self, words: Words) -> None:
        n_out, target = words.count("entries to send"), self._peer(words, "destination")
        n_in, source = words.count("entries to receive"), self._peer(words, "source")
        out, into = n_out * self._type(words), n_in * self._type(words)
        if target == source == self.rank:
            return  # a copy
        names = [self._isend(target, 0, out), self._irecv(source, 0, into)]
        self._wait_for([name for name in names if name])

    def _message(self, words: Words) -> tuple[int, int, int]:
        peer, tag, n = self._peer(words, "destination"), words.tag(), words.count("entries")
        return peer, tag, n * self._type(words)

    def _expected(self, words: Words) -> tuple[int, int, int]:
        """Source, tag and largest size of a receive; without a size, the rank probes the message first."""
        source, tag, n = self._peer(words, "source"), words.tag(may_be_any=True), words.count("entries", least=-1)
        nbytes = n * self._type(words)
        if n < 0:
            self._row("probe", peer=source, tag=_any_tag(tag))
            return source, tag, _ANY_BYTES
        return source, tag, nbytes

    def _peer(self, words: Words, what: str) -> int:
        rank = words.number(what)
        if rank == _ANY_SOURCE:
            raise UsageError(f"{words.action} from any source: the trace does not say which message was taken")
        if not 0 <= rank < self.n:
            raise UsageError(f"{words.action} with {what} {rank}: there are ranks 0 to {self.n - 1}")
        return rank

    def _type(self, words: Words) -> int:
        """Bytes of an entry of the datatype in the next word; by default, the rank's own datatype."""
        return words.entry_bytes() if words.n else self._entry_bytes

    def _new_name(self) -> int:
        if self._n_requests == _REQUESTS_MAX:
            raise UsageError(f"rank {self.rank} has more than {_REQUESTS_MAX:,} messages")
        self._n_requests += 1
        return self._n_requests

    # ---- waiting ----

    def wait(self, words: Words) -> None:
        of_key = self._of_key(words)
        if of_key:
            name = of_key.popleft()
            if name > 0:
                self._row("wait", request=name)

    def test(self, words: Words) -> None:
        """Test a request, and requeue it behind others of its key; a complete one is then removed without a test."""
        of_key = self._of_key(words)
        if of_key:
            name = of_key.popleft()
            if name != _FOUND:
                self._row("test", request=name, amount=1)
                of_key.append(name or _FOUND)

    def _of_key(self, words: Words) -> deque[int] | None:
        return self._open.get((words.number("source"), words.number("destination"), words.tag(may_be_any=True)))

    def wait_all(self, words: Words | None = None) -> None:
        self._wait_for(sorted(name for of_key in self._open.values() for name in of_key if name > 0))
        self._open.clear()

    def _wait_for(self, names: Sequence[int]) -> None:
        for i, name in enumerate(names):
            self._row("and" if i else "wait_all", request=name, detail=0 if i else len(names) - 1)

    # ---- collectives ----

    def _collective(
        self,
        query: Query,
        operation: str,
        *,
        root: int = 0,
        tables: Sequence[Sequence[int]] = (),
    ) -> None:
        if self.n == 1:
            return
        entries = [(k, number) for k, table in enumerate(tables) for number in table]
        schedule = self._schedule_of(operation, query)
        self._row("collective", peer=root, nbytes=query.nbytes, amount=len(entries), detail=schedule)
        for k, number in entries:
            self._row("entry", nbytes=number, detail=k)

    def _root(self, words: Words) -> int:
        return self._peer(words, "root") if words.n else 0

    def barrier(self, words: Words) -> None:
        self._collective(Query(self.n, 0), "barrier")

    def bcast(self, words: Words) -> None:
        n, root = words.count("entries"), self._root(words)
        self._collective(Query(self.n, n * self._type(words)), "bcast", root=root)

    def reduce(self, words: Words) -> None:
        n, flop, root = words.count("entries"), words.amount("flop"), self._root(words)
        self._reduction("reduce", n, self._type(words), flop, root)

    def allreduce(self, words: Words) -> None:
        self._reduction("allreduce", *self._reduced(words))

    def scan(self, words: Words) -> None:
        self._reduction("scan", *self._reduced(words))

    def exscan(self, words: Words) -> None:
        self._reduction("exscan", *self._reduced(words))

    def _reduced(self, words: Words) -> tuple[int, int, float]:
        n, flop = words.count("entries"), words.amount("flop")
        return n, self._type(words), flop

    def _reduction(self, operation: str, n: int, entry_bytes: int, flop: float, root: int = 0) -> None:
        query = Query(self.n, n * entry_bytes, item_bytes=max(entry_bytes, 1), n_entries=n)
        self._collective(query, operation, root=root)
        self._compute(flop)

    def reduce_scatter(self, words: Words) -> None:
        counts, flop = words.counts(self.n, "entries"), words.amount("flop")
        entry_bytes = self._type(words)
        offsets = _offsets(counts, entry_bytes)
        query = Query(
            self.n,
            counts[self.rank] * entry_bytes,
            item_bytes=max(entry_bytes, 1),
            n_entries=sum(counts),
            total_bytes=offsets[-1],
            are_equal=len(set(counts)) == 1,
        )
        self._collective(query, "reduce_scatter", tables=(offsets,))
        self._compute(flop)

    def _blocks(self, words: Words, *, has_root: bool) -> tuple[int, int, int]:
        """Bytes of a block sent and of one received, and the root."""
        n_out, n_in = words.count("entries to send"), words.count("entries to receive")
        root = self._root(words) if has_root else 0
        return n_out * self._type(words), n_in * self._type(words), root

    def _block_for_all(self, words: Words) -> int:
        out, into, _ = self._blocks(words, has_root=False)
        if out > into:
            raise UsageError(f"{words.action}: a block of {out} bytes is sent where {into} bytes are expected")
        return out

    def gather(self, words: Words) -> None:
        out, _, root = self._blocks(words, has_root=True)
        self._collective(Query(self.n, out), "gather", root=root)

    def scatter(self, words: Words) -> None:
        out, into, root = self._blocks(words, has_root=True)
        self._collective(Query(self.n, out if root == self.rank else into), "scatter", root=root)

    def allgather(self, words: Words) -> None:
        out = self._block_for_all(words)
        self._collective(Query(self.n, out), "allgather")

    def alltoall(self, words: Words) -> None:
        out = self._block_for_all(words)
        self._collective(Query(self.n, out), "alltoall")

    def gatherv(self, words: Words) -> None:
        n_out, counts = words.count("entries to send"), words.counts(self.n, "entries to receive")
        root = self._root(words)
        out = n_out * self._type(words)
        offsets = _offsets(counts, self._type(words))
        self._collective(Query(self.n, out), "gatherv", root=root, tables=((), offsets) if root == self.rank else ())

    def scatterv(self, words: Words) -> None:
        counts, n_in = words.counts(self.n, "entries to send"), words.count("entries to receive")
        root = self._root(words)
        offsets = _offsets(counts, self._type(words))
        into = n_in * self._type(words)
        self._collective(Query(self.n, into), "scatterv", root=root, tables=(offsets,) if root == self.rank else ())

    def allgatherv(self, words: Words) -> None:
        n_out, counts = words.count("entries to send"), words.counts(self.n, "entries to receive")
        if words.n not in (0, 1, 2, self.n, self.n + 2):
            raise UsageError(
                f"allgatherv has {words.n} words behind its counts, which are neither datatypes nor offsets"
            )
        has_types = 0 < words.n <= 2 or words.n == self.n + 2  # offsets follow, which have no effect
        entry_out = self._type(words) if has_types else self._entry_bytes
        entry_in = self._type(words) if has_types else self._entry_bytes
        offsets = _offsets(counts, entry_in)
        parts = ring_parts(tuple(counts), entry_in)
        query = Query(
            self.n,
            n_out * entry_out,
            n_entries=sum(counts),
            total_bytes=offsets[-1],
            in_parts=parts is not None,
        )
        self._collective(query, "allgatherv", tables=((), offsets, *(parts or ())))

    def alltoallv(self, words: Words) -> None:
        words.count("entries of the send buffer")
        n_out = words.counts(self.n, "entries to send")
        words.count("entries of the receive buffer")
        n_in = words.counts(self.n, "entries to receive")
        out = _offsets(n_out, self._type(words))
        into = _offsets(n_in, self._type(words))
        self._collective(Query(self.n, 0), "alltoallv", tables=(out, into))


class Words:
    """Reader of the words after an action's name, which is the first word."""

    __slots__ = ("_at", "_form", "_words", "action")

    def __init__(self, words: Sequence[str], action: str, form: str) -> None:
        self._words, self._at = words, 1
        self.action, self._form = action, form

    @property
    def n(self) -> int:
        """Number of words left."""
        return len(self._words) - self._at

    def _next(self, what: str) -> str:
        at = self._at
        if at == len(self._words):
            raise UsageError(f"{self.action} does not say its {what}: it is `{self.action} {self._form}`")
        self._at = at + 1
        return self._words[at]

    def text(self, what: str) -> str:
        """Read a word."""
        return self._next(what)

    def amount(self, what: str) -> float:
        """Read a number of 0 or more."""
        word = self._next(what)
        try:
            number = _float(word)
        except ValueError:
            number = -1.0
        if not (number >= 0 and isfinite(number)):
            raise UsageError(f"{self.action}: {word!r} is no number of {what}")
        return number

    def number(self, what: str) -> int:
        """Read a whole number; a fraction is cut off."""
        word = self._next(what)
        try:
            return int(word) if word.isdecimal() else int(_float(word))
        except (ValueError, OverflowError):
            raise UsageError(f"{self.action}: {word!r} is no {what}") from None

    def count(self, what: str, least: int = 0) -> int:
        """Read a number of entries."""
        word = self._words[self._at] if self._at < len(self._words) else ""
        if word.isdecimal() and len(word) < _DIGITS_MAX:  # nearly all
            self._at += 1
            number = int(word)
        else:
            number = self.number(f"number of {what}")
        if not least <= number <= _COUNT_MAX:
            raise UsageError(f"{self.action}: {number} is no number of {what}")
        return number

    def counts(self, n: int, what: str) -> list[int]:
        """Read `n` numbers of entries."""
        return [self.count(what) for _ in range(n)]

    def tag(self, *, may_be_any: bool = False) -> int:
        """Read a tag."""
        tag = self.number("tag")
        if not (0 <= tag <= _TAG_MAX or (may_be_any and tag == _ANY_TAG)):
            raise UsageError(f"{self.action}: {tag} is no tag")
        return tag

    def entry_bytes(self) -> int:
        """Read the number of a datatype and return the bytes of its entries."""
        number = self.number("datatype")
        if number not in _ENTRY_BYTES:
            raise UsageError(f"{self.action}: {number} is the number of no datatype")
        return _ENTRY_BYTES[number]


def _float(word: str) -> float:
    if "_" in word:  # Python's own
        raise ValueError(word)
    return float(word)


def _any_tag(tag: int) -> int:
    return _ANY if tag == _ANY_TAG else tag


def _offsets(counts: Sequence[int], entry_bytes: int) -> list[int]:
    """Offsets in bytes at which blocks begin, and the end of the last one."""
    return list(accumulate((count * entry_bytes for count in counts), initial=0))


_ACTIONS: Final[dict[str, tuple[Callable[[Actions, Words], None], str]]] = {
    "init": (Actions.init, "[1]"),
    "finalize": (Actions.nothing, ""),
    "comm_size": (Actions.nothing, ""),
    "comm_split": (Actions.nothing, ""),
    "comm_dup": (Actions.nothing, ""),
    "location": (Actions.location, "FILE LINE"),
    "compute": (Actions.compute, "FLOP"),
    "sleep": (Actions.sleep, "SECONDS"),
    "send": (Actions.send, "DESTINATION TAG COUNT [TYPE]"),
    "isend": (Actions.isend, "DESTINATION TAG COUNT [TYPE]"),
    "recv": (Actions.recv, "SOURCE TAG COUNT [TYPE]"),
    "irecv": (Actions.irecv, "SOURCE TAG COUNT [TYPE]"),
    "sendRecv": (Actions.sendrecv, "SENDCOUNT DESTINATION RECVCOUNT SOURCE SENDTYPE RECVTYPE"),
    "wait": (Actions.wait, "SOURCE DESTINATION TAG"),
    "test": (Actions.test, "SOURCE DESTINATION TAG"),
    "waitall": (Actions.wait_all, ""),
    "barrier": (Actions.barrier, ""),
    "bcast": (Actions.bcast, "COUNT [ROOT [TYPE]]"),
    "reduce": (Actions.reduce, "COUNT FLOP [ROOT [TYPE]]"),
    "allreduce": (Actions.allreduce, "COUNT FLOP [TYPE]"),
    "scan": (Actions.scan, "COUNT FLOP [TYPE]"),
    "exscan": (Actions.exscan, "COUNT FLOP [TYPE]"),
    "reducescatter": (Actions.reduce_scatter, "RECVCOUNT... FLOP [TYPE]"),
    "gather": (Actions.gather, "SENDCOUNT RECVCOUNT [ROOT [SENDTYPE [RECVTYPE]]]"),
    "scatter": (Actions.scatter, "SENDCOUNT RECVCOUNT [ROOT [SENDTYPE [RECVTYPE]]]"),
    "allgather": (Actions.allgather, "SENDCOUNT RECVCOUNT [SENDTYPE [RECVTYPE]]"),
    "alltoall": (Actions.alltoall, "SENDCOUNT RECVCOUNT [SENDTYPE [RECVTYPE]]"),
    "gatherv": (Actions.gatherv, "SENDCOUNT RECVCOUNT... [ROOT [SENDTYPE [RECVTYPE]]]"),
    "scatterv": (Actions.scatterv, "SENDCOUNT... RECVCOUNT [ROOT [SENDTYPE [RECVTYPE]]]"),
    "allgatherv": (Actions.allgatherv, "SENDCOUNT RECVCOUNT... [SENDTYPE RECVTYPE] [OFFSET...]"),
    "alltoallv": (Actions.alltoallv, "SENDSIZE SENDCOUNT... RECVSIZE RECVCOUNT... [SENDTYPE [RECVTYPE]]"),
}
_OUTSIDE_MPI: Final = (Actions.nothing, Actions.init, Actions.location, Actions.compute, Actions.sleep)
_CALLS: Final = {
    **{name: name.capitalize() for name, (perform, _) in _ACTIONS.items() if perform not in _OUTSIDE_MPI},
    "reducescatter": "Reduce_scatter",
}
KNOWN: Final = tuple(_ACTIONS)
"""Names of the actions that can be performed."""


def _unknown(name: str) -> str:
    return f"{name!r} is no action that can be performed{meant(name, KNOWN) or '.'} These can: {', '.join(KNOWN)}"
