"""Reads the dynamic rules of Open MPI's tuned component (coll_tuned_dynamic_rules_filename), as in 4.1 and 5.0.

Numbers in this order, comments from # to the end of the line: collectives; of each its number and how many sizes of
communicators follow; of each of these its ranks and how many sizes of messages; of each its bytes, algorithm, fan-out
and segment, and with rule-file-version-2 perhaps, on the same line, a number of requests. The last size that a call
reaches chooses; fewer ranks than the first has use it, too. Algorithm 0 is what Open MPI chooses without rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from smpy.collectives.mpi_numbers import OPEN_MPI, numbers_of
from smpy.collectives.table_files.rows import FileRow, FileTable, say
from smpy.errors import UsageError

_OPERATIONS: Final = (
    *("allgather", "allgatherv", "allreduce", "alltoall", "alltoallv", "alltoallw", "barrier", "bcast", "exscan"),
    *("gather", "gatherv", "reduce", "reduce_scatter", "reduce_scatter_block", "scan", "scatter", "scatterv"),
    *("neighbor_allgather", "neighbor_allgatherv", "neighbor_alltoall", "neighbor_alltoallv", "neighbor_alltoallw"),
)
"""Operations in the order of Open MPI's numbers for them, from 0."""
_BASE: Final = "openmpi-4"
_TOTAL: Final = ("allgather", "alltoall", "gather", "scatter", "reduce_scatter", "reduce_scatter_block")
_MEAN: Final = ("allgatherv",)
_OF_MESSAGE: Final = ("allreduce", "bcast", "reduce", "scan", "exscan")
_WITHOUT_SIZE: Final = ("alltoallv", "barrier")
_NUMBER_MAX: Final = 1 << 62


def read_open_mpi(path: str, content: str) -> FileTable:
    """The rules of a file as rows.

    Parameters
    ----------
    path : str
        Name of the file, for messages.
    content : str
        Its text.

    Raises
    ------
    UsageError
        If it is no such file, or names a collective or an algorithm that there is not; with the line.
    """
    numbers = _RuleNumbers(path, content)
    base = _BASE
    rows: dict[str, list[FileRow]] = {}
    seen: set[str] = set()
    tuned_lines: list[int] = []
    for _ in range(numbers.next("collectives", len(_OPERATIONS))):
        number = numbers.next("a collective", len(_OPERATIONS) - 1)
        line, operation = numbers.line, _OPERATIONS[number]
        if operation in seen:
            raise UsageError(f"{path}, line {line}: {operation}, collective {number}, has rules already: keep one list")
        seen.add(operation)
        own_rules = list(_rules_of(numbers, operation, base, tuned_lines))
        if operation not in (*_TOTAL, *_MEAN, *_OF_MESSAGE, *_WITHOUT_SIZE):
            say(path, line, f"{operation}: Open MPI has no rules for it, and these are not taken")
        elif own_rules:
            rows[operation] = own_rules
    numbers.check_end()
    if tuned_lines:
        say(path, tuned_lines[0], "fan-outs, segments and requests are not taken: algorithms here have their own")
    return FileTable(rows, base)


def _rules_of(numbers: _RuleNumbers, operation: str, base: str, tuned_lines: list[int]) -> Iterator[FileRow]:
    """Rows of one collective, the largest communicators and messages first."""
    communicators: list[tuple[int, list[FileRow]]] = []
    n_most = 0
    for _ in range(numbers.next("sizes of communicators")):
        n_most = max(n_most, numbers.next("a size of a communicator"))
        messages: list[FileRow] = []
        largest = 0
        for place in range(numbers.next("sizes of messages")):
            size, line = numbers.next("a size of a message"), numbers.line
            if place == 0 and size:
                raise UsageError(
                    f"{numbers.path}, line {line}: {operation}: the first message size is {size}: begin at 0"
                )
            largest = max(largest, size)
            content = {**_size_test(operation, largest), **_use(numbers, operation, base)}
            if numbers.next("a fan-out") + numbers.next("a segment size") + numbers.next_on_line():
                tuned_lines.append(line)
            if operation not in _WITHOUT_SIZE or largest == 0:
                messages.insert(0, FileRow(content, line))
        communicators.insert(0, (n_most, messages))
    for place, (n_ranks, messages) in enumerate(communicators):
        is_first = place == len(communicators) - 1  # as in the file, fewer ranks use it, too
        for row in messages:
            yield row if is_first else row._replace(content={"ranks_min": n_ranks, **row.content})
        if not messages:
            yield FileRow({"use_table": base} if is_first else {"ranks_min": n_ranks, "use_table": base}, numbers.line)


def _size_test(operation: str, nbytes: int) -> dict[str, Any]:
    """The condition that a call has at least so many bytes, as Open MPI counts them for the operation."""
    if not nbytes or operation in _WITHOUT_SIZE:
        return {}
    return {f"{'total_' if operation in _TOTAL else 'mean_' if operation in _MEAN else ''}bytes_min": nbytes}


def _use(numbers: _RuleNumbers, operation: str, base: str) -> dict[str, str]:
    number = numbers.next("an algorithm")
    if number == 0:
        return {"use_table": base}
    known = numbers_of(operation).get(OPEN_MPI, {})
    if number not in known and operation in (*_TOTAL, *_MEAN, *_OF_MESSAGE, *_WITHOUT_SIZE):
        listed = ", ".join(f"{each} {algorithm.name}" for each, algorithm in sorted(known.items())) or "none"
        raise UsageError(
            f"{numbers.path}, line {numbers.line}: {operation} has no algorithm {number} of Open MPI's here: it has "
            f"{listed}; 0 leaves the choice to Open MPI"
        )
    return {"use": known[number].name} if number in known else {"use_table": base}


class _RuleNumbers:
    """The numbers of a file, one after the other.

    Attributes
    ----------
    path : str
        Name of the file.
    line : int
        Line of the number that was given last.
    """

    def __init__(self, path: str, content: str) -> None:
        self.path, self.line = path, 1
        lines = content.splitlines()
        version = re.match(r"rule-file-version-(\d+)", lines[0]) if lines else None
        self._has_requests = version is not None and int(version[1]) > 1
        if version is not None:
            lines[0] = lines[0][version.end() :]
        self._words = [
            (number, word) for number, line in enumerate(lines, start=1) for word in line.partition("#")[0].split()
        ]
        self._place = 0

    def next(self, what: str, most: int = _NUMBER_MAX) -> int:
        """The next number."""
        if self._place == len(self._words):
            raise UsageError(f"{self.path}: the file ends where the number of {what} comes, or {what}: it is cut short")
        self.line, word = self._words[self._place]
        self._place += 1
        if not (word.isascii() and word.isdecimal() and len(word) < 20 and int(word) <= most):
            limit = f" from 0 to {most}" if most < _NUMBER_MAX else ""
            raise UsageError(
                f"{self.path}, line {self.line}: {word!r} stands where Open MPI's rules have {what}: say a "
                f"whole number{limit}"
            )
        return int(word)

    def next_on_line(self) -> int:
        """The number of requests, if it follows on the line of the last number; else 0."""
        follows = self._place < len(self._words) and self._words[self._place][0] == self.line
        return self.next("a number of requests") if self._has_requests and follows else 0

    def check_end(self) -> None:
        """Refuse numbers after the last rule."""
        if self._place < len(self._words):
            line, word = self._words[self._place]
            raise UsageError(f"{self.path}, line {line}: {word!r} stands behind the last rule: are the counts right?")
