"""Messages on a page: traffic of pairs, and the longest messages, drawn into the timeline."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from smpy.records.threads import MessageSides
from smpy.records.trace import Trace
from smpy.report.packed import packed
from smpy.report.tiles import MESSAGE
from smpy.report.timeline import PictureRows

if TYPE_CHECKING:
    from numpy.typing import NDArray

DRAWN_MAX: Final = 50_000
_COLUMNS: Final = ("message", "source", "target", "bytes", "send_posted_s", "ended_s", "send_site", "receive_site")


def messages(trace: Trace, rows: PictureRows, timeline_rows: PictureRows) -> dict[str, Any]:
    """The matrix and the messages to draw, in the page's format.

    Parameters
    ----------
    trace : Trace
        Trace with the messages; memory does not grow with their number.
    rows : PictureRows
        Ranks that were traced: messages of others are counted nowhere.
    timeline_rows : PictureRows
        Ranks and threads of the timeline.
    """
    matrix = np.zeros(rows.n * rows.n)
    for batch in trace.batches("messages", ("source", "target", "bytes")):
        source, target, is_traced = _ends(batch, rows)
        cell = rows.row(source[is_traced]) * rows.n + rows.row(target[is_traced])
        matrix += np.bincount(cell, batch["bytes"].to_numpy()[is_traced], minlength=len(matrix))
    drawn = np.empty(0, dtype=MESSAGE)
    for part in message_rows(trace, timeline_rows):
        drawn = _longest(np.concatenate([drawn, part]))
    return {
        "n": trace.n_rows("messages"),
        "matrix": packed(matrix.reshape(rows.n, rows.n).astype(np.float32)),
        "drawn": {name: packed(drawn[name]) for name in MESSAGE.names or ()},
    }


def message_rows(trace: Trace, timeline_rows: PictureRows) -> Iterator[NDArray[Any]]:
    """Messages between traced ranks that have ended, in batches of `smpy.report.tiles.MESSAGE`.

    Parameters
    ----------
    trace : Trace
        Trace with the messages.
    timeline_rows : PictureRows
        Ranks and threads of the timeline.
    """
    sides = MessageSides(trace)
    for batch in trace.batches("messages", _COLUMNS):
        *_, is_traced = _ends(batch, timeline_rows)
        some = batch.filter(_mask(is_traced & ~np.isnan(_dates(batch, "ended_s"))))
        posted_by = sides.locations(*(some[name].to_numpy() for name in ("message", "source", "target")))
        part = np.empty(some.num_rows, dtype=MESSAGE)
        part["source"], part["target"] = (timeline_rows.place(location) for location in posted_by)
        part["bytes"] = some["bytes"].to_numpy()
        part["sent_s"], part["ended_s"] = _dates(some, "send_posted_s"), _dates(some, "ended_s")
        part["send_label"], part["receive_label"] = (
            _labels(trace, some[name]) for name in ("send_site", "receive_site")
        )
        yield part


def _ends(batch: Any, rows: PictureRows) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.bool_]]:
    """Sources, targets, and whether both were traced."""
    source, target = (batch[name].to_numpy() for name in ("source", "target"))
    return source, target, np.isin(source, rows.ranks) & np.isin(target, rows.ranks)


def _longest(rows: NDArray[Any]) -> NDArray[Any]:
    """Messages with the longest time from send to end, the longest first."""
    longest: NDArray[Any] = rows[np.argsort(rows["sent_s"] - rows["ended_s"], kind="stable")[:DRAWN_MAX]]
    return longest


def _dates(batch: Any, name: str) -> NDArray[np.float64]:
    dates_s: NDArray[np.float64] = batch[name].to_numpy(zero_copy_only=False)
    return dates_s


def _labels(trace: Trace, site: Any) -> NDArray[np.int32]:
    labels: NDArray[np.int32] = trace.label_of_site[site.fill_null(0).to_numpy(zero_copy_only=False)]
    return labels


def _mask(chosen: NDArray[np.bool_]) -> Any:
    import pyarrow as pa

    return pa.array(chosen)
