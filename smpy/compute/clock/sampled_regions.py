"""The sampled regions of a world, their samples, and the clock that measures them."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any, Final, Literal

from smpy.errors import UsageError

if TYPE_CHECKING:
    from smpy.compute.clock.sampled_clock import SampledClock
    from smpy.compute.clock.stopping import StoppingRule
    from smpy.engine.engine import Engine

Scope = Literal["rank", "world"]
_COUNT, _SUM, _SQUARES, _NUMBERS = range(4)


class Region:
    """Samples of a region: of all ranks together, or of each rank.

    Parameters
    ----------
    name : str
        Name that the program gives it.
    scope : {"rank", "world"}
        Ranks with samples that count: the rank itself, or all.
    rule : StoppingRule
        Rule that says when there are enough.
    n_ranks : int
        Number of ranks of the world.

    Attributes
    ----------
    n_skipped : int
        Runs that were not made.
    has_been_left : bool
        Whether a loop was left before its end.
    results : dict of int to object
        Last result of a function, by slot.
    """

    def __init__(self, name: str, scope: Scope, rule: StoppingRule, n_ranks: int) -> None:
        self.name: Final = name
        self.scope: Final = scope
        self.rule: Final = rule
        self._numbers: Final = array("d", bytes(8 * _NUMBERS * (n_ranks if scope == "rank" else 1)))
        self.n_skipped = 0
        self.has_been_left = False
        self.results: dict[int, Any] = {}

    def slot(self, rank: int) -> int:
        """Index of a rank's samples."""
        if self.scope != "rank":
            return 0
        n_missing = (rank + 1) * _NUMBERS - len(self._numbers)
        if n_missing > 0:  # ranks were added to the world
            self._numbers.frombytes(bytes(8 * n_missing))
        return rank

    def is_enough(self, slot: int) -> bool:
        """Whether the region need not be executed any more."""
        n, sum_s, squares_s2 = self._samples(slot)
        return self.rule.is_enough(int(n), sum_s, squares_s2)

    def add(self, slot: int, seconds: float) -> None:
        """Record the time of one execution."""
        at, numbers = slot * _NUMBERS, self._numbers
        numbers[at + _COUNT] += 1
        numbers[at + _SUM] += seconds
        numbers[at + _SQUARES] += seconds * seconds

    def mean_s(self, slot: int) -> float:
        """Mean time of an execution."""
        n, sum_s, _ = self._samples(slot)
        return sum_s / n

    def has_samples(self) -> bool:
        """Whether the region has been executed at all."""
        return any(self._numbers)

    def _samples(self, slot: int) -> tuple[float, float, float]:
        n, sum_s, squares_s2 = self._numbers[slot * _NUMBERS : (slot + 1) * _NUMBERS]
        return n, sum_s, squares_s2

    def facts(self) -> dict[str, Any]:
        """Statistics of the samples, if there are any: executions, their mean, and the widest interval of a rank."""
        from smpy.compute.clock.stopping import relative_half_width  # few runs sample

        slots = [self._samples(slot) for slot in range(len(self._numbers) // _NUMBERS)]
        used = [samples for samples in slots if samples[_COUNT]]
        n_run, sum_s, _ = (sum(column) for column in zip(*used, strict=True))
        widest = max((relative_half_width(int(n), *rest) for n, *rest in used if n > 1), default=None)
        return {
            "scope": self.scope,
            "n_run": int(n_run),
            "n_skipped": self.n_skipped,
            "n_ranks_run": len(used) if self.scope == "rank" else None,
            "mean_s": sum_s / n_run,
            "relative_half_width": widest,
        }


class Sampling:
    """The sampled regions of a world.

    Attributes
    ----------
    regions : dict of str to Region
        By name.
    unmeasured : dict of str to None
        Names of the regions that were run without being measured, in order.
    clock : SampledClock or None
        The run's clock, from the first sample on.
    """

    def __init__(self) -> None:
        self.regions: Final[dict[str, Region]] = {}
        self.unmeasured: Final[dict[str, None]] = {}
        self.clock: SampledClock | None = None

    def clock_of(self, engine: Engine, name: str) -> SampledClock | None:
        """Clock that measures the running rank in a region; None if nothing is measured."""
        if engine.clock is None:
            self.unmeasured[name] = None
            return None
        if not engine.is_here():
            return None
        if self.clock is None:
            from smpy.compute.clock.sampled_clock import SampledClock  # few runs sample

            engine.clock = self.clock = SampledClock(engine, engine.clock)
        return self.clock

    def region(self, engine: Engine, name: str, scope: Scope, rule: StoppingRule) -> Region:
        """Region of this name."""
        region = self.regions.get(name)
        if region is None:
            region = self.regions[name] = Region(name, scope, rule, engine.n_ranks)
        elif region.scope != scope or region.rule != rule:
            raise UsageError(
                f"sample {name!r}: it was sampled before with scope {region.scope!r} and {region.rule}, and now with "
                f"{scope!r} and {rule}: give one of them another name"
            )
        return region
