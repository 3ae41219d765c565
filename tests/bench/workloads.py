"""Workloads that are compared with smpirun, and the factors by which smpy has to be faster."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Workload:
    """A program at two lengths; the messages of the difference are what is timed."""

    name: str
    program: str
    n_ranks: int
    platform: str
    short: tuple[object, ...]
    long: tuple[object, ...]
    messages: int
    required: float
    repeats: int = 2
    settings: tuple[str, ...] = ()  # of both tools

    @property
    def is_slow(self) -> bool:
        """Whether smpirun takes minutes."""
        return self.n_ranks >= 4096 or self.repeats == 1


def _ring(n_ranks: int, platform: str, doubles: int, iterations: int, data: str, required: float) -> Workload:
    return Workload(
        f"ring of {doubles} doubles, {data}, {n_ranks} ranks, {platform}",
        "ring",
        n_ranks,
        platform,
        (doubles, 2, data),
        (doubles, 2 + iterations, data),
        n_ranks * iterations,
        required,
    )


def _allreduce(platform: str) -> Workload:
    """Eight bytes on 4,096 ranks: linear to rank 0, then a binomial tree."""
    return Workload(
        f"allreduce of 8 bytes, 4096 ranks, {platform}", "allreduce", 4096, platform, (1,), (5,), 4 * 2 * 4095, 20
    )


def _alltoall(algorithm: str) -> Workload:
    name = f"alltoall of 100000 bytes ({algorithm}), 256 ranks, fat tree"
    lengths = (100_000, 0, "even"), (100_000, 1, "even")
    return Workload(
        name,
        "exchange",
        256,
        "fat_tree_256",
        *lengths,
        256 * 255,
        15,
        repeats=1,
        settings=(f"smpi/alltoall:{algorithm}",),
    )


WORKLOADS = [
    _ring(64, "fat_tree_64", 16, 5000, "every", 3),
    _ring(1024, "fat_tree_1024", 16, 150, "every", 4),
    _ring(4096, "fat_tree_4096", 16, 20, "every", 6),
    _ring(64, "flat_64", 16, 5000, "every", 3),
    _ring(1024, "flat_1024", 16, 150, "every", 4),
    _ring(4096, "flat_4096", 16, 20, "every", 6),
    _ring(64, "fat_tree_64", 65536, 3000, "none", 2),
    _ring(1024, "fat_tree_1024", 65536, 100, "none", 2),
    Workload(
        "random permutation, 500000 bytes, 4096 ranks", "permutation", 4096, "fat_tree_4096",
        (500_000, 0), (500_000, 1), 4096, 2, repeats=1,
    ),
    _allreduce("backbone_4096"),
    _allreduce("flat_4096"),
    _allreduce("fat_tree_4096"),
    Workload(
        "allreduce of 8 bytes, 1024 ranks, fat tree", "allreduce", 1024, "fat_tree_1024",
        (2,), (52,), 50 * 2 * 1023, 10,
    ),
    Workload(
        "alltoall of 8 bytes (Bruck), 1024 ranks, fat tree", "alltoall", 1024, "fat_tree_1024",
        (1, 1), (6, 1), 5 * 10 * 1024, 10,
    ),
    _alltoall("pair"),
    _alltoall("ring"),
    _alltoall("basic_linear"),
    Workload(
        "alltoallv of 50000 to 150000 bytes, 64 ranks, fat tree", "exchange", 64, "fat_tree_64",
        (100_000, 0, "irregular"), (100_000, 1, "irregular"), 64 * 63, 15, repeats=1,
    ),
    # its two-level algorithms make communicators first: a million messages
    Workload(
        "allreduce of 8 bytes of mvapich2, its preparation included, 1024 ranks, 16 a host", "allreduce", 1024,
        "fat_tree_64x16", (0,), (22,), 1_152_702, 5, repeats=1, settings=("smpi/coll-selector:mvapich2",),
    ),
]  # fmt: skip
