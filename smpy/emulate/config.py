"""The world that is made of a run's options: machine, placement, engine."""

from __future__ import annotations

from dataclasses import replace

from smpy.collectives.choice import selection_on
from smpy.collectives.world_schedules import choose
from smpy.compute.models.modelling import Modelling
from smpy.engine.engine import Engine
from smpy.engine.platform import Platform
from smpy.options import RunConfig
from smpy.platforms.default_cluster import default_cluster
from smpy.platforms.description import Description
from smpy.platforms.placement.placement import place


def with_host_speed(config: RunConfig) -> RunConfig:
    """The run with the speed that its file of this machine says in place of the file.

    Raises
    ------
    UsageError
        If the file says none.
    """
    if config.host is None:
        return config
    from smpy.records.calibration_file import core_speed_flop_per_s

    return replace(config, host=None, host_speed_flop_per_s=core_speed_flop_per_s(config.host))


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
    if config.collectives is not None:
        from smpy.platforms.machine import with_collectives

        return with_collectives(description_of(replace(config, collectives=None)), config.collectives)
    is_default = config.platform is None and config.ranks_per_host is None
    if is_default and all("/" in key for key, _ in config.settings):
        machine = default_cluster(
            *(config.n_ranks, config.settings), cpus_per_task=config.cpus_per_task, network=config.network
        )
        if not machine.models.network.lacking():
            return machine
        from smpy.platforms.machine import on_own_links  # most runs need not import it

        return on_own_links(machine)
    from smpy.platforms.machine import changed, read_machine

    if isinstance(config.platform, Description):
        return changed(config.platform, config.settings, network=config.network)
    what = "default" if config.platform is None else config.platform
    return read_machine(
        *(what, config.n_ranks, config.settings),
        ranks_per_host=config.ranks_per_host or 0,
        cpus_per_task=config.cpus_per_task,
        network=config.network,
    )


def _engine_class(config: RunConfig) -> type[Engine]:
    if not config.is_checked:
        return Engine
    from smpy.engine.checked_engine import CheckedEngine  # most runs need not import it

    return CheckedEngine


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
        cpus_per_task=config.cpus_per_task,
        map_by=config.map_by,
        host_order=config.host_order,
        seed=config.seed,
    )
    engine = _engine_class(config)(platform, platform.models, host_of_rank)
    engine.give_cores(config.cpus_per_task)
    if config.governor is not None:
        engine.govern(*config.governor)
    if config.noise_model is not None:
        engine.add_noise(*config.noise_model, seed=config.seed)
    engine.world_storage[Modelling] = Modelling(
        *(config.compute, machine.kernels, config.host_speed_flop_per_s or 0.0),
        noise_seed=config.seed if config.noise else None,
        threads=machine.threads,
    )
    if config.background is not None:
        from smpy.replay.background import add_background  # most runs need not import it

        add_background(engine, config.background, config.seed)
    if config.iterations is not None:
        from smpy.compute.clock.skipped_loops import IterationSkipping  # most runs need not import it

        engine.world_storage[IterationSkipping] = IterationSkipping(config.iterations, config.seed)
    choose(engine, selection_on(platform.models, config.algorithms))
    return platform, host_of_rank, engine
