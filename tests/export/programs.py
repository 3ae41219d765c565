"""Programs whose traces are written in other formats: apps, and those of the comparison with smpirun."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from smpy.emulate.run.run import run
from smpy.options import RunConfig
from tests.peer.case import HOSTS, platform_xml

APPS = Path(__file__).parents[2] / "apps"
PEER = Path(__file__).parents[1] / "peer" / "programs"


class Program(NamedTuple):
    """A program, its arguments, and where it runs: a platform of the comparison with smpirun, a rank per host."""

    path: Path
    args: Sequence[object]
    n_ranks: int
    platform: str = "cluster"

    @property
    def hosts(self) -> str:
        """Content of a host file."""
        prefix, n_hosts = HOSTS[self.platform]
        return "".join(f"{prefix}{rank % n_hosts}\n" for rank in range(self.n_ranks))

    def trace(self, folder: Path) -> Path:
        """Record a trace; the platform and the host file are in the folder, too."""
        folder.mkdir(exist_ok=True)
        (folder / "platform.xml").write_text(platform_xml(self.platform, {}))
        (folder / "hosts").write_text(self.hosts)
        outcome = run(
            RunConfig(
                n_ranks=self.n_ranks,
                program=str(self.path),
                args=tuple(map(str, self.args)),
                platform=folder / "platform.xml",
                hostfile=folder / "hosts",
                compute="none",
                trace=folder / "trace",
            )
        )
        assert outcome.error is None
        return folder / "trace"


QUICK = {
    "ring": Program(APPS / "ring.py", ("--rounds", 3, "--length", 2000, "--tokens", "all"), 5),
    "jacobi": Program(APPS / "jacobi.py", ("--n", 33, "--iterations", 12), 4, "full"),
    "fft2d": Program(APPS / "fft2d.py", ("--n", 16, "--m", 12), 6, "torus"),
    "split": Program(PEER / "communicators.py", ("split", 3000, 2), 6),
    "mix": Program(PEER / "mix.py", (11, 4, 20), 6, "star"),
}
"""Messages, requests, collectives, and communicators of some ranks; for each change."""

ALL = QUICK | {
    "ring one": Program(APPS / "ring.py", ("--rounds", 2, "--length", 100_000, "--tokens", "one"), 4),
    "dup": Program(PEER / "communicators.py", ("dup", 70_000, 1), 5, "fat_tree"),
    "completion": Program(PEER / "completion.py", ("waitany", 2000, 3, 1e5), 4),
    "jacobi3d": Program(APPS / "jacobi3d.py", ("--n", 12, "--iterations", 5), 8, "fat_tree"),
    "nbody": Program(APPS / "nbody.py", ("--bodies", 30, "--steps", 4), 5),
    "cg": Program(APPS / "conjugate_gradient.py", ("--n", 9, "--iterations", 8), 6, "star"),
    "pi": Program(APPS / "monte_carlo_pi.py", (), 4),
    "pingpong": Program(APPS / "pingpong.py", (), 2, "full"),
    "shift": Program(PEER / "shift.py", (70_000, 1, 3, 0), 5),
    "permutation": Program(PEER / "permutation.py", (3, 200_000, 2), 8, "torus"),
    "master": Program(APPS / "master_worker.py", (), 4),
    "halo": Program(PEER / "halo.py", (4, 1000, 70_000, 3, 1e5, 1), 12),
    "pipeline": Program(PEER / "pipeline.py", (5000, 4, 1e5), 6),
    "ring c": Program(PEER / "ring.py", (100_000, 2, 0), 8),
    **{
        name: Program(PEER / "collectives.py", (name, 30_000, 1, 2, 1e6), 7)
        for name in ("bcast", "reduce", "allreduce", "barrier", "gather", "scatter", "allgather", "alltoall")
    },
    **{
        name: Program(PEER / "varying.py", (name, 3000, 1, 2, 1e6), 7)
        for name in ("gatherv", "scatterv", "allgatherv", "alltoallv", "reduce_scatter")
    },
}
