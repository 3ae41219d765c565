"""The campaign: drawn machines, each with a model, a placement and patterns, under smpirun and under smpy."""

from __future__ import annotations

import io
import subprocess
import warnings
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import tests.peer.drawn_machines
import tests.peer.nested_machines  # noqa: F401 -- both register their kinds
from smpy.emulate.run.run import run
from smpy.errors import PlatformWarning, SmpyError
from smpy.options import RunConfig
from tests.peer.machines import KINDS, Draw, Machine
from tests.peer.runners import PROGRAMS, SMPIRUN_OPTIONS

SEEDS = 40  # runs of each kind
SAMPLE = 4  # number of them in every run of the marker `peer`
PHASES = 4
TOLERANCE = 1e-6  # relative

PATTERNS = ("pingpong", "ring", "permutation", "halo", "alltoall", "allreduce", "incast", "mixed", "compute", "poll")
THRESHOLDS = (241, 716, 1410, 3468, 5760, 9360, 15408, 65456, 65535)
SIZES = (0, 1, 3, 997, 7919, 104_729, 299_993, *(size for below in THRESHOLDS for size in (below, below + 1)))

# A run in two is SMPI's model as it is; the others take these in turn.
MODELS: dict[str, tuple[tuple[str, str], ...]] = {
    "lv08": (("network/model", "LV08"),),
    "cm02": (("network/model", "CM02"),),
    "ib": (("network/model", "IB"),),
    "no_crosstraffic": (("network/crosstraffic", "no"),),
    "window": (("network/TCP-gamma", "30000"),),
    "weight": (("network/weight-S", "31234"),),
    "factors": (
        ("smpi/lat-factor", "0:1.1;1000:2.3;40000:3.7"),
        ("smpi/bw-factor", "0:0.9;2000:0.61;70000:0.97"),
    ),
    "scaled_lv08": (("network/model", "LV08"), ("network/latency-factor", "5.3"), ("network/bandwidth-factor", "0.83")),
    "weighted_cm02": (("network/model", "CM02"), ("network/weight-S", "5432"), ("network/crosstraffic", "no")),
    "loopback": (("network/loopback-bw", "3.21e9"), ("network/loopback-lat", "1.7e-6")),
    "overheads": (("smpi/os", "0:1.13e-5:1.3e-9;1000:4.71e-5:0"), ("smpi/or", "0:3.17e-5:0;1000:8.83e-5:1.1e-10")),
    "async_small": (("smpi/async-small-thresh", "5000"),),
    "eager_small": (("smpi/send-is-detached-thresh", "10000"),),
    "init": (("smpi/init", "0.0123"),),
}
SMPY_OPTIONS = (("smpi/wtime", "0"),)

# Messages of smpy for a missing feature: such a run is skipped, and says so.
REFUSALS = (
    "not supported",
    "smpy does not have it",
    "has no effect on SMPI's network model",
)

# Runs that are known to differ, and why.
KNOWN: dict[str, str] = {}


class NotSupported(Exception):
    """A refusal by name of smpy, in its own words."""


@dataclass(frozen=True, slots=True)
class Run:
    """One machine of a kind, with a model; its phases are as many cases.

    Attributes
    ----------
    kind, seed : str, int
        The machine.
    model : str
        A name in `MODELS`, or "smpi".
    """

    kind: str
    seed: int
    model: str

    @property
    def name(self) -> str:
        """The run's test id."""
        return f"{self.kind}-{self.seed}-{self.model}"

    def prepare(self, folder: Path) -> Prepared:
        """Draws machine, placement and phases, and writes their files."""
        draw = Draw(self.name)
        machine = KINDS[self.kind](draw)
        settings = (*machine.settings, *MODELS.get(self.model, ()))
        in_file = tuple(pair for pair in settings if pair[0] != "network/model" and draw.random() < 0.5)
        xml = machine.xml.replace('version="4.1">\n', f'version="4.1">\n{_config(in_file)}', 1)
        (folder / "platform.xml").write_text(xml)
        for name, text in machine.files.items():
            (folder / name).write_text(text)
        ranks = _placement(draw, machine)
        is_listed = ranks is not None
        if ranks is None:
            ranks = [""] * draw.randint(2, min(16, len(machine.hosts)))
        else:
            (folder / "hostfile").write_text("".join(f"{host}\n" for host in ranks))
        settings = tuple(pair for pair in settings if pair not in in_file)
        return Prepared(folder, len(ranks), is_listed, settings, tuple(_phases(draw, machine)))


def _config(options: tuple[tuple[str, str], ...]) -> str:
    props = "".join(f'  <prop id="{name}" value="{value}"/>\n' for name, value in options)
    return f'<config id="General">\n{props}</config>\n' if props else ""


def _placement(draw: Draw, machine: Machine) -> list[str] | None:
    """The host of each rank; None leaves it to the tool."""
    hosts = list(machine.hosts)
    way = draw.choice(("unlisted", "shuffled", "shuffled", "blocks", "anywhere"))
    if len(hosts) < 2:
        return hosts * draw.randint(2, 5)
    if way == "unlisted":
        return None
    if way == "shuffled" or not machine.has_self_routes:
        return draw.sample(hosts, draw.randint(2, min(20, len(hosts))))
    if way == "blocks":
        each = draw.randint(2, 5)
        return [host for host in draw.sample(hosts, min(len(hosts), draw.randint(1, 6))) for _ in range(each)]
    return draw.choices(hosts, k=draw.randint(2, 20))


def _phases(draw: Draw, machine: Machine) -> Iterator[str]:
    patterns = (*PATTERNS, "self") if machine.has_self_routes else PATTERNS
    for _ in range(PHASES):
        pattern = draw.choice([pattern for pattern in patterns if pattern not in machine.left_out])
        size = draw.choice(SIZES) if draw.random() < 0.7 else round(draw.of(1, 1_500_000))
        yield f"{pattern}:{draw.randrange(1000)}:{min(size, 200_000) if pattern == 'alltoall' else size}"


@dataclass(frozen=True, slots=True)
class Prepared:
    """A run whose files are there."""

    folder: Path
    n_ranks: int
    is_listed: bool
    settings: tuple[tuple[str, str], ...]
    phases: tuple[str, ...]
    platform: str = "platform.xml"

    def smpirun_command(self, binaries: Path) -> list[str]:
        """Command that runs it under SimGrid."""
        hosts = ["-hostfile", "hostfile"] if self.is_listed else []
        settings = [f"--cfg={name}:{value}" for name, value in self.settings]
        head = ["smpirun", "-quiet", "-np", str(self.n_ranks), "-platform", self.platform, *hosts]
        return [*head, *SMPIRUN_OPTIONS, *settings, str(binaries / "phases"), *self.phases]

    def smpy_command(self) -> list[str]:
        """Command that runs it under smpy."""
        hosts = ["--hostfile", "hostfile"] if self.is_listed else []
        settings = [word for name, value in (*SMPY_OPTIONS, *self.settings) for word in ("--set", f"{name}={value}")]
        head = ["smpy", "run", "--quiet", "-np", str(self.n_ranks), "--platform", self.platform, *hosts]
        return [*head, "--compute", "none", *settings, str(PROGRAMS / "phases.py"), *self.phases]

    def explain(self, binaries: Path) -> str:
        """Commands that repeat the case by hand."""
        both = (" ".join(command) for command in (self.smpirun_command(binaries), self.smpy_command()))
        return "\n".join([f"cd {self.folder}", *both])

    def smpirun_dates_s(self, binaries: Path) -> Dates:
        """Dates at which each rank was through with each phase, under smpirun."""
        command = self.smpirun_command(binaries)
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=120, check=False)
        said = f"{done.stdout[-2000:]}{done.stderr[-2000:]}"
        assert done.returncode == 0, f"smpirun failed:\n{self.explain(binaries)}\n{said}"
        return self._dates_s(done.stdout)

    def smpy_dates_s(self, *, ignored_options: bool = False) -> Dates:
        """The same under smpy, in this process; raises NotSupported for what it refuses by name, or perhaps ignores."""
        config = RunConfig(
            n_ranks=self.n_ranks,
            program=str(PROGRAMS / "phases.py"),
            args=self.phases,
            platform=self.folder / self.platform,
            hostfile=self.folder / "hostfile" if self.is_listed else None,
            options=(*SMPY_OPTIONS, *self.settings),
            compute="none",
        )
        with warnings.catch_warnings(), redirect_stdout(io.StringIO()) as printed:
            warnings.simplefilter("ignore" if ignored_options else "error", PlatformWarning)
            warnings.filterwarnings("ignore", ".*has no unit.*", PlatformWarning)
            try:
                outcome = run(config)
                if outcome.error is not None:
                    raise outcome.error
            except (SmpyError, PlatformWarning) as refusal:
                if any(words in str(refusal) for words in REFUSALS):
                    raise NotSupported(_shortened(str(refusal))) from None
                raise
        assert outcome.exit_code == 0
        return self._dates_s(printed.getvalue())

    def _dates_s(self, printed: str) -> Dates:
        dates_s = {(int(phase), int(rank)): float(date) for rank, phase, date in map(str.split, printed.splitlines())}
        assert len(dates_s) == self.n_ranks * len(self.phases), "not every rank came to its end"
        return dates_s

    def differences(self, ours: Dates, theirs: Dates) -> list[str]:
        """Each date that is not the peer's."""
        return [
            f"{self.phases[phase - 1]}, rank {rank}: {ours[phase, rank]!r} s, smpirun {date!r} s"
            for (phase, rank), date in sorted(theirs.items())
            if abs(ours[phase, rank] - date) > TOLERANCE * date
        ]


Dates = dict[tuple[int, int], float]


def _shortened(refusal: str) -> str:
    """A refusal without the place it is about."""
    return refusal.rpartition(">: ")[2]


def _runs() -> Iterator[Run]:
    models = list(MODELS)
    for number, kind in enumerate(KINDS):
        for seed in range(SEEDS):
            model = "smpi" if seed % 2 == 0 or kind == "constant" else models[(number * 3 + seed // 2) % len(models)]
            yield Run(kind, seed, model)


RUNS = list(_runs())
