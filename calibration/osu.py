"""Prints an OSU benchmark's table, measured under a real `mpiexec` by the loops of `smpy platform validate`.

    mpiexec -n 2 python calibration/osu.py osu_latency > osu_latency.txt

A row is the median of repetitions, which the load of the machine disturbs less than the mean that the benchmark itself
prints.
"""

import argparse

from mpi4py import MPI

from smpy.study.validation.osu_benchmarks import BENCHMARKS, measure_s
from smpy.study.validation.osu_files import TITLES

WINDOW = 64  # the benchmarks' own


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=BENCHMARKS)
    parser.add_argument("--largest", type=int, default=1 << 20, help="largest size in bytes")
    parser.add_argument("--repetitions", type=int, default=300, help="repetitions of each size")
    options = parser.parse_args()
    benchmark, world = BENCHMARKS[options.name], MPI.COMM_WORLD
    first = 4 if "reduce" in options.name else 1
    sizes = [0] if options.name == "osu_barrier" else [first << k for k in range(options.largest.bit_length())]
    title = next(title for title, name in TITLES.items() if name == options.name)
    is_first = world.rank == 0
    if is_first:
        print(f"# OSU MPI {title} Test, by calibration/osu.py: medians, {world.size} ranks, {library()}")
        print(f"# Size  {'Bandwidth (MB/s)' if benchmark.is_rate else 'Latency (us)'}")
    for size in (size for size in sizes if size <= options.largest):
        time_s = measure_s(options.name, [size], WINDOW, options.repetitions)[0]
        if is_first:
            value = size / time_s / 1e6 if benchmark.is_rate else time_s * 1e6
            print(f"{size:<10}{value:20.2f}", flush=True)


def library() -> str:
    return ", ".join(MPI.Get_library_version().split("\n")[0].split(",")[:1]).strip()


if __name__ == "__main__":
    main()
