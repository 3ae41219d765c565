"""The comparison's cases: collectives with the default algorithms; forced ones are drawn elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

from tests.peer.case import HOSTS, MACHINES, OVERHEADS, Case


def collectives() -> Iterator[Case]:
    machines = ((1, "full"), (3, "full"), (5, "cluster"), (13, "fat_tree_2"), (16, "cluster_bare"))
    rooted = {"bcast", "reduce", "gather", "scatter"}
    for operation in ("barrier", "bcast", "reduce", "allreduce", "gather", "allgather", "scatter"):
        sizes = (0,) if operation == "barrier" else (1, 1411, 65_537)
        for size in sizes:
            for n_ranks, platform in machines:
                root = n_ranks // 2 if operation in rooted else 0
                yield Case("collectives", (operation, size, root, 2, 0), platform, n_ranks)
        size = sizes[-1] // 16
        yield Case("collectives", (operation, size, 0, 2, 1e4), "fat_tree_64", 64)
        yield Case("collectives", (operation, size, 3, 3, 1e4), "cluster_multicore", 31, per_host=4)
        yield Case("collectives", (operation, size, 6, 1, 1e5), "cluster", 7)
        yield Case("collectives", (operation, size, 1, 1, 0), "cluster_64", 61)
        yield Case("collectives", (operation, 500, 1, 1, 1e4), "full", 4, options=OVERHEADS)


def alltoalls() -> Iterator[Case]:
    """Every row of the table that its ranks reach here."""
    for size in (1, 2, 4, 16, 100, 1000, 5000, 40_000, 300_000, 1_100_000):
        yield Case("collectives", ("alltoall", size, 0, 2, 1e4), "full", 2)
    for n_ranks, platform in ((3, "full"), (4, "full"), (7, "cluster")):
        for size in (1, 10_000, 70_000):
            yield Case("collectives", ("alltoall", size, 0, 1, 1e4), platform, n_ranks)
    yield Case("collectives", ("alltoall", 600_000, 0, 1, 1e4), "full", 4)
    for size in (100, 300_000):
        yield Case("collectives", ("alltoall", size, 0, 1, 1e4), "fat_tree_2", 13)
    for size in (3, 100, 2000, 9000):
        yield Case("collectives", ("alltoall", size, 0, 1, 1e4), "fat_tree_64", 17)
        yield Case("collectives", ("alltoall", size, 0, 1, 1e4), "cluster_multicore", 31, per_host=4)
    for size in (100, 513):
        yield Case("collectives", ("alltoall", size, 0, 1, 1e4), "cluster_64", 41)
        yield Case("collectives", ("alltoall", size, 0, 1, 1e4), "fat_tree_64", 64)
    yield Case("collectives", ("alltoall", 1500, 0, 1, 1e4), "fat_tree_64", 67, per_host=2)
    yield Case("collectives", ("alltoall", 500, 0, 2, 1e4), "full", 4, options=OVERHEADS)


def varying() -> Iterator[Case]:
    """Blocks of different sizes, some of them empty."""
    for operation in ("gatherv", "scatterv", "allgatherv", "alltoallv", "alltoallw", "reduce_scatter"):
        for size in (1, 1411, 40_000):
            yield Case("varying", (operation, size, 2, 2, 1e4), "full", 4)
            yield Case("varying", (operation, size, 5, 1, 0), "cluster", 7)
        yield Case("varying", (operation, 3000, 0, 2, 1e4), "fat_tree_2", 16)
        yield Case("varying", (operation, 3000, 3, 2, 1e4), "cluster_multicore", 19, per_host=4)
        yield Case("varying", (operation, 500, 1, 2, 1e4), "full", 4, options=OVERHEADS)
    yield Case("varying", ("reduce_scatter", 300_000, 0, 1, 1e4), "cluster", 5)
    yield Case("varying", ("reduce_scatter", 10, 0, 1, 0), "cluster_64", 37)
    yield Case("varying", ("gatherv", 200, 60, 2, 1e3), "cluster_64", 61)


def reductions() -> Iterator[Case]:
    """Scans, reduce-scatters and operations and datatypes of the program's own."""
    for operation in ("scan", "exscan", "reduce_scatter_block", "reduce_scatter"):
        for count in (1, 700, 20_000):
            yield Case("reductions", (operation, count, "sum", 0, 2, 1e4), "full", 3)
            yield Case("reductions", (operation, count, "sum", 0, 2, 0), "cluster", 8)
        yield Case("reductions", (operation, 500, "sum", 0, 2, 1e4), "cluster_multicore", 13, per_host=4)
        yield Case("reductions", (operation, 100, "ordered", 0, 2, 1e4), "cluster", 7)
        yield Case("reductions", (operation, 100, "sum", 0, 2, 1e4), "full", 4, options=OVERHEADS)
    for operation in ("reduce", "allreduce", "reduce_scatter_block"):
        for kind in ("own", "ordered", "pairs", "ordered_pairs"):
            yield Case("reductions", (operation, 300, kind, 2, 2, 1e4), "full", 4)
            yield Case("reductions", (operation, 5000, kind, 3, 1, 1e4), "cluster", 5)
    for count in (1, 2, 200, 400, 800, 3000, 20_000):
        yield Case("reductions", ("allreduce", count, "pairs", 0, 1, 1e4), "full", 2)
        yield Case("reductions", ("allreduce", count, "pairs", 0, 1, 1e4), "full", 3)
        yield Case("reductions", ("allreduce", count, "pairs", 0, 1, 1e4), "cluster", 6)
    for n_ranks in (9, 16):
        for count in (100, 1000):
            yield Case("reductions", ("allreduce", count, "pairs", 0, 1, 0), "cluster", n_ranks)
    for count in (3, 5, 100):
        yield Case("reductions", ("allreduce", count, "pairs", 0, 1, 1e4), "cluster_64", 37)


def nonblocking() -> Iterator[Case]:
    """Every one with computing in between, waited for, tested, among other requests, two at a time."""
    plain = ("bcast", "reduce", "allreduce", "gather", "scatter", "allgather", "alltoall", "scan", "exscan")
    varying = ("reduce_scatter_block", "reduce_scatter", "gatherv", "scatterv", "allgatherv", "alltoallv", "alltoallw")
    for op in (*plain, *varying):
        yield Case("nonblocking", (f"i{op}", 1000, 2, "wait", 1e5), "full", 4)
        yield Case("nonblocking", (f"i{op}", 70_000, 1, "two", 1e5), "cluster", 5)
        yield Case("nonblocking", (f"i{op}", 70_000, 3, "back", 3e4), "cluster_multicore", 13, per_host=4)
        yield Case("nonblocking", (f"i{op}", 3000, 0, "all", 2e4), "fat_tree_2", 11)
        yield Case("nonblocking", (f"i{op}", 500, 1, "wait", 1e4), "full", 4, options=OVERHEADS)
    # smpirun's Ibarrier holds nobody back; ours does, so that they agree when all ranks enter together.
    for how in ("wait", "two", "back", "all"):
        yield Case("nonblocking", ("ibarrier", 1000, 0, how, 0), "full", 4)
        yield Case("nonblocking", ("ibarrier", 1000, 0, how, 0), "cluster_multicore", 13, per_host=4)
    for op in ("bcast", "reduce", "scatter", "gatherv"):
        yield Case("nonblocking", (f"i{op}", 1000, 1, "test", 2.1e5), "full", 3)
        yield Case("nonblocking", (f"i{op}", 80_000, 1, "test", 2.1e5), "cluster", 5)


def flights() -> Iterator[Case]:
    """Drawn collectives, messages and persistent requests in flight together."""
    for seed, platform in enumerate(MACHINES * 3):
        yield Case("flight", (seed, 6), platform, min(2 + 3 * (seed % 4), HOSTS[platform][1]))
    for seed, platform in enumerate(("full", "cluster_multicore", "fat_tree_3"), start=100):
        yield Case("flight", (seed, 6), platform, 7, per_host=3)


COLLECTIVE_FAMILIES = (collectives, alltoalls, varying, reductions, nonblocking, flights)
