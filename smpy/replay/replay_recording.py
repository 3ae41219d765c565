"""The trace of a replay, as of a run that performs the replayed trace."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, Literal

from smpy import __version__
from smpy.engine.memory import peak_rss_bytes
from smpy.engine.replaying import RowsError
from smpy.errors import SmpyError, UsageError
from smpy.records.energy import run_energy
from smpy.records.inputs import Inputs, mapping_of
from smpy.records.run_profile import profile_of
from smpy.records.summary import Summary
from smpy.records.time_shares import TimeShares
from smpy.records.trace_info import check_replaceable
from smpy.records.trace_layout import damaged
from smpy.records.trace_tables import TraceTables
from smpy.replay.background import background_record
from smpy.replay.changes import DEVICE_PARTS, MEMORY_PARTS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from smpy.collectives.world_schedules import Algorithms
    from smpy.engine.replaying import ReplayEngine
    from smpy.platforms.description import Description
    from smpy.records.profile import RunProfile
    from smpy.records.trace import Trace
    from smpy.replay.changes import PartImprovement

Compute = Literal["measured", "models", "mixed", "none"]
_NOT_IN_MACHINE: Final = ("latency", "bandwidth", "link", *MEMORY_PARTS, *DEVICE_PARTS)
_NO_PLACE: Final = ("", 0)


@dataclass(frozen=True, slots=True)
class ReplayedProgram:
    """The program whose actions are performed.

    Attributes
    ----------
    program, program_path : str
        Name of the program, or the file that lists its actions; the same with its folder.
    is_module : bool
        Whether `program` is a module's name.
    args : tuple of str
        Arguments of the program.
    seed : str
        Seed of the ranks' random numbers.
    compute : str
        Way from computing to time in the run.
    host_speed_flop_per_s : float or None
        Declared speed of the machine that ran the program; None: measured computing takes as long on any host.
    n_wildcards, n_choices : int
        Receives from any source and waits for any of several requests, in the run; the replay does what they did.
    regions : tuple of str
        Names of regions, in the order of their numbers.
    """

    program: str
    program_path: str
    is_module: bool = False
    args: tuple[str, ...] = ()
    seed: str = ""
    compute: Compute = "none"
    host_speed_flop_per_s: float | None = None
    n_wildcards: int = 0
    n_choices: int = 0
    regions: tuple[str, ...] = ()

    @classmethod
    def of(cls, trace: Trace) -> ReplayedProgram:
        """The program of a trace."""
        info = trace.info
        return cls(
            program=info["program"],
            program_path=info["trace"]["program_path"],
            is_module=bool(info.get("is_module")),
            args=tuple(info["args"]),
            seed=str(info.get("seed", "")),
            compute=info.get("compute") or "none",
            host_speed_flop_per_s=info["trace"]["host_speed_flop_per_s"],
            n_wildcards=info["trace"]["n_wildcards"],
            n_choices=info["trace"]["n_choices"],
            regions=tuple(info["trace"]["regions"]),
        )

    @classmethod
    def of_file(cls, path: Path, host_speed_flop_per_s: float | None, *, n_wildcards: int = 0) -> ReplayedProgram:
        """The program of which a file says the actions."""
        absolute = str(path.absolute())
        return cls(str(path), absolute, host_speed_flop_per_s=host_speed_flop_per_s, n_wildcards=n_wildcards)


@dataclass(slots=True)
class CallSites:
    """Call sites of a replay, in the order of their numbers.

    Attributes
    ----------
    rank, call, place, comm : list of int
        Rank of each site, indices into `calls` and `places`, and the world's communicator or -1.
    calls : dict of str to int
        Names of calls.
    places : dict of (str, int) to int
        Files and lines.
    kernels : set of str
        Names of calls that are kernels.
    count : list of int
        Number of calls of each site, as the profile of the run has it; empty: not known.
    """

    rank: list[int] = field(default_factory=list)
    call: list[int] = field(default_factory=list)
    place: list[int] = field(default_factory=list)
    comm: list[int] = field(default_factory=list)
    calls: dict[str, int] = field(default_factory=lambda: {"": 0})
    places: dict[tuple[str, int], int] = field(default_factory=lambda: {_NO_PLACE: 0})
    kernels: set[str] = field(default_factory=set)
    count: list[int] = field(default_factory=list)
    _numbers: dict[tuple[int, str, tuple[str, int]], int] = field(default_factory=dict)

    @classmethod
    def of_programs(cls, n_ranks: int) -> CallSites:
        """Sites of the ranks' programs themselves, which calls follow as they are made."""
        sites = cls()
        for rank in range(n_ranks):
            sites.add(rank, "", _NO_PLACE)
        return sites

    @classmethod
    def of(cls, trace: Trace, comm_of: Sequence[int]) -> CallSites:
        """The call sites of a trace, with the world's numbers of its communicators."""
        sites = cls()
        table = trace.table("sites", ["site", "rank", "call", "file", "line", "comm", "is_kernel"])
        columns = (table[name].to_pylist() for name in table.column_names)
        for number, (site, rank, call, file, line, comm, is_kernel) in enumerate(zip(*columns, strict=True), start=1):
            if site != number:
                raise damaged(f"{trace.folder / 'sites.parquet'} has site {site} in row {number}")
            sites.add(rank, call, (file, line), -1 if comm is None else comm_of[comm])
            if is_kernel:
                sites.kernels.add(call)
        if trace.info.get("profile"):
            sites._take_counts(trace.info["profile"])
        return sites

    def _take_counts(self, profile: Mapping[str, Any]) -> None:
        """Take the number of calls of each line from a profile; the first of equal sites gets it.

        A profile that has no rows by rank says how often all ranks together made a call: its first rank then did.
        """
        calls = profile.get("calls")
        count_of: Counter[tuple[int, str, str]] = Counter()
        if calls:
            columns = (calls[name] for name in ("rank", "site", "count"))
            for rank, site, count in zip(*columns, strict=True):
                count_of[rank, profile["sites"][site]["call"] or "", profile["sites"][site]["line"] or ""] += count
        else:
            for site in profile["sites"]:
                count_of[-1, site["call"] or "", site["line"] or ""] += site["count"]
        names, texts = list(self.calls), list(map(place_text, self.places))
        for rank, call, place in zip(self.rank, self.call, self.place, strict=True):
            self.count.append(count_of.pop((rank if calls else -1, names[call], texts[place]), 0))

    def add(self, rank: int, call: str, place: tuple[str, int], comm: int = -1) -> int:
        """Add a site and return its number."""
        self.rank.append(rank)
        self.call.append(self.calls.setdefault(call, len(self.calls)))
        self.place.append(self.places.setdefault(place, len(self.places)))
        self.comm.append(comm)
        return len(self.rank)

    def site(self, rank: int, call: str, place: tuple[str, int]) -> int:
        """Return the number of a site, which is added when it is named first."""
        key = rank, call, place
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = self.add(rank, call, place)
        return number


def place_text(place: tuple[str, int]) -> str:
    """Text such as "program.py:12"; empty if the file is not known."""
    file, line = place
    return f"{file}:{line}" if file else ""


def settings_of(options: Iterable[tuple[str, str]], network: str | None) -> list[tuple[str, str]]:
    """Settings of the machine that options change, as a summary lists them."""
    return [*options, *([("network", network)] if network is not None else [])]


def check_recordable(
    folder: str | Path,
    trace: Trace | None,
    changes: Iterable[PartImprovement],
    ideal: Iterable[str],
    quiet_parts: Collection[str] = (),
) -> None:
    """Refuse a trace in the folder of the replayed one, or of a machine that no description has.

    Raises
    ------
    UsageError
        Says why.
    """
    if trace is not None and Path(folder).resolve() == trace.folder.resolve():
        raise UsageError(f"{folder} is the replayed trace: name another folder for the trace of the replay")
    parts = [
        *(change.what for change in changes if change.what in _NOT_IN_MACHINE),
        *(part for part in ideal if part in MEMORY_PARTS),
        *(part for part in quiet_parts if part == "net"),
    ]
    if parts:
        raise UsageError(
            f"a replay with another {parts[0]} leaves no trace, since no machine with it can be described: change the "
            "machine by options instead"
        )


class ReplayRecording:
    """The trace of one replay.

    Parameters
    ----------
    folder : path
        Folder of the trace.
    engine : ReplayEngine
        The world, before its first call.
    machine : Description
        Its machine.
    program : ReplayedProgram
        The program.
    sites : CallSites
        Call sites that the rows name; further ones may be added before the rows that name them are returned.
    algorithms : Algorithms
        Algorithms of the world, before the first schedule.
    forced : iterable of (str, str)
        Collectives and the algorithms that they use, whatever the machine chooses.
    settings : iterable of (str, str)
        Settings of the machine that the replay changed.
    overwrite : bool
        Whether the trace of another program may be replaced.

    Raises
    ------
    UsageError
        If no trace can be written there, or another program's trace is there.
    """

    def __init__(
        self,
        folder: str | Path,
        engine: ReplayEngine,
        machine: Description,
        program: ReplayedProgram,
        sites: CallSites,
        algorithms: Algorithms,
        *,
        forced: Iterable[tuple[str, str]] = (),
        settings: Iterable[tuple[str, str]] = (),
        overwrite: bool = False,
    ) -> None:
        folder = Path(folder).absolute()
        check_replaceable(folder, program.program_path, overwrite=overwrite)
        self._began_s = perf_counter()
        self._engine, self._machine, self._program = engine, machine, program
        self._algorithms, self._forced, self._settings = algorithms, tuple(forced), tuple(settings)
        self.sites = sites
        self._n_known = 0
        algorithms.asked = {}
        self._tell_sites()
        engine.region_numbers.update((name, number) for number, name in enumerate(program.regions))
        engine.count_links()
        engine.count_pairs(all_of_ranks=False)
        self._tables = TraceTables(folder, engine)

    def _tell_sites(self) -> None:
        """Tell the world the sites that have been added since it was told the last ones."""
        sites, known = self.sites, self._n_known
        if known == len(sites.rank):
            return
        rank, call, place, comm = (column[known:] for column in (sites.rank, sites.call, sites.place, sites.comm))
        first = self._engine.new_sites(rank, call, place, comm, sites.calls, sites.kernels)
        assert first == known + 1
        self._n_known = len(sites.rank)

    def perform(self, rows_for: Callable[[int], NDArray[np.void] | None], on_yield: Callable[[], None]) -> None:
        """Perform rows, as `ReplayEngine.perform` does, and write their trace.

        A replay that is interrupted, or cannot go on, leaves the trace of what had happened, as a run does. One whose
        rows are wrong leaves none.
        """

        def take_and_yield() -> None:
            self._tables.take()
            on_yield()

        def rows_of_known_sites(rank: int) -> NDArray[np.void] | None:
            rows = rows_for(rank)
            self._tell_sites()
            return rows

        try:
            self._engine.perform(rows_of_known_sites, take_and_yield)
        except (UsageError, RowsError):
            self._tables.discard()
            raise
        except (SmpyError, KeyboardInterrupt):
            self._finish()
            raise
        except BaseException:
            self._tables.abandon()
            raise
        self._finish()

    def _finish(self) -> None:
        engine, program = self._engine, self._program
        host_of_rank = list(engine.hosts_of(range(engine.n_ranks)))
        facts: Mapping[str, Any] = {
            "program_path": program.program_path,
            "can_replay": True,
            "n_wildcards": program.n_wildcards,
            "n_choices": program.n_choices,
            "algorithms": [list(pair) for pair in self._forced],
            "host_speed_flop_per_s": program.host_speed_flop_per_s,
        }
        summary = self._summary(host_of_rank)
        asked, chosen_by = self._algorithms.asked, self._algorithms.chosen_by
        place = list(self.sites.places).__getitem__
        self._tables.finish(summary, self._machine, host_of_rank, place, facts, asked, chosen_by)

    def _summary(self, host_of_rank: Sequence[int]) -> Summary:
        engine, program, platform = self._engine, self._program, self._engine.platform
        n_accounts = len(engine.accounts().rank)  # brings them up to date
        counts, finish_s, spent_s = engine.statistics(), engine.finish_s(), engine.spent_s()
        is_partial = any(map(isnan, finish_s))
        makespan_s = engine.now_s if is_partial else max(finish_s)
        inputs = Inputs(
            version=__version__,
            program=program.program,
            is_module=program.is_module,
            args=program.args,
            platform_file=None,
            platform_sha256=None,
            machine=self._machine,
            settings=self._settings,
            background=background_record(engine),
            mapping=mapping_of(host_of_rank, platform.host_names),
            algorithms=self._algorithms.used(),
            seed=program.seed,
        )
        return Summary(
            inputs=inputs,
            platform=platform.name,
            n_ranks=engine.n_ranks,
            makespan_s=makespan_s,
            finish_s=finish_s,
            messages=int(counts.messages),
            bytes=int(counts.bytes),
            shares=TimeShares.of(
                compute_s=spent_s.computing,
                communication_s=spent_s.communicating,
                waiting_s=spent_s.waiting_for_others,
                sleep_s=spent_s.sleeping,
                io_s=spent_s.io,
                device_s=spent_s.device,
                skipped_s=sum(engine.skipped_s()),
            ),
            compute=program.compute,
            host_speed_flop_per_s=program.host_speed_flop_per_s,
            keeps_memory=False,
            is_partial=is_partial,
            is_folded=False,
            remarks=(),
            wall_s=perf_counter() - self._began_s,
            peak_rss_bytes=peak_rss_bytes(),
            profile=self._profile(n_accounts, finish_s, makespan_s),
            energy=run_energy(engine, self._machine, makespan_s, sum(engine.accounts_energy_j(n_accounts))),
        )

    def _profile(self, n_accounts: int, finish_s: Sequence[float], makespan_s: float) -> RunProfile | None:
        """Profile of the replay; None: nobody knows how often the program made its calls."""
        count = self.sites.count
        if not count:
            return None
        texts = list(map(place_text, self.sites.places))
        count = [*count, *[0] * (n_accounts - len(count))]
        return profile_of(self._engine, texts.__getitem__, finish_s, makespan_s, count)
