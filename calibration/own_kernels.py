"""What the kernels that programs of `apps/` name cost on this core, for each byte that they say they move.

    python calibration/own_kernels.py calibration/cloud-xeon/programs.toml

runs the programs on one rank, at sizes that `truth.py` does not predict, and times every call of a function under
`@kernel` whose cost `smpy calibrate blas` does not measure. Seconds are fitted as a bytes + b, ratios counting.
"""

from __future__ import annotations

import io
import runpy
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from scipy.optimize import nnls

from smpy.calibrate.result_file import toml_text
from smpy.compute.expressions import over_arguments

APPS = Path(__file__).parent.parent / "apps"
PROGRAMS = {
    "jacobi.py": ["--n 250 --iterations 200", "--n 700 --iterations 50", "--n 1400 --iterations 30"],
    "conjugate_gradient.py": ["--n 90", "--n 200", "--n 400"],
    "fft2d.py": ["--n 600 --m 600", "--n 1500 --m 1500", "--n 2400 --m 2400"],
    "hpl.py": ["--n 1500 --nb 128", "--n 2500 --nb 128", "--n 5000 --nb 128"],
}

calls: defaultdict[str, list[tuple[int, float]]] = defaultdict(list)
"""Bytes and seconds of each call, by kernel."""


def timed(*, name: str = "", bytes: str | float = 0, **_: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:  # noqa: A002
    """In place of `smpy.kernel`: note what a call takes."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        moved = over_arguments(function, {"bytes": bytes})

        def call(*args: Any) -> Any:
            began_s = time.thread_time()
            result = function(*args)
            seconds = time.thread_time() - began_s
            calls[function.__name__].append((int(moved(*args)[0]), seconds))
            return result

        return function if name else call

    return decorate


def run_all() -> None:
    """Run the programs, here."""
    module = ModuleType("modelled")
    module.kernel = timed  # type: ignore[attr-defined]
    sys.modules["modelled"] = module
    sys.path.insert(0, str(APPS))
    for program, lines in PROGRAMS.items():
        for line in lines:
            sys.argv = [program, *line.split()]
            with redirect_stdout(io.StringIO()):
                try:
                    runpy.run_path(str(APPS / program), run_name="__main__")
                except SystemExit as end:
                    if end.code:
                        raise


def table(rows: list[tuple[int, float]]) -> dict[str, object]:
    """[kernels.NAME] of a kernel's calls."""
    taken: defaultdict[int, list[float]] = defaultdict(list)
    for n_bytes, seconds in rows:
        taken[n_bytes].append(seconds)
    moved = np.array([float(n_bytes) for n_bytes in taken if n_bytes])
    means_s = np.array([np.mean(taken[int(n_bytes)]) for n_bytes in moved])
    weights = np.array([len(taken[int(n_bytes)]) for n_bytes in moved]) ** 0.5
    design = np.stack([moved, np.ones_like(moved)], axis=1) * (weights / means_s)[:, None]
    (per_byte_s, fixed_s), _ = nnls(design, weights)
    costs = {"bytes": float(f"{per_byte_s:.4g}"), "1": float(f"{fixed_s:.4g}")}
    return {"sizes": ["bytes"], "seconds": costs, "largest": [int(moved.max())]}


def main(path: Path) -> None:
    run_all()
    told = "Written by calibration/own_kernels.py: kernels of programs in apps/, by the bytes that they say they move."
    text = toml_text({f"kernels.{name}": table(rows) for name, rows in calls.items()}, told)
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
