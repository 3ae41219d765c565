"""Interface between analyses and replays: a replay gives the time of a run under changed conditions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from smpy.records.columns import numbers

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from smpy.records.trace import Trace

Better = tuple[str, float] | tuple[str, str, float] | tuple[str, str, str, float]
"""Part of the machine, the name of one instance if there are several, and its improvement factor."""


class Replayed(Protocol):
    """The result of a replay."""

    @property
    def makespan_s(self) -> float:
        """Date of the last event."""

    @property
    def computing_s(self) -> ArrayLike:
        """Time that each rank computed, or waited for its device."""

    @property
    def n_left_alone(self) -> int:
        """Number of sends that completed at once in the run, would wait in the replay, and are not waited for there."""

    @property
    def noise_removed(self) -> str:
        """Sentences about the removal of noise."""


class ReplayFunction(Protocol):
    """The function that performs a trace again."""

    def __call__(
        self,
        trace: Trace,
        /,
        *,
        ideal: Sequence[str] = (),
        better: Sequence[Better] = (),
        denoise: Sequence[str] = (),
    ) -> Replayed:
        """Perform a trace with ideal parts, with better parts, or without noise.

        Contention, bandwidth, latency and overhead can be ideal, and the limits of "memory" and "core_memory". Noise
        is of "cpu", computing, or of "net", the network.
        """


def depends_on_time(trace: Trace) -> bool:
    """Whether the program received from any source, or polled in vain: it may act differently on another machine."""
    facts = trace.info["trace"]
    return bool(facts.get("n_wildcards") or facts.get("n_failed_polls"))


def moves_memory(trace: Trace) -> bool:
    """Whether computing moves bytes of the hosts' memory, whose bandwidth then limits it together with the cores.

    Parameters
    ----------
    trace : Trace
        All of a run.
    """
    for batch in trace.batches("actions", ["action", "bytes"]):
        words = batch["action"].dictionary.to_pylist()
        if "compute" in words:
            is_work = numbers(batch["action"].indices) == words.index("compute")
            if numbers(batch["bytes"], null=0)[is_work].any():
                return True
    return False


def uses_devices(trace: Trace) -> bool:
    """Whether ranks start work on devices, or send from or receive into their memory.

    Parameters
    ----------
    trace : Trace
        All of a run.
    """
    words = (batch["action"].dictionary.to_pylist() for batch in trace.batches("actions", ["action"]))
    return any(word.startswith("device_") for each in words for word in each)


def not_awaited(replays: Iterable[Replayed]) -> Iterator[str]:
    """Remark for replays that do not wait for sends that they should wait for."""
    n = max((replayed.n_left_alone for replayed in replays), default=0)
    if n:
        yield (
            f"{n:,} send{'s were' if n > 1 else ' was'} complete at once in the run and, in a replay, not: it does not "
            "wait for them, as it is not known where the program would."
        )
