"""The surroundings of ranks: everything that they share but that differs by rank is made to ask who runs."""

from __future__ import annotations

import gc
import sys
from functools import partial
from typing import TYPE_CHECKING, Final

from smpy.emulate.blas_threads import install_blas_threads
from smpy.emulate.codes import CodeSupply
from smpy.emulate.descriptors import install_descriptors, install_sockets
from smpy.emulate.environment import install_environment
from smpy.emulate.forks import install_forks
from smpy.emulate.generated import install_generated
from smpy.emulate.greenlets import refuse_loops
from smpy.emulate.imports import Importer
from smpy.emulate.kills import install_kills
from smpy.emulate.lifetime import Lifetime, install_exits
from smpy.emulate.loading import Loading
from smpy.emulate.mpi4py_parts import finish_mpi, install_mpi4py
from smpy.emulate.numpy_functions import install_numpy_conversions
from smpy.emulate.patches import Patches
from smpy.emulate.privacy import Privacy
from smpy.emulate.process import install_process
from smpy.emulate.program import Program, install_runpy
from smpy.emulate.randomness import install_numpy_random, install_random
from smpy.emulate.ranks import is_for_all
from smpy.emulate.raw_output import install_raw_output
from smpy.emulate.scipy_functions import install_scipy
from smpy.emulate.settings import Settings
from smpy.emulate.signals import install_signals
from smpy.emulate.sources import Sources
from smpy.emulate.streams import Outlet
from smpy.emulate.switches import Switches
from smpy.emulate.system import install_system
from smpy.emulate.threads import Threads
from smpy.emulate.torch_state import TorchExchange
from smpy.emulate.tracing import install_tracing
from smpy.emulate.virtual_time import install_time, install_uuid_time
from smpy.emulate.waits import install_child_waits, install_queue_clock, install_waits

if TYPE_CHECKING:
    from smpy.emulate.config import RunConfig
    from smpy.engine.engine import Engine

_MOST_UNCOLLECTED: Final = 200_000
"""New containers between two collections, at the most: tens of megabytes if all were garbage."""


def install_surroundings(
    patches: Patches,
    config: RunConfig,
    engine: Engine,
    program: Program,
    supply: CodeSupply,
    outlets: tuple[Outlet, Outlet],
) -> Lifetime:
    """Prepare the process for a run, until the patches are undone; the ranks' `Lifetime`."""
    path = [program.home, *sys.path]
    patches.attribute(sys, "path", path)
    sources = Sources(supply)
    privacy = Privacy((*config.private, *program.packages), config.shared, program.home, path, sources.find_spec)
    loading = Loading(engine)
    importer = Importer(privacy, sources, loading.pause, loading.execute)
    importer.install(patches)
    install_mpi4py(importer, patches)
    importer.provide("__main__")
    streams = install_system(patches, [program.name, *config.args], outlets, importer.table)
    install_raw_output(patches, streams)
    lifetime = Lifetime(engine, program, importer, streams)
    threads = Threads(engine, patches, importer)
    lifetime.before_end.append(threads.finish)
    if engine.start_s > 0:
        lifetime.at_begin.append(partial(engine.pay, engine.start_s))
    if engine.ends_with_barrier:
        lifetime.at_end.append(finish_mpi)
    install_exits(patches, importer)
    install_forks(patches, outlets)
    install_kills(patches)
    refuse_loops(patches, importer)
    switches = Switches(patches)
    settings = Settings(patches, switches, is_for_all, engine.n_ranks)
    if engine.clock is not None:
        install_blas_threads(patches)
    install_environment(patches, engine, settings)
    install_process(patches, settings, importer)
    install_tracing(patches, settings, importer)
    install_time(patches)
    install_waits(patches, threads.are_alive)
    install_descriptors(patches)
    install_signals(patches)
    install_generated(patches)
    install_random(patches)
    importer.when_imported("queue", partial(install_queue_clock, patches))
    importer.when_imported("socket", partial(install_sockets, patches))
    importer.when_imported("subprocess", partial(install_child_waits, patches))
    importer.when_imported("datetime", partial(_install_dates, patches))
    importer.when_imported("uuid", partial(install_uuid_time, patches))
    importer.when_imported("asyncio", partial(_install_event_loops, patches, importer, switches))
    importer.when_imported("runpy", partial(install_runpy, patches, importer))
    importer.when_imported("numpy.random", partial(install_numpy_random, patches))
    importer.when_imported("multiprocessing.spawn", partial(_install_spawned, patches, config))
    importer.when_imported("torch", partial(_install_torch_state, patches, switches, lifetime))
    importer.when_imported("logging", partial(_install_loggers, patches, lifetime))
    install_numpy_conversions(patches, importer)
    install_scipy(patches, importer)
    _spare_collections(patches, engine)
    return lifetime


def _install_dates(patches: Patches) -> None:
    from smpy.emulate import dates

    dates.install_dates(patches)


def _install_event_loops(patches: Patches, importer: Importer, switches: Switches) -> None:
    from smpy.emulate import event_loops

    event_loops.install_event_loops(patches, switches)
    importer.when_imported("uvloop", partial(event_loops.replace_uvloop, patches))


def _install_loggers(patches: Patches, lifetime: Lifetime) -> None:
    from smpy.emulate import loggers

    loggers.install_loggers(patches)
    lifetime.at_end.append(loggers.shut_down)


def _install_spawned(patches: Patches, config: RunConfig) -> None:
    from smpy.emulate import spawned

    spawned.install_spawned(patches, config)


def _install_torch_state(patches: Patches, switches: Switches, lifetime: Lifetime) -> None:
    exchange = TorchExchange()
    patches.later(exchange.undo)
    switches.watch(exchange.look)
    lifetime.at_begin.append(exchange.look)


def _spare_collections(patches: Patches, engine: Engine) -> None:
    """Have the garbage collector, one for all ranks, work no more often than theirs would, and charge no rank."""
    often, *seldom = gc.get_threshold()
    gc.set_threshold(min(often * engine.n_ranks, max(often, _MOST_UNCOLLECTED)), *seldom)
    patches.later(partial(gc.set_threshold, often, *seldom))
    clock = engine.clock
    if clock is None:
        return
    mark_s = 0.0

    def on_collection(phase: str, info: dict[str, int]) -> None:
        nonlocal mark_s
        if phase == "start":
            mark_s = clock.pause()
        else:
            clock.resume(mark_s)

    gc.callbacks.append(on_collection)
    patches.later(lambda: gc.callbacks.remove(on_collection))
