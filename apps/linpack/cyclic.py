"""Block-cyclic distribution: blocks of indices dealt to processes in turn, from process 0 on."""

from __future__ import annotations

from functools import lru_cache


@lru_cache(1 << 12)
def owned(n: int, block: int, process: int, n_processes: int) -> int:
    """Number of indices below `n` that belong to `process`."""
    blocks, rest = divmod(n, block)
    rounds, extra = divmod(blocks, n_processes)
    if process < extra:
        return (rounds + 1) * block
    return rounds * block + (rest if process == extra else 0)


@lru_cache(1 << 13)
def rest(first: int, n: int, block: int, process: int, n_processes: int) -> tuple[int, int, int]:
    """Owner of index `first`; local start, at `process`, of the indices from `first` on below `n`, and their number."""
    start = owned(first, block, process, n_processes)
    return owner(first, block, n_processes), start, owned(n, block, process, n_processes) - start


def owner(index: int, block: int, n_processes: int) -> int:
    """The process that an index belongs to."""
    return index // block % n_processes


def local(index: int, block: int, n_processes: int) -> int:
    """Local index of an index, at its owner."""
    return index // block // n_processes * block + index % block


def overall(index: int, block: int, process: int, n_processes: int) -> int:
    """The index that `process` keeps at a local one."""
    return (index // block * n_processes + process) * block + index % block
