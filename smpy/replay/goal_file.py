"""Reads programs in GOAL, the language of LogGOPSim: operations of each rank, ordered by what they require.

GOAL is of Hoefler, Siebert & Lumsdaine 2009. A file has `num_ranks N`, then `rank r { ... }` for each rank with

    l1: calc 1000
    l2: send 100b to 3 tag 7
    l3: recv 100b from 3 tag 7
    l2 requires l1
    l3 irequires l1

Times are in nanoseconds. `requires`: after it is over; `irequires`: after it has started. Operations that require
nothing of each other are concurrent. A source or tag of -1 is any. Comments are those of C++.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple, NoReturn

from smpy.errors import UsageError, meant
from smpy.input_files import read_input

ANY: Final = -1
CALC, SEND, RECV = "calc", "send", "recv"
_NUMBER_MAX: Final = 1 << 53
_INT_MAX: Final = (1 << 31) - 1
_RANKS_MAX: Final = 1 << 24
_SPACE: Final = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STATEMENT: Final = re.compile(
    r"(?:(?P<label>[A-Za-z_]\w*)\s*:\s*)?"
    r"(?:(?P<calc>calc)\s+(?P<ns>\d+)|(?P<message>send|recv)\s+(?P<size>\d+)\s*b\s+(?P<way>to|from)\s+(?P<peer>-?\d+))"
    r"(?:\s+tag\s+(?P<tag>-?\d+))?(?:\s+cpu\s+(?P<cpu>\d+))?(?:\s+nic\s+(?P<nic>\d+))?(?!\w)"
    r"|(?P<later>[A-Za-z_]\w*)\s+(?P<needs>i?requires)\s+(?P<earlier>[A-Za-z_]\w*)"
    r"|(?P<close>\})"
)
_RANKS: Final = re.compile(r"num_ranks\s+(\d+)(?!\w)")
_RANK: Final = re.compile(r"rank\s+(\d+)\s*\{")


class GoalOperation(NamedTuple):
    """One operation of a rank.

    Attributes
    ----------
    kind : {"calc", "send", "recv"}
        What it does.
    amount : int
        Nanoseconds, or bytes.
    peer, tag : int
        Other rank and tag of a message; `ANY` of a receive: any.
    line : int
        Line of the file.
    """

    kind: str
    amount: int
    peer: int
    tag: int
    line: int


@dataclass(frozen=True, slots=True)
class RankProgram:
    """The operations of a rank.

    Attributes
    ----------
    operations : list of GoalOperation
        In the order of the file.
    needs_end, needs_start : dict of int to array of int
        Operations that must be over, or have started, before one starts: numbers in the list.
    """

    operations: list[GoalOperation] = field(default_factory=list)
    needs_end: dict[int, array[int]] = field(default_factory=dict)
    needs_start: dict[int, array[int]] = field(default_factory=dict)

    def order(self) -> list[int]:
        """The operations so that each follows what it requires, else as in the file; fewer, if some are in a cycle."""
        n_missing = [0] * len(self.operations)
        followers: dict[int, list[int]] = {}
        for needs in (self.needs_end, self.needs_start):
            for later, earlier in needs.items():
                n_missing[later] += len(earlier)
                for each in earlier:
                    followers.setdefault(each, []).append(later)
        ordered = [number for number, n in enumerate(n_missing) if not n]
        for number in ordered:  # it grows
            for later in followers.get(number, ()):
                n_missing[later] -= 1
                if not n_missing[later]:
                    ordered.append(later)
        return ordered


@dataclass(frozen=True, slots=True)
class GoalProgram:
    """A program in GOAL: its file, and the operations of each rank."""

    path: Path
    ranks: list[RankProgram]

    @property
    def n_ranks(self) -> int:
        """Number of ranks."""
        return len(self.ranks)

    @property
    def has_wildcards(self) -> bool:
        """Whether a receive takes a message from any source, or of any tag."""
        every = (each for rank in self.ranks for each in rank.operations)
        return any(each.kind == RECV and ANY in (each.peer, each.tag) for each in every)


def read_goal(path: str | Path) -> GoalProgram:
    """Read a program in GOAL.

    Raises
    ------
    UsageError
        If the file cannot be read, or is no program that can be performed: file, line and why.
    """
    path = Path(path)
    try:
        text = read_input(path, "GOAL file").decode()
    except OSError as wrong:
        raise UsageError(f"cannot read GOAL file {str(path)!r}: {wrong.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path}: this is no text") from None
    program = _Reader(path, text).program()
    _check_receives(program)
    return program


class _Need(NamedTuple):
    """Labels of an operation and of one that it requires: the end of it, or its start; and the line."""

    later: str
    earlier: str
    is_end: bool
    line: int


class _Reader:
    """The text of a program, statement by statement."""

    def __init__(self, path: Path, text: str) -> None:
        self._path, self._text = path, text
        self._at = 0
        self._line, self._line_at = 1, 0  # line of a place

    def program(self) -> GoalProgram:
        self._skip()
        head = _RANKS.match(self._text, self._at)
        if head is None:
            self._fail("it does not begin with `num_ranks` and a number")
        n_ranks = int(head[1])
        if not 1 <= n_ranks <= _RANKS_MAX:
            self._fail(f"num_ranks is {n_ranks}: a program has 1 to {_RANKS_MAX:,} ranks")
        self._at = head.end()
        ranks: list[RankProgram] = []
        while self._skip():
            ranks.append(self._rank(len(ranks), n_ranks))
        if len(ranks) < n_ranks:
            self._fail(f"it ends behind rank {len(ranks) - 1}, and num_ranks is {n_ranks}")
        return GoalProgram(self._path, ranks)

    def _rank(self, number: int, n_ranks: int) -> RankProgram:
        head = _RANK.match(self._text, self._at)
        if head is None:
            self._fail(f"{self._word()!r} is no `rank {number} {{`")
        if int(head[1]) != number or number >= n_ranks:
            wanted = f"rank {number} comes next" if number < n_ranks else f"num_ranks is {n_ranks}"
            self._fail(f"it is of rank {head[1]}, and {wanted}: ranks follow each other from 0")
        self._at = head.end()
        rank = RankProgram()
        labels: dict[str, int] = {}
        needs: list[_Need] = []
        while not (said := self._statement(number))["close"]:
            if said["needs"]:
                needs.append(_Need(said["later"], said["earlier"], said["needs"] == "requires", self._line_now()))
            else:
                if (label := said["label"]) in labels:
                    line = rank.operations[labels[label]].line
                    self._fail(f"the label {label} is there twice: it is in line {line}")
                if label is not None:
                    labels[label] = len(rank.operations)
                rank.operations.append(self._operation(said, number, n_ranks))
            self._at = said.end()
        self._at = said.end()
        self._put_in_order(number, rank, labels, needs)
        return rank

    def _statement(self, rank: int) -> re.Match[str]:
        if not self._skip():
            self._fail(f"the file ends within rank {rank}: there is a }} missing")
        said = _STATEMENT.match(self._text, self._at)
        if said is None:
            self._fail(f"{self._word()!r} is no statement: calc N, send Nb to R, recv Nb from R, A requires B")
        return said

    def _put_in_order(self, number: int, rank: RankProgram, labels: dict[str, int], needs: list[_Need]) -> None:
        for later, earlier, is_end, line in needs:
            for label in (later, earlier):
                if label not in labels:
                    self._fail(f"rank {number} has no label {label}{meant(label, labels)}", line)
            found = rank.needs_end if is_end else rank.needs_start
            found.setdefault(labels[later], array("q")).append(labels[earlier])
        if len(ordered := set(rank.order())) < len(rank.operations):
            first = next(each for i, each in enumerate(rank.operations) if i not in ordered)
            self._fail("it requires itself, by what it requires, or follows such a cycle", first.line)

    def _operation(self, said: re.Match[str], rank: int, n_ranks: int) -> GoalOperation:
        line = self._line_now()
        for what in ("cpu", "nic"):
            if said[what] is not None and int(said[what]):
                self._fail(f"{what} {said[what]}: a rank has one CPU and one network interface, 0")
        if said["calc"]:
            return GoalOperation(CALC, self._number(said["ns"]), ANY, 0, line)
        kind, peer, tag = said["message"], int(said["peer"]), int(said["tag"] or 0)
        if said["way"] != ("to" if kind == SEND else "from"):
            self._fail(f"{kind} ... {said['way']}: it is `send Nb to R`, and `recv Nb from R`")
        is_any = kind == RECV and peer == ANY
        if not (0 <= peer < n_ranks or is_any):
            self._fail(f"{kind} of rank {rank} {said['way']} rank {peer}: there are ranks 0 to {n_ranks - 1}")
        if not (0 <= tag <= _INT_MAX or (kind == RECV and tag == ANY)):
            self._fail(f"{tag} is no tag: from 0 to {_INT_MAX}")
        return GoalOperation(kind, self._number(said["size"]), peer, tag, line)

    def _number(self, digits: str) -> int:
        if len(digits) > 16 or int(digits) > _NUMBER_MAX:
            self._fail(f"{digits} is too large: up to {_NUMBER_MAX}")
        return int(digits)

    def _skip(self) -> bool:
        """Skip space and comments: whether there is something left."""
        space = _SPACE.match(self._text, self._at)
        self._at = space.end() if space else self._at
        return self._at < len(self._text)

    def _word(self) -> str:
        return self._text[self._at : self._at + 40].split("\n")[0].strip()

    def _line_now(self) -> int:
        self._line += self._text.count("\n", self._line_at, self._at)
        self._line_at = self._at
        return self._line

    def _fail(self, message: str, line: int = 0) -> NoReturn:
        raise UsageError(f"{self._path}, line {line or self._line_now()}: {message}")


def _check_receives(program: GoalProgram) -> None:
    """Check that each receive has a message: as many of its source and tag, or, of any, as many in all."""
    sent: Counter[tuple[int, int, int]] = Counter()
    for source, rank in enumerate(program.ranks):
        sent.update((source, each.peer, each.tag) for each in rank.operations if each.kind == SEND)
    sent_to = Counter[int]()
    for (_, target, _), n in sent.items():
        sent_to[target] += n
    for target, rank in enumerate(program.ranks):
        for each in rank.operations:
            if each.kind != RECV:
                continue
            key = each.peer, target, each.tag
            sent_to[target] -= 1
            if ANY not in (each.peer, each.tag):
                sent[key] -= 1
            if sent_to[target] < 0 or sent[key] < 0:
                of = "any rank" if each.peer == ANY else f"rank {each.peer}"
                tag = "" if each.tag == ANY else f" with tag {each.tag}"
                raise UsageError(
                    f"{program.path}, line {each.line}: rank {target} receives more from {of}{tag} than is sent"
                )
