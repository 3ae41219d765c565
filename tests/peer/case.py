"""One comparison: which program runs with which arguments on which machine."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

PLATFORMS = Path(__file__).parent / "platforms"
FILES_OF_DISKS = "files.txt"  # sizes of the files that platforms with disks name

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
    "star": ("n", 16),
    "zero_latency": ("h", 3),
    "disks": ("h", 2),
    "disks_remote": ("h", 4),
    "unlinked": ("h", 8),
    "torus": ("n", 24),
    "torus_limited": ("n", 15),
    "dragonfly": ("n", 24),
    "dragonfly_shared": ("n", 24),
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
    "dealt" the same on as few hosts as "block" takes, "unlisted" leaves the choice to the tool (no hostfile).
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
        if self.placement == "dealt":
            n_hosts = -(-self.n_ranks // self.per_host)
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
