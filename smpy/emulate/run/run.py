"""One run: assembles machine, engine and program, runs the loop, and reports the end."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import isnan
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from greenlet import greenlet

import smpy
from smpy.collectives.world_schedules import algorithms_in
from smpy.compute.clock.library_threads import LibraryThreads
from smpy.compute.clock.measured_clock import new_clock
from smpy.compute.clock.observed_bursts import ObservedBursts
from smpy.compute.clock.skipped_loops import IterationSkipping
from smpy.compute.models.modelling import Modelling
from smpy.emulate.config import description_of, new_world, with_host_speed
from smpy.emulate.modules.codes import CodeSupply
from smpy.emulate.modules.named_packages import check_names
from smpy.emulate.modules.streams import Outlet
from smpy.emulate.patches import Patches
from smpy.emulate.process.blas_threads import load_with_threads, remarks_on_threads, threads_here
from smpy.emulate.process.randomness import SEED
from smpy.emulate.reports.deadlock import describe_deadlock, line_in, line_of
from smpy.emulate.reports.ranks_in_text import place_of
from smpy.emulate.reports.remarks import (
    remarks_on,
    remarks_on_cores,
    remarks_on_page_faults,
    remarks_on_shared_hosts,
    remarks_on_spread,
)
from smpy.emulate.reports.tracebacks import report
from smpy.emulate.run.burst_files import BurstFileMode
from smpy.emulate.run.burst_memory import BurstMemoryMode
from smpy.emulate.run.interrupts import Interrupts
from smpy.emulate.run.lifetime import Lifetime
from smpy.emulate.run.observation import observed_profile, start_sampler
from smpy.emulate.run.poll_watch import PollWatch
from smpy.emulate.run.program import Program, open_program
from smpy.emulate.run.returned_values import returned_of
from smpy.emulate.run.run_end_reserves import Rescue
from smpy.emulate.run.surroundings import install_surroundings
from smpy.engine import running
from smpy.engine.engine import Engine
from smpy.engine.loop import OUT_OF_MEMORY
from smpy.engine.memory import check_fits, keep_freed_memory, peak_rss_bytes, rss_bytes
from smpy.engine.outcomes import Aborted, CalledInThread, Failed, Refused
from smpy.engine.platform import Platform
from smpy.errors import DeadlockError, Interrupted, NoRoomError, RankFailure, SmpyError, UsageError
from smpy.option_texts import noise_model_text
from smpy.options import RunConfig
from smpy.platforms.description import Description
from smpy.records.energy import run_energy
from smpy.records.inputs import Inputs, mapping_of
from smpy.records.remark import Remark
from smpy.records.run_profile import profile_of
from smpy.records.skipped_iterations import SkippedIterations
from smpy.records.summary import Summary
from smpy.records.time_shares import TimeShares
from smpy.records.uncertainty import Uncertainty

if TYPE_CHECKING:
    from smpy.emulate.reports.trace_recording import TraceRecording

EXIT_FAILURE: Final = 1
EXIT_USAGE: Final = 2
RANK_BYTES: Final = 10_000  # of the measured time of a program that only calls a barrier

# Ranks that had not ended when their world did. Dropping a suspended greenlet would run the program's `finally` blocks
# in a world that is over; mpiexec kills processes without running them. So these greenlets, their frames and the
# objects they refer to live as long as this process. The kernel's memory is freed.
_suspended: Final[list[greenlet]] = []


@dataclass(frozen=True, slots=True)
class RunProgress:
    """State of a run under way.

    Attributes
    ----------
    now_s : float
        Simulated time.
    wall_s : float
        Real time since the run began.
    events_per_s : float
        Events of the kernel a second of real time, since the last report.
    rss_bytes : int
        Memory the process holds.
    """

    now_s: float
    wall_s: float
    events_per_s: float
    rss_bytes: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """End of a run.

    Attributes
    ----------
    summary : Summary
        Summary of the run.
    exit_code : int
        The program's: the first of a rank, in simulated time, that is not 0.
    error : SmpyError or None
        Error that ended the run before all ranks had ended.
    first_exit : str
        Rank with that exit code, and the date of its end; empty when all ended with 0.
    returned : mapping of int to bytes
        Pickled values that a function returned, by rank.
    """

    summary: Summary
    exit_code: int
    error: SmpyError | None = None
    first_exit: str = ""
    returned: Mapping[int, bytes] = field(default_factory=dict)


def run(
    config: RunConfig,
    progress: Callable[[RunProgress], None] | None = None,
    *,
    home: str | None = None,
    counts_links: bool = True,
    counts_pairs: bool = True,
) -> Outcome:
    """Run a program on a simulated machine.

    Parameters
    ----------
    config : RunConfig
        The run.
    progress : callable, optional
        Called from time to time with the state of the run.
    home : str, optional
        Folder whose modules are the program's own, and come first; by default the one that the program lies in.
    counts_links : bool
        Whether traffic of each link is counted for the profile.
    counts_pairs : bool
        Whether messages are counted by pair for the profile.

    Returns
    -------
    Outcome
        Also when the program failed, or the user stopped it.

    Raises
    ------
    UsageError
        If the program, the platform or another file cannot be used.
    RankFailure
        If the program is not Python.
    """
    began_s = perf_counter()
    calibration, config = config.host, with_host_speed(config)
    if config.keep_memory:
        keep_freed_memory()
    check_fits(config.n_ranks * RANK_BYTES, f"{config.n_ranks:,} ranks", "run fewer (-np)")
    outlets = _outlets(config)
    supply = CodeSupply(config.n_ranks)
    program = open_program(config.program, is_module=config.is_module, supply=supply, home=home)
    check_names(config.private, config.shared, [program.home, *sys.path])
    machine = description_of(config)
    platform, host_of_rank, engine = new_world(config, machine)
    engine.is_strict = config.strict
    if counts_links:
        engine.count_links()
    if counts_pairs or config.profile_matrix:
        engine.count_pairs(all_of_ranks=config.profile_matrix)
    if config.synchronous_sends:
        engine.make_sends_synchronous()
    frozen = BurstFileMode.of(config, engine, program, supply)
    is_observed = config.measures_computing and not config.replay
    observed = ObservedBursts(engine, config.host_speed_flop_per_s or 0.0) if is_observed else None
    moved = BurstMemoryMode.of(config, calibration, engine, host_of_rank)
    spread = _start_clock(config, engine, observed, moved)
    tracing = _tracing(config, engine, program.home)
    on_threads = _remarks_on_threads(config, engine)
    reporter = _Reporter(engine, began_s, progress)
    try:
        exit_code, error, lifetime = _turn(config, engine, program, supply, outlets, reporter, frozen, tracing)
    except BaseException:
        frozen.end("its run broke")
        if tracing is not None:
            tracing.abandon()
        raise
    finally:
        moved.end()
    exit_code, error = frozen.end_of(exit_code, error)
    remarks = *on_threads, *remarks_on(engine, platform.models, program.home), *frozen.remarks(), *moved.remarks()
    remarks = (
        *remarks,
        *_remarks_on_background(config, engine),
        *_mistakes(config, engine, program.home),
        *remarks_on_cores(config, engine, host_of_rank, spread),
    )
    if engine.has_added_ranks:
        host_of_rank = list(engine.hosts_of(range(engine.n_ranks)))
    inputs = _inputs(config, machine, platform, engine, host_of_rank, frozen)
    remarks = *remarks, *remarks_on_spread(config, calibration, machine, engine.spent_s())
    summary = _summarise(config, inputs, machine, engine, perf_counter() - began_s, remarks, program.home, observed)
    if tracing is not None:
        try:
            tracing.finish(summary, machine, host_of_rank)
        except SmpyError as lost:
            exit_code, error = exit_code or EXIT_FAILURE, error or lost
    returned = returned_of(engine)
    engine.close()
    if config.strict and error is None:
        exit_code, error = _judged(remarks, exit_code)
    return Outcome(summary, exit_code, error, lifetime.first_exit, returned)


def _start_clock(
    config: RunConfig, engine: Engine, observed: ObservedBursts | None, moved: BurstMemoryMode
) -> LibraryThreads | None:
    """Give the engine its clock, if computing is measured; return the spread of library threads, if there are any."""
    if not config.measures_computing:
        return None
    speed_flop_per_s, n_here = config.host_speed_flop_per_s or 0.0, threads_here(config.cpus_per_task)
    is_spread = config.cpus_per_task > 1 and n_here > 1
    spread = LibraryThreads(engine, n_here, speed_flop_per_s) if is_spread else None
    engine.clock = new_clock(engine, speed_flop_per_s, engine.bursts, observed, spread or moved.memory)
    return spread


def _remarks_on_threads(config: RunConfig, engine: Engine) -> tuple[Remark, ...]:
    """Remark on the threads of BLAS, which stand where the run is measured."""
    if engine.clock is None or config.replay:
        return ()
    return remarks_on_threads(threads_here(config.cpus_per_task))


def _tracing(config: RunConfig, engine: Engine, home: str) -> TraceRecording | None:
    if config.trace is None:
        return None
    from smpy.emulate.reports.trace_recording import TraceRecording  # most runs need not import it

    if engine.clock is not None and "numpy" not in sys.modules:
        load_with_threads(threads_here(config.cpus_per_task))  # ahead of pyarrow, which loads BLAS with all its threads
    algorithms_in(engine).asked = {}
    return TraceRecording(config, engine, home)


def _mistakes(config: RunConfig, engine: Engine, home: str) -> Iterable[Remark]:
    """Remarks on the mistakes that checks found, if any."""
    if not config.is_checked:
        return ()
    from smpy.emulate.reports.checks import remarks_on_checks  # most runs need not import it

    return remarks_on_checks(engine, home)


def _judged(remarks: tuple[Remark, ...], exit_code: int) -> tuple[int, SmpyError | None]:
    """Exit code and error of a strict run: remarks that are faults fail it."""
    faults = [f"{remark.topic}: " + "\n".join(remark.lines) for remark in remarks if remark.is_fault]
    return (exit_code or EXIT_FAILURE, SmpyError("\n".join(faults))) if faults else (exit_code, None)


def _turn(
    config: RunConfig,
    engine: Engine,
    program: Program,
    supply: CodeSupply,
    outlets: tuple[Outlet, Outlet],
    reporter: _Reporter,
    frozen: BurstFileMode,
    tracing: TraceRecording | None,
) -> tuple[int, SmpyError | None, Lifetime]:
    """Run the ranks: exit code, error, and their `Lifetime`."""
    patches = Patches()
    try:
        interrupts = Interrupts(engine, outlets, patches)
        lifetime = install_surroundings(patches, config, engine, program, supply, outlets)
        if engine.clock is not None and not config.replay:
            start_sampler(patches, program.home, (*config.private, *program.packages))
        running.enter(engine)
        patches.later(lambda: running.enter(None))
        patches.later(frozen.note_shared_sources)
        if config.is_checked:
            from smpy.mpi.checks.calls import install_checks  # most runs need not import it

            install_checks(engine, patches, config.chosen_message)
        engine.spawn(lifetime.live)
        exit_code, error = _run_engine(engine, lifetime, interrupts, reporter, outlets, program.home, tracing)
        lifetime.write_unfinished()
    finally:
        patches.undo()
        for outlet in outlets:
            outlet.finish()
    trouble = outlets[0].trouble or outlets[1].trouble
    if trouble is not None and error is None:
        exit_code = interrupts.exit_code or EXIT_FAILURE
        error = NoRoomError(f"the program's output was lost: {trouble.strerror}; make room for it")
    _suspended.extend(engine.suspended())
    return exit_code, error, lifetime


def _outlets(config: RunConfig) -> tuple[Outlet, Outlet]:
    """Outlets of standard output and standard error; a debugger wants them at a terminal."""
    if config.is_debugged:
        from smpy.emulate.run.rank_debugger import check_terminal  # most runs need not import it

        check_terminal()
    if config.output_dir is None:
        return Outlet(sys.stdout, is_labelled=config.label), Outlet(sys.stderr, is_labelled=config.label)
    from smpy.emulate.modules.output_files import FileOutlet, OutputFiles  # most runs need not import it

    files = OutputFiles(config.output_dir, config.n_ranks)
    return FileOutlet(sys.stdout, files), FileOutlet(sys.stderr, files)


def _run_engine(
    engine: Engine,
    lifetime: Lifetime,
    interrupts: Interrupts,
    reporter: _Reporter,
    outlets: tuple[Outlet, Outlet],
    home: str,
    tracing: TraceRecording | None,
) -> tuple[int, SmpyError | None]:
    def on_yield() -> None:
        if tracing is not None:
            tracing.take()
        for outlet in outlets:
            outlet.flush()
        reporter.report()
        watch.look()

    watch = PollWatch(engine, home, partial(outlets[1].write_now, -1))
    rescue = Rescue(engine.n_ranks)
    lifetime.when_out_of_memory = rescue.give_memory
    try:
        try:
            stopped = engine.run(on_yield)
        finally:
            rescue.restore()
    except DeadlockError:
        message = f"\nBefore, {lifetime.first_exit}." if lifetime.first_exit else ""
        return lifetime.exit_code or EXIT_FAILURE, DeadlockError(describe_deadlock(engine, home) + message)
    except Interrupted:
        for outlet in outlets:  # the program's last output shows its progress
            outlet.write_rest()
        rank = engine.rank
        line = line_of(engine, engine.running_timeline, home) if rank >= 0 else ""
        where = f", while rank {rank} was at {line}" if line else ""
        polls = watch.describe()
        message = f"interrupted at {engine.now_s:.9g} s of simulated time{where}" + (f"; {polls}" if polls else "")
        return interrupts.exit_code, Interrupted(message)
    except (Exception, KeyboardInterrupt, SystemExit) as error:  # noqa: BLE001  # whatever is broken, the summary follows
        for outlet in outlets:
            outlet.write_rest()
        return EXIT_FAILURE, _breakdown(error, engine)
    if isinstance(stopped, (CalledInThread, SmpyError)):
        for outlet in outlets:
            outlet.write_rest()
    return _end_of(stopped, engine, lifetime, home)


def _end_of(stopped: object, engine: Engine, lifetime: Lifetime, home: str) -> tuple[int, SmpyError | None]:
    """Exit code and error of a run whose loop has returned."""
    match stopped:
        case CalledInThread(rank, call, thread, frame):
            return EXIT_FAILURE, RankFailure(
                f"rank {rank} called {call} in {thread}, at {line_in(frame, home)}: this thread was started by "
                "compiled code or belongs to multiprocessing, and cannot be simulated; call MPI in a threading.Thread"
            )
        case SmpyError():
            return EXIT_USAGE if isinstance(stopped, UsageError) else EXIT_FAILURE, stopped
        case Refused(reason):
            return EXIT_USAGE, UsageError(reason)
        case Failed(rank, text):
            reason = f":\n{text}" if text else "; its sys.excepthook has told why"
            return EXIT_FAILURE, RankFailure(f"rank {rank} failed at {engine.now_s:.9g} s{reason}")
        case Aborted(rank, code):
            return code & 0xFF, RankFailure(f"rank {rank} called Abort({code}) at {engine.now_s:.9g} s")
    return lifetime.exit_code, None


def _breakdown(error: BaseException, engine: Engine) -> SmpyError:
    """Error to report for an exception that no rank's program raised."""
    if isinstance(error, SmpyError):
        return error
    if isinstance(error, (KeyboardInterrupt, SystemExit)):
        what = f"a signal handler of the program's raised {type(error).__name__}, while no rank ran"
        return Interrupted(f"interrupted at {engine.now_s:.9g} s of simulated time: {what}")
    if isinstance(error, MemoryError):
        return SmpyError(f"at {engine.now_s:.9g} s: {OUT_OF_MEMORY}")
    return SmpyError(
        f"at {engine.now_s:.9g} s the simulation broke; does the program replace parts of Python, builtins or "
        f"functions of modules?\n{report(error)}"
    )


class _Reporter:
    """Reports the progress of a run."""

    def __init__(self, engine: Engine, began_s: float, tell: Callable[[RunProgress], None] | None) -> None:
        self._engine = engine
        self._began_s = began_s
        self._tell = tell
        self._last_s = began_s
        self._last_events = 0

    def report(self) -> None:
        if self._tell is None:
            return
        now_s = perf_counter()
        events = self._engine.statistics().events
        rate = (events - self._last_events) / max(now_s - self._last_s, 1e-9)
        self._last_s, self._last_events = now_s, events
        self._tell(RunProgress(self._engine.now_s, now_s - self._began_s, rate, rss_bytes()))


def _inputs(
    config: RunConfig,
    machine: Description,
    platform: Platform,
    engine: Engine,
    host_of_rank: Sequence[int],
    frozen: BurstFileMode,
) -> Inputs:
    has_kernel_noise = _has_kernel_noise(engine)
    return Inputs(
        version=smpy.__version__,
        program=config.program,
        is_module=config.is_module,
        args=config.args,
        platform_file=None if platform.sha256 is None else str(config.platform),
        platform_sha256=platform.sha256,
        machine=machine,
        settings=(*config.settings, *((("network", config.network),) if config.network is not None else ())),
        recorded_to=None if config.record is None else str(config.record),
        replayed_from=None if config.replay is None else str(config.replay),
        bursts_sha256=frozen.sha256,
        noise_model=None if config.noise_model is None else noise_model_text(config.noise_model),
        noise_seed=config.seed if engine.has_noise or has_kernel_noise else None,
        has_kernel_noise=has_kernel_noise,
        background=_background(config, engine),
        kernels_file=None if config.kernels is None else str(config.kernels),
        mapping=mapping_of(host_of_rank, platform.host_names),
        algorithms=algorithms_in(engine).used(),
        seed=SEED,
    )


def _background(config: RunConfig, engine: Engine) -> Mapping[str, Any] | None:
    if config.background is None:
        return None
    from smpy.replay.background import background_record  # most runs need not import it

    return background_record(engine)


def _remarks_on_background(config: RunConfig, engine: Engine) -> Iterable[Remark]:
    if config.background is None:
        return ()
    from smpy.replay.background import remark_on_background  # most runs need not import it

    remark = remark_on_background(engine)
    return () if remark is None else (remark,)


def _has_kernel_noise(engine: Engine) -> bool:
    modelling = engine.world_storage.get(Modelling)
    return modelling is not None and modelling.draws is not None and modelling.draws.n_drawn > 0


def _uncertainty(engine: Engine, finish_s: Sequence[float]) -> Uncertainty | None:
    modelling, skipping = engine.world_storage.get(Modelling), engine.world_storage.get(IterationSkipping)
    if not ((modelling is not None and modelling.path_sums) or (skipping is not None and skipping.totals)):
        return None
    from smpy.compute.models.uncertainty import uncertainty_of  # most runs need not import it

    return uncertainty_of(engine, finish_s)


def _iterations(engine: Engine) -> tuple[SkippedIterations, ...]:
    skipping = engine.world_storage.get(IterationSkipping)
    totals = {} if skipping is None else skipping.totals
    return tuple(
        SkippedIterations(name, total.n_items, total.n_performed, total.time_s, total.half_width_s, total.stop_reason)
        for name, total in totals.items()
    )


def _summarise(
    config: RunConfig,
    inputs: Inputs,
    machine: Description,
    engine: Engine,
    wall_s: float,
    remarks: tuple[Remark, ...],
    home: str,
    observed: ObservedBursts | None,
) -> Summary:
    counts, finish_s, spent_s = engine.statistics(), engine.finish_s(), engine.spent_s()
    is_partial = any(map(isnan, finish_s))
    makespan_s = engine.now_s if is_partial else max(finish_s)
    skipping = engine.world_storage.get(IterationSkipping)
    profile = profile_of(
        engine,
        lambda line: place_of(*engine.place_of_line(line), home),
        finish_s,
        makespan_s,
        skipped_counts=skipping.counts.by_site() if skipping is not None and skipping.counts is not None else None,
    )
    more = [*remarks_on_shared_hosts(engine, profile)]
    if observed is not None:
        profile = observed_profile(profile, observed, home)
        if not config.keep_memory:
            more += remarks_on_page_faults(observed.system_time)
    return Summary(
        inputs=inputs,
        platform=engine.platform.name,
        n_ranks=engine.n_ranks,
        makespan_s=makespan_s,
        finish_s=finish_s,
        messages=counts.messages,
        bytes=counts.bytes,
        shares=TimeShares.of(
            compute_s=spent_s.computing,
            communication_s=spent_s.communicating,
            waiting_s=spent_s.waiting_for_others,
            sleep_s=spent_s.sleeping,
            io_s=spent_s.io,
            device_s=spent_s.device,
            skipped_s=sum(engine.skipped_s()),
        ),
        compute=config.compute,
        host_speed_flop_per_s=config.host_speed_flop_per_s,
        keeps_memory=config.keep_memory,
        is_partial=is_partial,
        is_folded=engine.has_folded,
        remarks=(*remarks, *more),
        wall_s=wall_s,
        peak_rss_bytes=peak_rss_bytes(),
        uncertainty=None if is_partial else _uncertainty(engine, finish_s),
        iterations=_iterations(engine),
        profile=profile,
        energy=run_energy(engine, machine, makespan_s, sum(profile.above_idle_j), lists_all=config.profile),
    )
