"""Which algorithm a collective uses: tables of data, first fit wins; any algorithm can be forced.

Names of operations, and what a rank brings along (`nbytes`; `tables` of numbers by their place, see `Table`):

* barrier: nothing. bcast, reduce, allreduce, scan, exscan: nbytes is the whole message.
* gather, scatter, allgather, alltoall, reduce_scatter_block: nbytes is one block.
* gatherv, allgatherv: nbytes is the rank's own block; table 1 the offsets of the blocks it receives (in a gatherv, the
  root alone has one). scatterv: the rank's own block; at the root, table 0 is the offsets of the blocks it sends.
* alltoallv, alltoallw: table 0 and table 1; nbytes is 0.
* reduce_scatter: nbytes is the rank's own block; table 0 the offsets of all blocks in the vector, on every rank.
* neighbour: table 0 and table 1; table 2 is how many ranks it sends to, and then these; table 3 those it receives from.
  A negative rank is nobody.

Offsets are n + 1 prefix sums in bytes, so that block i lies between entries i and i + 1.

Non-blocking: the same names after an "i" (ibarrier, ibcast, ..., ialltoallv, ineighbour); ireduce_scatter wants table 0
as well. Their schedules only start things. An ibarrier needs a latch: its messages hold nobody back.

Between two groups: "inter_" + name and "inter_i" + name, for all but scans and neighbours. `root` is what the program
passed (the root's rank, ROOT at the root, PROC_NULL beside it), and offsets are of the other group's ranks. Each side
has a schedule of its own (`n_remote`). allgather and allgatherv want table 1, alltoall, alltoallv and alltoallw table 0
and table 1; for reduce_scatter and reduce_scatter_block nbytes is the whole vector.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple
from weakref import WeakKeyDictionary

from smpy.collectives.catalogue import ALGORITHMS, SIMGRID_NAMES, algorithms_of, program_of
from smpy.collectives.rings import is_power_of_two
from smpy.engine.engine import Engine
from smpy.errors import UsageError

CHOOSABLE: Final = tuple(op for op, names in ALGORITHMS.items() if len(names) > 1 and op != "reduce_scatter_block")


class Call(NamedTuple):
    """What a row of a table may ask of a collective call; all its ranks agree on it.

    Attributes
    ----------
    ranks : int
        Size of the communicator.
    bytes, total_bytes : int
        As the operation's `nbytes`, and all ranks' blocks together.
    entries : int
        Entries of the whole vector of a reduction.
    commutative : bool
        Whether a reduction may reorder its operands.
    is_predefined : bool
        Whether its operation is MPI's own, and not the program's.
    is_derived : bool
        Whether its datatype is not a basic one.
    are_equal : bool
        Whether the blocks of a reduce_scatter are equal.
    is_power_of_two : bool
        Whether there are 1, 2, 4, ... ranks.
    is_hierarchical : bool
        Whether the ranks are on several hosts, and several on some of them.
    has_entry_each : bool
        Whether a reduction has an entry for each of the largest number of ranks that is a power of two.
    """

    ranks: int
    bytes: int
    total_bytes: int
    entries: int
    commutative: bool
    is_predefined: bool
    is_derived: bool
    are_equal: bool
    is_power_of_two: bool
    is_hierarchical: bool
    has_entry_each: bool

    def fits(self, row: Mapping[str, Any]) -> bool:
        """Whether no number is above the row's largest, and all else is as the row says."""
        return all(
            getattr(self, limit.removesuffix("_max")) <= value
            if limit.endswith("_max")
            else getattr(self, limit) == value
            for limit, value in row.items()
            if limit != "use"
        )


_LIMITS: Final = {"use", *Call._fields, *(f"{field}_max" for field in ("ranks", "bytes", "total_bytes", "entries"))}


class Selection(NamedTuple):
    """How a run chooses its algorithms.

    Attributes
    ----------
    table : str
        Name of the table.
    forced : mapping of str to str
        Algorithm of an operation whatever the table says.
    """

    table: str = "smpi"
    forced: Mapping[str, str] = MappingProxyType({})


DEFAULT: Final = Selection()


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


def select(
    op: str,
    n_ranks: int,
    nbytes: int,
    commutative: bool = True,
    *,
    total_bytes: int | None = None,
    n_entries: int = 0,
    is_predefined: bool = True,
    is_derived: bool = False,
    are_equal: bool = True,
    is_hierarchical: bool = False,
    selection: Selection = DEFAULT,
) -> str:
    """Name of the algorithm for a collective, as `op:algorithm`.

    Parameters
    ----------
    op : str
        One of the names above.
    n_ranks : int
        Size of the communicator.
    nbytes : int
        As above.
    total_bytes : int or None
        All ranks' blocks together; None: n_ranks * nbytes.
    commutative, n_entries, is_predefined, is_derived, are_equal, is_hierarchical
        See `Call`.
    selection : Selection
        How the run chooses (`selection_with`).
    """
    forced = selection.forced.get(op)
    if forced is not None:
        return f"{op}:{forced}"
    call = Call(
        ranks=n_ranks,
        bytes=nbytes,
        total_bytes=n_ranks * nbytes if total_bytes is None else total_bytes,
        entries=n_entries,
        commutative=commutative,
        is_predefined=is_predefined,
        is_derived=is_derived,
        are_equal=are_equal,
        is_power_of_two=is_power_of_two(n_ranks),
        is_hierarchical=is_hierarchical,
        has_entry_each=2 * n_entries >= 1 << n_ranks.bit_length(),
    )
    return _chosen(selection.table, op, call)


@functools.lru_cache(maxsize=1024)
def _chosen(table: str, op: str, call: Call) -> str:
    rows = _table(table).get(op)
    if rows is None:
        (only,) = ALGORITHMS[op]
        return f"{op}:{only}"
    return f"{op}:{next(row['use'] for row in rows if call.fits(row))}"  # the last row fits everything


def selection_with(choices: Iterable[tuple[str, str]], table: str = DEFAULT.table) -> Selection:
    """A table's selection with some algorithms forced.

    Parameters
    ----------
    choices : iterable of (str, str)
        Operation and algorithm, under our names or SimGrid's; the last one of an operation holds. "default" leaves the
        choice to the table.
    table : str
        Name of the table.

    Raises
    ------
    UsageError
        If there is no such operation or algorithm; the message lists what there is.
    """
    forced: dict[str, str] = {}
    for op, name in choices:
        if op not in CHOOSABLE:
            raise UsageError(f"there is no choice of algorithms for {op!r}: there is for {', '.join(CHOOSABLE)}")
        if name == "default":
            forced.pop(op, None)
            continue
        known = SIMGRID_NAMES.get(op, {}).get(name, name)
        if known not in ALGORITHMS[op]:
            raise UsageError(f"{op} has no algorithm {name!r}: it has {', '.join(_shown(op))}")
        forced[op] = known
    if "reduce_scatter" in forced:
        forced["reduce_scatter_block"] = forced["reduce_scatter"]
    return Selection(table, MappingProxyType(forced))


def _shown(op: str) -> list[str]:
    return [name + (f" ({', '.join(theirs)})" if theirs else "") for name, theirs in algorithms_of(op).items()]


_selections: WeakKeyDictionary[Engine, Selection] = WeakKeyDictionary()


def selection_of(engine: Engine) -> Selection:
    """How the world of `engine` chooses its algorithms."""
    return _selections.get(engine, DEFAULT)


def choose(engine: Engine, selection: Selection) -> None:
    """Have the world of `engine` choose its algorithms so."""
    _selections[engine] = selection


_numbers: WeakKeyDictionary[Engine, dict[tuple[str, int, int, int], int]] = WeakKeyDictionary()


def algorithms_used(engine: Engine) -> dict[str, list[str]]:
    """The collectives that the ranks of `engine` have called, and the algorithms that were selected for each."""
    used: dict[str, set[str]] = {}
    for algorithm, *_ in _numbers.get(engine, {}):
        op, _, name = algorithm.partition(":")
        used.setdefault(op, set()).add(name)
    return {op: sorted(names) for op, names in sorted(used.items())}


def schedule_for(engine: Engine, algorithm: str, n_ranks: int, n_remote: int = 0, item_bytes: int = 1) -> int:
    """Number by which `engine` knows the schedule of an algorithm; made once.

    Parameters
    ----------
    engine : Engine
        The world.
    algorithm : str
        What `select` returns.
    n_ranks : int
        Size of the communicator, or of the caller's group.
    n_remote : int
        Size of the other group.
    item_bytes : int
        Size of an entry of a reduction: what cannot be divided among ranks.
    """
    known = _numbers.setdefault(engine, {})
    key = algorithm, n_ranks, n_remote, item_bytes
    number = known.get(key)
    if number is None:
        number = known[key] = engine.new_schedule(program_of(algorithm, n_ranks, n_remote, item_bytes))
    return number
