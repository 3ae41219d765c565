"""Files of a trace for Paraver: the header and the records of a .prv, the names of a .pcf and those of a .row."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from smpy.errors import UsageError
from smpy.importers.trace_builder import RANKS_MAX
from smpy.input_files import read_plain_file

_HEADER: Final = re.compile(
    rb"#Paraver \([^)\n]*\):(?P<end>\d{1,18})(?P<unit>_ns)?:(?P<nodes>\d{1,9})(?:\([\d,]*\))?"
    rb":(?P<programs>\d{1,9}):(?P<tasks>\d{1,9})\((?P<threads>[\d:,]*)\)(?:,(?P<comms>\d{1,9}))?[\d:,()]*\s*"
)
_LINE_MAX_BYTES: Final = 16 << 20
_DIGITS: Final = re.compile(r"-?\d{1,18}", re.ASCII)
_NS_PER_US: Final = 1000
_LINES_AT_ONCE: Final = 1 << 14
_STATE, _EVENTS, _MESSAGE = 1, 2, 3
_N_PLACES: Final = {_EVENTS: 6, _MESSAGE: 15}  # numbers before the events; those of a message


class ParaverHeader(NamedTuple):
    """Header of a .prv.

    Attributes
    ----------
    node_of_task : list of int
        Node of each task, from 0.
    ns_per_unit : int
        Nanoseconds of a unit of dates.
    """

    node_of_task: list[int]
    ns_per_unit: int


class ParaverEvents(NamedTuple):
    """Events of a task at a date: its line, rank, date, and values by their types."""

    line: int
    rank: int
    date_ns: int
    values: list[tuple[int, int]]


class ParaverMessage(NamedTuple):
    """Message: its line, its ranks, the dates at which each side was posted and it was over, and its communicator."""

    line: int
    rank: int
    date_ns: int
    target: int
    received_from_ns: int
    ended_ns: int
    nbytes: int
    tag: int
    comm: int = 0


@dataclass(slots=True)
class ParaverNames:
    """Names of types of events, and of their values."""

    types: dict[int, str] = field(default_factory=dict)
    values: dict[int, dict[int, str]] = field(default_factory=dict)


def read_header(path: Path) -> ParaverHeader:
    """Read the first line of a .prv.

    Raises
    ------
    UsageError
        If it is no header of a single program.
    """
    with path.open("rb") as file:
        header = _HEADER.fullmatch(file.readline(_LINE_MAX_BYTES))
    if header is None:
        raise UsageError(
            f"{path}, line 1: it is no `#Paraver (DATE):DURATION_ns:NODES(CPUS,...):1:TASKS(THREADS:NODE,...),COMMS`"
        )
    if int(header["programs"]) != 1:
        raise UsageError(f"{path}, line 1: it is of {int(header['programs'])} programs: there can be one")
    tasks = [task.split(b":") for task in header["threads"].split(b",")]
    n_tasks = int(header["tasks"])
    if not 0 < n_tasks <= RANKS_MAX or len(tasks) != n_tasks or any(len(task) != 2 or not all(task) for task in tasks):
        raise UsageError(f"{path}, line 1: it says {n_tasks:,} tasks, and not the threads and nodes of as many")
    return ParaverHeader([int(node[:9]) - 1 for _, node in tasks], 1 if header["unit"] else _NS_PER_US)


def communicators(path: Path, n_tasks: int) -> dict[int, list[int]]:
    """Tasks of each communicator of a .prv, from 0."""
    members: dict[int, list[int]] = {}
    for line, text in _lines(path, lambda share: None):
        if line == 1:
            continue
        if not text.startswith("c"):
            break
        number, *tasks = _numbers(path, line, text.split(":")[2:]) or [0]
        ranks = [task - 1 for task in tasks[1:]]
        if not tasks or tasks[0] != len(ranks) or not ranks or len(set(ranks)) != len(ranks) or number in members:
            raise UsageError(f"{path}, line {line}: it does not list the different tasks of a new communicator")
        if not 0 <= min(ranks) <= max(ranks) < n_tasks:
            raise UsageError(f"{path}, line {line}: it lists a task that is not among {n_tasks}")
        members[number] = ranks
    return members


def records(
    path: Path, header: ParaverHeader, on_progress: Callable[[float], None], on_left_out: Callable[[], None]
) -> Iterator[ParaverEvents | ParaverMessage]:
    """Events and messages of the first threads of tasks, in the order of their dates.

    Parameters
    ----------
    path : Path
        The .prv.
    header : ParaverHeader
        Its header.
    on_progress : callable
        Called with the share that has been read.
    on_left_out : callable
        Called for each record of another thread.

    Raises
    ------
    UsageError
        If a line is no record, or dates fall: file, line and why.
    """
    n_tasks, unit, last_ns = len(header.node_of_task), header.ns_per_unit, 0
    for line, text in _lines(path, on_progress):
        if line == 1 or text.startswith(("c", "#")) or not text:
            continue
        kind = text[:2]
        if kind == "1:":
            continue
        if kind not in ("2:", "3:"):
            raise UsageError(f"{path}, line {line}: {text[:20]!r} is no state, event or message")
        numbers = _numbers(path, line, text.split(":"))
        n_places = _N_PLACES[numbers[0]]
        if (
            len(numbers) < n_places
            or (numbers[0] == _MESSAGE and len(numbers) != n_places)
            or (len(numbers) - n_places) % 2
        ):
            raise UsageError(f"{path}, line {line}: it has {len(numbers)} numbers, which are no record")
        _, _, _, task, thread, date, *rest = numbers
        if not 0 < task <= n_tasks or not 0 <= date < 1 << 62:
            raise UsageError(f"{path}, line {line}: there are tasks 1 to {n_tasks}, and dates of 0 or more")
        if date < last_ns:
            raise UsageError(f"{path}, line {line}: its date is before that of the record above")
        last_ns = date
        if thread != 1 or (numbers[0] == _MESSAGE and numbers[10] != 1):
            on_left_out()
        elif numbers[0] == _EVENTS:
            yield ParaverEvents(line, task - 1, date * unit, list(zip(rest[::2], rest[1::2], strict=True)))
        else:
            target, received, ended, nbytes, tag = numbers[9], *numbers[11:15]
            if not 0 < target <= n_tasks or not date <= ended or not 0 <= received <= ended:
                raise UsageError(f"{path}, line {line}: its receiver, or the order of its dates, is wrong")
            yield ParaverMessage(line, task - 1, date * unit, target - 1, received * unit, ended * unit, nbytes, tag)


def read_names(path: Path) -> ParaverNames:
    """Read the names of types and values of events in a .pcf.

    Raises
    ------
    UsageError
        If it cannot be read.
    """
    names, in_values = ParaverNames(), False
    types: list[int] = []
    for text in _text(path, "names of events").split("\n"):
        words = text.split(maxsplit=2)
        if not words or not (words[0].isdecimal() and words[0].isascii()):
            if words[:1] != ["VALUES"]:
                types = []
            in_values = words[:1] == ["VALUES"]
        elif in_values:
            value = int(words[0][:18])
            for kind in types:
                names.values.setdefault(kind, {})[value] = text.strip()[len(words[0]) :].strip()
        elif len(words) == 3 and words[1].isdecimal() and words[1].isascii():
            types.append(int(words[1][:18]))
            names.types[types[-1]] = words[2].strip()
    return names


def read_node_names(path: Path) -> list[str]:
    """Read the names of nodes in a .row; empty if it has none.

    Raises
    ------
    UsageError
        If it cannot be read.
    """
    names: list[str] = []
    left = 0
    for text in _text(path, "names of nodes").split("\n"):
        words = text.split()
        if words[:2] == ["LEVEL", "NODE"] and words[-1].isdecimal():
            left = min(int(words[-1][:9]), RANKS_MAX)
        elif left and words:
            names.append(text.strip())
            left -= 1
    return names


def _text(path: Path, what: str) -> str:
    try:
        return read_plain_file(path, what).decode("utf-8", "replace")
    except OSError as error:
        raise UsageError(
            f"cannot read {str(path)!r}: {error.strerror or error}: a .prv has a .pcf and a .row beside it"
        ) from None


def _lines(path: Path, on_progress: Callable[[float], None]) -> Iterator[tuple[int, str]]:
    n_bytes, n_read = max(path.stat().st_size, 1), 0
    with path.open("rb") as file:
        for number in range(1, 1 << 62):
            data = file.readline(_LINE_MAX_BYTES)
            if not data:
                return
            if len(data) == _LINE_MAX_BYTES or not data.isascii():
                raise UsageError(f"{path}, line {number}: this is no text of Paraver")
            n_read += len(data)
            if number % _LINES_AT_ONCE == 0:
                on_progress(n_read / n_bytes)
            yield number, data.decode().strip()


def _numbers(path: Path, line: int, words: list[str]) -> list[int]:
    wrong = next((word for word in words if not (word.isdecimal() or _DIGITS.fullmatch(word)) or len(word) > 18), None)
    if wrong is not None:
        raise UsageError(f"{path}, line {line}: {wrong[:40]!r} is no whole number")
    return list(map(int, words))
