"""The clock of a run that samples: follows ranks into bodies of sampled regions, and refuses some calls there."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING, Final

from smpy.engine import thread_ranks
from smpy.engine.surface import surface
from smpy.errors import UsageError

if TYPE_CHECKING:
    from smpy.engine.clocks import ComputingClock
    from smpy.engine.engine import Engine

_REFUSED: Final = tuple(f"{thread_ranks.OURS}{part}/" for part in ("mpi", "compute", "engine"))
_SLEEP: Final = "sleep_s"  # name defined by smpy.emulate.process.virtual_time
_FOLDED: Final = f"{thread_ranks.OURS}compute/folded/__init__.py"
_ON_FOLDED: Final = "call_on_folded"  # name used by calls of BLAS, also scipy's


@dataclass(slots=True)
class Body:
    """A rank's unfinished execution of the body of a sampled region.

    Attributes
    ----------
    name : str
        The region's.
    is_charged : bool
        Whether its computing takes time as if it were not sampled.
    since_s : float
        Time on the clock when it began, or went on after a pause.
    computed_s : float
        Time it had computed before that.
    kept_s : float
        Time on the clock when it goes on.
    """

    name: str
    is_charged: bool
    since_s: float
    computed_s: float = 0.0
    kept_s: float = 0.0


class SampledClock:
    """The clock of a run that samples.

    In the body of a sampled region a rank computes. It cannot call MPI or sleep, which would let other ranks run, and
    would be missing where the body is skipped. It may print, import modules and ask for the time: there the clock
    stands, as it does outside.

    Parameters
    ----------
    engine : Engine
        Engine with the clock that this one replaces.
    """

    def __init__(self, engine: Engine, real: ComputingClock) -> None:
        self._engine = engine
        self._real = real
        self._open: Final[dict[int, Body]] = {}
        self.pause, self.resume, self.charge_s = real.pause, real.resume, real.charge_s

    def read(self) -> float:
        """Mark of the rank, as `pause` returns it, recorded with the bursts: results of samples depend on it."""
        mark_s, bursts = self._real.pause(), self._engine.bursts
        return mark_s if mark_s < 0 or bursts is None else bursts.sample(mark_s)

    def start(self) -> None:
        """Start the clock: the rank's own code begins, or continues in its body."""
        body = self._open.get(self._engine.rank) if self._open and self._engine.is_here() else None
        if body is None:
            self._real.start()
        else:
            body.since_s = body.kept_s
            self._real.resume(body.kept_s)

    def stop(self) -> bool:
        """Stop the clock and charge the rank; return whether the clock ran."""
        body = self._open.get(self._engine.rank) if self._open and self._engine.is_here() else None
        if body is None:
            return self._real.stop()
        _check(body)
        mark_s = self.read()
        if mark_s < 0:
            return False
        body.computed_s += mark_s - body.since_s
        body.kept_s = 0.0 if body.is_charged else mark_s
        if body.is_charged:
            self._real.resume(mark_s)
            self._real.stop()
        return True

    def charge(self, mark_s: float) -> float:
        """Have the running rank take the time of a mark; the clock stands, at the mark returned."""
        self._real.resume(mark_s)
        self._real.stop()
        return 0.0

    def current_body(self) -> Body | None:
        """Body that the running rank executes."""
        return self._open.get(self._engine.rank)

    def enter(self, name: str, mark_s: float, *, is_charged: bool) -> Body:
        """Begin a body on the running rank, whose clock was paused at this mark."""
        if not self._open and surface is not None:
            surface.watch(True)
        body = self._open[self._engine.rank] = Body(name, is_charged, mark_s)
        self._real.resume(mark_s)
        return body

    def leave(self, rank: int, body: Body) -> float:
        """End the body of a rank, whose `computed_s` is then known; return the mark of its clock, which is paused.

        The mark is negative if another rank runs: Python may drop a loop that was left at any time.
        """
        is_here = self._engine.is_here() and self._engine.rank == rank
        mark_s = self.read() if is_here else -1.0
        if self._open.get(rank) is body:
            body.computed_s += mark_s - body.since_s
            del self._open[rank]
            if not self._open and surface is not None:
                surface.watch(self._engine.guard is not None)
        return mark_s


def _check(body: Body) -> None:
    """Refuse the call that stopped the clock, unless the call's time is not the rank's."""
    called, file, is_modelled = "", "", False
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename.startswith(thread_ranks.OURS):
        called, file = frame.f_code.co_name, frame.f_code.co_filename
        is_modelled |= file == _FOLDED or called == _ON_FOLDED
        if called == _SLEEP:
            break
        frame = frame.f_back
    if called == _SLEEP or file.startswith(_REFUSED):
        does = f"calls {'sleep' if called == _SLEEP else called.strip('_')}"
        if is_modelled:
            does = "works on a folded array, which takes modelled time"
        raise UsageError(
            f"sample {body.name!r}: its body {does}, and may compute only, since it is not always run: "
            "put the call behind the sampled loop or function (who leaves one by `break` drops its iterator)"
        )
