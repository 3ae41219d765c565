"""Signature of a run: the phases that its trace has, as a benchmark of other machines.

Of each phase only the second to the fourth repetition is performed (`smpy.analysis.phases` finds them). Its time on a
machine is what a repetition adds: that of all of them less that of the first of them, over their number but one. Times
and computing are multiplied by the weights of the phases.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from smpy.errors import DamagedFileError, DeadlockError, UsageError
from smpy.input_files import read_plain_file
from smpy.replay.replay import replay
from smpy.replay.rows import RowRanges

if TYPE_CHECKING:
    from smpy.records.trace import Trace

FORMAT: Final = 1
_REPETITIONS_MAX: Final = 3

Ranges = Sequence[Sequence[tuple[int, int]]]
"""Ranges of actions of each rank: the first, and the one after the last, of each."""


@dataclass(frozen=True, slots=True)
class SignaturePhase:
    """A phase of a signature.

    Attributes
    ----------
    lines : tuple of str
        Calls of the phase; empty: what does not repeat.
    weight : int
        Number of its repetitions in the run.
    repetitions : sequence of Ranges
        Actions of the repetitions that are performed.
    """

    lines: tuple[str, ...]
    weight: int
    repetitions: Sequence[Ranges]


@dataclass(frozen=True, slots=True)
class PhaseSignature:
    """Relevant phases of a run.

    Attributes
    ----------
    trace_sha256 : str
        Checksum of the trace's `run.json`: the signature names actions of this trace.
    n_ranks : int
        Number of ranks of the run.
    phases : sequence of SignaturePhase
        The phases.
    """

    trace_sha256: str
    n_ranks: int
    phases: Sequence[SignaturePhase]

    def to_text(self) -> str:
        """Text of its file, which `read_signature` reads."""
        content = {
            "format": FORMAT,
            "trace_sha256": self.trace_sha256,
            "ranks": self.n_ranks,
            "phases": [
                {"lines": list(phase.lines), "weight": phase.weight, "repetitions": phase.repetitions}
                for phase in self.phases
            ],
        }
        return json.dumps(content | {"sha256": checksum(content)}) + "\n"


@dataclass(frozen=True, slots=True)
class PhaseTime:
    """Time of a phase on a machine.

    Attributes
    ----------
    lines : tuple of str
        Calls of the phase; empty: what does not repeat.
    weight : int
        Number of its repetitions.
    time_s, computing_s : float
        Time of one, and computing of all ranks in it.
    """

    lines: tuple[str, ...]
    weight: int
    time_s: float
    computing_s: float


@dataclass(frozen=True, slots=True)
class SignatureResult:
    """Prediction of a run on a machine.

    Attributes
    ----------
    n_ranks : int
        Number of ranks.
    phases : sequence of PhaseTime
        Its phases.
    """

    n_ranks: int
    phases: Sequence[PhaseTime]

    @property
    def predicted_s(self) -> float:
        """Predicted makespan."""
        return sum(phase.weight * phase.time_s for phase in self.phases)

    @property
    def sequential_s(self) -> float:
        """Predicted computing of all ranks together."""
        return sum(phase.weight * phase.computing_s for phase in self.phases)

    @property
    def efficiency(self) -> float:
        """Predicted parallel efficiency."""
        return self.sequential_s / (self.n_ranks * self.predicted_s) if self.predicted_s else 0.0


def read_signature(path: Path, trace: Trace) -> PhaseSignature:
    """Read and check the signature of a trace.

    Parameters
    ----------
    path : Path
        File that `smpy analyze phases --signature` wrote.
    trace : Trace
        The trace.

    Raises
    ------
    UsageError
        If there is no such file, or it is of another trace.
    DamagedFileError
        If its content is not as it was written, or breaks a rule.
    """
    try:
        content = json.loads(read_plain_file(path, "signature"))
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError):
        raise DamagedFileError(f"{path} is no signature: it is not JSON") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT or isinstance(content["format"], bool):
        raise UsageError(f"{path} is no signature of format {FORMAT}, which smpy analyze phases --signature writes")
    if content.get("sha256") != checksum({key: value for key, value in content.items() if key != "sha256"}):
        raise DamagedFileError(f"{path} has changed since it was written, or a part of it is missing")
    if content.get("trace_sha256") != trace.info["sha256"]:
        raise UsageError(f"{path} is the signature of another trace than {trace.folder}: write it anew")
    phases = content.get("phases")
    if content.get("ranks") != trace.n_ranks or not isinstance(phases, list) or not phases:
        raise DamagedFileError(f"{path} has no phases of {trace.n_ranks} ranks")
    n_rows = trace.n_rows("actions")
    return PhaseSignature(
        trace.info["sha256"],
        trace.n_ranks,
        [_checked_phase(phase, trace.n_ranks, n_rows, f"{path}: phase {n}") for n, phase in enumerate(phases, 1)],
    )


def _checked_phase(phase: Any, n_ranks: int, n_rows: int, place: str) -> SignaturePhase:
    if not isinstance(phase, dict) or not {"lines", "weight", "repetitions"} <= phase.keys():
        raise DamagedFileError(f"{place} lacks lines, weight or repetitions")
    lines, weight, repetitions = phase["lines"], phase["weight"], phase["repetitions"]
    if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
        raise DamagedFileError(f"{place}: lines are no list of texts")
    if type(weight) is not int or weight < 1:
        raise DamagedFileError(f"{place}: {weight!r} is no weight")
    if not isinstance(repetitions, list) or not 1 <= len(repetitions) <= _REPETITIONS_MAX:
        raise DamagedFileError(f"{place} has no 1 to {_REPETITIONS_MAX} repetitions")
    for repetition in repetitions:
        if not isinstance(repetition, list) or len(repetition) != n_ranks:
            raise DamagedFileError(f"{place}: a repetition is not of {n_ranks} ranks")
        for rank, ranges in enumerate(repetition):
            if not _are_ranges(ranges, n_rows):
                raise DamagedFileError(f"{place}: rank {rank} has ranges of actions that cannot be")
    return SignaturePhase(tuple(lines), weight, repetitions)


def _are_ranges(ranges: Any, n_rows: int) -> bool:
    """Whether a list has ranges from 0 to the number of rows, in order and apart from one another."""
    if not isinstance(ranges, list) or not all(isinstance(part, list) and len(part) == 2 for part in ranges):
        return False
    edges = [edge for part in ranges for edge in part]
    if not all(type(edge) is int and 0 <= edge <= n_rows for edge in edges):
        return False
    return all(low < high for low, high in ranges) and edges == sorted(edges)


def replay_signature(trace: Trace, signature: PhaseSignature, **changes: Any) -> SignatureResult:
    """Predict a run on a machine by performing a part of each of its phases.

    Parameters
    ----------
    trace : Trace
        Trace of the run.
    signature : Signature
        Its signature.
    **changes
        The machine and its changes, as for `smpy.replay.replay`.

    Raises
    ------
    UsageError
        If messages or requests of a repetition go on in another one.
    """
    times = []
    for number, phase in enumerate(signature.phases, 1):
        every, first = _joined(phase.repetitions), phase.repetitions[0]
        try:
            whole = replay(trace, only=RowRanges(every), **changes)
            part = replay(trace, only=RowRanges(first), **changes) if len(phase.repetitions) > 1 else None
        except (DeadlockError, DamagedFileError) as error:
            what = f"phase {number} of the signature cannot be performed alone"
            raise UsageError(f"{what}: its messages or requests go on in another repetition: {error}") from error
        n = len(phase.repetitions) - 1 or 1
        time_s, computing_s = whole.makespan_s, float(whole.computing_s.sum())
        if part is not None:
            time_s, computing_s = time_s - part.makespan_s, computing_s - float(part.computing_s.sum())
        times.append(PhaseTime(phase.lines, phase.weight, time_s / n, computing_s / n))
    return SignatureResult(signature.n_ranks, times)


def _joined(repetitions: Sequence[Ranges]) -> list[list[tuple[int, int]]]:
    """Ranges of all repetitions of each rank."""
    return [[part for ranges in of_rank for part in ranges] for of_rank in zip(*repetitions, strict=True)]


def checksum(content: Mapping[str, Any]) -> str:
    """Checksum of a signature's content, but for the checksum."""
    return sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
