"""Calibrates messages: measured or recorded times, their fit, and the tables of the result file."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from smpy.calibrate.network.launch import find_mpiexec, measure
from smpy.calibrate.network.model import fit_costs
from smpy.calibrate.network.own_data import fit_own_data
from smpy.calibrate.network.recorded import read_recorded
from smpy.calibrate.network.samples import Samples, join_samples, read_raw
from smpy.calibrate.network.tables import MeasuredRoute, Place, message_tables, quality
from smpy.calibrate.result_file import Table
from smpy.calibrate.this_machine import check_quiet, facts
from smpy.errors import UsageError
from smpy.input_files import read_text
from smpy.records.files import check_writable
from smpy.units import rounded_bandwidth

N_SIZES: Final = 120
REPETITIONS: Final = 15
_DIGITS: Final = 4


@dataclass(frozen=True, slots=True)
class NetworkCalibrationPlan:
    """Request for a calibration of a network.

    Parameters
    ----------
    result : Path
        The TOML file; raw measurements stand beside it, in a CSV file of its name.
    recorded : tuple of Path
        Files that are fitted in place of a measurement.
    mpiexec : str or None
        The command that starts MPI programs; None: it is looked for.
    latency_s, bandwidth_bytes_per_s : float or None
        Latency and bandwidth of the route that was measured, if known.
    is_inside_host : bool
        Both ranks were on one host, whatever is known of their hosts' names.
    largest_bytes, seed : int
        The largest message; of random sizes and of the order.
    may_be_loaded : bool
        Whether a machine that does other things is measured all the same.
    """

    result: Path
    recorded: tuple[Path, ...] = ()
    mpiexec: str | None = None
    latency_s: float | None = None
    bandwidth_bytes_per_s: float | None = None
    is_inside_host: bool = False
    largest_bytes: int = 1 << 22
    seed: int = 0
    may_be_loaded: bool = False

    @property
    def raw(self) -> Path:
        return self.result.with_suffix(".csv")


def calibrate_network(
    request: NetworkCalibrationPlan, command: str, progress: Callable[[int, int], object] = lambda _n, _total: None
) -> dict[str, Table]:
    """Measure or read times of messages, and fit their costs.

    Parameters
    ----------
    request : NetworkCalibrationPlan
        Request to fulfil.
    command : str
        Command that asked for it, for the record.
    progress : callable
        Told how many of how many sizes are measured.

    Returns
    -------
    dict of str to mapping
        The tables of the result's file.

    Raises
    ------
    UsageError
        If nothing can be measured, or a file is no recorded measurement.
    """
    notes: list[str] = []
    if request.recorded:
        samples = join_samples([read_recorded(path) for path in request.recorded])
        notes += _interruption(samples)
        origin: dict[str, object] = {"recorded": [str(path) for path in request.recorded]}
    else:
        samples = _measured(request, notes, progress)
        origin = {"raw": request.raw.name}
    route = MeasuredRoute(_place(request, samples), request.latency_s, request.bandwidth_bytes_per_s)
    costs = fit_costs(samples)
    tables = message_tables(costs, route)
    tables["mpi"] |= fit_own_data(samples).keys()
    if route.place == "host":
        tables["host"] |= _messages_bandwidth(samples)
    about: dict[str, Any] = {
        **facts(),
        "command": command,
        **origin,
        **{key: value for key, value in samples.about.items() if key in ("library", "hosts", "benchmarks")},
        "route": "inside a host" if route.place == "host" else "between hosts",
        "n_samples": len(samples.rows),
        **({"spread": float(f"{spread:.3g}")} if math.isfinite(spread := samples.spread("pingpong")) else {}),
        **quality(costs),
    }
    notes += costs.warnings
    return {"calibration": about | ({"warnings": notes} if notes else {}), **tables}


def _measured(request: NetworkCalibrationPlan, notes: list[str], progress: Callable[[int, int], object]) -> Samples:
    if request.raw.exists() and (not request.raw.is_file() or request.raw.stat().st_size):
        raise UsageError(
            f"{request.raw} is there already: fit it by --from {request.raw}, or remove it to measure anew, or name "
            "another file"
        )
    check_writable(request.raw)
    mpiexec = find_mpiexec(request.mpiexec)
    notes += check_quiet(may_be_loaded=request.may_be_loaded)
    plan = {
        "seed": request.seed,
        "n_sizes": N_SIZES,
        "repetitions": REPETITIONS,
        "largest": request.largest_bytes,
    }
    done = (0, 0)

    def count(number: int, total: int) -> None:
        nonlocal done
        done = number, total
        progress(number, total)

    try:
        measure(request.raw, plan, mpiexec, count)
        samples = _measured_so_far(request.raw)
        if _place(request, samples) == "host":
            samples = _with_pairs(request.raw, plan, mpiexec, samples, notes)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"{done[0]:,} of {done[1]:,} visits are in {request.raw}; --from {request.raw} fits them"
            if done[0]
            else "nothing was measured yet"
        ) from None
    finally:
        if not done[0]:
            request.raw.unlink(missing_ok=True)
    return samples


def _measured_so_far(raw: Path) -> Samples:
    try:
        return read_raw(read_text(raw, "file of measurements"), str(raw))
    except OSError as error:
        raise UsageError(
            f"cannot read {raw}: {error.strerror or error}; rank 0 writes it on its host: name a file in a "
            "folder that both hosts see"
        ) from error


def _with_pairs(raw: Path, plan: dict[str, int], mpiexec: list[str], samples: Samples, notes: list[str]) -> Samples:
    """Samples with those of messages that all cores of this host exchange at once, or a note why there are none."""
    n_cores = len(os.sched_getaffinity(0)) // 2 * 2
    if n_cores:
        try:
            measure(raw, plan, mpiexec, n_paired=n_cores)
            return _measured_so_far(raw)
        except UsageError as error:
            notes.append(f"messages of {n_cores} ranks at once were not measured: {error}")
    return samples


def _messages_bandwidth(samples: Samples) -> dict[str, str]:
    """Bandwidth of all messages inside a full host together, of its largest ones."""
    sizes, times_s = samples.medians("pairs")
    return {"messages_bandwidth": rounded_bandwidth(float(sizes[-1] / times_s[-1]), _DIGITS)} if len(sizes) else {}


def _interruption(samples: Samples) -> list[str]:
    """Warning if our own raw measurements have fewer rounds than planned."""
    plan = samples.about.get("plan")
    rounds = plan.get("repetitions") if isinstance(plan, dict) else None
    sizes = [row.size_bytes for row in samples.rows if row.kind == "pingpong"]
    if not isinstance(rounds, int) or len(sizes) >= rounds * len(set(sizes)):
        return []
    return [f"the measurement was interrupted: it has {len(sizes) / len(set(sizes)):.1f} of {rounds} rounds"]


def _place(request: NetworkCalibrationPlan, samples: Samples) -> Place:
    hosts = samples.about.get("hosts")
    is_one = isinstance(hosts, list) and len(hosts) > 1 and hosts[0] == hosts[1]
    return "host" if request.is_inside_host or is_one else "network"
