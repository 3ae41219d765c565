"""Costs, on this core, of the kernels that programs of `apps/` name, by the bytes that they say they move.

    python calibration/own_kernels.py calibration/cloud-xeon/programs.toml

runs the programs on one rank, at sizes that `truth.py` does not predict, and times every call of a function under
`@kernel` whose cost `smpy calibrate blas` does not measure, in `N_ROUNDS` rounds over all of them. A call of some size
takes the median over the rounds of its mean. Fitted are the cost of a call, and of a byte: it grows with the logarithm
of the working set, as caches are left behind, and with the working set itself, as pages are; ratios count.
"""

from __future__ import annotations

import io
import runpy
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import redirect_stdout
from multiprocessing import get_context
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from scipy.optimize import nnls

from smpy.calibrate.result_file import toml_text
from smpy.compute.models.expressions import over_arguments

N_ROUNDS = 3
APPS = Path(__file__).parent.parent / "apps"
PROGRAMS = {
    "jacobi.py": [
        *(
            "--n 250 --iterations 200",
            "--n 500 --iterations 100",
            "--n 700 --iterations 50",
            "--n 1400 --iterations 30",
            "--n 3000 --iterations 10",
        ),
    ],
    "conjugate_gradient.py": ["--n 90", "--n 200", "--n 350", "--n 700"],
    "fft2d.py": ["--n 600 --m 600", "--n 1500 --m 1500", "--n 2400 --m 2400", "--n 4000 --m 4000"],
    "hpl.py": ["--n 1500 --nb 128", "--n 2500 --nb 128", "--n 5000 --nb 128"],
}

Calls = dict[str, list[tuple[float, float, float]]]
"""Bytes, working set and seconds of each call, by kernel."""


def run(program: str, line: str) -> Calls:
    """The calls of a program, which runs here."""
    calls: Calls = {}

    def timed(
        *,
        flop: str = "0",  # parameters of `smpy.kernel`
        bytes: str = "0",  # noqa: A002
        working_set_bytes: str = "0",
        name: str = "",
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
            amounts = over_arguments(function, {"bytes": bytes, "working_set_bytes": working_set_bytes})

            def call(*args: Any) -> Any:
                began_s = time.thread_time()
                result = function(*args)
                seconds = time.thread_time() - began_s
                calls.setdefault(function.__name__, []).append((*map(float, amounts(*args)), seconds))
                return result

            return function if name else call

        return decorate

    module = ModuleType("modelled")
    module.kernel = timed  # type: ignore[attr-defined]
    sys.modules["modelled"] = module
    sys.path.insert(0, str(APPS))
    sys.argv = [program, *line.split()]
    with redirect_stdout(io.StringIO()):
        try:
            runpy.run_path(str(APPS / program), run_name="__main__")
        except SystemExit as end:
            if end.code:
                raise
    return calls


def table(rounds: list[list[tuple[float, float, float]]]) -> dict[str, object]:
    """[kernels.NAME] of a kernel's calls in each round."""
    means: defaultdict[tuple[float, float], list[float]] = defaultdict(list)
    n_calls: dict[tuple[float, float], int] = {}
    for calls in rounds:
        taken: defaultdict[tuple[float, float], list[float]] = defaultdict(list)
        for moved, working_set, seconds in calls:
            if moved:
                taken[moved, working_set].append(seconds)
        for size, of_size in taken.items():
            means[size].append(float(np.mean(of_size)))
            n_calls[size] = len(of_size)
    moved, working_set = np.array(list(means)).T
    means_s = np.array([np.median(of_size) for of_size in means.values()])
    weights = np.array(list(n_calls.values())) ** 0.5 / means_s
    has_working_set = bool(working_set.all())
    smallest = np.log2(working_set.min()) if has_working_set else 0.0
    beyond = moved * (np.log2(working_set) - smallest) if has_working_set else np.zeros_like(moved)
    design = np.stack([moved, beyond, moved * working_set, np.ones_like(moved)], axis=1)
    scale = design.max(axis=0) + 1e-300
    found, _ = nnls(design / scale * weights[:, None], means_s * weights)
    per_byte_s, per_doubling_s, per_square_s, call_s = found / scale
    seconds = {"bytes": per_byte_s - per_doubling_s * smallest, "1": call_s}
    sizes = ["bytes"]
    if has_working_set:
        seconds |= {"bytes*log2(working_set_bytes)": per_doubling_s, "bytes*working_set_bytes": per_square_s}
        sizes.append("working_set_bytes")
    return {
        "sizes": sizes,
        "seconds": {term: float(f"{value:.5g}") for term, value in seconds.items()},
        "smallest": [int(moved.min()), int(working_set.min())][: len(sizes)],
        "largest": [int(moved.max()), int(working_set.max())][: len(sizes)],
    }


def main(path: Path) -> None:
    lines = [(program, line) for program, lines in PROGRAMS.items() for line in lines]
    rounds: defaultdict[str, list[list[tuple[float, float, float]]]] = defaultdict(list)
    with get_context("fork").Pool(1, maxtasksperchild=1) as pool:  # each in a process of its own, one after another
        for _ in range(N_ROUNDS):
            calls: defaultdict[str, list[tuple[float, float, float]]] = defaultdict(list)
            for of_one in pool.starmap(run, lines, chunksize=1):
                for name, rows in of_one.items():
                    calls[name] += rows
            for name, rows in calls.items():
                rounds[name].append(rows)
    told = "Written by calibration/own_kernels.py: kernels of programs in apps/, by the bytes that they say they move."
    text = toml_text({f"kernels.{name}": table(of_name) for name, of_name in rounds.items()}, told)
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
