"""Time-independent traces end when they do under SimGrid's smpirun -replay, rank by rank."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from smpy.importers.time_independent_files import read_main_file
from smpy.replay.time_independent import replay_time_independent
from tests.peer.case import HOSTS, OVERHEADS, platform_xml
from tests.peer.runners import compile_programs

pytestmark = [pytest.mark.peer, pytest.mark.usefixtures("smpirun")]

TOLERANCE = 1e-6  # relative
LOGGED = re.compile(r"^(\d+\.\d+) (\d+) \2 ", re.MULTILINE)  # date, rank, and the line that begins with it

Lines = Sequence[Sequence[str]]
MACHINES = (("full", 4, 1), ("cluster", 11, 2), ("fat_tree", 16, 1), ("star", 7, 1), ("torus", 6, 1))
COUNTS = (0, 1, 1000, 30_000)


def smpirun(folder: Path, *arguments: object) -> str:
    """Output of smpirun; all files are in the folder."""
    command = ["smpirun", "-quiet", "-platform", "platform.xml", "-hostfile", "hosts", "--cfg=network/optim:Full"]
    done = subprocess.run(
        [*command, *map(str, arguments)], cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def their_finish_s(folder: Path, n_ranks: int) -> list[float]:
    """Dates at which the last line of each rank was over."""
    told = smpirun(
        *(folder, "-np", n_ranks, "-replay", "main", "--log=smpi_replay.thres:verbose"),
        "--log=root.fmt:%.17r%e%P%e%m%n",
    )
    finish_s = {int(rank): float(date) for date, rank in LOGGED.findall(told)}
    return [finish_s[rank] for rank in range(n_ranks)]


def compare(folder: Path, n_ranks: int) -> None:
    theirs = their_finish_s(folder, n_ranks)
    trace = read_main_file(folder / "main", n_ranks)
    ours = replay_time_independent(trace, folder / "platform.xml", hostfile=folder / "hosts").finish_s
    differing = [
        f"rank {rank}: {mine!r} s, smpirun {other!r} s"
        for rank, (mine, other) in enumerate(zip(ours.tolist(), theirs, strict=True))
        if abs(mine - other) > TOLERANCE * other
    ]
    assert not differing, "\n".join(differing[:10])


def check(folder: Path, platform: str, lines: Lines, per_host: int = 1, options: dict[str, str] | None = None) -> None:
    """All ranks wait for each other before they end: what they left undone has its cost in the last date."""
    prefix, n_hosts = HOSTS[platform]
    n = len(lines)
    (folder / "platform.xml").write_text(platform_xml(platform, options or {}))
    (folder / "hosts").write_text("".join(f"{prefix}{rank // per_host % n_hosts}\n" for rank in range(n)))
    for rank, of_rank in enumerate(lines):
        (folder / f"rank{rank}").write_text("".join(f"{rank} {line}\n" for line in (*of_rank, "compute 1")))
    (folder / "main").write_text("".join(f"{folder}/rank{rank}\n" for rank in range(n)))
    compare(folder, n)


def _sizes(n: int, count: int) -> list[int]:
    return [(i * 7 + 3) % 5 * count for i in range(n)]


def _words(numbers: Sequence[int]) -> str:
    return " ".join(map(str, numbers))


def _alltoallv(rank: int, n: int, c: int) -> str:
    out = [(rank * 3 + i * 5 + 1) % 4 * c for i in range(n)]
    into = [(i * 3 + rank * 5 + 1) % 4 * c for i in range(n)]
    return f"alltoallv {sum(out)} {_words(out)} {sum(into)} {_words(into)} 1 1"


COLLECTIVES: dict[str, Callable[[int, int, int], str]] = {
    "barrier": lambda rank, n, c: "barrier",
    "bcast": lambda rank, n, c: f"bcast {c}",
    "bcast_from_1": lambda rank, n, c: f"bcast {c} 1 0",
    "reduce": lambda rank, n, c: f"reduce {c} 1e6",
    "reduce_to_2": lambda rank, n, c: f"reduce {c} {1e5 * rank} 2 1",
    "allreduce": lambda rank, n, c: f"allreduce {c} 1e7",
    "allreduce_double": lambda rank, n, c: f"allreduce {c} 0 0",
    "allreduce_pairs": lambda rank, n, c: f"allreduce {c} 0 34",
    "scan": lambda rank, n, c: f"scan {c} 1e6",
    "exscan": lambda rank, n, c: f"exscan {c} 1e6 1",
    "gather": lambda rank, n, c: f"gather {c} {c if rank == 0 else 0}",
    "gather_to_1": lambda rank, n, c: f"gather {c} {c} 1 0 0",
    "scatter": lambda rank, n, c: f"scatter {c if rank == 0 else 0} {c}",
    "scatter_from_2": lambda rank, n, c: f"scatter {c} {c} 2 1 1",
    "allgather": lambda rank, n, c: f"allgather {c} {c}",
    "allgather_double": lambda rank, n, c: f"allgather {c} {c} 0 0",
    "alltoall": lambda rank, n, c: f"alltoall {c} {c}",
    "alltoall_int": lambda rank, n, c: f"alltoall {c} {c} 1 1",
    "gatherv": lambda rank, n, c: f"gatherv {_sizes(n, c)[rank]} {_words(_sizes(n, c))} 1 1 1",
    "scatterv": lambda rank, n, c: f"scatterv {_words(_sizes(n, c))} {_sizes(n, c)[rank]} 1 1 1",
    "allgatherv": lambda rank, n, c: f"allgatherv {_sizes(n, c)[rank]} {_words(_sizes(n, c))}",
    "allgatherv_types": lambda rank, n, c: f"allgatherv {_sizes(n, c)[rank]} {_words(_sizes(n, c))} 1 1",
    "allgatherv_offsets": lambda rank, n, c: (
        f"allgatherv {_sizes(n, c)[rank]} {_words(_sizes(n, c))} 1 1 {_words([0] * n)}"
    ),
    "allgatherv_offsets_alone": lambda rank, n, c: (
        f"allgatherv {_sizes(n, c)[rank]} {_words(_sizes(n, c))} {_words([0] * n)}"
    ),
    "reducescatter": lambda rank, n, c: f"reducescatter {_words(_sizes(n, c))} 1e6 1",
    "reducescatter_equal": lambda rank, n, c: f"reducescatter {_words([c] * n)} 1e6",
    "alltoallv": _alltoallv,
}


@pytest.mark.parametrize("name", COLLECTIVES)
@pytest.mark.parametrize(("platform", "n", "per_host"), MACHINES)
def test_collectives(tmp_path: Path, platform: str, n: int, per_host: int, name: str):
    lines: list[list[str]] = [[f"init{' 1' * (name == 'allgatherv')}"] for _ in range(n)]
    for rank in range(n):
        for count in COUNTS:
            line = COLLECTIVES[name](rank, n, count)
            lines[rank] += [f"compute {1e6 * (rank * 7 % n)}", line, line]
    check(tmp_path, platform, lines, per_host)


@pytest.mark.parametrize(
    ("name", "option", "algorithm"),
    [
        *(("allgatherv_types", "allgatherv", algorithm) for algorithm in ("ring", "pair", "ompi_bruck", "mpich_rdb")),
        *(("allreduce_double", "allreduce", algorithm) for algorithm in ("rdb", "lr", "rab_rdb", "redbcast")),
        *(("reduce_to_2", "reduce", algorithm) for algorithm in ("scatter_gather", "flat_tree")),
        *(("alltoall_int", "alltoall", algorithm) for algorithm in ("bruck", "ring", "pair")),
        *(("reducescatter", "reduce_scatter", algorithm) for algorithm in ("mpich_rdb", "mpich_pair")),
        ("gather_to_1", "gather", "ompi_binomial"),
        ("scatter_from_2", "scatter", "ompi_binomial"),
        ("alltoallv", "alltoallv", "ring"),
    ],
)
def test_collectives_by_other_algorithms(tmp_path: Path, name: str, option: str, algorithm: str):
    lines: list[list[str]] = [["init"] for _ in range(8)]
    for rank in range(8):
        for count in (100, 10_000):
            lines[rank] += [f"compute {1e6 * (rank * 7 % 8)}", COLLECTIVES[name](rank, 8, count)]
    check(tmp_path, "cluster", lines, options={f"smpi/{option}": algorithm})


TWO_RANKS: dict[str, tuple[list[str], list[str]]] = {
    "send": (
        ["send 1 0 1", "send 1 2 1000 1", "sleep 0.001", "send 1 3 200000", "send 1 0 0"],
        ["recv 0 0 1", "recv 0 2 1000 1", "recv 0 3 200000", "recv 0 -444 1", "comm_size 2", "comm_split", "comm_dup"],
    ),
    "unknown size": (
        ["compute 1e6", "send 1 5 100", "compute 1e6", "send 1 6 100000 1"],
        ["recv 0 5 -1", "irecv 0 6 -1 1", "wait 0 1 6", "location a.c 5"],
    ),
    "same keys": (
        ["isend 1 6 100000", "isend 1 6 50", "isend 1 6 200000", *["wait 0 1 6", "compute 1e4"] * 3],
        ["sleep 0.1", *["irecv 0 6 200000"] * 3, "wait 0 1 6", "compute 1e7", "test 0 1 6", *["wait 0 1 6"] * 2],
    ),
    "tests": (
        [
            "isend 1 5 1000",
            "test 0 1 5",
            "wait 0 1 5",
            "isend 1 6 100000",
            *["test 0 1 6"] * 2,
            "compute 1e8",
            "test 0 1 6",
            "wait 0 1 6",
            "waitall",
        ],
        ["sleep 1e-3", "recv 0 5 1000", "recv 0 6 100000", "waitall"],
    ),
    "a test puts a request behind others": (
        ["sleep 0.1", "send 1 6 100000", "sleep 0.5", "send 1 6 10"],
        ["irecv 0 6 100000", "irecv 0 6 10", "test 0 1 6", "wait 0 1 6", "compute 2e9"],
    ),
    "sendRecv": (
        ["sendRecv 1000 1 2000 1 0 1", "sendRecv 100000 1 10 1 6 6", "sendRecv 5000 0 5000 0 6 6"],
        ["sendRecv 2000 0 1000 0 1 0", "sendRecv 10 0 100000 0 6 6"],
    ),
    "waitall": (
        ["isend 1 1 10", "isend 1 2 100000", "irecv 1 3 1000", "compute 1e5", "waitall 3"],
        ["irecv 0 1 10", "irecv 0 2 100000", "isend 0 3 1000", "waitall"],
    ),
    "datatypes": (
        [f"send 1 0 1000 {number}" for number in (*range(55), 57, 58, 59)],
        [f"recv 0 0 1000 {number}" for number in (*range(55), 57, 58, 59)],
    ),
}


@pytest.mark.parametrize("options", [{}, OVERHEADS], ids=["plain", "overheads"])
@pytest.mark.parametrize("platform", ["full", "cluster_bare", "zero_latency"])
@pytest.mark.parametrize("name", TWO_RANKS)
def test_messages(tmp_path: Path, name: str, platform: str, options: dict[str, str]):
    first, second = TWO_RANKS[name]
    check(tmp_path, platform, [["init", *first], ["init", *second]], options=options)


@pytest.mark.parametrize(
    ("program", "arguments", "n_ranks"),
    [
        ("ring", (2000, 3, 1e5), 5),
        ("ring", (100_000, 2, 0), 8),
        ("halo", (4, 1000, 70_000, 3, 1e5, 1), 12),
        ("pipeline", (5000, 4, 1e5), 6),
        *(("collectives", (name, 30_000, 1, 2, 1e6), 7) for name in ("bcast", "reduce", "allreduce", "barrier")),
        *(("collectives", (name, 3000, 0, 2, 1e6), 7) for name in ("gather", "scatter", "allgather", "alltoall")),
        *(("varying", (name, 3000, 1, 2, 1e6), 7) for name in ("gatherv", "scatterv", "allgatherv", "alltoallv")),
        ("varying", ("reduce_scatter", 3000, 0, 2, 1e6), 7),
    ],
)
def test_traces_that_smpirun_writes(
    tmp_path: Path, program: str, arguments: tuple[object, ...], n_ranks: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    compile_programs(tmp_path, program)
    (tmp_path / "platform.xml").write_text(platform_xml("cluster", {}))
    (tmp_path / "hosts").write_text("".join(f"n{rank}\n" for rank in range(n_ranks)))
    smpirun(
        *(tmp_path, "-np", n_ranks, "-trace-ti", "-trace-file", "main", "--cfg=smpi/simulate-computation:no"),
        *(f"./{program}", *arguments),
    )
    compare(tmp_path, n_ranks)
