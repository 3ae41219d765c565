"""Dealing out n things in blocks."""

from __future__ import annotations

__smpy_shared__ = True


def block(n: int, n_blocks: int, index: int) -> range:
    """The things of one of `n_blocks` blocks of `n`; sizes differ by one at most."""
    return range(index * n // n_blocks, (index + 1) * n // n_blocks)
