"""A collective's schedule: the steps of a rank, written once for every rank.

An algorithm is a function of a `Call` that fills a `Schedule`. With a call in symbols (`RANK`, `ROOT`, `NBYTES`,
`ScheduleTable(0)`) the result is a program that the kernel performs for any rank. With a call in numbers it is the
list of one rank's steps, which tests and figures read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from smpy.engine.schedules import Instruction, Term


class Formula:
    """An integer expression in the symbols of a schedule, kept as the kernel's postfix terms."""

    __slots__ = ("terms",)
    __hash__ = None  # type: ignore[assignment]  # == builds a formula

    def __init__(self, *terms: int) -> None:
        self.terms = terms

    def _with(self, other: Value, term: int) -> Formula:
        return Formula(*self.terms, *_terms(other), term)

    def _after(self, other: Value, term: int) -> Formula:
        return Formula(*_terms(other), *self.terms, term)

    def __add__(self, other: Value) -> Formula:
        return self._with(other, Term.ADD)

    def __radd__(self, other: Value) -> Formula:
        return self._after(other, Term.ADD)

    def __sub__(self, other: Value) -> Formula:
        return self._with(other, Term.SUB)

    def __rsub__(self, other: Value) -> Formula:
        return self._after(other, Term.SUB)

    def __mul__(self, other: Value) -> Formula:
        return self._with(other, Term.MUL)

    def __rmul__(self, other: Value) -> Formula:
        return self._after(other, Term.MUL)

    def __floordiv__(self, other: Value) -> Formula:
        return self._with(other, Term.DIV)

    def __rfloordiv__(self, other: Value) -> Formula:
        return self._after(other, Term.DIV)

    def __mod__(self, other: Value) -> Formula:
        return self._with(other, Term.MOD)

    def __rmod__(self, other: Value) -> Formula:
        return self._after(other, Term.MOD)

    def __and__(self, other: Value) -> Formula:
        return self._with(other, Term.AND)

    def __rand__(self, other: Value) -> Formula:
        return self._after(other, Term.AND)

    def __or__(self, other: Value) -> Formula:
        return self._with(other, Term.OR)

    def __ror__(self, other: Value) -> Formula:
        return self._after(other, Term.OR)

    def __xor__(self, other: Value) -> Formula:
        return self._with(other, Term.XOR)

    def __rxor__(self, other: Value) -> Formula:
        return self._after(other, Term.XOR)

    def __lshift__(self, other: Value) -> Formula:
        return self._with(other, Term.SHL)

    def __rlshift__(self, other: Value) -> Formula:
        return self._after(other, Term.SHL)

    def __rshift__(self, other: Value) -> Formula:
        return self._with(other, Term.SHR)

    def __rrshift__(self, other: Value) -> Formula:
        return self._after(other, Term.SHR)

    def __lt__(self, other: Value) -> Formula:
        return self._with(other, Term.LT)

    def __le__(self, other: Value) -> Formula:
        return self._with(other, Term.LE)

    def __gt__(self, other: Value) -> Formula:
        return self._after(other, Term.LT)

    def __ge__(self, other: Value) -> Formula:
        return self._after(other, Term.LE)

    def __eq__(self, other: Value) -> Formula:  # type: ignore[override]
        return self._with(other, Term.EQ)

    def __ne__(self, other: Value) -> Formula:  # type: ignore[override]
        return self._with(other, Term.NE)


Value: TypeAlias = int | Formula


def _terms(value: Value) -> tuple[int, ...]:
    return value.terms if isinstance(value, Formula) else (Term.CONSTANT, int(value))


RANK = Formula(Term.RANK)
ROOT = Formula(Term.ROOT)
NBYTES = Formula(Term.BYTES)


def smaller(one: Value, other: Value) -> Value:
    """The minimum of two values."""
    return _chosen(Term.MIN, one, other) if _is_formula(one, other) else min(one, other)  # type: ignore[type-var]


def larger(one: Value, other: Value) -> Value:
    """The maximum of two values."""
    return _chosen(Term.MAX, one, other) if _is_formula(one, other) else max(one, other)  # type: ignore[type-var]


def either(condition: Value, one: Value, other: Value) -> Value:
    """The first value where a condition is 1, and the second where it is 0."""
    return condition * one + (condition == 0) * other


def _is_formula(*values: Value) -> bool:
    return any(isinstance(value, Formula) for value in values)


def _chosen(term: int, one: Value, other: Value) -> Formula:
    return Formula(*_terms(one), *_terms(other), term)


class ScheduleTable:
    """Symbol for the numbers that a rank passes as its table `k`."""

    __slots__ = ("_k",)

    def __init__(self, k: int) -> None:
        self._k = k

    def __getitem__(self, index: Value) -> Formula:
        return Formula(*_terms(index), Term.TABLE, self._k)


class Offsets(Protocol):
    """Offsets of blocks, in bytes: block i lies between entries i and i + 1."""

    def __getitem__(self, index: Any, /) -> Any: ...


class EqualBlocks:
    """Offsets of blocks of one size."""

    __slots__ = ("nbytes",)

    def __init__(self, nbytes: Value) -> None:
        self.nbytes = nbytes

    def __getitem__(self, index: Value) -> Value:
        return index * self.nbytes


NO_BLOCKS = EqualBlocks(0)
NO_STEPS: Final = (int(Instruction.HALT),)
"""The program of a schedule without steps."""


def block_bytes(offsets: Offsets, index: Value) -> Value:
    """Size of the block at `index`."""
    if isinstance(offsets, EqualBlocks):
        return offsets.nbytes
    size: Value = offsets[index + 1] - offsets[index]
    return size


class ScheduleStep(NamedTuple):
    """One step of one rank; a peer, size or number that the step lacks is -1, 0 and -1.

    The steps of a strand lie between its "fork" and a "halt".
    """

    name: str
    to: int = -1
    bytes_out: int = 0
    source: int = -1
    bytes_in: int = 0
    number: int = -1


class _Call(Protocol):
    """The part of a `Call` that a schedule needs."""

    @property
    def is_in_symbols(self) -> bool: ...
    @property
    def peer(self) -> Callable[[Value], Value] | None: ...
    @property
    def n_loops(self) -> int: ...


class Schedule:
    """The steps of a collective, in order.

    Parameters
    ----------
    call : Call
        The call to perform. Peers are numbers of its ranks.

    Attributes
    ----------
    steps : list of ScheduleStep
        The steps of a rank, when the algorithm was called with numbers.
    n_loops : int
        Number of loops around the next step.
    """

    def __init__(self, call: _Call) -> None:
        self.steps: list[ScheduleStep] = []
        self.n_loops = call.n_loops
        self._is_for_numbers = not call.is_in_symbols
        self._peer = call.peer
        self._words: list[int] = []
        self._is_skipped = False

    def words(self) -> list[int]:
        """The program for the kernel, when the algorithm was called with symbols."""
        return [*self._words, Instruction.HALT]

    def send(self, to: Value, nbytes: Value) -> None:
        """Send, and continue when the buffer may be reused."""
        self._add("send", Instruction.SEND, self._rank_of(to), nbytes)

    def recv(self, source: Value, nbytes: Value) -> None:
        """Receive, and continue when the message has arrived."""
        self._add("recv", Instruction.RECV, self._rank_of(source), nbytes)

    def isend(self, to: Value, nbytes: Value) -> None:
        """Start a send; a later wait completes it."""
        self._add("isend", Instruction.ISEND, self._rank_of(to), nbytes)

    def irecv(self, source: Value, nbytes: Value) -> None:
        """Start a receive; a later wait completes it."""
        self._add("irecv", Instruction.IRECV, self._rank_of(source), nbytes)

    def exchange(self, to: Value, nbytes: Value, source: Value, nbytes_in: Value) -> None:
        """Send and receive at once, and wait for both."""
        self._add("exchange", Instruction.EXCHANGE, self._rank_of(to), nbytes, self._rank_of(source), nbytes_in)

    def combine(self, nbytes: Value) -> None:
        """Reduce received operands of `nbytes` in all, at the machine's `mpi.reduction_bandwidth`.

        It follows the receive, or the wait, that brings the operands. No step is added for 0 bytes. The rank makes no
        call meanwhile; so a non-blocking collective, which leaves its rank free to compute, does without.
        """
        if isinstance(nbytes, Formula) or nbytes:
            self._add("combine", Instruction.COMBINE, nbytes)

    def wait_all(self) -> None:
        """Wait for all started operations."""
        self._add("wait_all", Instruction.WAIT_ALL)

    def wait_oldest(self) -> None:
        """Wait for the oldest started send or receive that has not been waited for; do nothing if there is none."""
        self._add("wait_oldest", Instruction.WAIT_OLDEST)

    def wait_for(self, number: Value) -> None:
        """Wait for the send or receive with this number, counted from 0 since the last wait for all.

        Between two waits for all, a schedule uses either these waits or waits for the oldest, not both. An algorithm
        that uses them begins with a wait for all, because its steps may follow those of another algorithm.
        """
        self._add("wait_for", Instruction.WAIT_FOR, number)

    def meet(self, nbytes: Value, nbytes_in: Value) -> None:
        """Start a meeting of all ranks, which the network times; a later wait completes it.

        The network takes the most bytes that a rank says it sends, and receives.
        """
        self._add("meet", Instruction.MEET, nbytes, nbytes_in)

    @contextmanager
    def fork(self, strand: int) -> Iterator[None]:
        """Perform the steps inside beside those that follow, until these join.

        Parameters
        ----------
        strand : int
            Number of the strand, 1 or 2. Messages match within strands of one number. A strand that has not been joined
            has its number alone.
        """
        self._words += [Instruction.FORK, strand, 0]
        start = len(self._words)
        self._note("fork", number=strand)
        yield
        self._note("halt")
        self._words.append(Instruction.HALT)
        self._words[start - 1] = len(self._words) - start

    def join(self) -> None:
        """Wait for the end of all strands."""
        self._add("join", Instruction.JOIN)

    def extend(self, then: Schedule) -> None:
        """Append all steps of `then`, which was made with this schedule's depth of loops (`Call.among`)."""
        if not self._is_skipped:
            self.steps += then.steps
        self._words += then._words

    @contextmanager
    def when(self, condition: Value | bool) -> Iterator[None]:
        """Limit the steps inside to the ranks for which the condition holds."""
        if not isinstance(condition, Formula):
            outer, self._is_skipped = self._is_skipped, self._is_skipped or not condition
            start = len(self._words)
            yield
            self._is_skipped = outer
            if not condition:
                del self._words[start:]
            return
        self._words += [Instruction.IF, *condition.terms, Term.END, 0]
        start = len(self._words)
        yield
        self._words[start - 1] = len(self._words) - start

    def loop(self, first: Value, bound: Value) -> Iterator[Value]:
        """Repeat the steps inside for every value from `first` while below `bound`."""
        if self._is_for_numbers:
            yield from range(int(first), int(bound))  # type: ignore[arg-type]  # numbers, like the rank
            return
        self._words += [Instruction.LOOP, *_terms(first), Term.END, *_terms(bound), Term.END, 0]
        start = len(self._words)
        self.n_loops += 1
        yield Formula(Term.LOOP, self.n_loops - 1)
        self.n_loops -= 1
        length = len(self._words) - start + 2
        self._words += [Instruction.AGAIN, length]
        self._words[start - 1] = length

    def _rank_of(self, peer: Value) -> Value:
        return peer if self._peer is None else self._peer(peer)

    def _note(self, name: str, *, number: int = -1) -> None:
        """List a step without peers, if the schedule is in numbers."""
        if self._is_for_numbers and not self._is_skipped:
            self.steps.append(ScheduleStep(name, number=number))

    def _add(self, name: str, code: int, *values: Value) -> None:
        if not self._is_for_numbers:
            self._words.append(code)
            for value in values:
                self._words += [*_terms(value), Term.END]
        elif not self._is_skipped:
            numbers = [int(value) for value in values]  # type: ignore[arg-type]
            if name in ("recv", "irecv"):
                self.steps.append(ScheduleStep(name, source=numbers[0], bytes_in=numbers[1]))
            elif name == "meet":
                self.steps.append(ScheduleStep(name, bytes_out=numbers[0], bytes_in=numbers[1]))
            elif name == "wait_for":
                self.steps.append(ScheduleStep(name, number=numbers[0]))
            elif name == "combine":
                self.steps.append(ScheduleStep(name, bytes_in=numbers[0]))
            else:
                self.steps.append(ScheduleStep(name, *numbers))
