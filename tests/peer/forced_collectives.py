"""Drawn calls of every algorithm that SimGrid has, forced, with checked results, under smpirun and under smpy."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from smpy.collectives.register import algorithms_of
from smpy.emulate.run.run import run
from smpy.options import RunConfig
from tests.peer.case import OVERHEADS, platform_xml
from tests.peer.runners import PROGRAMS, SMPIRUN_OPTIONS

OPERATIONS: Final = ("bcast", "reduce", "allreduce", "reduce_scatter")
SIZES: Final = (
    *(8, 64, 1000, 4096, 8192, 8200, 12_280, 16_384, 20_000, 24_576, 40_000, 65_528, 70_000, 100_000, 131_072),
    *(150_000, 200_000, 262_144, 300_000),
)
OTHERS: Final = {
    "bcast": ("flattree", "NTSB", "scatter_LR_allgather", "ompi_pipeline", "ompi_split_bintree"),
    "reduce": ("binomial", "NTSL", "ompi_chain", "flat_tree", "mvapich2_knomial"),
    "allgather": ("ring", "bruck", "rdb"),
    "alltoall": ("ring", "bruck", "basic_linear"),
}
N_DRAWS: Final = 16  # of each algorithm
N_SAMPLES: Final = 1  # number of them in every run of the marker `peer`
N_HOSTS: Final = 16
TOLERANCE: Final = 1e-6  # relative
TIMEOUT_S: Final = 60


class PeerFails(Exception):
    """A run in which smpirun stops, or a rank has a wrong result."""


@dataclass(frozen=True, slots=True)
class Forced:
    """Calls of a collective with a forced algorithm.

    Attributes
    ----------
    operation, name : str
        The operation, and SimGrid's name for the algorithm.
    n_ranks, per_host : int
        Ranks, and the number of them a host; the last one has the rest.
    is_cyclic : bool
        Whether ranks are dealt out to the hosts one by one.
    nbytes, root, n_calls : int
        Bytes of the message, the root, and calls in a row.
    kind : str
        "sum", or "ordered": an operation that is not commutative.
    is_equal : bool
        Whether the blocks of a reduce_scatter are equal.
    has_overheads : bool
        Whether calls cost time.
    others : tuple of (str, str)
        Other operations that are forced, with SimGrid's names of their algorithms.
    """

    operation: str
    name: str
    draw: int
    n_ranks: int
    per_host: int
    is_cyclic: bool
    nbytes: int
    root: int
    n_calls: int
    kind: str
    is_equal: bool
    has_overheads: bool
    others: tuple[tuple[str, str], ...]

    @property
    def id(self) -> str:
        """A readable test id."""
        words = (self.operation, self.name, f"{self.n_ranks}ranks", f"{self.per_host}perhost")
        way = "cyclic" if self.is_cyclic else "blocked"
        way += "-equal" * self.is_equal
        more = (way, f"{self.nbytes}B", f"root{self.root}", f"{self.n_calls}calls", self.kind, str(self.draw))
        forced = [f"{operation}={name}" for operation, name in self.others]
        return "-".join((*words, *more, *["overheads"] * self.has_overheads, *forced))

    @property
    def arguments(self) -> tuple[str, ...]:
        """Arguments of the program."""
        called = "reduce_scatter_block" if self.is_equal else self.operation
        return (called, str(self.nbytes), str(self.root), str(self.n_calls), self.kind)

    @property
    def _forced(self) -> tuple[tuple[str, str], ...]:
        return ((self.operation, self.name), *self.others)

    def prepare(self, folder: Path) -> None:
        """Write the files of the run."""
        n_hosts = -(-self.n_ranks // self.per_host)
        hosts = [rank % n_hosts if self.is_cyclic else rank // self.per_host for rank in range(self.n_ranks)]
        (folder / "hostfile").write_text("".join(f"n{host}\n" for host in hosts))
        (folder / "platform.xml").write_text(platform_xml("cluster", OVERHEADS if self.has_overheads else {}))

    def smpirun_dates_s(self, binaries: Path, folder: Path) -> list[float]:
        """Dates at which ranks are through under smpirun; raises PeerFails."""
        command = ["smpirun", "-quiet", "-np", str(self.n_ranks), "-platform", "platform.xml", "-hostfile", "hostfile"]
        forced = [f"--cfg=smpi/{operation}:{name}" for operation, name in self._forced]
        command += [*SMPIRUN_OPTIONS, *forced, str(binaries / "forced"), *self.arguments]
        try:
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        except subprocess.TimeoutExpired:
            raise PeerFails("it does not end") from None
        words = [line.split() for line in done.stdout.splitlines()]
        if done.returncode != 0 or len(words) != self.n_ranks:
            raise PeerFails("it stops")
        if any(n_wrong != "0" for _, _, n_wrong in words):
            raise PeerFails("a rank has a wrong result")
        dates_s = {int(rank): float(date) for rank, date, _ in words}
        return [dates_s[rank] for rank in range(self.n_ranks)]

    def smpy_dates_s(self, folder: Path) -> list[float]:
        """The same under smpy, in this process; fails if a rank has a wrong result."""
        config = RunConfig(
            n_ranks=self.n_ranks,
            program=str(PROGRAMS / "forced.py"),
            args=self.arguments,
            platform=folder / "platform.xml",
            hostfile=folder / "hostfile",
            options=(("smpi/wtime", "0"), *((f"smpi/{operation}", name) for operation, name in self._forced)),
            compute="none",
        )
        outcome = run(config)
        if outcome.error is not None:
            raise outcome.error
        assert outcome.exit_code == 0
        dates_s: list[float] = outcome.summary.finish_s.tolist()
        return dates_s


def _others(random_of: random.Random) -> Iterator[tuple[str, str]]:
    """Algorithms of the operations that an allreduce leaves parts to."""
    for operation, names in OTHERS.items():
        if random_of.random() < 0.7:
            yield operation, random_of.choice(names)


def _draws() -> Iterator[Forced]:
    for operation in OPERATIONS:
        for name in [name for each in algorithms_of(operation).values() for name in each.simgrid_names]:
            random_of = random.Random(f"{operation} {name}")
            for draw in range(N_DRAWS):
                n_ranks = random_of.choice((2, 3, 4, 4, 5, 6, 7, 8, 8, 9, 10, 11, 12, 12, 13, 14, 15, 16, 16))
                is_ordered = operation != "bcast" and random_of.random() < 0.15
                yield Forced(
                    operation,
                    name,
                    draw,
                    n_ranks,
                    random_of.choice((1, 2, 2, 3, 4)),
                    random_of.random() < 0.3,
                    random_of.choice(SIZES) if random_of.random() < 0.7 else 8 * random_of.randint(1, 37_500),
                    random_of.choice((0, 0, n_ranks // 2, n_ranks - 1)) if operation in ("bcast", "reduce") else 0,
                    random_of.choice((1, 1, 2)),
                    "ordered" if is_ordered else "sum",
                    operation == "reduce_scatter" and random_of.random() < 0.5,
                    random_of.random() < 0.2,
                    tuple(_others(random_of)) if operation == "allreduce" and random_of.random() < 0.4 else (),
                )


DRAWS: Final = list(_draws())
