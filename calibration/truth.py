"""Real runs beside predicted ones: how far a calibration can be trusted.

    MPICH=.venv/bin/mpiexec
    OPENMPI="env MPI4PY_MPIABI=openmpi MPI4PY_LIBMPI=/usr/lib/x86_64-linux-gnu/libmpi.so.40 \
        /usr/bin/mpirun --allow-run-as-root --oversubscribe"
    python calibration/truth.py FOLDER --mpi mpich="$MPICH" --mpi openmpi="$OPENMPI"

runs the programs of `CASES` on 1 and 2 ranks, in turn under each real MPI and in each way of `PREDICTED` under
`smpy run`, and writes every time to FOLDER/truth.csv at once. The same command goes on where it was interrupted.
`--cases heat` measures only cases whose program or arguments match. Without --mpi it only prints what the file says.
On a virtual machine whose host takes free pages away, memory is touched before each run.

FOLDER has a calibration of this machine:

    smpy calibrate blas FOLDER/node.toml       # measures what `smpy calibrate host` does, and kernels
    smpy calibrate network FOLDER/network-mpich.toml --mpiexec "$MPICH"
    smpy calibrate network FOLDER/network-openmpi.toml --mpiexec "$OPENMPI"
    python calibration/own_kernels.py FOLDER/programs.toml

and, by hand, FOLDER/machine-mpich.toml and FOLDER/machine-openmpi.toml, such as

    include = ["node.toml", "network-openmpi.toml", "programs.toml"]
    host = { count = 1, cores = 2 }
    mpi = { collectives = "openmpi-4" }

An MPI without such a file of its own is predicted by FOLDER/machine.toml.
"""

from __future__ import annotations

import argparse
import csv
import re
import shlex
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import real_mpi
from truth_tables import HEAD, WHOLE, read_rows, tell, tell_large_errors, tell_machine, tell_phases

from smpy.calibrate.this_machine import check_quiet, free_memory_bytes
from smpy.compute.clock.system_time import hypervisor_takes_free_pages
from smpy.errors import UsageError

ROOT: Final = Path(__file__).parent.parent
N_REPETITIONS: Final = 7
RANKS: Final = 1, 2
PREDICTED: Final = {
    "measured": "--platform {machine} --compute measured --host {folder}/node.toml",
    "modelled": "--platform {machine} --compute mixed --host {folder}/node.toml",
}
"""Options of `smpy run`, by way."""
TOUCHED_BYTES: Final = 1 << 30
"""Memory that is touched before each run: more than a program takes while it is timed."""
PHASE: Final = re.compile(r"^phase (\S+): ([\d.]+) s$", re.MULTILINE)


class Case(NamedTuple):
    """A program with its arguments, and a pattern of what it prints of its time."""

    program: str
    arguments: str
    time: str = r"^time: ([\d.]+) s"


CASES: Final = [
    Case("calibration/programs/heat.py", "--n 1200 --steps 60"),
    Case("calibration/programs/heat.py", "--n 320 --steps 1200"),
    Case("calibration/programs/sample_sort.py", "--keys 6000000"),
    Case("calibration/programs/sample_sort.py", "--keys 16000000"),
    Case("calibration/programs/k_means.py", "--points 200000 --clusters 16 --iterations 10"),
    Case("calibration/programs/k_means.py", "--points 20000 --clusters 64 --iterations 60"),
    Case("calibration/programs/summa.py", "--n 1600 --block 64"),
    Case("calibration/programs/summa.py", "--n 2400 --block 96"),
    Case("calibration/programs/word_count.py", "--lines 100000 --vocabulary 50000"),
    Case("calibration/programs/word_count.py", "--lines 250000 --vocabulary 5000"),
    Case("calibration/triad.py", "--bytes 20000000"),
    Case("calibration/triad.py", "--bytes 600000000"),
    Case("apps/jacobi.py", "--n 400 --iterations 500"),
    Case("apps/jacobi.py", "--n 2048 --iterations 30"),
    Case("apps/jacobi3d.py", "--n 64 --iterations 100"),
    Case("apps/jacobi3d.py", "--n 128 --iterations 20"),
    *(Case("apps/conjugate_gradient.py", f"--n {n}", r"inspect, ([\d.]+) s to solve") for n in (256, 512)),
    *(Case("apps/fft2d.py", f"--n {n} --m {n}") for n in (1200, 2000)),
    *(Case("apps/hpl.py", f"--n {n} --nb 128", r"^W.* (\d[\d.]*e[+-]\d+)$") for n in (2000, 3000)),
    Case("apps/nbody.py", "--bodies 512 --steps 20"),
    Case("apps/nbody.py", "--bodies 1024 --steps 5"),
    Case("apps/monte_carlo_pi.py", "--samples 20000000"),
    Case("apps/master_worker.py", "--limit 200000"),
    Case("apps/npb/ep.py", "--class S"),
    Case("apps/ring.py", "--rounds 200 --length 1000000"),
]


def phases_s(case: Case, printed: str) -> dict[str, float]:
    """Seconds of each phase that a program has printed, those of the whole program last."""
    matched = re.search(case.time, printed, re.MULTILINE)
    if not matched:
        raise SystemExit(f"{case.program} {case.arguments} printed no time:\n{printed}")
    whole_s = float(matched[1])
    if case.program == "apps/hpl.py":
        n = int(case.arguments.split()[1])  # it prints hundredths of a second, and more digits of its rate
        whole_s = (2 / 3 * n**3 + 1.5 * n**2) / 1e9 / whole_s
    return {name: float(seconds) for name, seconds in PHASE.findall(printed)} | {WHOLE: whole_s}


def commands(folder: Path, mpis: dict[str, str], n_ranks: int) -> Iterator[tuple[str, list[str]]]:
    """Each way to run a program, and the command to put before it."""
    for name, command in mpis.items():
        yield name, [*shlex.split(command), "-n", str(n_ranks), sys.executable]
    for way, options in PREDICTED.items():
        own = {f"{way}:{name}": f"machine-{name}.toml" for name in mpis if (folder / f"machine-{name}.toml").exists()}
        shared = {way: "machine.toml"} if len(own) < len(mpis) else {}
        for name, machine in (own | shared).items():
            words = [word.format(machine=folder / machine, folder=folder) for word in shlex.split(options)]
            yield name, [str(real_mpi.SMPY), "run", "-n", str(n_ranks), "--quiet", *words]


def take_back_pages() -> None:
    """Touch memory and free it, so that the next run's first touches of pages find them in the machine."""
    if hypervisor_takes_free_pages():
        np.full(min(TOUCHED_BYTES, free_memory_bytes() // 2) // 8, 0.0)


def measure(folder: Path, mpis: dict[str, str], pattern: str = "") -> None:
    """Run the cases that match a pattern, ways in turn, but for runs in the file; write each run's times at once."""
    path = folder / "truth.csv"
    is_new = not (path.exists() and path.stat().st_size)
    done = set() if is_new else {row[:5] for row in read_rows(path) if row.phase == WHOLE}
    if not is_new and not path.read_text(encoding="ascii").startswith(",".join(HEAD)):
        raise ValueError(f"{path} has no phases: measure into another folder")
    cases = [case for case in CASES if re.search(pattern, f"{case.program} {case.arguments}")]
    if not cases:
        raise ValueError(f"no case matches {pattern!r}")
    with path.open("a", newline="", encoding="ascii") as file:
        rows = csv.writer(file, lineterminator="\n")
        if is_new:
            rows.writerow(HEAD)
        for case, n_ranks, repetition in product(cases, RANKS, range(N_REPETITIONS)):
            for way, command in commands(folder, mpis, n_ranks):
                run = case.program, case.arguments, n_ranks, way, repetition
                if run in done:
                    continue
                take_back_pages()
                printed = real_mpi.run([*command, str(ROOT / case.program), *case.arguments.split()])
                seconds = phases_s(case, printed)
                rows.writerows((*run, phase, f"{phase_s:.6f}") for phase, phase_s in seconds.items())
                file.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description="Real runs beside predicted ones.")
    parser.add_argument("folder", type=Path)
    real_mpi.add_option(parser)
    parser.add_argument("--cases", default="", metavar="PATTERN", help="measure cases only that match it")
    parser.add_argument("--loaded", action="store_true", help="measure although the machine does other things")
    options = parser.parse_args()
    try:
        if options.mpi:
            for warning in check_quiet(may_be_loaded=options.loaded):
                print(warning, file=sys.stderr)
            measure(options.folder, real_mpi.mpis(options.mpi), options.cases)
        parts = [tell_part(options.folder) for tell_part in (tell_machine, tell, tell_phases, tell_large_errors)]
    except (OSError, UsageError, ValueError, re.error) as error:
        raise SystemExit(str(error)) from None
    print("\n\n".join(filter(None, parts)))


if __name__ == "__main__":
    main()
