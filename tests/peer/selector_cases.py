"""Drawn calls under each of SMPI's selectors, on hosts with one and with several ranks, blocked and dealt out."""

from __future__ import annotations

import random
from collections.abc import Iterator

from tests.peer.case import Case

SELECTORS = ("ompi", "mpich", "mvapich2", "impi")
CALLS = 120  # of each selector
SAMPLE = 8  # of them in every run of the marker `peer`
MOST_RANKS = 48

_ROOTED = ("bcast", "reduce", "gather", "scatter")
_PLAIN = ("barrier", *_ROOTED, "allreduce", "allgather", "alltoall")
_VARYING = ("allgatherv", "alltoallv", "reduce_scatter")
_SIZES = (1, 4, 5, 13, 60, 100, 200, 700, 1000, 3000, 5000, 10_000, 20_000, 50_000, 100_000, 300_000, 800_000)
_ALL_BYTES_MAX = 20_000_000  # of all ranks' blocks together


def _drawn(selector: str, draw: random.Random) -> Case:
    operation = draw.choice((*_PLAIN, *_VARYING, "reduce_scatter_block"))
    per_host = draw.choice((1, 1, 2, 4))
    n_ranks = draw.choice((2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 18, 24, 31, 32, 40, MOST_RANKS))
    placement = draw.choice(("block", "dealt")) if per_host > 1 else "block"
    n_blocks = n_ranks**2 if operation.startswith("alltoall") else n_ranks
    size = draw.choice([size for size in _SIZES if size * n_blocks <= _ALL_BYTES_MAX])
    root = draw.randrange(n_ranks) if operation in _ROOTED else 0
    rounds, flop = draw.choice((1, 2, 3)), draw.choice((0, 1e4))
    arguments: tuple[object, ...] = (operation, 0 if operation == "barrier" else size, root, rounds, flop)
    program = "varying" if operation in _VARYING else "collectives"
    if operation == "reduce_scatter_block" or (operation in ("reduce", "allreduce") and draw.random() < 0.3):
        kind = draw.choice(("sum", "sum", "ordered"))
        program, arguments = "reductions", (operation, max(size // 4, 1), kind, root, rounds, flop)
    return Case(program, arguments, "cluster_64", n_ranks, per_host, placement, {"smpi/coll-selector": selector})


def _cases() -> Iterator[tuple[Case, bool]]:
    """The cases, and whether each is in the sample."""
    for selector in SELECTORS:
        draw = random.Random(f"calls under {selector}")
        names: set[str] = set()
        while len(names) < CALLS:
            case = _drawn(selector, draw)
            if case.name not in names:
                names.add(case.name)
                yield case, len(names) <= SAMPLE


CASES = tuple(_cases())
