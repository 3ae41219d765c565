"""Messages of other jobs, which share the network with those of a world."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from smpy.engine.kernel import ffi, lib
from smpy.engine.loop import Loop, check
from smpy.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray


class BackgroundCounts(NamedTuple):
    """Messages of other jobs that have set out, and their bytes; and seconds for which their sources were held back."""

    messages: int
    bytes: int
    held_s: float


class Background(Loop):
    """Part of a world that has messages of other jobs; its parameters are those of `Engine`."""

    def add_uniform_traffic(self, share: float, size_bytes: int, *, seed: int) -> None:
        """Have each host send messages to others at random, which take a share of the bandwidth; before the run.

        Raises
        ------
        UsageError
            If the machine has no links that they could share.
        """
        if self.platform.n_hosts < 2:
            raise UsageError(f"--background: {self.platform.name} has one host, and no links to others")
        self._check(int(lib.sim_background_uniform(self._sim, share, size_bytes, seed)))

    def add_listed_messages(self, messages: NDArray[Any], period_s: float, phase_s: float) -> None:
        """Have messages set out at given dates, over and over; before the run.

        Parameters
        ----------
        messages : array of `message_dtype`
            Messages in order of their dates.
        period_s : float
            Time after which they come again.
        phase_s : float
            Part of the first period that has passed when the run begins.

        Raises
        ------
        UsageError
            If the machine has no links that they could share.
        """
        rows = ffi.from_buffer("background_message[]", messages)
        self._check(int(lib.sim_background_list(self._sim, len(messages), rows, period_s, phase_s)))

    def _check(self, code: int) -> None:
        """Refuse a background that the machine cannot have."""
        if code == 0:
            network = ffi.string(lib.sim_network_name(self._sim)).decode()
            raise UsageError(f"--background puts messages on links, and the network model {network} has none")
        if code == lib.SIM_FIXED_LINKS:
            raise UsageError(
                "--background: links or hosts of the machine are off at times: remove their state profiles"
            )
        if code == lib.SIM_NO_ROUTE:
            raise UsageError(f"--background: {self.platform.name} has no routes between some of its hosts")
        check(code)

    def background_counts(self) -> BackgroundCounts:
        """Counts of other jobs' messages so far."""
        out = ffi.new("background_counts *")
        lib.sim_background_counts(self._sim, out)
        return BackgroundCounts(int(out.messages), int(out.bytes), float(out.held_s))


def message_dtype() -> Any:
    """Type of a row of `Background.add_listed_messages`: date, bytes, source and target host."""
    import numpy as np

    return np.dtype([("date_s", "f8"), ("bytes", "i8"), ("source_host", "i4"), ("target_host", "i4")])
