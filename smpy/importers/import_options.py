"""Options of an import: facts that a trace does not have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from smpy.errors import UsageError


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """Options of an import; parameters are those of `import_trace`.

    Raises
    ------
    UsageError
        If they contradict each other.
    """

    n_ranks: int | None = None
    host_speed_flop_per_s: float | None = None
    cycles: str | None = None
    frequency_hz: float | None = None
    keeps_calls: bool = False
    on_progress: Callable[[float], None] = lambda share: None

    def __post_init__(self) -> None:
        if (self.cycles is None) != (self.frequency_hz is None):
            raise UsageError("--cycles names a counter and --frequency its cycles in a second: give both, or neither")

    def refuse_scaling(self, reason: str) -> None:
        """Refuse options that scale computing.

        Parameters
        ----------
        reason : str
            Reason why there is nothing to scale.

        Raises
        ------
        UsageError
            If one is there.
        """
        if self.host_speed_flop_per_s is not None or self.cycles is not None:
            raise UsageError(f"{reason}: leave out --host-speed and --cycles")

    @property
    def flop_per_s(self) -> float:
        """Amount of a `compute` in a second of the traced machine: operations, or, without its speed, nanoseconds."""
        return self.host_speed_flop_per_s or 1e9
