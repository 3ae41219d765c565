"""Simulations of measured benchmarks: OSU's by `measure_s`, HPL's by `apps/hpl.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import smpy
from smpy.arguments import RANKS_MAX
from smpy.errors import UsageError
from smpy.platforms.description import Description
from smpy.platforms.machine import read_machine
from smpy.platforms.models.kernel_costs import KernelCost, KernelCosts
from smpy.runs.run_text import run_config
from smpy.runs.simulate import perform_run, simulate
from smpy.study.message_sizes import size_text
from smpy.study.validation.hpl_files import HplResult, hpl_flop, hpl_results
from smpy.study.validation.osu_benchmarks import measure_s
from smpy.study.validation.osu_files import OsuTable
from smpy.study.validation.validation import Measured
from smpy.units import format_time

_REPETITIONS: Final = 1  # simulated repetitions are alike
_PAIR: Final = 2
_HPL: Final = Path("apps", "hpl.py")
_NEAR_PEAK: Final = KernelCosts(  # nine tenths of a core's peak, as apps/hpl.py has them
    reference_flop_per_s=1e9,
    costs=(
        KernelCost("dgemm", ("m", "n", "k"), (("m*n*k", 2.22e-9),)),
        KernelCost("dtrsm_right", ("m", "n"), (("m*n^2", 1.11e-9),)),
    ),
)


@dataclass(frozen=True, slots=True)
class ComparedMachine:
    """The machine that is compared.

    Attributes
    ----------
    what : str
        The machine, as `smpy run --platform` takes it.
    options : tuple of (str, str)
        Its changes, as `--set` takes them.
    placement : mapping of str to object
        Options that place ranks, by their keywords in `smpy.simulate`; None: not given.
    """

    what: str
    options: tuple[tuple[str, str], ...] = ()
    placement: Mapping[str, Any] = field(default_factory=dict)

    def machine(self, n_ranks: int, changes: Sequence[tuple[str, str]], placement: Mapping[str, Any]) -> Description:
        """The machine for so many ranks, with changes."""
        return read_machine(
            *(self.what, n_ranks, (*self.options, *changes)),
            ranks_per_host=int(placement.get("ppn") or 0),
            cpus_per_task=int(placement.get("cpus_per_task") or 1),
        )


@dataclass(frozen=True, slots=True)
class MeasuredOsu:
    """A table of an OSU benchmark, and its simulation.

    The two ranks of a point-to-point benchmark run on two hosts, if there are two; others are placed as the options
    say.
    """

    target: ComparedMachine
    table: OsuTable
    n_ranks: int

    @property
    def name(self) -> str:
        return self.table.benchmark.name

    @property
    def about(self) -> str:
        return f"{self.name}, {_ranks(self.n_ranks)} ({self.table.file})"

    @property
    def labels(self) -> list[str]:
        return ["barrier"] if self.name == "osu_barrier" else [size_text(size) for size in self.table.sizes_bytes]

    @property
    def times_s(self) -> tuple[float, ...]:
        return self.table.times_s

    def shown(self, row: int, time_s: float) -> str:
        """MB/s, or a time."""
        return f"{self.table.sizes_bytes[row] / time_s / 1e6:,.4g} MB/s" if self._is_rate else format_time(time_s)

    @property
    def _is_rate(self) -> bool:
        return self.table.benchmark.is_rate

    @property
    def _placement(self) -> dict[str, Any]:
        if self.table.benchmark.scope != "pair":
            return dict(self.target.placement)
        alone = {"ppn": 1}
        return alone if self.target.machine(_PAIR, (), alone).n_hosts >= _PAIR else {}

    def is_changed_by(self, changes: Sequence[tuple[str, str]]) -> bool:
        return self._machine(changes) != self._machine(())

    def _machine(self, changes: Sequence[tuple[str, str]]) -> Description:
        return self.target.machine(self.n_ranks, changes, self._placement)

    def simulate(self, changes: Sequence[tuple[str, str]]) -> list[float]:
        run = simulate(
            *(measure_s, self.name, self.table.sizes_bytes, self.table.window, _REPETITIONS, self.table.memories),
            ranks=self.n_ranks,
            platform=self._machine(changes),
            compute="none",
            **self._placement,
        )
        return [float(time_s) for time_s in run.returned[0]]


@dataclass(frozen=True, slots=True)
class MeasuredHpl:
    """A result of HPL, and its simulation.

    dgemm and dtrsm take the time that the machine's kernels say, else that of nine tenths of a core's peak. Iterations
    are skipped (`smpy run --iterations skip`).
    """

    target: ComparedMachine
    result: HplResult

    @property
    def name(self) -> str:
        return f"HPL {self.result.p}x{self.result.q}"

    @property
    def about(self) -> str:
        return f"HPL {self.result.variant}, {_ranks(self.result.n_ranks)} ({self.result.file})"

    @property
    def labels(self) -> list[str]:
        return [f"N {self.result.n:,}, NB {self.result.nb}, {self.result.p} x {self.result.q}"]

    @property
    def times_s(self) -> tuple[float, ...]:
        return (self.result.time_s,)

    def shown(self, row: int, time_s: float) -> str:
        """Gflops, as HPL counts them."""
        return f"{hpl_flop(self.result.n) / time_s / 1e9:,.4g} Gflops"

    def is_changed_by(self, changes: Sequence[tuple[str, str]]) -> bool:
        return self._machine(changes) != self._machine(())

    def _machine(self, changes: Sequence[tuple[str, str]]) -> Description:
        machine = self.target.machine(self.result.n_ranks, changes, self.target.placement)
        known = () if machine.kernels is None else (cost.name for cost in machine.kernels.costs)
        return machine if {"dgemm", "dtrsm_right"} <= set(known) else replace(machine, kernels=_NEAR_PEAK)

    def simulate(self, changes: Sequence[tuple[str, str]]) -> list[float]:
        machine = self._machine(changes)
        options = {"ranks": self.result.n_ranks, "compute": "models", "iterations": "skip", **self.target.placement}
        run = run_config(_hpl_program(), ["--skeleton", "--calibrated", *self.result.flags], options, machine)
        with TemporaryDirectory() as empty:  # an HPL.dat in the working directory would count
            done = perform_run(run, directory=empty)
        return [hpl_results(run.program, done.stdout.splitlines())[0].time_s]


def _ranks(n_ranks: int) -> str:
    return f"{n_ranks:,} rank{'s' * (n_ranks != 1)}"


def _hpl_program() -> str:
    program = Path(smpy.__file__).resolve().parents[1] / _HPL
    if not program.is_file():
        raise UsageError(
            f"HPL is simulated by {_HPL} of smpy's source, and there is no {program}: run smpy from a checkout"
        )
    return str(program)


def measured_osu(target: ComparedMachine, table: OsuTable, n_ranks: int | None) -> Measured:
    """A table with its number of ranks.

    Raises
    ------
    UsageError
        If this number is not known, or the benchmark cannot have it.
    """
    scope = table.benchmark.scope
    if scope == "pair":
        return MeasuredOsu(target, table, _PAIR)
    if scope == "all" and n_ranks is None:
        raise UsageError(f"{table.file}: {table.benchmark.name} does not print its number of ranks: say --ranks N")
    ranks = 2 * table.pairs if table.pairs is not None else n_ranks or _PAIR
    if ranks < _PAIR or ranks > RANKS_MAX or (scope == "pairs" and ranks % 2):
        raise UsageError(f"{table.file}: {table.benchmark.name} cannot have {ranks:,} ranks")
    return MeasuredOsu(target, table, ranks)
