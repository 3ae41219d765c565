"""Programs that run with --check: what is found, by topic, rank and line."""

from __future__ import annotations

from collections.abc import Callable

import pytest

HEAD = """
import numpy as np
from mpi4py import MPI
comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
left, right = (rank - 1) % size, (rank + 1) % size
"""
FIRST_LINE = HEAD.count("\n") + 1


@pytest.fixture
def checked(emulated: Callable) -> Callable[..., dict[str, list[list[tuple[int, int]]]]]:
    """Runs a program below `HEAD`: sides of each mistake by topic, a rank and a line of the program's own each."""

    def found(source: str, n_ranks: int = 2, **config: object) -> dict[str, list[list[tuple[int, int]]]]:
        ran = emulated(HEAD + source, n_ranks, checks=True, **config)
        assert not ran.error, ran.error
        return {
            remark.topic: [
                [
                    (side["rank"], int(side["line"].removeprefix("program.py:")) - FIRST_LINE + 1)
                    for side in one["sides"]
                ]
                for one in remark.facts["first"]
            ]
            for remark in ran.outcome.summary.remarks
            if "first" in remark.facts and "sides" in remark.facts["first"][0]
        }

    return found
