"""Command line of HPL: the runs to make, and the cost of modelled kernels."""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from math import inf, isqrt
from pathlib import Path

from linpack.settings import BROADCASTS, FACTORISATIONS, ORDERS, SWAPS, BadSettings, Settings, from_file, overridden

NEAR_PEAK_S = 2.22e-9, 1.11e-9  # dgemm and dtrsm: 2 flop, and 1, at nine tenths of a peak of 1 Gf


@dataclass(frozen=True, slots=True)
class Job:
    """The runs to make; where kernels are modelled, their cost, and whether arrays have memory and devices update."""

    runs: list[Settings]
    skeleton: tuple[float | None, ...] | None
    is_folded: bool
    is_on_device: bool


def read(words: list[str], n_ranks: int) -> Job | int:
    """The job that a command line asks for; or, when there is none, the program's exit code: it has been said why."""
    try:
        options = _parser().parse_args(words)
        runs = _settings(options, n_ranks)
        _check_fit(runs, n_ranks)
        _check_modelled(options)
        return Job(runs, _costs(options) if options.skeleton else None, not options.unfolded, options.device)
    except BadSettings as error:
        print(f"hpl.py: {error}", file=sys.stderr)
        return 2
    except SystemExit as end:  # argparse has printed something
        return int(end.code or 0)


def _costs(options: argparse.Namespace) -> tuple[float | None, ...]:
    """The skeleton's dgemm and dtrsm, in seconds; None: what the machine says."""
    told = options.dgemm_s, options.dtrsm_s
    if not options.calibrated:
        return tuple(near_peak if cost is None else cost for cost, near_peak in zip(told, NEAR_PEAK_S, strict=True))
    if told != (None, None):
        raise BadSettings("--calibrated and --dgemm-s or --dtrsm-s both say what kernels cost: give one of them")
    return told


def _check_modelled(options: argparse.Namespace) -> None:
    if options.skeleton:
        return
    for name in ("unfolded", "device", "calibrated", "dgemm_s", "dtrsm_s"):
        if getattr(options, name) not in (None, False):
            raise BadSettings(f"--{name.replace('_', '-')} is of modelled kernels: it goes with --skeleton")


def _check_fit(runs: list[Settings], n_ranks: int) -> None:
    for settings in runs:
        if settings.p * settings.q > n_ranks:
            raise BadSettings(f"a grid of {settings.p} x {settings.q} needs as many ranks, there are {n_ranks}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="hpl.py", description="High-Performance Linpack.")
    parser.add_argument("--dat", type=Path, help="file to read instead of HPL.dat")
    for name in ("n", "nb", "p", "q", "nbmin", "ndiv", "depth", "swap-threshold"):
        parser.add_argument(f"--{name}", type=int)
    for name in ("pfact", "rfact"):
        parser.add_argument(f"--{name}", choices=FACTORISATIONS)
    parser.add_argument("--bcast", choices=BROADCASTS)
    parser.add_argument("--swap", choices=SWAPS)
    parser.add_argument("--pmap", choices=ORDERS)
    parser.add_argument("--equil", action=argparse.BooleanOptionalAction)
    parser.add_argument("--skeleton", action="store_true", help="model the kernels, compute nothing (under smpy run)")
    parser.add_argument(
        "--unfolded", action="store_true", help="with --skeleton: arrays have memory, and messages copy it"
    )
    parser.add_argument(
        "--device", action="store_true", help="with --skeleton: the matrix is on the ranks' devices, which update it"
    )
    told = "with --skeleton: seconds per m n %s on a core of 1 Gf (default: %s, nine tenths of its peak)"
    parser.add_argument("--dgemm-s", type=_seconds, help=told % ("k", NEAR_PEAK_S[0]))
    parser.add_argument("--dtrsm-s", type=_seconds, help=told % ("n", NEAR_PEAK_S[1]))
    parser.add_argument(
        "--calibrated", action="store_true", help="with --skeleton: kernels cost what the machine's [kernels] say"
    )
    return parser


def _seconds(word: str) -> float:
    value = float(word)
    if not 0 <= value < inf:
        raise argparse.ArgumentTypeError(f"{word} is no finite time")
    return value


def _settings(options: argparse.Namespace, n_ranks: int) -> list[Settings]:
    """The runs that the file asks for, or one on as square a grid of all ranks as there is; with the flags in place."""
    path = options.dat or Path("HPL.dat")
    if options.dat or path.exists():
        runs = from_file(path)
    else:
        p = max(p for p in range(1, isqrt(n_ranks) + 1) if n_ranks % p == 0)
        if options.p or options.q:
            p = options.p or n_ranks // options.q or 1
        runs = [Settings(p=p, q=n_ranks // p or 1)]
    made: dict[Settings, Settings] = {}
    return [
        changed
        for settings in runs
        if made.setdefault(changed := overridden(settings, vars(options)), settings)
        == settings  # flags make runs alike
    ]
