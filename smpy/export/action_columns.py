"""Columns of a trace's actions as arrays, with numbers for their names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from smpy.records.columns import numbers
from smpy.records.trace import Trace

if TYPE_CHECKING:
    from numpy.typing import NDArray

ACTION: Final = np.dtype(
    [
        *(("rank", "i4"), ("action", "i1"), ("site", "i4"), ("comm", "i4"), ("peer", "i4"), ("tag", "i4")),
        *(("bytes", "i8"), ("amount", "f8"), ("request", "i4"), ("detail", "i4")),
    ]
)
"""Columns of `actions`."""

_NULL: Final = {"site": 0, "comm": -1}


class Row(NamedTuple):
    """A row of `actions`."""

    rank: int
    action: str
    site: int  # 0: none
    comm: int  # -1: none
    peer: int
    tag: int
    bytes: int
    amount: float
    request: int
    detail: int


_row_of: Final = partial(tuple.__new__, Row)
"""`Row._make`, at half its time."""


def action_columns(trace: Trace, names: dict[str, int]) -> Iterator[dict[str, NDArray[Any]]]:
    """Yield the columns of `actions`, batch by batch; new names of actions are added to the known ones."""
    for batch in trace.batches("actions", ACTION.names):
        columns = {name: numbers(batch[name], null=_NULL.get(name)) for name in ACTION.names or () if name != "action"}
        yield columns | {"action": coded(batch["action"], names)}


def rows_of(columns: Mapping[str, NDArray[Any]] | NDArray[np.void], names: Sequence[str]) -> Iterator[Row]:
    """Rows of columns of `actions`, in which numbers stand for some names."""
    lists = {name: columns[name].tolist() for name in Row._fields}
    lists["action"] = [names[code] for code in lists["action"]]
    return map(_row_of, zip(*lists.values(), strict=True))


def coded(column: Any, names: dict[str, int]) -> NDArray[np.int8]:
    """Numbers of words; new ones are added to the known ones."""
    codes = [names.setdefault(word, len(names)) for word in column.dictionary.to_pylist()]
    of_rows: NDArray[np.int8] = np.array(codes, np.int8)[numbers(column.indices)]
    return of_rows


def is_named(names: Sequence[str], codes: NDArray[np.int8], *some: str) -> NDArray[np.bool_]:
    """Mask of the numbers that stand for one of some names."""
    mask: NDArray[np.bool_] = np.array([name in some for name in names], np.bool_)[codes]
    return mask
