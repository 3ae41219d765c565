"""Collectives of two ranks under real MPIs, beside predicted ones: OSU-like curves from 8 B to 4 MiB.

    python calibration/collective_curves.py FOLDER --mpi openmpi-4="mpirun --allow-run-as-root"

calibrates the network of each MPI into FOLDER/NAME.toml (`smpy calibrate network`), times its collectives, several
times each, and writes them to FOLDER/curves.csv. Without --mpi it only compares: it runs the same program under
`smpy run` on that network, with the table NAME, and prints the errors.
"""

from __future__ import annotations

import argparse
import csv
import shlex
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Final

import real_mpi

N_REPETITIONS: Final = 5
SIZES_BYTES: Final = [1 << power for power in range(3, 23)]
OPERATIONS: Final = (
    "Bcast",
    "Reduce",
    "Allreduce",
    "Gather",
    "Scatter",
    "Allgather",
    "Alltoall",
    "Reduce_scatter_block",
)
HEAD: Final = ("mpi", "repetition", "operation", "bytes", "seconds")
Times = dict[tuple[str, int], float]


def time_collectives() -> None:
    """Time each operation at each size as OSU's benchmarks do: a barrier between calls, the mean of calls and ranks."""
    import numpy as np
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    for operation in OPERATIONS:
        for nbytes in SIZES_BYTES:
            n_calls, n_warm = (200, 20) if nbytes <= 1 << 16 else (20, 5)
            one, all_ranks = np.zeros(nbytes // 4, "f4"), np.zeros(nbytes // 4 * comm.size, "f4")
            arguments = {
                "Bcast": (one,),
                "Reduce": (one, one.copy()),
                "Allreduce": (one, one.copy()),
                "Gather": (one, all_ranks),
                "Scatter": (all_ranks, one),
                "Allgather": (one, all_ranks),
                "Alltoall": (all_ranks, all_ranks.copy()),
                "Reduce_scatter_block": (all_ranks, one),
            }[operation]
            call, seconds = getattr(comm, operation), 0.0
            for i in range(n_calls + n_warm):
                comm.Barrier()
                begin_s = MPI.Wtime()
                call(*arguments)
                if i >= n_warm:
                    seconds += MPI.Wtime() - begin_s
            mean_s = comm.allreduce(seconds / n_calls) / comm.size
            if comm.rank == 0:
                print(operation, nbytes, mean_s)


def _times(printed: str) -> Times:
    rows = (line.split() for line in printed.splitlines())
    return {(operation, int(nbytes)): float(seconds) for operation, nbytes, seconds in rows}


def measure(folder: Path, mpis: dict[str, str]) -> None:
    """Calibrate each MPI's network, then time its collectives, MPIs in turn."""
    for name, command in mpis.items():
        if not (folder / f"{name}.toml").exists():
            network = str(folder / f"{name}.toml")
            real_mpi.run([str(real_mpi.SMPY), "calibrate", "network", network, "--mpiexec", command])
    with (folder / "curves.csv").open("a", newline="", encoding="ascii") as file:
        rows = csv.writer(file)
        if not file.tell():
            rows.writerow(HEAD)
        for repetition in range(N_REPETITIONS):
            for name, command in mpis.items():
                printed = real_mpi.run([*shlex.split(command), "-n", "2", sys.executable, __file__, "--time"])
                rows.writerows((name, repetition, *key, f"{time_s:.4e}") for key, time_s in _times(printed).items())


def _measured(folder: Path) -> dict[str, Times]:
    """Median of the repetitions, by MPI."""
    all_s = defaultdict[str, dict[tuple[str, int], list[float]]](lambda: defaultdict(list))
    with (folder / "curves.csv").open(newline="", encoding="ascii") as file:
        for row in csv.DictReader(file):
            all_s[row["mpi"]][row["operation"], int(row["bytes"])].append(float(row["seconds"]))
    return {name: {key: median(times_s) for key, times_s in by_key.items()} for name, by_key in all_s.items()}


def _predicted(folder: Path, name: str) -> Times:
    options = ["--platform", str(folder / f"{name}.toml"), "--collectives", name, "--ppn", "2", "--compute", "none"]
    return _times(real_mpi.run([str(real_mpi.SMPY), "run", "-np", "2", "--quiet", *options, __file__, "--time"]))


def _errors(folder: Path) -> Iterator[str]:
    yield "| MPI | operation | median error | largest error | at |"
    yield "|---|---|---|---|---|"
    for name, measured in _measured(folder).items():
        predicted = _predicted(folder, name)
        errors = {key: predicted[key] / measured_s - 1 for key, measured_s in measured.items()}
        for operation in (*OPERATIONS, ""):
            of = {key: error for key, error in errors.items() if operation in (key[0], "")}
            worst = max(of, key=lambda key: abs(of[key]))
            middle = median(map(abs, of.values()))
            yield f"| {name} | {operation or 'all'} | {middle:.0%} | {of[worst]:+.0%} | {worst[0]}, {worst[1]} B |"


def main() -> None:
    parser = argparse.ArgumentParser(description="Collectives of two ranks under real MPIs, beside predicted ones.")
    parser.add_argument("folder", type=Path, nargs="?")
    real_mpi.add_option(parser)
    parser.add_argument("--time", action="store_true", help="time collectives in this MPI program")
    options = parser.parse_args()
    if options.time:
        return time_collectives()
    options.folder.mkdir(exist_ok=True)
    if options.mpi:
        measure(options.folder, real_mpi.mpis(options.mpi))
    print("\n".join(_errors(options.folder)))
    return None


if __name__ == "__main__":
    main()
