"""Block-cyclic distribution: blocks of indices dealt to processes in turn, from process 0 on."""

from __future__ import annotations

from functools import lru_cache


@lru_cache(1 << 12)
def owned(n: int, block: int, process: int, n_processes: int) -> int:
    """How many of the indices below `n` belong to `process`."""
    blocks, rest = divmod(n, block)
    rounds, extra = divmod(blocks, n_processes)
    if process < extra:
        return (rounds + 1) * block
    return rounds * block + (rest if process == extra else 0)


@lru_cache(1 << 13)
def rest(first: int, n: int, block: int, process: int, n_processes: int) -> tuple[int, int, int]:
    """Who owns index `first`; where those from it on below `n` begin at `process`, and how many they are."""
    start = owned(first, block, process, n_processes)
    return owner(first, block, n_processes), start, owned(n, block, process, n_processes) - start


def owner(index: int, block: int, n_processes: int) -> int:
    """The process that an index belongs to."""
    return index // block % n_processes


def local(index: int, block: int, n_processes: int) -> int:
    """Where the owner of an index keeps it."""
    return index // block // n_processes * block + index % block


def overall(index: int, block: int, process: int, n_processes: int) -> int:
    """The index that `process` keeps at a local one."""
    return (index // block * n_processes + process) * block + index % block
