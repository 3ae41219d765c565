"""Costs of messages, from their measured times.

The model is that of the machines: a blocking message takes the overhead of its send, a transfer, and the overhead of
its receive; a transfer takes latency times a factor, and bytes over bandwidth times a factor, both by size. Overheads
are measured alone; the rest of a ping-pong's time is the transfer.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from smpy.calibrate.network.pieces import POINTS_MIN, LinearPiece, Vector, fit_pieces, predict_s, with_told_slopes
from smpy.calibrate.network.samples import Kind, Samples
from smpy.errors import UsageError

ENVELOPE_BYTES: Final = 34.0  # the default of machine files
TRANSFER_PIECES_MAX: Final = 12  # below and above the eager limit each: machine files have room for 32 in all
_HELD_OUT_EVERY: Final = 5
_FASTEST: Final = 0.1  # relative to the time per byte of the fastest message: no piece has less
_STREAM_DIFFERS: Final = 0.1
_OFF_MAX: Final = 0.25


@dataclass(frozen=True, slots=True)
class Compared:
    """Measured and predicted times of ping-pongs, by size.

    Parameters
    ----------
    size_bytes : (n,) ndarray
        Sizes, rising.
    measured_s, predicted_s : (n,) ndarray
        One-way times, in seconds.
    """

    size_bytes: Vector
    measured_s: Vector
    predicted_s: Vector

    @property
    def errors(self) -> Vector:
        """Predicted over measured time, minus 1."""
        return np.asarray(self.predicted_s / self.measured_s - 1)

    @property
    def r_squared(self) -> float:
        """Share of the variance of the times, in seconds squared, that the prediction explains."""
        spread = float(((self.measured_s - self.measured_s.mean()) ** 2).sum())
        missed = float(((self.measured_s - self.predicted_s) ** 2).sum())
        return 1 - missed / spread if spread else 1.0


@dataclass(frozen=True, slots=True)
class MessageCosts:
    """Costs of messages.

    Parameters
    ----------
    eager_limit_bytes : int or None
        The largest message whose Send does not wait for its receive; None: not measured, or none waits.
    send, isend, recv : tuple of LinearPiece
        Overheads by the bytes of a message; empty: none.
    transfer : tuple of LinearPiece
        By the bytes of a message and its envelope.
    fitted, held_out : Compared
        Ping-pongs that were fitted, and those of sizes that the fit has not seen.
    warnings : tuple of str
        Warnings for users of the costs.
    """

    eager_limit_bytes: int | None
    send: tuple[LinearPiece, ...]
    isend: tuple[LinearPiece, ...]
    recv: tuple[LinearPiece, ...]
    transfer: tuple[LinearPiece, ...]
    fitted: Compared
    held_out: Compared
    warnings: tuple[str, ...]


def fit_costs(samples: Samples) -> MessageCosts:
    """Costs from samples; a fifth of the sizes is held out to estimate the error.

    Raises
    ------
    UsageError
        If there are too few ping-pongs, or times contradict each other.
    """
    warnings: list[str] = []
    sizes, times = _one_way(samples, warnings)
    unseen = _held_out(sizes)
    limit = _eager_limit(samples, warnings)
    largest = math.inf if limit is None else float(limit)
    at, one_way = sizes[~unseen], times[~unseen]
    kept_out = sizes[unseen]
    byte_s = _byte_s(samples, at, one_way)

    send = _overhead(samples, "send", kept_out, 0, largest)
    recv = _overhead(samples, "recv", kept_out, 0, largest)
    isend = _overhead(samples, "isend", kept_out, 0, largest)
    if limit is not None and (at > limit).any():
        above = _overhead(samples, "isend", kept_out, limit, math.inf)
        isend += above
        # Above the limit a Send is an Isend and a Wait, and a receive ends with the transfer.
        send += above
        recv += (LinearPiece(float(limit), 0.0, 0.0),) if recv else ()
    send, recv = _cut(send, recv, at, one_way - at * byte_s * _FASTEST, largest, warnings)

    transfer = _transfer(at, one_way, predict_s(send, at) + predict_s(recv, at), limit, byte_s)

    def compared(where: Vector, measured: Vector) -> Compared:
        predicted = predict_s(send, where) + predict_s(transfer, where + ENVELOPE_BYTES) + predict_s(recv, where)
        return Compared(where, measured, predicted)

    _check_stream(samples, transfer, warnings)
    fitted = compared(at, one_way)
    off = float(np.median(np.abs(fitted.errors)))
    if off > _OFF_MAX:
        warnings.append(f"half of the ping-pongs are off by more than {off:.0%}: measure again on a quiet machine")
    return MessageCosts(
        eager_limit_bytes=limit,
        send=send,
        isend=isend,
        recv=recv,
        transfer=transfer,
        fitted=fitted,
        held_out=compared(kept_out, times[unseen]),
        warnings=tuple(warnings),
    )


# ---- samples ----


def _one_way(samples: Samples, warnings: list[str]) -> tuple[Vector, Vector]:
    """Sizes and times of ping-pongs, or of exchanges if there are no ping-pongs."""
    sizes, times = samples.medians("pingpong")
    if not len(sizes):
        sizes, times = samples.medians("exchange")
        if len(sizes):
            warnings.append("there was no ping-pong: the time of a Sendrecv stands for that of a message")
    is_told = times > 0
    sizes, times = sizes[is_told], times[is_told]
    if len(sizes) < POINTS_MIN:
        raise UsageError(
            f"there are ping-pongs of {len(sizes)} sizes, which is too few to tell latency from bandwidth: measure at "
            f"least {POINTS_MIN}"
        )
    return sizes, times


def _held_out(sizes: Vector) -> NDArray[np.bool_]:
    """Mask of held-out sizes: every fifth, but neither the smallest nor the largest."""
    unseen = np.zeros(len(sizes), dtype=bool)
    if len(sizes) >= _HELD_OUT_EVERY * POINTS_MIN:
        unseen[_HELD_OUT_EVERY // 2 : -1 : _HELD_OUT_EVERY] = True
    return unseen


def _eager_limit(samples: Samples, warnings: list[str]) -> int | None:
    waits, _ = samples.medians("waits")
    returns, _ = samples.medians("returns")
    if not len(waits):
        if len(returns):
            warnings.append(f"no Send waited for its receive up to {returns[-1]:.0f} bytes: the eager limit is above")
        else:
            warnings.append("the eager limit was not measured: it is that of the machine that includes this file")
        return int(returns[-1]) if len(returns) else None
    early = returns[returns < waits[0]]
    if len(early) < len(returns):
        warnings.append(
            f"a Send of {waits[0]:.0f} bytes waited for its receive, and one of {returns[-1]:.0f} did not: the "
            "smaller one is taken for the limit"
        )
    if not len(early):
        warnings.append("each Send waited for its receive, an empty one, too: the eager limit is 0")
        return 0
    return int(early[-1])


def _overhead(samples: Samples, kind: Kind, unseen: Vector, above: float, largest: float) -> tuple[LinearPiece, ...]:
    sizes, times = samples.medians(kind)
    seen = (sizes > above if above else sizes >= 0) & (sizes <= largest) & ~np.isin(sizes, unseen)
    return fit_pieces(sizes[seen], times[seen], above_bytes=above)


def _byte_s(samples: Samples, sizes: Vector, times: Vector) -> float:
    """Smallest time per byte: that of the message with the highest rate, alone or in a stream."""
    streamed, per_message_s = samples.medians("stream")
    shares = [of_kind[at > 0] / at[at > 0] for at, of_kind in ((sizes, times), (streamed, per_message_s))]
    return float(np.concatenate(shares).min(initial=np.inf))


# ---- the parts of a time ----


def _cut(
    send: tuple[LinearPiece, ...],
    recv: tuple[LinearPiece, ...],
    sizes: Vector,
    room_s: Vector,
    largest: float,
    warnings: list[str],
) -> tuple[tuple[LinearPiece, ...], tuple[LinearPiece, ...]]:
    """Overheads limited to the time of a ping-pong."""
    eager = sizes <= largest
    at, room = sizes[eager], np.maximum(room_s[eager], 0.0)
    is_over = predict_s(send, at) + predict_s(recv, at) > room
    if not is_over.any():
        return send, recv
    warnings.append(
        f"at {is_over.sum()} of {len(at)} sizes the calls alone took longer than the ping-pong, in which a receive is "
        "entered while its message is on its way: the overhead of the receive is what the ping-pong leaves of it"
    )
    send = _lowered(send, at, room, largest)
    return send, _lowered(recv, at, room - predict_s(send, at), largest)


def _lowered(pieces: tuple[LinearPiece, ...], sizes: Vector, room_s: Vector, largest: float) -> tuple[LinearPiece, ...]:
    """Overheads with smaller constants, and smaller slopes if needed, so that none exceeds its limit."""
    lowered = []
    for number, piece in enumerate(pieces):
        end = pieces[number + 1].above_bytes if number + 1 < len(pieces) else math.inf
        here = (sizes > piece.above_bytes if number else sizes >= 0) & (sizes <= min(end, largest))
        at, room = sizes[here], room_s[here]
        if len(at) and piece.above_bytes < largest:
            constant = min(piece.constant_s, float((room - at * piece.per_byte_s).min()))
            if constant < 0:
                slope = float((room[at > 0] / at[at > 0]).min()) if (at > 0).any() else 0.0
                piece = replace(piece, constant_s=0.0, per_byte_s=max(min(piece.per_byte_s, slope), 0.0))
            else:
                piece = replace(piece, constant_s=constant)
        lowered.append(piece)
    return tuple(lowered)


def _transfer(
    sizes: Vector, times: Vector, overheads: Vector, limit: int | None, byte_s: float
) -> tuple[LinearPiece, ...]:
    left = np.maximum(times - overheads, sizes * byte_s * _FASTEST)
    parts: Iterable[tuple[NDArray[np.bool_], float]] = (
        [(np.ones(len(sizes), dtype=bool), 0.0)]
        if limit is None
        else [(sizes <= limit, 0.0), (sizes > limit, float(limit))]
    )
    pieces: tuple[LinearPiece, ...] = ()
    for where, above in parts:
        pieces += fit_pieces(
            sizes[where],
            left[where],
            above_bytes=above if pieces else 0.0,
            envelope_bytes=ENVELOPE_BYTES,
            slope_min_s_per_byte=byte_s * _FASTEST,
            relative_to_s=times[where],
            pieces_max=TRANSFER_PIECES_MAX,
        )
    return with_told_slopes(pieces, sizes, left, envelope_bytes=ENVELOPE_BYTES, relative_to_s=times)


def _check_stream(samples: Samples, transfer: Sequence[LinearPiece], warnings: list[str]) -> None:
    streamed, per_message_s = samples.medians("stream")
    if not len(streamed):
        return
    predicted = transfer[-1].per_byte_s * (streamed[-1] + ENVELOPE_BYTES)
    ratio = float(predicted / per_message_s[-1]) if per_message_s[-1] else 1.0
    if abs(ratio - 1) > _STREAM_DIFFERS:
        warnings.append(
            f"a stream of messages of {streamed[-1]:.0f} bytes carries {ratio:.2f} times the bytes a second that the "
            "ping-pong shows: the costs are those of the ping-pong"
        )
