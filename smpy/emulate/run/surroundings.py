"""Process-wide objects that differ by rank: each is patched to ask which rank is running."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, TextIO

from smpy.emulate.modules.codes import CodeSupply
from smpy.emulate.modules.compiled_class_cache import install_generated
from smpy.emulate.modules.import_time import LateImports, Loading
from smpy.emulate.modules.imports import Importer
from smpy.emulate.modules.mpi4py_parts import finish_mpi, install_mpi4py
from smpy.emulate.modules.numpy_functions import give_arrays_own_pages, give_ranks_own_heaps, install_numpy_conversions
from smpy.emulate.modules.privacy import Privacy
from smpy.emulate.modules.scipy_functions import install_scipy
from smpy.emulate.modules.sources import Sources
from smpy.emulate.modules.streams import Outlet
from smpy.emulate.modules.system import install_system
from smpy.emulate.patches import Patches
from smpy.emulate.process.blas_threads import install_blas_threads, threads_here
from smpy.emulate.process.descriptors import install_descriptors, install_sockets
from smpy.emulate.process.environment import install_environment
from smpy.emulate.process.forks import install_forks
from smpy.emulate.process.greenlets import refuse_loops
from smpy.emulate.process.kills import install_kills
from smpy.emulate.process.randomness import install_numpy_random, install_random
from smpy.emulate.process.rank_settings import install_process
from smpy.emulate.process.raw_output import install_raw_output
from smpy.emulate.process.shared_memory import install_shared_memory, install_temporary_names, new_prefix
from smpy.emulate.process.signals import install_signals
from smpy.emulate.process.timed_waits import install_child_waits, install_waits
from smpy.emulate.process.torch_state import TorchExchange
from smpy.emulate.process.tracing import install_tracing
from smpy.emulate.process.virtual_time import install_time, install_uuid_time
from smpy.emulate.process_state import PerRankProcessState
from smpy.emulate.rank_switch_hooks import RankSwitchHooks
from smpy.emulate.ranks import is_for_all
from smpy.emulate.run.lifetime import Lifetime, install_exits
from smpy.emulate.run.program import Program, install_runpy
from smpy.emulate.run.stall_watch import StallWatch
from smpy.emulate.threads.executors import install_executors, install_queues
from smpy.emulate.threads.looks import install_looks
from smpy.emulate.threads.starts import Threads
from smpy.engine.running import named_call

if TYPE_CHECKING:
    from smpy.emulate.threads.rank_threads import RankThreads
    from smpy.engine.engine import Engine
    from smpy.engine.launching import Command, Launcher
    from smpy.options import RunConfig

_MOST_UNCOLLECTED: Final = 200_000
"""Maximum number of new containers between two collections: tens of megabytes if all are garbage."""


def install_surroundings(
    patches: Patches,
    config: RunConfig,
    engine: Engine,
    program: Program,
    supply: CodeSupply,
    outlets: tuple[Outlet, Outlet],
) -> Lifetime:
    """Prepare the process for a run, until the patches are undone; return the ranks' `Lifetime`."""
    path = [program.home, *sys.path]
    patches.attribute(sys, "path", path)
    sources = Sources(supply)
    privacy = Privacy((*config.private, *program.packages), config.shared, program.home, path, sources.find_spec)
    loading = Loading(engine)
    late = None
    if engine.clock is not None and engine.bursts is None and not config.free_imports:
        late = LateImports(engine, loading, config.host_speed_flop_per_s or 0.0)
    importer = Importer(privacy, sources, loading.pause, loading.execute, late)
    importer.install(patches)
    install_mpi4py(importer, patches)
    importer.provide("__main__")
    stdin = sys.stdin
    streams = install_system(patches, [program.name, *config.args], outlets, importer.table)
    install_raw_output(patches, streams)
    lifetime = Lifetime(engine, program, importer, streams)
    switches = RankSwitchHooks(patches)
    threads = Threads(engine, patches, switches)
    threads.at_first = partial(_watch_for_stalls, engine, threads.own, patches, program.home, outlets[1])
    install_executors(patches, importer)
    install_looks(patches)
    lifetime.before_end.append(threads.finish)
    if any(engine.platform.devices()):
        lifetime.before_end.append(lambda _: _finish_device_work(engine))
    if engine.start_s > 0:
        lifetime.at_begin.append(partial(engine.spend_overhead, engine.start_s))
    if engine.ends_with_barrier:
        lifetime.at_end.append(finish_mpi)
    install_exits(patches, importer, threads.own)
    install_forks(patches, outlets)
    install_kills(patches)
    refuse_loops(patches, importer)
    settings = PerRankProcessState(patches, switches, is_for_all, engine.n_ranks)
    if engine.clock is not None:
        install_blas_threads(patches, threads_here(config.cpus_per_task))
    install_environment(patches, engine, settings)
    install_process(patches, settings, importer)
    install_tracing(patches, settings, importer)
    install_time(patches)
    install_waits(patches)
    install_descriptors(patches)
    install_signals(patches)
    install_generated(patches)
    install_random(patches)
    importer.when_imported("queue", partial(install_queues, patches))
    importer.when_imported("socket", partial(install_sockets, patches))
    importer.when_imported("subprocess", partial(install_child_waits, patches))
    importer.when_imported("datetime", partial(_install_dates, patches))
    importer.when_imported("uuid", partial(install_uuid_time, patches))
    importer.when_imported("asyncio", partial(_install_event_loops, patches, importer, switches, threads.own))
    importer.when_imported("runpy", partial(install_runpy, patches, importer))
    importer.when_imported("numpy.random", partial(install_numpy_random, patches))
    prefix = new_prefix()
    importer.when_imported("tempfile", partial(install_temporary_names, patches))
    importer.when_imported("multiprocessing.shared_memory", partial(install_shared_memory, patches, prefix))
    importer.when_imported("multiprocessing.spawn", partial(_install_spawned, patches, config, prefix))
    importer.when_imported("torch", partial(_install_torch_state, patches, switches, lifetime))
    importer.when_imported("logging", partial(_install_loggers, patches, lifetime))
    if config.is_debugged:
        _install_debuggers(patches, config, lifetime, stdin, outlets[0])
    elif stdin is not None and stdin.isatty() and outlets[0].stream.isatty():
        importer.when_imported("pdb", partial(_install_debuggers, patches, config, lifetime, stdin, outlets[0]))
    engine.launcher = _FirstLaunch(engine, partial(_new_launcher, engine, config, supply, lifetime, privacy, settings))
    install_numpy_conversions(patches, importer)
    if config.is_checked:
        importer.when_imported("numpy", give_arrays_own_pages)
    if engine.clock is not None and not config.keep_memory:
        give_ranks_own_heaps(importer)
    install_scipy(patches, importer)
    _spare_collections(patches, engine)
    return lifetime


def _finish_device_work(engine: Engine) -> None:
    """Wait at a rank's end for operations of its device that its program has not waited for."""
    if engine.has_device_work():
        named_call("synchronize")(engine.synchronize)()


def _watch_for_stalls(engine: Engine, threads: RankThreads, patches: Patches, home: str, outlet: Outlet) -> None:
    watch = StallWatch(engine, threads, home, partial(_tell_at_once, outlet))
    watch.start()
    patches.later(watch.stop)


def _tell_at_once(outlet: Outlet, text: str) -> None:
    outlet.write_now(-1, text)
    outlet.flush()


class _FirstLaunch:
    """Starter of the first programs on further ranks, imported when needed: most runs start none."""

    def __init__(self, engine: Engine, new_launcher: Callable[[], Launcher]) -> None:
        self._engine = engine
        self._new_launcher = new_launcher

    def launch(self, commands: Sequence[Command], begin: Callable[[], None]) -> range:
        """See `ProgramLauncher.launch`."""
        self._engine.launcher = launcher = self._new_launcher()
        return launcher.launch(commands, begin)


def _new_launcher(
    engine: Engine,
    config: RunConfig,
    supply: CodeSupply,
    lifetime: Lifetime,
    privacy: Privacy,
    settings: PerRankProcessState,
) -> Launcher:
    from smpy.emulate.run.launching import ProgramLauncher

    return ProgramLauncher(engine, config, supply, lifetime, privacy, settings)


def _install_dates(patches: Patches) -> None:
    from smpy.emulate.process import dates

    dates.install_dates(patches)


def _install_event_loops(patches: Patches, importer: Importer, switches: RankSwitchHooks, threads: RankThreads) -> None:
    from smpy.emulate.process import event_loops

    event_loops.install_event_loops(patches, switches, threads)
    importer.when_imported("uvloop", partial(event_loops.replace_uvloop, patches))


def _install_loggers(patches: Patches, lifetime: Lifetime) -> None:
    from smpy.emulate.process import loggers

    loggers.install_loggers(patches)
    lifetime.at_end.append(loggers.shut_down)


def _install_debuggers(patches: Patches, config: RunConfig, lifetime: Lifetime, stdin: TextIO, outlet: Outlet) -> None:
    from smpy.emulate.run.rank_debugger import RankDebuggers

    debuggers = RankDebuggers(stdin, outlet, config.pdb_rank)
    debuggers.install(patches)
    if config.is_debugged:
        lifetime.at_begin.append(debuggers.begin)
        lifetime.at_failure.append(debuggers.examine)


def _install_spawned(patches: Patches, config: RunConfig, prefix: str) -> None:
    from smpy.emulate.process import spawned

    spawned.install_spawned(patches, config, prefix)


def _install_torch_state(patches: Patches, switches: RankSwitchHooks, lifetime: Lifetime) -> None:
    exchange = TorchExchange()
    patches.later(exchange.undo)
    switches.watch(exchange.look)
    lifetime.at_begin.append(exchange.look)


def _spare_collections(patches: Patches, engine: Engine) -> None:
    """Make the shared garbage collector run as rarely as the ranks' own would, and charge no rank for it."""
    if not gc.isenabled():  # `smpy.__main__` has disabled it
        gc.freeze()  # smpy's modules and the machine: the program's collections, and the last at exit, skip them
        gc.enable()
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
