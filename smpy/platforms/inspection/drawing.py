"""Draws a small machine as SVG: hosts in the lowest row, each switch above the nodes that it joins."""

from __future__ import annotations

import re
from html import escape
from math import log2
from typing import TYPE_CHECKING, Final

from smpy.platforms.route_graph import ParallelLinks, RouteGraph, route_graph
from smpy.units import format_bytes, format_time

if TYPE_CHECKING:
    from smpy.engine.platform import Platform

_COLUMN: Final = 28  # pixels from host to host
_ROW: Final = 110
_MARGIN: Final = 60
_NAMES_MAX: Final = 6
_BANDWIDTH_MAX_BYTES_PER_S: Final = 1e300  # of several links; their sum may be infinite

_NO_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_STYLE: Final = (
    "text{font:11px sans-serif;fill:#333}path{fill:none;stroke:#789}"
    ".host{fill:#2a6fb0}.switch{fill:#e08a1e}path:hover{stroke:#c22}"
)


def draw_svg(platform: Platform) -> str:
    """A machine as SVG; tooltips show a node's name, or the links of a line.

    Parameters
    ----------
    platform : Platform
        The machine.

    Returns
    -------
    str
        The content of an SVG file.

    Raises
    ------
    PlatformError
        If it is too large, or its routes form no graph (`route_graph`).
    """
    graph = route_graph(platform)
    rows = _rows(graph)
    at = _positions(graph, rows)
    has_arcs = any(rows[one] == rows[other] == max(rows) for one, other in (edge.nodes for edge in graph.edges))
    bottom = _MARGIN + _ROW * (max(*rows, 1) + (0.8 if has_arcs else 0.0))
    longest = max(map(len, platform.host_names))
    width = 2 * _MARGIN + _COLUMN * (graph.n_hosts - 1)
    height = bottom + 7 * longest + _MARGIN
    points = {node: (_MARGIN + _COLUMN * x, bottom - _ROW * rows[node]) for node, x in enumerate(at)}
    widest = max((_bandwidth(platform, edge) for edge in graph.edges), default=1.0)
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    names = [_shown(name) for name in platform.host_names]
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size}>',
        f"<title>{_shown(platform.name)}</title><style>{_STYLE}</style>",
        *(_line(platform, edge, points, widest) for edge in graph.edges if edge.nodes[0] != edge.nodes[1]),
    ]
    for node, (x, y) in points.items():
        if node < graph.n_hosts:
            lines.append(f'<circle class="host" cx="{x:g}" cy="{y:g}" r="6"><title>{names[node]}</title></circle>')
            lines.append(f'<text transform="translate({x - 4:g} {y + 12:g}) rotate(90)">{names[node]}</text>')
        else:
            title = "".join(_title(platform, edge) for edge in graph.edges if edge.nodes == (node, node))
            square = f'<rect class="switch" x="{x - 7:g}" y="{y - 7:g}" width="14" height="14">'
            lines.append(f"{square}<title>{title}</title></rect>")
    return "\n".join([*lines, "</svg>"]) + "\n"


def _rows(graph: RouteGraph) -> list[int]:
    """Row of each node: its number of links from the nearest host."""
    beside: list[list[int]] = [[] for _ in range(graph.n_nodes)]
    for edge in graph.edges:
        one, other = edge.nodes
        beside[one].append(other)
        beside[other].append(one)
    rows = [0] * graph.n_hosts + [-1] * (graph.n_nodes - graph.n_hosts)
    reached = list(range(graph.n_hosts))
    for node in reached:  # grows
        for other in beside[node]:
            if rows[other] < 0:
                rows[other] = rows[node] + 1
                reached.append(other)
    return rows


def _positions(graph: RouteGraph, rows: list[int]) -> list[float]:
    """Position of each node in its row, in units of hosts: evenly spread, ordered by the mean of the nodes below."""
    at = [float(host) for host in range(graph.n_hosts)] + [0.0] * (graph.n_nodes - graph.n_hosts)
    below: list[list[int]] = [[] for _ in range(graph.n_nodes)]
    for edge in graph.edges:
        low, high = sorted(edge.nodes, key=rows.__getitem__)
        if rows[low] < rows[high]:
            below[high].append(low)
    for row in range(1, max(rows) + 1):
        nodes = [node for node in range(graph.n_nodes) if rows[node] == row]
        mean = {node: sum(at[other] for other in below[node]) / len(below[node]) for node in nodes}
        for place, node in enumerate(sorted(nodes, key=mean.__getitem__)):
            at[node] = (place + 0.5) / len(nodes) * graph.n_hosts - 0.5
    return at


def _line(platform: Platform, edge: ParallelLinks, points: dict[int, tuple[float, float]], widest: float) -> str:
    (x1, y1), (x2, y2) = (points[node] for node in edge.nodes)
    bend = f"Q {(x1 + x2) / 2:g} {y1 - min(abs(x2 - x1), 1.5 * _ROW):g}" if y1 == y2 else "L"
    stroke = max(0.6, 3 + (log2(_bandwidth(platform, edge)) - log2(widest)) / 2)
    return (
        f'<path d="M {x1:g} {y1:g} {bend} {x2:g} {y2:g}" stroke-width="{stroke:.2g}">'
        f"<title>{_title(platform, edge)}</title></path>"
    )


def _shown(text: str) -> str:
    """Text without the characters that XML does not allow."""
    return escape(_NO_XML.sub("\ufffd", text))


def _title(platform: Platform, edge: ParallelLinks) -> str:
    """Links of an edge, one per line."""
    lines = []
    for link in edge.links[:_NAMES_MAX]:
        bandwidth, latency_s, _ = platform.link(link)
        lines.append(f"{platform.link_name(link)}: {format_bytes(bandwidth)}/s, {format_time(latency_s)}")
    if len(edge.links) > _NAMES_MAX:
        lines.append(f"... and {len(edge.links) - _NAMES_MAX} more")
    return _shown("\n".join(lines))


def _bandwidth(platform: Platform, edge: ParallelLinks) -> float:
    return min(sum(platform.link(link)[0] for link in edge.links), _BANDWIDTH_MAX_BYTES_PER_S)
