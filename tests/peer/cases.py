"""The comparison's cases: which program runs with which arguments on which machine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

PLATFORMS = Path(__file__).parent / "platforms"

# Payload sizes on both sides of every step of the default model: its table of factors is in terms of payload + 16 bytes
# of envelope; sends below 65536 bytes complete at once.
THRESHOLDS = (241, 716, 1410, 3468, 5760, 9360, 15408, 65456, 65535)
SIZES = (0, 1, *(size for below in THRESHOLDS for size in (below, below + 1)), 1_000_000)

HOSTS = {
    "full": ("h", 4),
    "cluster": ("n", 16),
    "cluster_bare": ("n", 16),
    "cluster_64": ("n", 64),
    "cluster_multicore": ("n", 8),
    "cluster_limited": ("n", 16),
    "fat_tree": ("n", 16),
    "fat_tree_2": ("n", 16),
    "fat_tree_3": ("n", 16),
    "fat_tree_3_shared": ("n", 16),
    "fat_tree_64": ("n", 64),
    "zero_latency": ("h", 3),
}


MACHINES = (
    *("full", "cluster", "cluster_bare", "cluster_limited"),
    *("fat_tree", "fat_tree_2", "fat_tree_3", "fat_tree_3_shared"),
    *("cluster_64", "fat_tree_64"),
)

# Such that no two sums of them are equal: dates that only rounding tells apart have no order to agree on.
OVERHEADS = {
    "smpi/os": "0:1.13e-4:1.3e-9;1000:4.71e-4:0",
    "smpi/ois": "0:2.09e-4:0;1000:6.97e-4:0",
    "smpi/or": "0:3.17e-4:0;1000:8.83e-4:1.1e-8",
}


@dataclass(frozen=True, slots=True)
class Case:
    """One program on one machine.

    `placement` says how ranks fill hosts: "block" n in a row per host, "cyclic" one after the other round and round,
    "unlisted" leaves the choice to the tool (no hostfile).
    """

    program: str
    arguments: tuple[object, ...]
    platform: str
    n_ranks: int
    per_host: int = 1
    placement: str = "block"
    options: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """A readable test id."""
        words = [self.program, *map(str, self.arguments), f"{self.n_ranks}ranks", self.platform]
        if self.per_host > 1:
            words.append(f"{self.per_host}perhost")
        if self.placement != "block":
            words.append(self.placement)
        if self.options == OVERHEADS:
            words.append("overheads")
        else:
            words += [f"{key.rpartition('/')[2]}={value}" for key, value in self.options.items()]
        return "-".join(words)

    def hostfile(self) -> str | None:
        """The hosts of the ranks, one a line; None leaves the choice to the tool."""
        if self.placement == "unlisted":
            return None
        prefix, n_hosts = HOSTS[self.platform]
        if self.placement == "cyclic":
            return "".join(f"{prefix}{rank % n_hosts}\n" for rank in range(self.n_ranks))
        full, rest = divmod(self.n_ranks, self.per_host)
        counts = [self.per_host] * full + [rest] * (rest > 0)
        return "".join(f"{prefix}{host}:{count}\n" for host, count in enumerate(counts))

    def platform_xml(self) -> str:
        """The platform file's text."""
        return platform_xml(self.platform, self.options)


def platform_xml(name: str, options: dict[str, str]) -> str:
    """A platform file's text, with options of SimGrid as its first element."""
    text = (PLATFORMS / f"{name}.xml").read_text()
    if not options:
        return text
    props = "".join(f'<prop id="{key}" value="{value}"/>' for key, value in options.items())
    head = '<platform version="4.1">'
    return text.replace(head, f'{head}<config id="General">{props}</config>')


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
    """Two clusters joined by a link of the zone around them."""
    yield Case("permutation", (11, 500_000, 3), "two_clusters", 16, placement="unlisted")
    yield Case("mix", (11, 4, 30), "two_clusters", 16, placement="unlisted")
    yield Case("collectives", ("allgather", 5000, 0, 2, 1e4), "two_clusters", 13, placement="unlisted")


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
    for how in ("dup", "split", "nested", "holes"):
        yield Case("communicators", (how, 1000, 2), "full", 4)
        yield Case("communicators", (how, 70_000, 3), "cluster", 13)
        yield Case("communicators", (how, 1000, 5), "fat_tree_64", 64)


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


def anythings() -> Iterator[Case]:
    """Drawn programs of all calls, where the order of calls at one date decides what meets what."""
    for seed, platform in enumerate(MACHINES * 4):
        n_hosts = HOSTS[platform][1]
        yield Case("anything", (seed, 60), platform, min(2 + 3 * (seed % 5), n_hosts))
    for seed, platform in enumerate(("full", "cluster_multicore", "fat_tree_3"), start=100):
        yield Case("anything", (seed, 60), platform, 7, per_host=3)
        yield Case("anything", (seed, 60), platform, 4, options=OVERHEADS)


FAMILIES = (
    *(pingpongs, rings, halos, incasts, permutations, zones, windows, polls, pipelines, shifts),
    *(completions, communicators, collectives, computations, mixes, anythings),
)
CASES = [case for family in FAMILIES for case in family()]
