"""Messages on a page: traffic of pairs, and the longest messages, drawn into the timeline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from smpy.records.threads import MessageSides
from smpy.records.trace import Trace
from smpy.report.packed import packed
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
    sides = MessageSides(trace)
    matrix = np.zeros(rows.n * rows.n)
    drawn: dict[str, NDArray[Any]] = {}
    for batch in trace.batches("messages", _COLUMNS):
        source, target = (batch[name].to_numpy() for name in ("source", "target"))
        both = np.isin(source, rows.ranks) & np.isin(target, rows.ranks)
        cell = rows.row(source[both]) * rows.n + rows.row(target[both])
        matrix += np.bincount(cell, batch["bytes"].to_numpy()[both], minlength=len(matrix))
        some = batch.filter(_mask(both & ~np.isnan(_dates(batch, "ended_s"))))
        posted_by = sides.locations(*(some[name].to_numpy() for name in ("message", "source", "target")))
        columns = {
            "source": timeline_rows.place(posted_by[0]).astype(np.int32),
            "target": timeline_rows.place(posted_by[1]).astype(np.int32),
            "bytes": some["bytes"].to_numpy().astype(np.float64),
            "sent_s": _dates(some, "send_posted_s"),
            "ended_s": _dates(some, "ended_s"),
            "send_label": _labels(trace, some["send_site"]),
            "receive_label": _labels(trace, some["receive_site"]),
        }
        drawn = {name: np.concatenate([drawn[name], column]) if drawn else column for name, column in columns.items()}
        drawn = _longest(drawn)
    return {
        "n": trace.n_rows("messages"),
        "matrix": packed(matrix.reshape(rows.n, rows.n).astype(np.float32)),
        "drawn": {name: packed(column) for name, column in drawn.items()},
    }


def _longest(columns: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Messages with the longest time from send to end, the longest first."""
    order = np.argsort(columns["sent_s"] - columns["ended_s"], kind="stable")[:DRAWN_MAX]
    return {name: column[order] for name, column in columns.items()}


def _dates(batch: Any, name: str) -> NDArray[np.float64]:
    dates_s: NDArray[np.float64] = batch[name].to_numpy(zero_copy_only=False)
    return dates_s


def _labels(trace: Trace, site: Any) -> NDArray[np.int32]:
    labels: NDArray[np.int32] = trace.label_of_site[site.fill_null(0).to_numpy(zero_copy_only=False)]
    return labels


def _mask(chosen: NDArray[np.bool_]) -> Any:
    import pyarrow as pa

    return pa.array(chosen)
