"""Reads a tuning file of MPICH (MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE): nested tests; the first that holds counts.

Only blocking collectives within a group have rules here. MPICH's in-place calls use the same algorithm as others. The
compositions over hosts come before the file: its rules apply to their parts, and to calls that MPICH does not compose.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from smpy.collectives.table_files.located_json import LocatedObject
from smpy.collectives.table_files.rows import OUTSIDE, FileRow, FileTable, say
from smpy.collectives.tables import table_rows
from smpy.errors import UsageError, meant

_BASE: Final = "mpich-4"
_ALGORITHMS: Final = {
    "barrier": {"dissemination": "dissemination", "k_dissemination": "dissemination"},
    "bcast": {
        "binomial": "binomial_tree",
        "scatter_recursive_doubling_allgather": "scatter_recursive_doubling_allgather",
        "scatter_ring_allgather": "scatter_ring_allgather",
    },
    "reduce": {"binomial": "binomial_tree", "reduce_scatter_gather": "balanced_rabenseifner"},
    "allreduce": {"recursive_doubling": "recursive_doubling", "reduce_scatter_allgather": "balanced_rabenseifner"},
    "gather": {"binomial": "binomial_tree"},
    "scatter": {"binomial": "binomial_tree"},
    "gatherv": {"linear": "linear"},
    "scatterv": {"linear": "linear"},
    **{
        operation: {"recursive_doubling": "recursive_doubling", "brucks": "bruck", "ring": "logical_ring"}
        for operation in ("allgather", "allgatherv")
    },
    "alltoall": {"brucks": "bruck", "scattered": "scattered", "pairwise": "pair"},
    "alltoallv": {"scattered": "scattered"},
    "alltoallw": {"scattered": "scattered"},
    **{
        operation: {
            "recursive_halving": "recursive_halving",
            "pairwise": "pair",
            "noncommutative": "halving",
            "recursive_doubling": "recursive_doubling",
        }
        for operation in ("reduce_scatter", "reduce_scatter_block")
    },
    "scan": {"recursive_doubling": "recursive_doubling"},
    "exscan": {"recursive_doubling": "recursive_doubling"},
}
"""Our names for MPICH's algorithms of blocking collectives within a group."""
_NEIGHBOURS: Final = tuple(
    f"neighbor_{name}" for name in ("allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw")
)
_OTHERS: Final = (*_NEIGHBOURS, *(f"i{name}" for name in (*_ALGORITHMS, *_NEIGHBOURS)))
"""MPICH's other collectives, whose rules are ignored."""
_IN_ORDER: Final = {("reduce", "binomial"): "in_order_binomial_tree"}
"""Replacements of MPICH's algorithms for operations that do not commute."""
_SIZES: Final = {"comm_size": "ranks", "avg_msg_size": "bytes", "total_msg_size": "total_bytes"}
_YES_OR_NO: Final = {
    "is_commutative": "commutative",
    "is_op_built_in": "is_predefined",
    "is_block_regular": "are_equal",
    "is_node_consecutive": "is_blocked",
}
_KEYS: Final = (
    *("collective", "comm_type", *_SIZES, "count", "comm_hierarchy", *_YES_OR_NO, "is_sendbuf_inplace"),
    *("is_multi_threaded", "algorithm", "composition"),
)
_TEST: Final = re.compile(r"(\w+)(<=|<|=)(\w+)")
_Conditions = Mapping[str, Any]


def is_mpich(content: LocatedObject) -> bool:
    """Whether a JSON file is a tuning file of MPICH."""
    return any(key.startswith("collective=") for key in content)


def read_mpich(path: str, content: LocatedObject) -> FileTable:
    """The rules of a file as rows.

    Parameters
    ----------
    path : str
        Name of the file, for messages.
    content : LocatedObject
        Its content.

    Raises
    ------
    UsageError
        If it has a test that MPICH has not; with the line.
    """
    base = _BASE
    rows: dict[str, list[FileRow]] = {}
    lacking: dict[str, int] = {}
    for key, branch in content.items():
        name, _, operation = _test(path, content.line, key)
        if name != "collective":
            raise UsageError(
                f"{path}, line {content.line}: {key!r} stands where collectives do: say such as collective=bcast"
            )
        _branch(path, content.line, key, branch)
        if operation not in _ALGORITHMS:
            if operation not in _OTHERS:
                advice = meant(operation, (*_ALGORITHMS, *_OTHERS)) or ": its rules are not taken"
                say(path, branch.line, f"{key!r} is no collective of MPICH's{advice}")
            continue
        if own_rows := list(_rows(path, operation, branch, {}, base, lacking)):
            rows[operation] = [*_compositions(base, operation), *own_rows]
    if not rows:
        say(path, content.line, f"no rule is of a blocking collective within a group: the table {base} chooses")
    for value, line in lacking.items():
        say(path, line, f"{value} has no algorithm here: the table {base} chooses")
    return FileTable(rows, base)


def _compositions(base: str, operation: str) -> Iterator[FileRow]:
    """The compositions of a table, for whose parts the file chooses."""
    for row in table_rows(base)[operation]:
        if "parts" in row:
            yield FileRow({key: value for key, value in row.items() if key != "parts"}, OUTSIDE)


def _rows(
    path: str, operation: str, branch: LocatedObject, above: _Conditions, base: str, lacking: dict[str, int]
) -> Iterator[FileRow]:
    """Rows for the leaves of a branch, each with the conditions above it; notes the algorithms that smpy lacks."""
    for key, below in branch.items():
        name, relation, value = _test(path, branch.line, key)
        _branch(path, branch.line, key, below)
        if name in ("algorithm", "composition"):
            what = value if name == "algorithm" else "a composition over hosts"
            yield from _leaf(branch.line, operation, what, below, above, base, lacking)
            return
        conditions = _conditions(path, branch.line, key, name, relation, value)
        both = None if conditions is None else _together(above, conditions)
        if both is not None:
            yield from _rows(path, operation, below, both, base, lacking)


def _leaf(
    line: int,
    operation: str,
    value: str,
    parameters: LocatedObject,
    above: _Conditions,
    base: str,
    lacking: dict[str, int],
) -> Iterator[FileRow]:
    name = re.sub(r"^.*?_(intra|allcomm)_", "", value)
    others = [parameter for parameter in parameters if parameter != "k=2"]
    algorithm = None if others else _ALGORITHMS[operation].get(name)
    if algorithm is None:
        lacking.setdefault(" with ".join((value, *others)), line)
        yield FileRow({**above, "use_table": base}, line)
        return
    in_order = _IN_ORDER.get((operation, name))
    if in_order is not None and above.get("commutative") is not True:
        yield FileRow({**above, "commutative": False, "use": in_order}, line)
    if in_order is None or above.get("commutative") is not False:
        yield FileRow({**above, "use": algorithm}, line)


def _test(path: str, line: int, key: str) -> tuple[str, str, str]:
    test = _TEST.fullmatch(key)
    if test is None or test[1] not in _KEYS:
        name = key if test is None else test[1]
        raise UsageError(
            f"{path}, line {line}: {key!r} is no test of MPICH's that smpy knows: there are {', '.join(_KEYS)}"
            f"{meant(name, _KEYS)}"
        )
    return test[1], test[2], test[3]


def _branch(path: str, line: int, key: str, below: Any) -> None:
    if not isinstance(below, LocatedObject):
        raise UsageError(f"{path}, line {line}: {key!r} has no object with tests, or {{}}, behind it")


def _conditions(path: str, line: int, key: str, name: str, relation: str, value: str) -> _Conditions | None:
    """The conditions of a test; None if it never holds here."""
    if value == "any" and relation == "=":
        return {}
    if (name, relation) in _READERS and value in _READERS[name, relation]:
        return _READERS[name, relation][value]
    if name in _SIZES and value.isascii() and value.isdecimal() and len(value) < 20:
        number = int(value)
        bounds: dict[str, Callable[[], dict[str, int]]] = {
            "<=": lambda: {f"{_SIZES[name]}_max": number},
            "<": lambda: {f"{_SIZES[name]}_max": number - 1},
            "=": lambda: {_SIZES[name]: number},
        }
        return None if relation == "<" and number == 0 else bounds[relation]()
    raise UsageError(f"{path}, line {line}: {key!r} is a condition that smpy does not know: change it, or take it out")


_READERS: Final[Mapping[tuple[str, str], Mapping[str, _Conditions | None]]] = {
    ("comm_type", "="): {"intra": {}, "inter": None},
    ("comm_size", "="): {
        "pow2": {"is_power_of_two": True},
        "node_comm_size": {"is_part": False, "shares_hosts": True, "is_hierarchical": False},
    },
    ("count", "<"): {"pow2": {"has_entry_each": False}},
    ("comm_hierarchy", "="): {
        "parent": {"is_part": False, "shares_hosts": True},
        "node": {"is_part": True, "shares_hosts": True},
        "node_roots": {"is_part": True, "shares_hosts": False},
        "flat": {"is_part": False, "shares_hosts": False},
    },
    ("is_sendbuf_inplace", "="): {"no": {}, "yes": None},
    ("is_multi_threaded", "="): {"no": {}, "yes": None},
    **{(name, "="): {"yes": {fact: True}, "no": {fact: False}} for name, fact in _YES_OR_NO.items()},
}


def _together(above: _Conditions, more: _Conditions) -> _Conditions | None:
    """The conditions of two tests together; None if they exclude each other."""
    both = dict(above)
    for key, value in more.items():
        if key not in both:
            both[key] = value
        elif key.endswith("_max"):
            both[key] = min(both[key], value)
        elif both[key] != value:
            return None
    return both
