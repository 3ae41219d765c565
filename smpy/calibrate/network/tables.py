"""Costs of messages, as tables that a machine file includes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np

from smpy.calibrate.network.model import ENVELOPE_BYTES, Compared, MessageCosts
from smpy.calibrate.network.pieces import LinearPiece
from smpy.errors import UsageError
from smpy.units import exact_size, parse_bandwidth_bytes_per_s, parse_time_s, rounded_bandwidth, rounded_time

_CABLES: Final = 2  # cables of a route through one switch
_DIGITS: Final = 6
_DIGITS_OF_FACTORS: Final = 5
_NOTHING_S: Final = 1e-15  # rounding errors of clocks
_CLASSES_BYTES: Final = (256, 4096, 65536, 1 << 20, math.inf)

Place = Literal["host", "network"]


@dataclass(frozen=True, slots=True)
class MeasuredRoute:
    """Route between the ranks that were measured.

    Parameters
    ----------
    place : {"host", "network"}
        "host": both ranks were on one host.
    latency_s, bandwidth_bytes_per_s : float or None
        Latency and bandwidth of the route, if given: the factors multiply these. None: those of the shortest, and of
        the longest messages.
    """

    place: Place
    latency_s: float | None = None
    bandwidth_bytes_per_s: float | None = None


def message_tables(costs: MessageCosts, route: MeasuredRoute) -> dict[str, dict[str, object]]:
    """The tables [nic] or [host], [network] and [mpi].

    Parameters
    ----------
    costs : MessageCosts
        Fitted costs.
    route : MeasuredRoute
        Route between the measured ranks.

    Raises
    ------
    UsageError
        If the time of messages does not grow with their size.
    """
    n_links = 1 if route.place == "host" else _CABLES
    link_latency = rounded_time((route.latency_s or _nominal_latency_s(costs)) / n_links, "us", _DIGITS)
    latency_s = n_links * parse_time_s(link_latency)
    slowest_s = costs.transfer[-1].per_byte_s
    if not slowest_s:
        raise UsageError("long messages take no longer than short ones: measure larger sizes to find the bandwidth")
    link_bandwidth = rounded_bandwidth(route.bandwidth_bytes_per_s or 1 / slowest_s, _DIGITS)
    bandwidth_bytes_per_s = parse_bandwidth_bytes_per_s(link_bandwidth)
    network: dict[str, object] = {
        "envelope": exact_size(ENVELOPE_BYTES),
        "weight": "0B",
        "tcp_window": "0B",
        "crosstraffic": 0,
        "latency_factor": _steps(
            costs.transfer, [piece.constant_s / latency_s if latency_s else 1.0 for piece in costs.transfer]
        ),
        "bandwidth_factor": _steps(
            costs.transfer, [1 / (piece.per_byte_s * bandwidth_bytes_per_s) for piece in costs.transfer]
        ),
    }
    mpi: dict[str, object] = {"costs": "default"}
    if costs.eager_limit_bytes is not None:
        mpi["eager_limit"] = exact_size(costs.eager_limit_bytes)
    mpi["send_overhead"] = _overheads(costs.send)
    mpi["isend_overhead"] = _overheads(costs.isend)
    mpi["recv_overhead"] = _overheads(costs.recv)
    if route.place == "host":
        ends: dict[str, object] = {"loopback_bandwidth": link_bandwidth, "loopback_latency": link_latency}
        return {"host": ends, "network": network, "mpi": mpi}
    return {"nic": {"bandwidth": link_bandwidth, "latency": link_latency}, "network": network, "mpi": mpi}


def quality(costs: MessageCosts) -> dict[str, Any]:
    """Quality of the costs, for the table [calibration].

    `r_squared` is of one-way times in seconds; `residual_median` and `residual_largest` are predicted over measured
    times less 1, `held_out_median` and `held_out_largest` the same of sizes that the fit has not seen, `errors` both
    by size. `transfers` has the pieces: latency and bandwidth with half of their 95 % intervals, and the two
    measured sizes between which each begins. `half_widths` are those of the overheads, constant and per byte.
    """
    seen, unseen = np.abs(costs.fitted.errors), np.abs(costs.held_out.errors)
    return {
        "n_fitted": len(seen),
        "n_held_out": len(unseen),
        "r_squared": float(f"{costs.fitted.r_squared:.{_DIGITS}g}"),
        "residual_median": _share(np.median(seen)),
        "residual_largest": _share(seen.max()),
        **(
            {"held_out_median": _share(np.median(unseen)), "held_out_largest": _share(unseen.max())}
            if len(unseen)
            else {}
        ),
        "errors": _errors_by_size(costs.fitted, costs.held_out),
        "transfers": [_transfer(piece) for piece in costs.transfer],
        "half_widths": {
            name: {_beginning(piece): _half_widths(piece) for piece in pieces}
            for name, pieces in (("send", costs.send), ("isend", costs.isend), ("recv", costs.recv))
        },
    }


def _nominal_latency_s(costs: MessageCosts) -> float:
    """Latency of the shortest messages; if the calls take all of their time, the largest latency of any piece."""
    first_s = costs.transfer[0].constant_s
    return first_s or max(piece.constant_s for piece in costs.transfer)


def _steps(pieces: tuple[LinearPiece, ...], values: list[float]) -> dict[str, float]:
    return {
        _beginning(piece): float(f"{value:.{_DIGITS_OF_FACTORS}g}") for piece, value in zip(pieces, values, strict=True)
    }


def _overheads(pieces: tuple[LinearPiece, ...]) -> dict[str, list[str]]:
    rows = pieces or (LinearPiece(0.0, 0.0, 0.0),)
    return {_beginning(piece): [_time(piece.constant_s, "us"), _time(piece.per_byte_s, "ns")] for piece in rows}


def _time(value_s: float, unit: str) -> str:
    return rounded_time(value_s if value_s > _NOTHING_S else 0.0, unit, _DIGITS)


def _beginning(piece: LinearPiece) -> str:
    return exact_size(piece.above_bytes) if piece.above_bytes else "0"


def _half_widths(piece: LinearPiece) -> dict[str, float]:
    """Half widths of an overhead, constant and per byte; empty if it was not fitted."""
    widths = {"s": piece.constant_half_width_s, "s_per_byte": piece.per_byte_half_width_s}
    return {name: _share(width) for name, width in widths.items() if math.isfinite(width)}


def _transfer(piece: LinearPiece) -> dict[str, object]:
    rate = 1 / piece.per_byte_s if piece.per_byte_s else math.inf
    width = rate * piece.per_byte_half_width_s / piece.per_byte_s if piece.per_byte_s else math.nan
    parameters: dict[str, object] = {
        "above_bytes": int(piece.above_bytes),
        "between_bytes": [int(piece.begins_after_bytes), int(piece.begins_by_bytes)],
        "n_sizes": piece.n_sizes,
        "latency_s": _share(piece.constant_s),
        "bandwidth_bytes_per_s": _share(rate),
    }
    widths = {"latency_half_width_s": piece.constant_half_width_s, "bandwidth_half_width_bytes_per_s": width}
    return parameters | {name: _share(value) for name, value in widths.items() if math.isfinite(value)}


def _errors_by_size(*parts: Compared) -> dict[str, dict[str, float]]:
    sizes = np.concatenate([part.size_bytes for part in parts])
    errors = np.abs(np.concatenate([part.errors for part in parts]))
    by_class, above = {}, -1.0
    for largest in _CLASSES_BYTES:
        of_class = errors[(sizes > above) & (sizes <= largest)]
        if len(of_class):
            name = f"to {exact_size(largest)}" if math.isfinite(largest) else "larger"
            by_class[name] = {"median": _share(np.median(of_class)), "largest": _share(of_class.max())}
        above = largest
    return by_class


def _share(value: float) -> float:
    return float(f"{value:.4g}")
