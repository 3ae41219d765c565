"""Which algorithm a collective uses: tables of data, first fit wins."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from smpy.collectives import linear, trees
from smpy.collectives.schedule import NBYTES, RANK, ROOT, Schedule, Value
from smpy.engine.engine import Engine

Algorithm = Callable[[Value, int, Value, Value], Schedule]

ALGORITHMS: dict[str, dict[str, Algorithm]] = {
    "barrier": {"linear": linear.linear_barrier},
    "bcast": {"binomial_tree": trees.binomial_tree_bcast},
    "reduce": {"linear": linear.linear_reduce, "basic_linear": linear.basic_linear_reduce},
    "allreduce": {"reduce_bcast": trees.reduce_bcast_allreduce},
    "gather": {"linear": linear.linear_gather},
    "scatter": {"linear": linear.linear_scatter},
    "allgather": {"linear": linear.linear_allgather},
}

_LIMITS = {"ranks_max", "bytes_max", "commutative", "use"}


@functools.cache
def _table(selector: str) -> dict[str, list[dict[str, Any]]]:
    rows = json.loads((Path(__file__).parent / f"{selector}.json").read_text(encoding="utf-8"))
    return {op: check_rows(op, rows[op]) for op in ALGORITHMS if op in rows}


def check_rows(op: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows, when every name exists and the last row is total.

    Raises
    ------
    ValueError
        If they are not such a table.
    """
    for row in rows:
        if not set(row) <= _LIMITS or row.get("use") not in ALGORITHMS[op]:
            raise ValueError(f"{op}: no such algorithm or limit in {row}")
    if not rows or set(rows[-1]) != {"use"}:
        raise ValueError(f"{op}: the last row must fit everything")
    return rows


def select(op: str, n_ranks: int, nbytes: int, commutative: bool = True, selector: str = "smpi") -> str:
    """Name of the algorithm for a collective, as `op:algorithm`.

    Parameters
    ----------
    op : str
        barrier, bcast, reduce, allreduce, gather, scatter or allgather.
    n_ranks : int
        Size of the communicator.
    nbytes : int
        The whole message of bcast, reduce and allreduce, one block of the others.
    commutative : bool
        Whether a reduction may reorder its operands.
    selector : str
        Name of the table.
    """
    for row in _table(selector)[op]:
        if n_ranks > row.get("ranks_max", n_ranks) or nbytes > row.get("bytes_max", nbytes):
            continue
        if row.get("commutative", commutative) == commutative:
            return f"{op}:{row['use']}"
    raise AssertionError("the last row fits everything")


_numbers: WeakKeyDictionary[Engine, dict[tuple[str, int], int]] = WeakKeyDictionary()


def schedule_for(engine: Engine, algorithm: str, n_ranks: int) -> int:
    """Number by which `engine` knows the schedule of `algorithm` ("op:name") on `n_ranks` ranks; made once."""
    known = _numbers.setdefault(engine, {})
    number = known.get((algorithm, n_ranks))
    if number is None:
        op, _, name = algorithm.partition(":")
        words = ALGORITHMS[op][name](RANK, n_ranks, ROOT, NBYTES).words()
        number = known[algorithm, n_ranks] = engine.new_schedule(words)
    return number
