"""A collective's schedule: the steps of a rank, written once for every rank.

An algorithm is a function of a `Call` that fills a `Schedule`. Given a call in symbols (`RANK`, `ROOT`, `NBYTES`,
`Table(0)`) it gives the words of a program that the kernel performs for any rank; given a call in numbers it gives the
plain list of one rank's steps, which is what tests and figures read.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol, TypeAlias

from smpy.engine.kernel import lib


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
        return self._with(other, lib.TERM_ADD)

    def __radd__(self, other: Value) -> Formula:
        return self._after(other, lib.TERM_ADD)

    def __sub__(self, other: Value) -> Formula:
        return self._with(other, lib.TERM_SUB)

    def __rsub__(self, other: Value) -> Formula:
        return self._after(other, lib.TERM_SUB)

    def __mul__(self, other: Value) -> Formula:
        return self._with(other, lib.TERM_MUL)

    def __rmul__(self, other: Value) -> Formula:
        return self._after(other, lib.TERM_MUL)

    def __floordiv__(self, other: Value) -> Formula:
        return self._with(other, lib.TERM_DIV)

    def __rfloordiv__(self, other: Value) -> Formula:
        return self._after(other, lib.TERM_DIV)

    def __mod__(self, other: Value) -> Formula:
        return self._with(other, lib.TERM_MOD)

    def __rmod__(self, other: Value) -> Formula:
        return self._after(other, lib.TERM_MOD)

    def __and__(self, other: Value) -> Formula:
        return self._with(other, lib.TERM_AND)

    def __rand__(self, other: Value) -> Formula:
        return self._after(other, lib.TERM_AND)

    def __or__(self, other: Value) -> Formula:
        return self._with(other, lib.TERM_OR)

    def __ror__(self, other: Value) -> Formula:
        return self._after(other, lib.TERM_OR)

    def __xor__(self, other: Value) -> Formula:
        return self._with(other, lib.TERM_XOR)

    def __rxor__(self, other: Value) -> Formula:
        return self._after(other, lib.TERM_XOR)

    def __lshift__(self, other: Value) -> Formula:
        return self._with(other, lib.TERM_SHL)

    def __rlshift__(self, other: Value) -> Formula:
        return self._after(other, lib.TERM_SHL)

    def __rshift__(self, other: Value) -> Formula:
        return self._with(other, lib.TERM_SHR)

    def __rrshift__(self, other: Value) -> Formula:
        return self._after(other, lib.TERM_SHR)

    def __lt__(self, other: Value) -> Formula:
        return self._with(other, lib.TERM_LT)

    def __le__(self, other: Value) -> Formula:
        return self._with(other, lib.TERM_LE)

    def __gt__(self, other: Value) -> Formula:
        return self._after(other, lib.TERM_LT)

    def __ge__(self, other: Value) -> Formula:
        return self._after(other, lib.TERM_LE)

    def __eq__(self, other: Value) -> Formula:  # type: ignore[override]
        return self._with(other, lib.TERM_EQ)

    def __ne__(self, other: Value) -> Formula:  # type: ignore[override]
        return self._with(other, lib.TERM_NE)


Value: TypeAlias = int | Formula


def _terms(value: Value) -> tuple[int, ...]:
    return value.terms if isinstance(value, Formula) else (lib.TERM_CONSTANT, int(value))


RANK = Formula(lib.TERM_RANK)
ROOT = Formula(lib.TERM_ROOT)
NBYTES = Formula(lib.TERM_BYTES)


def smaller(one: Value, other: Value) -> Value:
    """The minimum of two values."""
    return _chosen(lib.TERM_MIN, one, other) if _is_formula(one, other) else min(one, other)  # type: ignore[type-var]


def larger(one: Value, other: Value) -> Value:
    """The maximum of two values."""
    return _chosen(lib.TERM_MAX, one, other) if _is_formula(one, other) else max(one, other)  # type: ignore[type-var]


def _is_formula(*values: Value) -> bool:
    return any(isinstance(value, Formula) for value in values)


def _chosen(term: int, one: Value, other: Value) -> Formula:
    return Formula(*_terms(one), *_terms(other), term)


class Table:
    """Symbol for the numbers a rank brings along as its table `k`."""

    __slots__ = ("_k",)

    def __init__(self, k: int) -> None:
        self._k = k

    def __getitem__(self, index: Value) -> Formula:
        return Formula(*_terms(index), lib.TERM_TABLE, self._k)


class Offsets(Protocol):
    """The beginnings of blocks, in bytes: block i lies between entries i and i + 1."""

    def __getitem__(self, index: Any, /) -> Any: ...


class EqualBlocks:
    """Offsets of blocks of one size."""

    __slots__ = ("nbytes",)

    def __init__(self, nbytes: Value) -> None:
        self.nbytes = nbytes

    def __getitem__(self, index: Value) -> Value:
        return index * self.nbytes


NO_BLOCKS = EqualBlocks(0)


def block_bytes(offsets: Offsets, index: Value) -> Value:
    """Size of the block at `index`."""
    if isinstance(offsets, EqualBlocks):
        return offsets.nbytes
    size: Value = offsets[index + 1] - offsets[index]
    return size


class Step(NamedTuple):
    """One step of one rank; peers and sizes that a step does not have are -1 and 0."""

    name: str
    to: int = -1
    bytes_out: int = 0
    source: int = -1
    bytes_in: int = 0


class Schedule:
    """The steps of a collective, in order.

    Parameters
    ----------
    rank : int or Formula
        Rank of the steps, or the symbol for every rank.

    Attributes
    ----------
    steps : list of Step
        The steps of a rank, when the algorithm was called with numbers.
    """

    def __init__(self, rank: Value) -> None:
        self.steps: list[Step] = []
        self._is_for_numbers = not isinstance(rank, Formula)
        self._words: list[int] = []
        self._n_loops = 0
        self._is_skipped = False

    def words(self) -> list[int]:
        """The program for the kernel, when the algorithm was called with symbols."""
        return [*self._words, lib.CALL_HALT]

    def send(self, to: Value, nbytes: Value) -> None:
        """Send, and go on when the buffer may be reused."""
        self._add("send", lib.CALL_SEND, to, nbytes)

    def recv(self, source: Value, nbytes: Value) -> None:
        """Receive, and go on when the message is there."""
        self._add("recv", lib.CALL_RECV, source, nbytes)

    def isend(self, to: Value, nbytes: Value) -> None:
        """Start a send; `wait_all` completes it."""
        self._add("isend", lib.CALL_ISEND, to, nbytes)

    def irecv(self, source: Value, nbytes: Value) -> None:
        """Start a receive; `wait_all` completes it."""
        self._add("irecv", lib.CALL_IRECV, source, nbytes)

    def exchange(self, to: Value, nbytes: Value, source: Value, nbytes_in: Value) -> None:
        """Send and receive at once, and wait for both."""
        self._add("exchange", lib.CALL_EXCHANGE, to, nbytes, source, nbytes_in)

    def wait_all(self) -> None:
        """Wait for everything started."""
        self._add("wait_all", lib.CALL_WAIT_ALL)

    def extend(self, then: Schedule) -> None:
        """Go on with all that `then` does."""
        if not self._is_skipped:
            self.steps += then.steps
        self._words += then._words

    @contextmanager
    def when(self, condition: Value | bool) -> Iterator[None]:
        """The steps inside are taken only by the ranks for which the condition holds."""
        if not isinstance(condition, Formula):
            outer, self._is_skipped = self._is_skipped, self._is_skipped or not condition
            yield
            self._is_skipped = outer
            return
        self._words += [lib.CALL_IF, *condition.terms, lib.TERM_END, 0]
        start = len(self._words)
        yield
        self._words[start - 1] = len(self._words) - start

    def loop(self, first: Value, bound: Value) -> Iterator[Value]:
        """The steps inside are taken for every value from `first` while below `bound`."""
        if self._is_for_numbers:
            yield from range(int(first), int(bound))  # type: ignore[arg-type]  # numbers, like the rank
            return
        self._words += [lib.CALL_LOOP, *_terms(first), lib.TERM_END, *_terms(bound), lib.TERM_END, 0]
        start = len(self._words)
        self._n_loops += 1
        yield Formula(lib.TERM_LOOP, self._n_loops - 1)
        self._n_loops -= 1
        length = len(self._words) - start + 2
        self._words += [lib.CALL_AGAIN, length]
        self._words[start - 1] = length

    def _add(self, name: str, code: int, *values: Value) -> None:
        if not self._is_for_numbers:
            self._words.append(code)
            for value in values:
                self._words += [*_terms(value), lib.TERM_END]
        elif not self._is_skipped:
            numbers = [int(value) for value in values]  # type: ignore[arg-type]
            if name in ("recv", "irecv"):
                self.steps.append(Step(name, source=numbers[0], bytes_in=numbers[1]))
            else:
                self.steps.append(Step(name, *numbers))
