"""Reads a network from an edge list: a CSV file with a line for each edge."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from glob import escape
from pathlib import Path
from typing import Final

from smpy.errors import PlatformError, meant
from smpy.input_files import read_text
from smpy.platforms.host_names import natural_key
from smpy.units import has_unit, parse_bandwidth_bytes_per_s, parse_time_s

COLUMNS: Final = ("a", "b", "bandwidth", "latency", "cables")
CABLES_MAX: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Edge:
    """Parallel cables between two nodes.

    Parameters
    ----------
    a, b : str
        Names of the nodes; the link up of a split cable leads from a to b.
    cables : int
        Number of cables.
    bandwidth_bytes_per_s, latency_s : float or None
        Bandwidth and latency of each cable; None: those of the cluster.
    """

    a: str
    b: str
    cables: int = 1
    bandwidth_bytes_per_s: float | None = None
    latency_s: float | None = None


def read_edges(path: str | Path) -> tuple[Edge, ...]:
    """The edges that a CSV file lists.

    Its first line names the columns: a and b, the nodes; bandwidth ("100Gbps") and latency ("1us"), which the cluster
    gives where they are missing or empty; cables, 1 where it is missing or empty. Empty lines, and lines that begin
    with #, are skipped.

    Parameters
    ----------
    path : str or path
        The file.

    Raises
    ------
    PlatformError
        If it cannot be read, or one of its lines is no edge.
    """
    try:
        text = read_text(path, "edge list")
    except OSError as wrong:
        raise PlatformError(f"cannot read edge list {str(path)!r}: {wrong.strerror}") from None
    rows = csv.reader(io.StringIO(text, newline=""), skipinitialspace=True, strict=True)
    columns: list[str] = []
    edges: list[Edge] = []
    try:
        for row in rows:
            cells = [cell.strip() for cell in row]
            if not any(cells) or cells[0].startswith("#"):
                continue
            if not columns:
                columns = _columns(cells)
            else:
                edges.append(_edge(columns, cells))
    except (csv.Error, PlatformError) as wrong:
        raise PlatformError(f"{path}:{rows.line_num}: {wrong}") from None
    if not edges:
        raise PlatformError(f"edge list {str(path)!r} lists no edges: write a line a,b and then one for each edge")
    return tuple(edges)


def edges_of(rows: Iterable[object]) -> tuple[Edge, ...]:
    """The edges that tables list, one each, with the columns of a file for keys.

    Parameters
    ----------
    rows : iterable of mapping of str to object
        The tables.

    Raises
    ------
    PlatformError
        If one of them is no edge.

    Examples
    --------
    >>> edges_of([{"a": "h0", "b": "s", "cables": 2}])
    (Edge(a='h0', b='s', cables=2, bandwidth_bytes_per_s=None, latency_s=None),)
    """
    edges = []
    for number, row in enumerate(rows, 1):
        try:
            edges.append(_edge_of(row))
        except PlatformError as wrong:
            raise PlatformError(f"edge {number}: {wrong}") from None
    if not edges:
        raise PlatformError('there are no edges: write {a = "h0", b = "switch"} for each')
    return tuple(edges)


def hosts_among(edges: Iterable[Edge], pattern: str | Collection[str] | None = None) -> tuple[str, ...]:
    """Nodes that are hosts, in the natural order of their names.

    Parameters
    ----------
    edges : iterable of Edge
        The network.
    pattern : str or collection of str, optional
        Patterns of host names, one or several, such as "h*" or "h[0-9]*"; without it, nodes with a single neighbour
        are hosts.

    Raises
    ------
    PlatformError
        If no node is one.

    Examples
    --------
    >>> hosts_among([Edge("h2", "s"), Edge("s", "h10"), Edge("s", "h1")])
    ('h1', 'h2', 'h10')
    """
    degrees: dict[str, int] = {}
    for edge in edges:
        degrees[edge.a] = degrees.get(edge.a, 0) + 1
        degrees[edge.b] = degrees.get(edge.b, 0) + 1
    if not pattern:
        hosts = [node for node, degree in degrees.items() if degree == 1]
        if not hosts:
            raise PlatformError("no node has a single neighbour: say which nodes are hosts, by a pattern such as 'h*'")
    else:
        names: dict[str, None] = {}
        for one in [pattern] if isinstance(pattern, str) else pattern:
            is_name = one in degrees and escape(one) == one
            alike = [one] if is_name else [node for node in degrees if fnmatchcase(node, one)]
            if not alike:
                raise PlatformError(f"no node has a name like {one!r}: there are {_some(degrees)}")
            names.update(dict.fromkeys(alike))
        hosts = [*names]
    return tuple(sorted(hosts, key=natural_key))


def _edge_of(row: object) -> Edge:
    if not isinstance(row, dict):
        raise PlatformError(f'{row!r} is no table such as {{a = "h0", b = "switch", bandwidth = "100Gb/s"}}')
    return _edge(_columns([*row]), [str(cell).strip() for cell in row.values()])


def _columns(cells: list[str]) -> list[str]:
    names = [cell.lower() for cell in cells]
    for name in names:
        if name not in COLUMNS:
            advice = meant(name, COLUMNS) or f": the first line names {', '.join(COLUMNS)}"
            raise PlatformError(f"unknown column {name!r}{advice}")
    missing = [name for name in ("a", "b") if name not in names]
    if missing:
        raise PlatformError(f"there is no column {missing[0]!r}: the first line names {', '.join(COLUMNS)}")
    if len(set(names)) < len(names):
        raise PlatformError("a column is named twice: remove one of both")
    return names


def _edge(columns: list[str], cells: list[str]) -> Edge:
    if len(cells) != len(columns):
        raise PlatformError(f"there are {len(cells)} cells, and {len(columns)} columns: {','.join(columns)}")
    cell = dict(zip(columns, cells, strict=True))
    for name in ("a", "b"):
        if not cell[name]:
            raise PlatformError(f"column {name!r} is empty: name a node")
    return Edge(
        cell["a"],
        cell["b"],
        _cables(cell.get("cables", "")),
        _quantity("bandwidth", cell.get("bandwidth", ""), parse_bandwidth_bytes_per_s, "100Gb/s"),
        _quantity("latency", cell.get("latency", ""), parse_time_s, "1us"),
    )


def _cables(text: str) -> int:
    if not text:
        return 1
    if not re.fullmatch("[0-9]{1,18}", text) or not 1 <= int(text) <= CABLES_MAX:
        raise PlatformError(f"column 'cables': {text!r} is no number from 1 to {CABLES_MAX:,}")
    return int(text)


def _quantity(column: str, text: str, parse: Callable[[str], float], example: str) -> float | None:
    if not text:
        return None
    try:
        number = parse(text)
    except ValueError as wrong:
        raise PlatformError(f"column {column!r}: {wrong}") from None
    if not has_unit(text):
        raise PlatformError(f"column {column!r}: {text!r} has no unit: write it such as {example}")
    return number


def _some(names: Iterable[str]) -> str:
    shown = list(names)
    return ", ".join(shown[:4]) + (", ..." if len(shown) > 4 else "")
