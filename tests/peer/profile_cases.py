"""Machines that change while a program runs on them, drawn by number: an XML file, profiles, and a script.

The scripts are those of tests/oracle/steps.py and its C twin. Dates have many digits, so that no two of them are apart
by rounding alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

N_HOSTS = 4


@dataclass(frozen=True, slots=True)
class ProfileCase:
    """One program on one machine that changes."""

    xml: str
    files: dict[str, str]
    steps: str
    hosts: tuple[str, ...]
    options: dict[str, str] = field(default_factory=dict)


def draw_case(number: int) -> ProfileCase:
    """The case of a number."""
    draw = Random(number)
    drawn = _Drawn(draw, duration_s=draw.choice((0.002, 0.05, 1.0)))
    links = [drawn.link(f"l{i}") for i in range(draw.randint(2, 5))]
    hosts = [drawn.host(f"h{i}") for i in range(N_HOSTS)]
    routes = [drawn.route(a, b) for a in range(N_HOSTS) for b in range(a + 1, N_HOSTS)]
    traces = [drawn.trace(f"t{i}") for i in range(draw.randint(0, 1))]
    body = "".join((*hosts, *links, *routes, *traces))
    placed = tuple(f"h{draw.randrange(N_HOSTS)}" if draw.random() < 0.3 else f"h{i}" for i in range(N_HOSTS))
    options = {}
    if draw.random() < 0.15:
        options["network/TCP-gamma"] = draw.choice(("20000", "4000", "1e9"))
    if draw.random() < 0.1:
        options["network/weight-S"] = "0"
    if draw.random() < 0.15:
        options["network/crosstraffic"] = "no"
    props = "".join(f'<prop id="{key}" value="{value}"/>' for key, value in options.items())
    config = f'<config id="General">{props}</config>' if props else ""
    xml = f'<platform version="4.1">{config}<zone id="z" routing="Full">{body}</zone></platform>'
    head = "<?xml version='1.0'?><!DOCTYPE platform SYSTEM 'https://simgrid.org/simgrid.dtd'>"
    return ProfileCase(head + xml, drawn.files, drawn.steps(), placed, options)


class _Drawn:
    """Draws the parts of a machine, and what runs on it."""

    def __init__(self, draw: Random, duration_s: float) -> None:
        self._draw = draw
        self._duration_s = duration_s
        self._hops: list[tuple[str, str]] = []
        self._followers: list[str] = []
        self.files: dict[str, str] = {}

    def _profile(self, low: float, high: float) -> str:
        """The name of a new file, with values between two."""
        draw, lines, date_s = self._draw, [], 0.0
        if draw.random() < 0.3:
            lines.append(f"0 {draw.uniform(low, high):.7g}")
        for _ in range(draw.randint(1, 5)):
            date_s += draw.expovariate(4 / self._duration_s)
            lines.append(f"{date_s:.9g} {draw.uniform(low, high):.7g}")
        if draw.random() < 0.4:
            rest_s = draw.uniform(0.01, 0.6) * self._duration_s
            lines.append(draw.choice((f"LOOPAFTER {rest_s:.6g}", f"PERIODICITY {date_s + rest_s:.9g}")))
        name = f"p{len(self.files)}"
        self.files[name] = "\n".join(lines) + "\n"
        return name

    def host(self, name: str) -> str:
        draw = self._draw
        profile = ""
        if draw.random() < 0.5:
            profile = f' {draw.choice(("speed_file", "availability_file"))}="{self._profile(0.05, 3)}"'
        else:
            self._followers.append(name)
        return f'<host id="{name}" speed="1Gf" core="{draw.choice((1, 1, 2, 4))}"{profile}/>'

    def link(self, name: str) -> str:
        draw = self._draw
        policy = draw.choice(("SHARED", "SHARED", "SPLITDUPLEX", "FATPIPE"))
        bandwidth = draw.choice((1e7, 1.25e8, 1e9)) * draw.uniform(0.5, 2)
        latency = draw.choice((0.0, 1e-6, 5e-5, 1e-3)) * draw.uniform(0.5, 2)
        self._hops.append((name, policy))
        files = ""
        if draw.random() < 0.6:
            files += f' bandwidth_file="{self._profile(0.1 * bandwidth, 3 * bandwidth)}"'
        if draw.random() < 0.4:
            files += f' latency_file="{self._profile(0, 3 * latency + 1e-5)}"'
        if draw.random() < 0.1:
            self.files[f"{name}.state"] = "0 1\n1000 0\n"
            files += f' state_file="{name}.state"' * (policy != "SPLITDUPLEX")  # SimGrid aborts on those
        numbers = f'bandwidth="{bandwidth:.9g}Bps" latency="{latency:.9g}s"'
        return f'<link id="{name}" {numbers} sharing_policy="{policy}"{files}/>'

    def route(self, source: int, target: int) -> str:
        hops = self._draw.sample(self._hops, self._draw.randint(1, min(3, len(self._hops))))
        inner = "".join(
            f'<link_ctn id="{name}"' + (' direction="UP"' if policy == "SPLITDUPLEX" else "") + "/>"
            for name, policy in hops
        )
        return f'<route src="h{source}" dst="h{target}">{inner}</route>'

    def trace(self, name: str) -> str:
        if not self._followers:
            return ""
        lines = self.files.pop(self._profile(0.05, 3))
        return (
            f'<trace id="{name}" periodicity="-1">{lines}</trace>'
            f'<trace_connect kind="SPEED" trace="{name}" element="{self._draw.choice(self._followers)}"/>'
        )

    def steps(self) -> str:
        """Rounds of computing and of messages that nobody waits for before all are posted."""
        draw = self._draw
        of_rank: list[list[str]] = [[] for _ in range(N_HOSTS)]
        for _ in range(draw.randint(1, 4)):
            for steps in of_rank:
                if draw.random() < 0.6:
                    steps.append(f"execute,{draw.uniform(0, 0.5) * self._duration_s * 1e9:.6g}")
                if draw.random() < 0.3:
                    steps.append(f"sleep,{draw.randint(1, 1 + int(self._duration_s * 20)) / 64}")  # whole microseconds
            kind = draw.random()
            if kind < 0.15:
                together = draw.choice(("barrier", "bcast,70000", "bcast,100", "alltoall,3000", "alltoall,100000"))
                for steps in of_rank:
                    steps.append(together)
                continue
            if kind < 0.3:
                source, target = draw.sample(range(N_HOSTS), 2)
                of_rank[source].append(f"send,{target},100")
                poll = draw.choice((f"iprobe;recv,{source},100", f"irecv,{source},100;test"))
                of_rank[target].append(poll)
                continue
            for _ in range(draw.randint(1, 6)):
                source, target = draw.sample(range(N_HOSTS), 2)
                size = draw.choice((1, 100, 5000, 60000, 70000, 1000000))
                of_rank[target].append(f"irecv,{source},{size}")
                of_rank[source].append(f"isend,{target},{size}")
            for steps in of_rank:
                steps.append("waitall")
        return "/".join(f"{rank}:{';'.join(steps)}" for rank, steps in enumerate(of_rank) if steps)
