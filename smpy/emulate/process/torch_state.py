"""Exchanges PyTorch's per-thread state when the running rank changes: all ranks share one thread.

The state is the default generator, the flag that records gradients, and the default type of new tensors. The exchange
takes 1 us a switch, in programs that import PyTorch.
"""

from __future__ import annotations

import sys
from typing import Any

from smpy.emulate.ranks import rank_here


class TorchExchange:
    """Exchanges PyTorch's state, once it is imported, when the running rank changes."""

    def __init__(self) -> None:
        self._torch: Any = sys.modules["torch"]
        self._at_import = self._read()
        self._kept: dict[int, tuple[Any, ...]] = {}
        state = rank_here()
        self._rank = None if state is None else state.rank

    def look(self) -> None:
        """Exchange the state if another rank ran before: called after each switch, and when a rank begins."""
        state = rank_here()
        if state is None or state.rank == self._rank:
            return
        if self._rank is not None:
            self._kept[self._rank] = self._read()
        self._rank = state.rank
        self._write(self._kept.pop(state.rank, self._at_import))

    def undo(self) -> None:
        """Restore the state that PyTorch had after its import."""
        self._write(self._at_import)

    def _read(self) -> tuple[Any, ...]:
        torch = self._torch
        return torch.default_generator.get_state(), torch.is_grad_enabled(), torch.get_default_dtype()

    def _write(self, values: tuple[Any, ...]) -> None:
        generator_state, is_grad_enabled, dtype = values
        torch = self._torch
        torch.default_generator.set_state(generator_state)
        torch._C._set_grad_enabled(is_grad_enabled)
        torch.set_default_dtype(dtype)
