"""Parts of drawn machines: numbers of every magnitude, links, routes, profiles; and the machine itself."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

HEAD = '<?xml version="1.0"?>\n<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">'
POLICIES = ("SHARED", "SHARED", "SPLITDUPLEX", "FATPIPE")


@dataclass(frozen=True, slots=True)
class Machine:
    """A platform file, and what a run must know of it.

    Attributes
    ----------
    body : str
        Content of <platform>.
    hosts : tuple of str
        Names of its hosts.
    files : dict of str to str
        Texts of the files it names, beside it.
    has_self_routes : bool
        Whether a host can send to itself: some zones have no such route.
    left_out : tuple of str
        Patterns that the peer cannot perform on it.
    settings : tuple of (str, str)
        Options without which the machine means nothing, for the command line.
    """

    body: str
    hosts: tuple[str, ...]
    files: dict[str, str] = field(default_factory=dict)
    has_self_routes: bool = True
    left_out: tuple[str, ...] = ()
    settings: tuple[tuple[str, str], ...] = ()

    @property
    def xml(self) -> str:
        """The platform file's text."""
        return f'{HEAD}\n<platform version="4.1">\n{self.body}</platform>\n'


KINDS: dict[str, Callable[[Draw], Machine]] = {}


def kind(draw_machine: Callable[[Draw], Machine]) -> Callable[[Draw], Machine]:
    """Registers a kind of machine by its function's name."""
    KINDS[draw_machine.__name__] = draw_machine
    return draw_machine


class Draw(random.Random):
    """Draws parts of a machine; names of links are counted."""

    n_links = 0

    def of(self, low: float, high: float) -> float:
        """A number between two, every magnitude as likely; of three digits, so that no two sums are equal by chance."""
        return float(f"{low * (high / low) ** self.random():.3g}")

    def bandwidth(self) -> str:
        return f"{self.of(20, 9000):g}MBps"

    def latency(self) -> str:
        return "0" if self.random() < 0.05 else f"{self.of(0.5, 400):g}us"

    def speed(self) -> str:
        return f"{self.of(0.3, 8):g}Gf"

    def maybe(self, text: str, chance: float = 0.5) -> str:
        """The text, or nothing."""
        return text if self.random() < chance else ""

    def host(self, name: str, inside: str = "", more: str = "") -> str:
        core = self.choice(("", "", f' core="{self.randint(2, 5)}"'))
        return element("host", f'id="{name}" speed="{self.speed()}"{core}{more}', inside)

    def link(self, policies: Sequence[str] = POLICIES, more: str = "") -> tuple[str, str]:
        """A link, and how a route names it."""
        self.n_links += 1
        name, policy = f"l{self.n_links}", self.choice(policies)
        given = "" if policy == "SHARED" and self.random() < 0.5 else f' sharing_policy="{policy}"'
        text = element("link", f'id="{name}" bandwidth="{self.bandwidth()}" latency="{self.latency()}"{given}{more}')
        if policy == "SPLITDUPLEX":
            return text, f'<link_ctn id="{name}" direction="{self.choice(("UP", "DOWN"))}"/>'
        return text, f'<link_ctn id="{name}"/>'

    def links(self, n: int, policies: Sequence[str] = POLICIES) -> tuple[str, list[str]]:
        """Links, and how a route names each."""
        made = [self.link(policies) for _ in range(n)]
        return "".join(text for text, _ in made), [name for _, name in made]

    def cluster(self, name: str, radical: str, more: str = "", *, may_loop: bool = True) -> str:
        """The common attributes of a cluster; a loopback and a limiter if they are drawn."""
        words = [
            f'id="{name}" prefix="{name}-" suffix="{self.choice(("", ".site"))}" radical="{radical}"',
            f'speed="{self.speed()}" bw="{self.bandwidth()}" lat="{self.latency()}"',
            *(self.maybe(f'core="{self.randint(2, 6)}"', 0.4), self.maybe('sharing_policy="SHARED"', 0.25)),
            self.maybe(f'limiter_link="{self.bandwidth()}"', 0.25),
            self.maybe(f'loopback_bw="{self.bandwidth()}" loopback_lat="{self.of(0.1, 9):g}us"', 0.4 * may_loop),
            more,
        ]
        return " ".join(word for word in words if word)

    def profile(self, low: float, high: float, *, until_s: float = 0.02) -> str:
        """Dates and values; some of them repeat."""
        n = self.randint(1, 4)
        dates = sorted({0.0 if i == 0 and self.random() < 0.3 else self.of(1e-5, until_s) for i in range(n)})
        lines = [f"{date:g} {self.of(low, high):g}" for date in dates]
        period = self.choice(("", f"LOOPAFTER {self.of(1e-4, until_s):g}", f"PERIODICITY {self.of(2, 4) * until_s:g}"))
        return "".join(f"{line}\n" for line in ([period, *lines] if "PERIOD" in period else [*lines, period]))


def element(tag: str, attributes: str, inside: str = "") -> str:
    """One element, on lines of its own."""
    return f"<{tag} {attributes}>\n{inside}</{tag}>\n" if inside else f"<{tag} {attributes}/>\n"


def route(tag: str, ends: str, links: Sequence[str], *, symmetrical: bool = True) -> str:
    """A route of whatever kind."""
    one_way = "" if symmetrical else ' symmetrical="NO"'
    return f"<{tag} {ends}{one_way}>{''.join(links)}</{tag}>\n"


def names_of(cluster: str, radical: Sequence[int]) -> tuple[str, ...]:
    """The hosts of a cluster written by `Draw.cluster`."""
    prefix = cluster.partition('prefix="')[2].partition('"')[0]
    suffix = cluster.partition('suffix="')[2].partition('"')[0]
    return tuple(f"{prefix}{number}{suffix}" for number in radical)
