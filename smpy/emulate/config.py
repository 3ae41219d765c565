"""The settings of a run, and the world that is made of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from smpy.collectives.selection import choose, selection_with
from smpy.compute.modelling import ComputeMode, Modelling
from smpy.engine.engine import Engine
from smpy.platforms.default_cluster import default_cluster
from smpy.platforms.description import Description
from smpy.platforms.host_order import HostOrder
from smpy.platforms.placement import MapBy, place
from smpy.platforms.platform import Platform


@dataclass(frozen=True, slots=True)
class RunConfig:
    """Settings of a run: the program, the machine and all options.

    Attributes
    ----------
    n_ranks : int
        Size of the world.
    program : str
        A file, a directory or archive with a `__main__.py`, or a module.
    is_module : bool
        Whether `program` is a module's name, as after `python -m`.
    args : tuple of str
        The program's own arguments.
    platform : str, Path, Description or None
        The machine: a file, the name of a preset or one line (`read_machine`), or made in Python; None: the default
        cluster.
    hostfile : Path or None
        The hosts where ranks run; None: the platform's.
    ranks_per_host : int or None
        Most ranks that a host takes.
    map_by : {"core", "host", "socket", "random", "file"} or None
        The order in which ranks take their places (`smpy.platforms.placement`); None: as the platform's kind has it.
    host_order : {"natural", "lexicographic", "platform"} or None
        The order in which hosts take ranks; None: as the platform's kind has it.
    noise : bool
        Whether each call of a calibrated kernel takes a time that is drawn from its noise.
    seed : int
        Seed of placement at random, and of noise.
    options : tuple of (str, str)
        Keys and values that stand above what the platform says: dotted keys are the machine's, those with a slash
        SimGrid's.
    compute : {"measured", "models", "none"}
        Source of the simulated time of computing.
    record, replay : Path or None
        With measured computing: a file to write the bursts to that are measured, or one to take them from instead.
    kernels : Path or None
        A calibration: what kernels cost, whatever the machine says.
    host_speed_flop_per_s : float or None
        Speed of a core of this machine; None: as fast as each simulated host.
    keep_memory : bool
        Whether memory that is freed stays with this process (`smpy.engine.memory.keep_freed_memory`).
    private, shared : tuple of str
        Packages of which each rank has its own copy, or that all share.
    algorithms : tuple of (str, str)
        Collectives and the algorithms they are to use, whatever the platform says.
    synchronous_sends : bool
        Whether every standard send waits for its receive.
    strict : bool
        Whether what the summary would only remark fails the run: lost messages, kernels above their host's peak.
    counts_links : bool
        Whether traffic of each link is counted for the profile.
    counts_pairs : bool
        Whether messages are counted by pair for the profile.
    profile_matrix : bool
        Whether messages are counted by pair of ranks however many pairs there are, and not by pair of hosts then.
    trace : Path or None
        Folder for a trace of the run.
    overwrite : bool
        Whether it may replace the trace of another program.
    trace_window_s : tuple of (float, float), or None
        Dates between which it tells what happens; None: all.
    trace_ranks : tuple of int, or None
        Ranks of which it tells; None: all.
    home : str or None
        Folder whose modules are the program's own, and come first; None: the one that `program` lies in.
    """

    n_ranks: int
    program: str
    is_module: bool = False
    args: tuple[str, ...] = ()
    platform: str | Path | Description | None = None
    hostfile: Path | None = None
    ranks_per_host: int | None = None
    map_by: MapBy | None = None
    host_order: HostOrder | None = None
    seed: int = 0
    options: tuple[tuple[str, str], ...] = ()
    compute: ComputeMode = "measured"
    record: Path | None = None
    replay: Path | None = None
    kernels: Path | None = None
    noise: bool = False
    host_speed_flop_per_s: float | None = None
    keep_memory: bool = False
    private: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()
    algorithms: tuple[tuple[str, str], ...] = ()
    synchronous_sends: bool = False
    strict: bool = False
    counts_links: bool = True
    counts_pairs: bool = True
    profile_matrix: bool = False
    trace: Path | None = None
    overwrite: bool = False
    trace_window_s: tuple[float, float] | None = None
    trace_ranks: tuple[int, ...] | None = None
    home: str | None = None


def description_of(config: RunConfig) -> Description:
    """The machine a run is to use.

    Raises
    ------
    UsageError
        If there is no such machine.
    """
    if config.kernels is not None:
        from smpy.platforms.machine import with_kernels

        return with_kernels(description_of(replace(config, kernels=None)), config.kernels)
    is_default = config.platform is None and config.ranks_per_host is None
    if is_default and all("/" in key for key, _ in config.options):
        return default_cluster(config.n_ranks, config.options)
    from smpy.platforms.machine import changed, read_machine

    if isinstance(config.platform, Description):
        return changed(config.platform, config.options)
    what = "default" if config.platform is None else config.platform
    ranks_per_host = config.ranks_per_host or 0
    return read_machine(what, config.n_ranks, config.options, ranks_per_host=ranks_per_host)


def new_world(config: RunConfig, machine: Description) -> tuple[Platform, list[int], Engine]:
    """The machine as the kernel knows it, the host of each rank, and an engine for them.

    Raises
    ------
    UsageError
        If the platform or the hostfile cannot be used.
    """
    platform = machine.build()
    host_of_rank = place(
        *(platform, config.n_ranks, config.hostfile),
        ranks_per_host=config.ranks_per_host,
        map_by=config.map_by,
        host_order=config.host_order,
        seed=config.seed,
    )
    engine = Engine(platform, platform.models, host_of_rank)
    engine.kept[Modelling] = Modelling(
        *(config.compute, machine.kernels, config.host_speed_flop_per_s or 0.0, config.seed if config.noise else None)
    )
    choice = platform.models.collectives
    choose(engine, selection_with((*choice.algorithms, *config.algorithms), choice.table))
    return platform, host_of_rank, engine
