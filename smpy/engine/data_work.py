"""Time that the running rank takes for the bytes of its messages, beside their transfer."""

from __future__ import annotations

from smpy.engine.kernel import ffi, lib
from smpy.engine.time_calls import TimeCalls


class DataWork(TimeCalls):
    """The calls that charge a rank for its own data, where the machine says what that costs."""

    def spend_on_write(self, address: int, nbytes: int) -> None:
        """Have the running rank take the page faults of a stretch of memory that it is about to write."""
        self._spend(lib.sim_page_faults_s(self._sim, self.timeline, ffi.cast("char *", address), nbytes))

    def spend_on_blocks(self, n_blocks: int, span_bytes: int) -> None:
        """Have the running rank gather or scatter contiguous blocks of a datatype, over so much memory."""
        self._spend(lib.sim_blocks_s(self._sim, self.timeline, n_blocks, span_bytes))

    def spend_on_copy(self, nbytes: int) -> None:
        """Have the running rank copy bytes from its own memory to its own memory."""
        self._spend(lib.sim_own_copy_s(self._sim, self.timeline, nbytes))

    def spend_on_reduction(self, nbytes: int) -> None:
        """Have the running rank reduce an operand."""
        self._spend(lib.sim_reduction_s(self._sim, self.timeline, nbytes))

    def _spend(self, seconds: float) -> None:
        if seconds > 0:
            self.spend_overhead(seconds)
