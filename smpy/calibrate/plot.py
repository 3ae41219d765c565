"""Plots a calibration: measured over predicted time of each kernel, by predicted time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from smpy.calibrate.costs import Cost
from smpy.errors import UsageError

FORMATS: Final = ("png", "svg")
_COLUMNS_MAX: Final = 6
_SIZE_INCH: Final = (2.6, 2.0)


def check_format(path: Path) -> None:
    """Refuse a file name without a known format.

    Raises
    ------
    UsageError
        If it ends neither in .png nor in .svg.
    """
    if path.suffix.lower().removeprefix(".") not in FORMATS:
        raise UsageError(f"--plot {path}: a plot is a .png or a .svg file")


def draw(path: Path, costs: Sequence[Cost], title: str) -> None:
    """Write the plot.

    Parameters
    ----------
    path : Path
        A .png or .svg file.
    costs : sequence of Cost
        At least one; a panel each: dots are sizes that were fitted, crosses those kept out.
    title : str
        Above all.

    Raises
    ------
    UsageError
        If the file cannot be written.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    n_columns = min(_COLUMNS_MAX, math.ceil(math.sqrt(len(costs))))
    n_rows = math.ceil(len(costs) / n_columns)
    figure = Figure((_SIZE_INCH[0] * n_columns + 0.5, _SIZE_INCH[1] * n_rows + 0.8), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(n_rows, n_columns, squeeze=False).flat
    for panel in panels:
        panel.set_visible(False)
    for panel, cost in zip(panels.base.flat, costs, strict=False):
        panel.set_visible(True)
        panel.axhline(1, color="0.7", linewidth=0.8)
        for points, mark, name in ((cost.fitted, ".", "fitted"), (cost.held_out, "x", "kept out")):
            predicted_s = cost.fit.predict_s(points.sizes)
            panel.plot(predicted_s, points.time_s / predicted_s, mark, markersize=4, label=name)
        panel.set_xscale("log")
        panel.set_title(f"{cost.name}, R² {cost.fit.r_squared:.4f}", fontsize=8)
        panel.tick_params(labelsize=6)
    figure.suptitle(title, fontsize=10)
    figure.supxlabel("predicted time (s)", fontsize=8)
    figure.supylabel("measured / predicted", fontsize=8)
    try:
        figure.savefig(path)
    except OSError as error:
        raise UsageError(
            f"cannot write {path}: {error.strerror or error}; name a file in a folder that takes it"
        ) from error
