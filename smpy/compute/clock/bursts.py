"""Records measured bursts of computing, or replays recorded ones instead of measuring.

A burst is the computing of a rank between two calls. Its key is its rank, the program's lines of the call that ends it
and of the call behind which it began, whether the rank polls in vain meanwhile, and its ordinal among the bursts of
that rank that are alike in these. The key of a spawned rank is the rank that started it, and its ordinal among the
ranks that this one has started: its number in the world depends on dates. Each burst that ends is counted, also one too
short to be charged, so that a replay charges the times that the recording has charged and nothing else.

Polls are told apart because their number depends on the network: from a poll in vain on, until the rank does
something else than poll, compute and sleep, its bursts are counted by themselves. A loop that polls longer than it did
takes their recorded times again from the first one; other bursts do not change.

Two things read the clock without a charge: shared code that looks at the date, and sampled regions. Their readings are
recorded, too.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final, NoReturn

from smpy.compute.clock.measured_clock import THRESHOLD_S
from smpy.engine.surface import surface
from smpy.engine.thread_ranks import OURS
from smpy.errors import SmpyError, UsageError
from smpy.records.bursts_file import BurstsWriter, RecordedBursts

if TYPE_CHECKING:
    from types import FrameType

    from smpy.engine.engine import Engine

_CHARGED, _POLLING, _LOOK, _SAMPLE = range(4)  # the first two differ in whether the rank polls in vain
_KINDS: Final = "", ", polling in vain", ", looking at the date", ", in a sampled region"
_KIND_BITS: Final = 2
_PLACE_BITS: Final = 24
_PLACES_MAX: Final = 1 << _PLACE_BITS
_LINE: Final = (1 << 32) - 2


def _key(rank: int, begins: int, ends: int, kind: int) -> int:
    """Number that identifies a sequence."""
    return ((rank << _PLACE_BITS | begins) << _PLACE_BITS | ends) << _KIND_BITS | kind


class BurstCounter:
    """Identifies the burst that the running rank has just ended.

    Parameters
    ----------
    engine : Engine
        The world.
    place_of : callable
        A file and a line as text.
    places : list of str
        Places that are numbered already; number 0 is outside the program.
    """

    def __init__(self, engine: Engine, place_of: Callable[[str, int], str], places: list[str]) -> None:
        self._engine: Final = engine
        self._place_of: Final = place_of
        self._number_of_place: Final = {text: number for number, text in enumerate(places)}
        self._number_of_line: Final = {0: 0}
        self._situation: Final[Callable[[], int]] = self._situation_in_python if surface is None else surface.situation
        self._n_ranks: Final = engine.n_ranks
        self._begins: Final = array("I", bytes(4 * engine.n_ranks))
        self._number_of_started: Final[dict[tuple[int, int], int]] = {}
        self._numbers: Final[dict[int, int]] = {}  # of started ranks that live, by their number in the world
        self._n_started: Final[dict[int, int]] = {}
        self._sequence_of: Final[dict[int, int]] = {}

    def _new_place(self, text: str) -> None:
        """Assign the next number to a new place."""
        raise NotImplementedError

    def _new_sequence(self, rank: int, begins: int, ends: int, kind: int) -> int:
        """Assign the next number to a sequence that the rank enters for the first time."""
        raise NotImplementedError

    def _new_rank(self, parent: int, ordinal: int) -> None:
        """Assign the next number to a started rank without one."""
        raise NotImplementedError

    def start(self, ranks: Iterable[int]) -> None:
        """Number the ranks that the running rank starts."""
        parent = self._running()
        for rank in ranks:
            ordinal = self._n_started.get(parent, 0)
            self._n_started[parent] = ordinal + 1
            number = self._number_of_started.get((parent, ordinal))
            if number is None:
                number = self._n_ranks + len(self._number_of_started)
                self._number_of_started[parent, ordinal] = number
                self._new_rank(parent, ordinal)
            self._numbers[rank] = number
            self._begins.extend([0] * (number + 1 - len(self._begins)))

    def _running(self) -> int:
        """Number of the running rank."""
        rank = self._engine.rank
        return self._numbers.get(rank, rank)

    def _ended(self) -> int:
        """Sequence of the burst that the running rank has just ended."""
        situation = self._situation()
        rank, line = situation >> 32, situation & _LINE
        if self._numbers:
            rank = self._numbers.get(rank, rank)
        ends = self._number_of_line.get(line)
        if ends is None:
            ends = self._number_of(line)
        begins = self._begins[rank]
        self._begins[rank] = ends
        return self._sequence(rank, begins, ends, situation & 1)

    def _under_way(self, kind: int) -> int:
        """Sequence of clock readings to which this reading belongs."""
        situation = self._situation()
        rank = self._running()
        return self._sequence(rank, self._begins[rank], self._number_of(situation & _LINE), kind)

    def _sequence(self, rank: int, begins: int, ends: int, kind: int) -> int:
        key = _key(rank, begins, ends, kind)
        number = self._sequence_of.get(key)
        if number is None:
            number = self._sequence_of[key] = self._new_sequence(rank, begins, ends, kind)
        return number

    def _number_of(self, line: int) -> int:
        """Number of the place that a line is at."""
        number = self._number_of_line.get(line)
        if number is None:
            number = self._number_of_line[line] = self._numbered(*surface.line_at(line >> 1))
        return number

    def _situation_in_python(self) -> int:
        """The same as of the compiled surface; its lines are here numbers of places."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename.startswith(OURS):
            frame = frame.f_back
        line = 0 if frame is None else self._numbered(frame.f_code.co_filename, frame.f_lineno)
        self._number_of_line[line << 1] = line
        return self._engine.rank << 32 | line << 1 | self._engine.polls_in_vain()

    def _numbered(self, file: str, line: int) -> int:
        text = self._place_of(file, line)
        number = self._number_of_place.get(text)
        if number is None:
            number = self._number_of_place[text] = len(self._number_of_place)
            if number >= _PLACES_MAX:
                raise SmpyError(f"bursts of more than {_PLACES_MAX:,} lines: --compute measured keeps none")
            self._new_place(text)
        return number


class BurstRecording(BurstCounter):
    """Records bursts.

    Parameters
    ----------
    engine : Engine
        The world.
    writer : BurstsWriter
        Writer of the file of bursts.
    place_of : callable
        A file and a line as text.
    """

    def __init__(self, engine: Engine, writer: BurstsWriter, place_of: Callable[[str, int], str]) -> None:
        super().__init__(engine, place_of, [""])
        self._writer: Final = writer
        self._n_short: Final = array("I")

    def take(self, measured_s: float) -> float:
        """Seconds to charge for the burst that the running rank has just ended."""
        return self._note(self._ended(), measured_s if measured_s >= THRESHOLD_S else 0.0)

    def look(self, measured_s: float) -> float:
        """Seconds of the burst under way, for shared code that reads the clock."""
        return self._note(self._under_way(_LOOK), measured_s if measured_s >= THRESHOLD_S else 0.0)

    def sample(self, measured_s: float) -> float:
        """Seconds of the burst under way, for the clock of a sampled region."""
        return self._note(self._under_way(_SAMPLE), measured_s)

    def finish(self) -> None:
        """Record the short bursts that no long burst has followed."""
        for sequence, n_short in enumerate(self._n_short):
            if n_short:
                self._writer.add(sequence, n_short, 0.0)

    def _note(self, sequence: int, seconds: float) -> float:
        if seconds > 0:
            n_short, self._n_short[sequence] = self._n_short[sequence], 0
            self._writer.add(sequence, n_short, seconds)
        else:
            self._n_short[sequence] += 1
        return seconds

    def _new_place(self, text: str) -> None:
        self._writer.add_place(text)

    def _new_sequence(self, rank: int, begins: int, ends: int, kind: int) -> int:
        self._n_short.append(0)
        return self._writer.add_sequence(rank, begins, ends, kind)

    def _new_rank(self, parent: int, ordinal: int) -> None:
        self._writer.add_rank(parent, ordinal)


class BurstReplay(BurstCounter):
    """Replays recorded bursts.

    Parameters
    ----------
    engine : Engine
        The world.
    recorded : RecordedBursts
        The file's.
    place_of : callable
        A file and a line as text.

    Attributes
    ----------
    n_again : int
        Bursts between polls that took the time of a burst already used, or of another rank's.
    """

    def __init__(self, engine: Engine, recorded: RecordedBursts, place_of: Callable[[str, int], str]) -> None:
        import numpy as np  # imported here: other runs do not need it

        super().__init__(engine, place_of, recorded.places)
        self._path: Final = recorded.path
        self._cut_short: Final = recorded.cut_short
        self._sequences: Final = list(recorded.sequences)
        self._places: Final = list(recorded.places)
        self.n_again = 0
        of_row, n_short, seconds = (np.frombuffer(column, column.typecode) for column in recorded.rows)
        n = len(recorded.sequences)
        in_order = np.argsort(of_row, kind="stable")
        self._row_n_short: Final = n_short[in_order].data
        self._row_seconds: Final = seconds[in_order].data
        ends = np.cumsum(np.bincount(of_row, minlength=n)) if n else np.zeros(0, np.int64)
        n_bursts = np.bincount(of_row, n_short + (seconds > 0.0), minlength=n) if n else np.zeros(0)
        self._end: Final = array("q", ends.astype(np.int64).tobytes())
        self._first: Final = array("q", [0, *self._end][:n])
        self._n_recorded: Final = array("q", n_bursts.astype(np.int64).tobytes())
        self._at: Final = self._first[:]  # the next row
        self._n_short_left: Final = array("I", bytes(4 * n))
        self._then_s: Final = array("d", bytes(8 * n))  # the longer bursts that follow them
        self._n_taken: Final = array("q", bytes(8 * n))
        self._polls: Final[dict[tuple[int, int], int]] = {}
        for number, started in enumerate(recorded.spawned, recorded.run.n_ranks):
            self._number_of_started[started] = number
        for number, (rank, begins, at_end, kind) in enumerate(recorded.sequences):
            self._sequence_of[_key(rank, begins, at_end, kind)] = number
            if kind == _POLLING:
                self._polls.setdefault((begins, at_end), number)
        self._looked_s: Final[dict[int, float]] = {}  # by rank

    @property
    def n_unused(self) -> int:
        """Number of recorded bursts that the replay has not used."""
        return sum(max(has - taken, 0) for has, taken in zip(self._n_recorded, self._n_taken, strict=True))

    def take(self, measured_s: float) -> float:
        """Recorded seconds of the burst that the running rank has just ended."""
        number = self._ended()
        if self._looked_s:
            self._looked_s.pop(self._sequences[number][0], None)
        seconds = self._next(number)
        return self._again(number) if seconds is None else seconds

    def look(self, measured_s: float) -> float:
        """Recorded seconds of the burst under way; of the last reading if the recorded run has none here."""
        seconds = self._next(self._under_way(_LOOK))
        rank = self._running()
        if seconds is None:
            return self._looked_s.get(rank, 0.0)
        self._looked_s[rank] = seconds
        return seconds

    def sample(self, measured_s: float) -> float:
        """Recorded seconds of the burst under way when a sampled region was measured."""
        number = self._under_way(_SAMPLE)
        seconds = self._next(number)
        return self._miss(number) if seconds is None else seconds

    def _next(self, number: int) -> float | None:
        """Next burst of a sequence; None at its end."""
        self._n_taken[number] += 1
        while not self._n_short_left[number]:
            seconds = self._then_s[number]
            if seconds:
                self._then_s[number] = 0.0
                return seconds
            row = self._at[number]
            if row == self._end[number]:
                return None
            self._at[number] = row + 1
            self._n_short_left[number] = self._row_n_short[row]
            self._then_s[number] = self._row_seconds[row]
        self._n_short_left[number] -= 1
        return 0.0

    def _again(self, number: int) -> float:
        """Next burst of a sequence that has ended: a poll in vain starts the sequence again."""
        if self._sequences[number][3] != _POLLING or self._first[number] == self._end[number]:
            self._miss(number)
        self.n_again += 1
        self._n_taken[number] -= 1
        self._at[number] = self._first[number]
        seconds = self._next(number)
        assert seconds is not None
        return seconds

    def _miss(self, number: int) -> NoReturn:
        rank, begins, ends, kind = self._sequences[number]
        n = self._n_recorded[number]
        place, before = self._places[ends] or "its end", self._places[begins] or "its beginning"
        others = self._sequence_of.get(_key(rank, begins, ends, kind ^ 1), number)
        has = f"it has {n:,} there" if n else "it has none there"
        if kind in (_CHARGED, _POLLING) and self._n_recorded[others]:
            has += f", but {self._n_recorded[others]:,} behind polls with another answer"
        why = ": the program goes another way here than it was recorded to. Record it on this machine"
        if self._cut_short:
            why = f", since the recording was cut short ({self._cut_short}). Record it again"
        rank = self._engine.rank
        self._engine.give_up(
            UsageError(
                f"{self._path} has no burst {self._n_taken[number]:,} of rank {rank} at {place}{_KINDS[kind]}, behind "
                f"{before}; {has}{why} (--compute record:FILE), or say what it computes (--compute models)"
            )
        )

    def _new_place(self, text: str) -> None:
        self._places.append(text)

    def _new_rank(self, parent: int, ordinal: int) -> None:
        """Accept a rank that was not recorded; its first burst is refused."""

    def _new_sequence(self, rank: int, begins: int, ends: int, kind: int) -> int:
        """Number of a sequence that was not recorded; polls in vain take bursts of the first rank that has some."""
        number = len(self._sequences)
        self._sequences.append((rank, begins, ends, kind))
        source = self._polls.get((begins, ends)) if kind == _POLLING else None
        first, end = (0, 0) if source is None else (self._first[source], self._end[source])
        for column, value in ((self._first, first), (self._at, end), (self._end, end)):
            column.append(value)
        for counts in (self._n_recorded, self._n_taken):
            counts.append(0)
        self._n_short_left.append(0)
        self._then_s.append(0.0)
        return number
