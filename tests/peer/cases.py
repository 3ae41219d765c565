"""The comparison's cases: messages, computing and whole drawn programs; collectives are in `collective_cases`."""

from __future__ import annotations

from collections.abc import Iterator

from tests.peer.case import HOSTS, MACHINES, OVERHEADS, Case
from tests.peer.collective_cases import COLLECTIVE_FAMILIES

ONE_SIDED_KINDS = ("fence", "groups", "exclusive", "shared", "all", "requests", "atomic")

# Payload sizes on both sides of every step of the default model: its table of factors is in terms of payload + envelope
# (16 bytes); sends below 65536 bytes complete at once.
THRESHOLDS = (241, 716, 1410, 3468, 5760, 9360, 15408, 65456, 65535)
SIZES = (0, 1, *(size for below in THRESHOLDS for size in (below, below + 1)), 1_000_000)


def pingpongs() -> Iterator[Case]:
    """Every threshold on every kind of route, and every kind of send on both sides of the eager limit."""
    for size in SIZES:
        yield Case("pingpong", ("send", size, 2, 1), "full", 2)
        yield Case("pingpong", ("send", size, 1, 1), "cluster", 2)
        yield Case("pingpong", ("isend", size, 2, 15), "fat_tree_3", 16)
    for size in (1, 1411, 65535, 65536, 1_000_000):
        for kind in ("isend", "ssend", "issend"):
            yield Case("pingpong", (kind, size, 3, 2), "full", 4)
        yield Case("pingpong", ("send", size, 2, 3), "full", 4)
        yield Case("pingpong", ("send", size, 2, 1), "full", 2, per_host=2)
        yield Case("pingpong", ("send", size, 2, 1), "cluster", 2, per_host=2)
        yield Case("pingpong", ("send", size, 2, 1), "cluster_bare", 2, per_host=2)
        yield Case("pingpong", ("send", size, 2, 2), "zero_latency", 3)
        yield Case("pingpong", ("send", size, 2, 5), "cluster_limited", 6)
    for size in (100, 1000, 1001, 70_000):
        for kind in ("send", "ssend", "isend", "issend"):
            yield Case("pingpong", (kind, size, 2, 1), "full", 2, options=OVERHEADS)


def modes() -> Iterator[Case]:
    """Modes of sending, persistent requests and requests nobody waits for, on both sides of the eager limit."""
    kinds = ("send", "bsend", "rsend", "ssend")
    # Small delays: a persistent eager send that starts again before its message is received loses it under smpirun.
    persistent = [f"{how}-{kind}" for how in ("start", "startall") for kind in kinds]
    for mode in ("bsend", "ibsend", "rsend", "irsend", "replace", "free", *persistent):
        yield Case("modes", (mode, 1000, 1, 4, 1e4), "full", 4)
        if mode != "free":  # smpirun loses a message above the eager limit whose request is freed
            yield Case("modes", (mode, 70_000, 3, 3, 1e3 if mode in persistent else 1e5), "cluster", 11)
        yield Case("modes", (mode, 65_535, 2, 2, 1e4), "cluster_multicore", 13, per_host=4)
        yield Case("modes", (mode, 1000, 1, 3, 1e4), "cluster", 5, options=OVERHEADS)
    for mode in ("bsend", "ibsend", "start-bsend"):
        yield Case("modes", (mode, 70_000, 1, 3, 1e4), "full", 3, options=OVERHEADS)


def rings() -> Iterator[Case]:
    machines = ((2, "full"), (3, "full"), (4, "full"), (5, "cluster"), (13, "cluster_bare"), (64, "cluster_64"))
    for n_ranks, platform in machines:
        for size in (1, 15409, 65536):
            yield Case("ring", (size, 3, 1e5), platform, n_ranks)
    for size in (8, 128, 524_288):
        yield Case("ring", (size, 4, 0), "fat_tree", 16)
        yield Case("ring", (size, 4, 2e4), "fat_tree_64", 64)
        yield Case("ring", (size, 2, 0), "fat_tree_64", 64, per_host=4)
    yield Case("ring", (1000, 5, 1e4), "cluster_multicore", 31, per_host=4)
    yield Case("ring", (1000, 5, 1e4), "cluster_multicore", 17, placement="cyclic")
    yield Case("ring", (40_000, 3, 1e4), "cluster", 11, placement="unlisted")
    yield Case("ring", (40_000, 3, 1e4), "fat_tree_64", 37, placement="unlisted")
    yield Case("ring", (2000, 3, 1e4), "cluster", 8, options=OVERHEADS)


def halos() -> Iterator[Case]:
    machines = ((2, 4, "full"), (3, 6, "cluster_bare"), (4, 16, "fat_tree"), (8, 64, "fat_tree_64"))
    for columns, n_ranks, platform in machines:
        for row, column in ((100, 1000), (70_000, 8000), (65536, 65535)):
            for periodic in (0, 1):
                yield Case("halo", (columns, row, column, 3, 1e5, periodic), platform, n_ranks)
    yield Case("halo", (4, 20_000, 70_000, 3, 3e4, 1), "cluster_multicore", 32, per_host=4)
    yield Case("halo", (5, 20_000, 70_000, 2, 3e4, 0), "cluster", 35, placement="cyclic")


def incasts() -> Iterator[Case]:
    for kind in ("send", "isend", "ssend"):
        for size in (100, 15400, 70_000):
            yield Case("incast", (kind, size, 2, 1e4, 0), "cluster", 7)
            yield Case("incast", (kind, size, 3, 1e4, 1), "cluster_bare", 5)
    yield Case("incast", ("isend", 65400, 4, 0, 0), "cluster", 16)
    yield Case("incast", ("send", 1000, 3, 1e3, 0), "fat_tree_64", 64)
    yield Case("incast", ("isend", 100_000, 2, 0, 0), "fat_tree_3", 16)
    yield Case("incast", ("send", 500, 5, 1e5, 1), "cluster_multicore", 9, per_host=3)
    yield Case("incast", ("isend", 500, 2, 1e4, 0), "cluster", 4, options=OVERHEADS)


def permutations() -> Iterator[Case]:
    for seed, platform in enumerate(MACHINES):
        n_ranks = HOSTS[platform][1]
        for size in (300, 65_457, 500_000):
            yield Case("permutation", (seed, size, 3), platform, n_ranks)
    yield Case("permutation", (3, 200_000, 2), "cluster_multicore", 32, per_host=4)
    yield Case("permutation", (4, 200_000, 2), "cluster_multicore", 24, placement="cyclic")


def zones() -> Iterator[Case]:
    """Two clusters joined by a link of the zone around them, and zones of every routing in one another."""
    yield Case("permutation", (11, 500_000, 3), "two_clusters", 16, placement="unlisted")
    yield Case("mix", (11, 4, 30), "two_clusters", 16, placement="unlisted")
    yield Case("collectives", ("allgather", 5000, 0, 2, 1e4), "two_clusters", 13, placement="unlisted")
    for seed, size in ((12, 300), (13, 60_000), (14, 500_000)):
        yield Case("permutation", (seed, size, 3), "nested_zones", 20, placement="unlisted")
    yield Case("mix", (12, 4, 30), "nested_zones", 20, placement="unlisted")
    yield Case("collectives", ("allgather", 5000, 0, 2, 1e4), "nested_zones", 20, placement="unlisted")
    yield Case("anything", (40, 60), "nested_zones", 17, placement="unlisted")


def tori_and_dragonflies() -> Iterator[Case]:
    for seed, platform in enumerate(("torus", "torus_limited", "dragonfly", "dragonfly_shared")):
        n_ranks = HOSTS[platform][1]
        for size in (1, 1411, 65_457, 1_000_000):
            yield Case("pingpong", ("send", size, 2, 7 + seed), platform, n_ranks)
        for size in (300, 500_000):
            yield Case("permutation", (seed, size, 3), platform, n_ranks)
        yield Case("halo", (5, 20_000, 70_000, 2, 3e4, 1), platform, 15)
        yield Case("incast", ("isend", 100_000, 2, 0, 0), platform, n_ranks)
        yield Case("ring", (15_409, 3, 1e5), platform, 13, placement="unlisted")
        yield Case("collectives", ("alltoall", 5000, 0, 2, 1e4), platform, 11)
        for draw in range(3):
            yield Case("mix", (10 * seed + draw, 4, 30), platform, n_ranks)
            yield Case("anything", (200 + 10 * seed + draw, 60), platform, 7 + draw)
        yield Case("permutation", (seed, 200_000, 2), platform, 2 * n_ranks, per_host=2)


def windows() -> Iterator[Case]:
    for size in (64, 5761, 65535, 65536):
        yield Case("window", (size, 16, 2), "full", 4)
        yield Case("window", (size, 8, 2), "cluster", 9)
        yield Case("window", (size, 4, 2), "fat_tree_2", 16)
    yield Case("window", (1000, 64, 3), "cluster_bare", 2)
    yield Case("window", (1000, 8, 2), "full", 2, options=OVERHEADS)


def polls() -> Iterator[Case]:
    for how in ("iprobe", "probe", "test", "testall", "testany", "testsome"):
        for size in (10, 70_000):
            yield Case("poll", (how, size, 2e6, 2), "cluster", 2)
            yield Case("poll", (how, size, 1e6, 2), "cluster_bare", 6)
        yield Case("poll", (how, 100, 1.0371e6, 2), "cluster_multicore", 8, per_host=4)
        yield Case("poll", (how, 100, 1.0371e6, 2), "cluster", 8, per_host=2)
    yield Case("poll", ("test", 10, 1e6, 2), "cluster", 2, options={"smpi/grow-injected-times": "no"})
    yield Case("poll", ("iprobe", 10, 1e6, 2), "cluster", 2, options={"smpi/grow-injected-times": "no"})
    yield Case("poll", ("test", 10, 1e6, 2), "cluster", 2, options={"smpi/test": "1e-5"})
    yield Case("poll", ("iprobe", 10, 1e6, 2), "cluster", 2, options={"smpi/iprobe": "3e-5"})


def pipelines() -> Iterator[Case]:
    for n_ranks, platform in ((4, "full"), (7, "cluster"), (16, "fat_tree_3")):
        for size in (100, 65_000, 200_000):
            yield Case("pipeline", (size, 6, 1e5), platform, n_ranks)
    yield Case("pipeline", (30_000, 5, 1e5), "cluster_multicore", 16, per_host=8)


def shifts() -> Iterator[Case]:
    for n_ranks, platform in ((4, "full"), (11, "cluster"), (16, "fat_tree")):
        for size in (1, 65535, 65536):
            yield Case("shift", (size, 1, 2, 0), platform, n_ranks)
            yield Case("shift", (size, 3, 2, 1), platform, n_ranks)
    yield Case("shift", (100, 0, 3, 0), "full", 2)
    yield Case("shift", (500, 1, 3, 1), "full", 4, options=OVERHEADS)
    yield Case("shift", (500, 1, 3, 0), "full", 4, options=OVERHEADS)


def completions() -> Iterator[Case]:
    for how in ("waitall", "backwards", "waitany", "waitsome"):
        for size in (1000, 60_000):
            yield Case("completion", (how, size, 3, 3e5), "cluster", 6)
    yield Case("completion", ("waitall", 3000, 3, 1e4), "full", 4, options=OVERHEADS)
    yield Case("completion", ("waitany", 3000, 3, 1e5), "fat_tree_2", 16)


def communicators() -> Iterator[Case]:
    for how in ("dup", "split", "nested", "holes", "create", "create_group", "grid"):
        yield Case("communicators", (how, 1000, 2), "full", 4)
        yield Case("communicators", (how, 70_000, 3), "cluster", 13)
        yield Case("communicators", (how, 1000, 5), "fat_tree_64", 64)
    for n_ranks in (6, 13):
        yield Case("communicators", ("shared", 1000, 0), "cluster_multicore", n_ranks, per_host=4)


def computations() -> Iterator[Case]:
    for seed, (n_ranks, per_host) in enumerate(((2, 2), (5, 5), (9, 9), (16, 8), (24, 6), (32, 4))):
        yield Case("compute", (seed, 1e5, 3, 1000), "cluster_multicore", n_ranks, per_host)
        yield Case("compute", (seed, 1e5, 3, 100_000), "cluster_multicore", n_ranks, per_host)
    for seed in range(3):
        yield Case("compute", (seed, 1e5, 3, 1000), "full", 8, per_host=2)
        yield Case("compute", (seed, 1e5, 2, 1000), "fat_tree_64", 64, per_host=3)


def mixes() -> Iterator[Case]:
    for seed in range(4):
        for platform in MACHINES[:8]:
            yield Case("mix", (seed, 4, 12), platform, min(9, HOSTS[platform][1]))
        yield Case("mix", (seed, 3, 60), "fat_tree_64", 64)
        yield Case("mix", (seed, 3, 40), "cluster_multicore", 20, per_host=5)
        yield Case("mix", (seed, 3, 20), "full", 10, placement="cyclic")


def files() -> Iterator[Case]:
    """Drawn calls of a file of their own: on a disk of the host, of another one, named in the disk's content or not."""
    names = ("/tmp/unknown", "relative", "/tmp/known")
    sizes = (8, 300, 5000, 20_000, 60_000, 200_000, 3_000_000)
    for seed in range(48):
        n_ranks = 2 + seed % 7
        for platform, per_host in (
            ("disks", (n_ranks + 1) // 2),
            ("disks_remote", 2 if seed % 2 else (n_ranks + 3) // 4),
        ):
            name = f"{names[seed % 3]}_{platform}_{seed}"
            yield Case("files", (seed, 1 + seed % 13, sizes[seed % 7], name), platform, n_ranks, per_host=per_host)


def anythings() -> Iterator[Case]:
    """Drawn programs of all calls, where the order of calls at one date decides what meets what."""
    for seed, platform in enumerate(MACHINES * 4):
        n_hosts = HOSTS[platform][1]
        yield Case("anything", (seed, 60), platform, min(2 + 3 * (seed % 5), n_hosts))
    for seed, platform in enumerate(("full", "cluster_multicore", "fat_tree_3"), start=100):
        yield Case("anything", (seed, 60), platform, 7, per_host=3)
        yield Case("anything", (seed, 60), platform, 4, options=OVERHEADS)


def one_sided() -> Iterator[Case]:
    """Accesses to windows between every kind of synchronisation; `test_one_sided` draws more."""
    for place, kind in enumerate(ONE_SIDED_KINDS):
        yield Case("one_sided", (kind, place, 6, 1.3e3), "full", 2 + place % 3)
        yield Case("one_sided", (kind, place + 50, 6, 0), "cluster", 5 + place % 4)
        yield Case("one_sided", (kind, place + 100, 6, 1.3e3), "fat_tree", 8, per_host=2)
        yield Case("one_sided", (kind, place + 150, 4, 1.3e3), "cluster_multicore", 7, per_host=4, options=OVERHEADS)


FAMILIES = (
    *(pingpongs, modes, rings, halos, incasts, permutations, zones, tori_and_dragonflies),
    *(windows, polls, pipelines, shifts, completions, communicators, computations, mixes, files, anythings),
    one_sided,
    *COLLECTIVE_FAMILIES,
)
CASES = [case for family in FAMILIES for case in family()]
