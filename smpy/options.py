"""A run as a value: its program and all its options, each of which is declared here once.

The command line, keywords of `smpy.simulate`, a study's TOML file and docs/options.md are made of these declarations.
"""

# ruff: noqa: RUF009  # `_option` makes fields

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, get_args

from smpy.errors import UsageError
from smpy.option_texts import (
    LOAD_GOVERNORS,
    OneOf,
    UniformTraffic,
    WholeNumber,
    algorithm,
    background,
    background_text,
    change,
    chosen_message,
    chosen_message_text,
    computing,
    computing_text,
    governor,
    governor_text,
    noise_model,
    noise_model_text,
    pair_text,
    rank_numbers,
    ranks_text,
    skipped_iterations,
    skipped_iterations_text,
    speed_flop_per_s,
    window_s,
    window_text,
)

if TYPE_CHECKING:
    from smpy.compute.models.modelling import ComputeMode
    from smpy.engine.time_calls import NoiseKind
    from smpy.platforms.description import Description
    from smpy.platforms.placement.host_order import HostOrder
    from smpy.platforms.placement.placement import MapBy

OptionGroup: TypeAlias = Literal[
    "Ranks", "Machine", "Model", "Collectives", "Computing", "Records", "Strictness", "Developer"
]
OPTION_GROUPS: Final = get_args(OptionGroup)  # in the order of help

# names of smpy.platforms.placement: the command line imports that no earlier than it needs it
MAPPINGS: Final = ("core", "host", "socket", "random", "file")
HOST_ORDERS: Final = ("natural", "lexicographic", "platform")
CORES_MAX: Final = 1 << 20
"""Limit of the cores of a rank, which the kernel counts."""


@dataclass(frozen=True)
class Option:
    """An option of a run.

    Attributes
    ----------
    names : str
        Its flags on the command line, and the placeholder of its value, as help has them.
    group : OptionGroup
        Heading above it in help.
    read : callable or None
        Reader of one text, which raises ValueError; None: it takes no value.
    help : str
        Its description.
    write : callable or None
        Writer of what `read` gives; None: numbers are written as they are, and all else as `str` has it.
    name : str
        Its name in Python and in a study's file, if it is not that of its flag.
    is_multiple : bool
        Whether it may be repeated.
    shows_default : bool
        Whether help has its default.
    parts : tuple of str
        Fields that share what `read` gives, if it gives several.
    default : object
        Value in these fields, or in its own, of a run that does not have it.
    """

    names: str
    group: OptionGroup
    read: Callable[[str], Any] | None
    help: str
    write: Callable[[Any], str] | None = None
    name: str = ""
    is_multiple: bool = False
    shows_default: bool = False
    parts: tuple[str, ...] = ()
    default: Any = None

    @cached_property
    def flags(self) -> tuple[str, ...]:
        return tuple(re.findall(r"(?<!\S)-[-\w]+", self.names))

    @cached_property
    def flag(self) -> str:
        """The longest of its flags."""
        return max(self.flags, key=len)

    @cached_property
    def metavar(self) -> str | None:
        """Placeholder of its value; None: it has none."""
        last = self.names.split()[-1]
        return None if last.startswith("-") else last

    @cached_property
    def keyword(self) -> str:
        """Name of the option in Python and in a study's file."""
        return self.name or self.flag.lstrip("-").replace("-", "_")

    def fields_of(self, name: str, value: Any) -> dict[str, Any]:
        """Fields of a `RunConfig` for what has been read."""
        return dict(zip(self.parts, value, strict=True)) if self.parts else {name: value}

    @cached_property
    def shown_default(self) -> Any:
        """Default as its user would write it."""
        return self.default[0] if self.parts else self.default

    def value_in(self, run: RunConfig, name: str) -> Any:
        """Value that `fields_of` has put into a run."""
        return tuple(getattr(run, part) for part in self.parts) if self.parts else getattr(run, name)


def _option(*declared: Any, **more: Any) -> Any:
    """Field that is an option; its default is nothing, unless it has another one."""
    option = Option(*declared, **more)
    default = option.default
    if default is None:
        default = False if option.read is None else () if option.is_multiple else None
    others = [None] * len(option.parts[1:])
    option = replace(option, default=(default, *others) if others else default)
    return field(default=default, metadata={"option": option})


@dataclass(frozen=True, slots=True)
class RunConfig:
    """A run: its program, and all its options.

    Attributes other than these are options; `OPTIONS` has the description of each. File names are relative to the
    directory in which the run starts.

    Attributes
    ----------
    n_ranks : int
        Size of the world.
    program : str
        A file, a directory or archive with a `__main__.py`, or a module.
    args : tuple of str
        The program's own arguments.
    platform : str, Path, Description or None
        The machine: a file, the name of a preset or one line (`read_machine`), or made in Python; None: the default
        cluster.
    record, replay : Path or None
        With measured computing: a file to write the bursts to that are measured, or one to take them from instead.
    """

    n_ranks: int = field(
        metadata={"option": Option("-np, -n N", "Ranks", WholeNumber(1), "Number of ranks (required).", name="ranks")}
    )
    program: str
    args: tuple[str, ...] = ()
    platform: str | Path | Description | None = _option(
        "--platform MACHINE",
        "Machine",
        str,
        "The machine: a SimGrid XML file, a TOML file, a machine file of Dimemas' (.cfg), the name of a preset, or one "
        'line such as "fat-tree hosts=100 cores=64 nic=200Gb/s". Without it: a fat-tree cluster of today, sized to the '
        "run.",
    )
    hostfile: Path | None = _option(
        "--hostfile FILE",
        "Ranks",
        Path,
        "Hosts of the ranks, a line each: NAME, NAME:COUNT or NAME slots=COUNT; with --map-by file, a rank file.",
    )
    ranks_per_host: int | None = _option(
        "--ppn N",
        "Ranks",
        WholeNumber(1),
        "Ranks a host takes at most; without --map-by they fill one host after the other.",
    )
    cpus_per_task: int = _option(
        "--cpus-per-task N",
        "Ranks",
        WholeNumber(1, CORES_MAX),
        "Cores of each rank, for its threads: smpy.execute, smpy.kernel, smpy.blas and BLAS on folded arrays use them "
        "all unless they say otherwise (threads=); measured computing of threaded libraries is spread over them.",
        default=1,
    )
    map_by: MapBy | None = _option(
        "--map-by",
        "Ranks",
        OneOf(MAPPINGS),
        "Ranks go to all cores of a host, then to the next one's (core); to one host after the other, in turn (host); "
        "to one socket after the other, in turn (socket); anywhere (random); where a rank file says (file). Without "
        "it: host for SimGrid's XML files, core for all other machines.",
    )
    host_order: HostOrder | None = _option(
        "--host-order",
        "Ranks",
        OneOf(HOST_ORDERS),
        "Hosts by name, h2 before h10 (natural); by name as text, h10 before h2 (lexicographic); as the platform "
        "lists them. Without it: lexicographic for SimGrid's XML files, natural for all other machines.",
    )
    options: tuple[tuple[str, str], ...] = _option(
        "--set, --cfg KEY=VALUE",
        "Machine",
        change,
        "A change of the machine for this run. Dotted keys are the machine's: network.bandwidth=x2 (all links), "
        "host.cores=64, nic.latency=500ns, 'link[NAME].bandwidth=x4', 'host[node-1*].speed=x0.5' and "
        "'host[NAME].gpu.speed=x2' (single ones). "
        "Those with a slash are SimGrid's, as a platform file's <config> has them: smpi/os=0:1us (smpi/os:0:1us, as "
        "smpirun takes it, is the same), or smpy/polls=grow (failed polls get "
        "longer, SMPI's rule) or notice (they do not delay what they wait for). Repeatable.",
        write=pair_text,
        is_multiple=True,
    )
    network: str | None = _option(
        "--network NAME",
        "Model",
        str,
        "The network model: smpi, lv08, cm02, raw, constant or ib, each with its defaults, which --set changes; loggp "
        "(LogGOPS) or dimemas, with numbers of --set (loggp.L=2500ns, dimemas.buses=4, dimemas.collectives=log) or "
        "else of the machine's links; or ideal, the machine's own without contention, bandwidth limits, latency and "
        "overhead, or ideal:PART,... without some of them.",
    )
    background: UniformTraffic | Path | Literal["none"] | None = _option(
        "--background share=PART|TRACE",
        "Model",
        background,
        "Messages of other jobs on the links: share=30%, uniform random traffic that takes this part of the bandwidth "
        "of each host, in messages of 1 MiB (share=30%,size=64KiB: of that size); or those of a trace, over and over, "
        "on hosts that the run leaves free; or none. --seed draws them. The program runs once more without them, for "
        "the time that they cost.",
        write=background_text,
    )
    compat: str | None = _option(
        "--compat VERSION",
        "Model",
        str,
        "The rules of simgrid-3.32 (the default), or of simgrid-2017, whose bandwidth factor bounds a message instead "
        "of slowing it down.",
    )
    compute: ComputeMode = _option(
        "--compute [measured|models|mixed|none|record:FILE|replay:FILE]",
        "Computing",
        computing,
        "Time the program computes between MPI calls: measured here; modelled, where smpy.blas, smpy.kernel and the "
        "like declare it; mixed: modelled there, and measured elsewhere; or none at all. record: measured, and each "
        "burst written to a file; replay: from such a file, on any machine. Without measuring, runs are reproducible.",
        default="measured",
        write=computing_text,
        parts=("compute", "record", "replay"),
        shows_default=True,
    )
    record: Path | None = None
    replay: Path | None = None
    kernels: Path | None = _option(
        "--kernels FILE",
        "Computing",
        Path,
        "Costs of kernels such as dgemm: a calibration's TOML file, in place of the machine's own costs.",
    )
    noise: bool = _option(
        "--noise",
        "Computing",
        None,
        "Each call of a calibrated kernel takes a time that is drawn from the calibration's noise, as --seed says; "
        "without it, the calibration's uncertainty becomes a ± on the makespan.",
    )
    noise_model: tuple[NoiseKind, float, float] | None = _option(
        "--noise-model NOISE",
        "Computing",
        noise_model,
        "Noise on any computing, drawn as --seed says: 5%, a normal factor with that standard deviation; pareto:5%, a "
        "Pareto factor of at least 1 whose mean is so much above 1; ticks:1ms:20us, 20 us more after each ms that a "
        "rank computes, as an operating system's ticks take.",
        write=noise_model_text,
    )
    host_speed_flop_per_s: float | None = _option(
        "--host-speed SPEED",
        "Computing",
        speed_flop_per_s,
        "Speed of a core of this machine, such as 2.5Gf; measured time is scaled by it over the simulated host's. "
        "Without it: not scaled.",
    )
    host: Path | None = _option(
        "--host FILE",
        "Computing",
        Path,
        "File of `smpy calibrate host`, which has that speed.",
    )
    burst_memory: str | None = _option(
        "--burst-memory",
        "Computing",
        OneOf(("learnt", "none")),
        "Bytes that measured bursts move through the memory of their host, which its ranks share: learnt, from bursts "
        "that are timed beside a load of memory on another core of this machine, or none. Without it: learnt, if "
        "--host FILE says how far such a load slows code down.",
    )
    keep_memory: bool = _option(
        "--keep-memory",
        "Computing",
        None,
        "Memory that the program frees stays with the process, as some MPI libraries have it, and taking it again "
        "costs no page faults. It matters where computing is measured.",
    )
    free_imports: bool = _option(
        "--free-imports",
        "Computing",
        None,
        "Imports inside functions take no time. Without it, where computing is measured, each rank takes the time of "
        "each module once.",
    )
    governor: tuple[str, float] | None = _option(
        "--governor NAME[:SECONDS]",
        "Computing",
        governor,
        "Governor of hosts with several states (DVFS): performance, powersave, ondemand or conservative, as SimGrid's "
        "plugin host_dvfs has them. It sets the state every SECONDS, by default 0.1.",
        write=governor_text,
    )
    iterations: float | None = _option(
        "--iterations skip[:HALF_WIDTH]",
        "Computing",
        skipped_iterations,
        "Perform some iterations of loops that the program marks with smpy.iterations, and add the time of the "
        "others, whose results are missing. Iterations are performed until half of the 95 % interval of a loop's time "
        "is at most this part of it, by default 1%.",
        write=skipped_iterations_text,
    )
    private: tuple[str, ...] = _option(
        "--private PACKAGE",
        "Developer",
        str,
        "Each rank has its own copy of this package's modules, as of those beside the program. Repeatable.",
        is_multiple=True,
    )
    shared: tuple[str, ...] = _option(
        "--shared PACKAGE",
        "Developer",
        str,
        "All ranks share this package's modules, even if they would have their own. Repeatable.",
        is_multiple=True,
    )
    collectives: str | None = _option(
        "--collectives TABLE",
        "Collectives",
        str,
        "The table that chooses algorithms of collectives, in place of the machine's own: a name such as mpich-4, or a "
        "file: a table of yours, rules of Open MPI, or a tuning file of MPICH. smpy coll list names tables.",
    )
    algorithms: tuple[tuple[str, str], ...] = _option(
        "--algorithm COLLECTIVE=NAME",
        "Collectives",
        algorithm,
        "The algorithm a collective uses, such as alltoall=ring or allreduce=rabenseifner. Repeatable.",
        write=pair_text,
        is_multiple=True,
    )
    synchronous_sends: bool = _option(
        "--synchronous-sends",
        "Strictness",
        None,
        "Every standard send (Send, Isend, send, ...) waits for its receive: finds deadlocks that buffering hides.",
    )
    strict: bool = _option(
        "--strict",
        "Strictness",
        None,
        "Fail where the summary would only remark: messages nobody received, kernels faster than their host.",
    )
    checks: bool = _option(
        "--check",
        "Strictness",
        None,
        "Look for mistakes that may change no result here: handles never freed, types that differ, buffers used while "
        "a message needs them, receives from any source that race. With --strict they are errors.",
    )
    check_wildcards: bool = _option(
        "--check-wildcards",
        "Strictness",
        None,
        "Do as --check, and run again for receives from any source that race, each with the other message, without "
        "measured computing: report those that change how the program ends.",
    )
    chosen_message: tuple[int, int, int, int] | None = _option(
        "--choose-message RANK:N=SOURCE:TAG",
        "Strictness",
        chosen_message,
        "Have the N-th receive of a rank from any source take a message of SOURCE with TAG, as --check-wildcards "
        "prints it; includes --check.",
        write=chosen_message_text,
    )
    pdb: bool = _option(
        "--pdb", "Developer", None, "Open the debugger, pdb, at the terminal where the first rank fails."
    )
    pdb_rank: int | None = _option(
        "--pdb-rank RANK",
        "Developer",
        WholeNumber(0),
        "Do as --pdb, and stop this rank at its first line; breakpoint() stops no other rank.",
    )
    json_path: Path | None = _option("--json FILE", "Records", Path, "Write the summary as JSON, too.")
    profile: bool = _option(
        "--profile",
        "Records",
        None,
        "Show tables: time by call site and by rank, and the largest pairs of sender and receiver. (--json has all.)",
    )
    profile_matrix: bool = _option(
        "--profile-matrix",
        "Records",
        None,
        "Count messages by pair of ranks however many there are; beyond a million, without it, by pair of hosts.",
    )
    trace: Path | None = _option(
        "--trace FOLDER",
        "Records",
        Path,
        "Write the states of every rank, and every message, for smpy analyze, replay, report and export.",
    )
    overwrite: bool = _option("--overwrite", "Records", None, "Let --trace replace the trace of another program.")
    trace_window_s: tuple[float, float] | None = _option(
        "--trace-window FROM:TO",
        "Records",
        window_s,
        "Trace only the time between two dates of simulated time, such as 10ms:2s or 1h:.",
        write=window_text,
    )
    trace_ranks: tuple[int, ...] | None = _option(
        "--trace-ranks RANKS",
        "Records",
        rank_numbers,
        "Trace only these ranks, such as 0-63,4095.",
        write=ranks_text,
    )
    seed: int = _option(
        "--seed",
        "Computing",
        WholeNumber(0, 2**32 - 1),
        "Seed of random numbers (--map-by random, --background, --noise, --noise-model, --samples).",
        default=0,
        shows_default=True,
    )
    repeat: int = _option(
        "--repeat N",
        "Computing",
        WholeNumber(1),
        "Run N times, one after the other, and report median, lowest and highest makespan and shares of time. Output, "
        "records and traces are those of the first run; the others print nothing, find standard input empty, and have "
        "the next seeds.",
        default=1,
    )
    label: bool = _option(
        "-l, --label", "Records", None, "Begin each line of the program's output with its rank, as in [3] (mpiexec -l)."
    )
    output_dir: Path | None = _option(
        "--output-dir DIR",
        "Records",
        Path,
        "Write the output of each rank to a file of its own, DIR/rank-N.txt, in place of the terminal.",
    )
    quiet: bool = _option("--quiet", "Records", None, "Show neither progress nor summary.")
    is_module: bool = _option(
        "-m", "Ranks", None, "PROGRAM is a module to find and run, as python -m does.", name="module"
    )

    @property
    def measures_computing(self) -> bool:
        """Whether the clock decides the time of computing, or decided it when bursts were recorded."""
        return self.compute in ("measured", "mixed")

    @property
    def settings(self) -> tuple[tuple[str, str], ...]:
        """Keys and values that stand above what the machine says, the version of the rules included."""
        return self.options if self.compat is None else (*self.options, ("smpy/compat", self.compat))

    def without_records(self) -> RunConfig:
        """The same run, one time, without debugger, which writes no records, traces, bursts and files of output."""
        plain = replace(self, repeat=1, json_path=None, record=None, output_dir=None, pdb=False, pdb_rank=None)
        return replace(plain, trace=None, overwrite=False, trace_window_s=None, trace_ranks=None)

    @property
    def is_checked(self) -> bool:
        """Whether mistakes are looked for."""
        return self.checks or self.check_wildcards or self.chosen_message is not None

    @property
    def is_debugged(self) -> bool:
        """Whether a debugger waits for a failure."""
        return self.pdb or self.pdb_rank is not None

    def check(self, spelt: Callable[[Option], str]) -> None:
        """Refuse options that contradict each other.

        Parameters
        ----------
        spelt : callable
            Gives an option's name as its user writes it.

        Raises
        ------
        UsageError
            If they do.
        """

        def say(name: str) -> str:
            return spelt(OPTIONS[name])

        folder = f"{say('trace')}{'' if say('trace').endswith('=') else ' '}FOLDER"
        if self.trace is None and (self.trace_window_s is not None or self.trace_ranks is not None):
            names = f"{say('trace_window_s')} and {say('trace_ranks')}"
            raise UsageError(f"{names} restrict a trace: {folder} names it")
        if self.trace is None and self.overwrite:
            raise UsageError(f"{say('overwrite')} is for the folder of a trace: {folder} names it")
        if self.trace_ranks is not None and self.trace_ranks[-1] >= self.n_ranks:
            message = f"there is no rank {self.trace_ranks[-1]}: the last one is {self.n_ranks - 1}"
            raise UsageError(f"{say('trace_ranks')}: {message}")
        if self.pdb_rank is not None and self.pdb_rank >= self.n_ranks:
            message = f"there is no rank {self.pdb_rank}: the last one is {self.n_ranks - 1}"
            raise UsageError(f"{say('pdb_rank')}: {message}")
        if self.chosen_message is not None and self.chosen_message[0] >= self.n_ranks:
            message = f"there is no rank {self.chosen_message[0]}: the last one is {self.n_ranks - 1}"
            raise UsageError(f"{say('chosen_message')}: {message}")
        if self.label and self.output_dir is not None:
            names = f"{say('label')} and {say('output_dir')}"
            raise UsageError(f"{names} both separate the lines of ranks: give one of them")
        self._check_computing(say)

    def _check_computing(self, say: Callable[[str], str]) -> None:
        """Refuse options of computing that contradict each other; `say` gives their names."""
        if self.host is not None and self.host_speed_flop_per_s is not None:
            names = f"{say('host')} and {say('host_speed_flop_per_s')}"
            raise UsageError(f"{names} both say how fast this machine is: give one of them")
        if self.cpus_per_task > 1 and (self.record or self.replay or self.burst_memory == "learnt"):
            other = say("burst_memory") if self.burst_memory == "learnt" else say("compute")
            message = "the latter is for bursts of one thread: leave one of them away"
            raise UsageError(f"{say('cpus_per_task')} and {other}: {message}")
        if self.iterations is not None and (self.record or self.replay):
            message = "a file of bursts has all iterations in order: leave one of them away"
            raise UsageError(f"{say('iterations')} and {say('compute')}: {message}")
        if self.iterations is not None and self.noise_model is not None and self.noise_model[0] == "ticks":
            message = "ticks fall into few iterations, and skipping misses them: leave one of them away"
            raise UsageError(f"{say('iterations')} and {say('noise_model')}: {message}")
        if self.iterations is not None and self.governor is not None and self.governor[0] in LOAD_GOVERNORS:
            message = f"{self.governor[0]} finds no load in skipped time: leave one of them away"
            raise UsageError(f"{say('iterations')} and {say('governor')}: {message}")
        if self.burst_memory == "learnt" and self.host is None:
            raise UsageError(f"{say('burst_memory')}: {say('host')} names the calibration that it is learnt by")
        if self.burst_memory == "learnt" and (not self.measures_computing or self.record or self.replay):
            names = f"{say('burst_memory')} and {say('compute')}"
            raise UsageError(f"{names}: bytes are learnt while bursts are measured; files of bursts have seconds alone")


OPTIONS: Final[Mapping[str, Option]] = {
    each.name: each.metadata["option"] for each in fields(RunConfig) if "option" in each.metadata
}
"""All options, by the name of their field, in the order of help."""

KEYWORDS: Final[Mapping[str, str]] = {option.keyword: name for name, option in OPTIONS.items()}
"""Fields of all options, by keyword."""
