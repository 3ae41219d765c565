"""The profile of a run: time and bytes of each rank by call site, and traffic by sender and receiver.

Its JSON is one object:

    kinds               kinds of time, in the order below
    sites               calls of the program: call (null: its own computing up to that line), line, comm (number
                        during its life, -1: none, -2: COMM_SELF) and comm_size, its ranks; then, for all ranks
                        together, count, spent_s by kind, sent_bytes, received_bytes, messages_of_size; and slowest, the
                        rank that spent most there, and slowest_s; above_idle_j, Joules above the idle power of hosts,
                        which executions on a host share equally; null: no host has a power; and scaled, with
                        iterations that were skipped, from those that were performed: calls, messages, sent_bytes,
                        received_bytes; null: none was skipped
    message_sizes_bytes lower limits of messages_of_size
    calls               the same by rank, as columns: rank, site, count, spent_s, sent_bytes, received_bytes,
                        above_idle_j; null above 100,000 rows
    computing_lines     lines of measured computing, from samples: ended_by, the line of the call that ended
                        the bursts (as in sites); function and line; seconds, of all ranks
                        together; samples. Empty if nothing was measured
    call_stacks         measured computing by stack of functions, rank and time, from the same samples: window_s and
                        ranks_per_cell, the size of a cell; calls, as columns: caller (index; -1: none), function,
                        file, line (0: the call of a function; else a line in which samples were taken); times, as
                        columns: ranks and window, the numbers of the cell, call and seconds; null: none was taken
    burst_spread        differences of equal bursts of measured computing on this machine: relative, the limit for 95 %
                        of pairs; n_pairs; and largest_s, the largest difference; null: not known
    noise_waiting_s     waiting that noise alone can cause: ranks that cause no more are not named
    kept_waiting_s      time that others waited for each rank; null above 100,000 ranks
    skipped_s           time of iterations that each rank did not perform; null if none did, and above 100,000 ranks
    caused_waits_s      waiting of others that is certainly due to each rank's delays, however many ranks
                        passed them on; null above 100,000 ranks
    links               load of each link that was used, as columns: link, its name; most_flows, at once; bytes;
                        busy_s, with messages on it; saturated_s, when they take all of it; is_shared, whether
                        messages share it; joins, the nodes that it joins, for people ("leaf 3 to spine 1"), or its
                        name; null above 100,000
    hosts               columns: host, compute_s of its ranks together; null above 100,000 hosts
    messages            traffic of pairs: of (ranks or hosts), and as columns source, target, messages, bytes

Times that a rank's calls have spent, and the time after its end, add up to the makespan.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from math import isnan
from struct import calcsize, iter_unpack
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from smpy.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd

    from smpy.compute.clock.burst_spread import Spread
    from smpy.records.call_stacks import CallStacks
    from smpy.records.computing_lines import ComputingLine

KINDS: Final = (
    "compute",
    "sleep",
    "overhead",
    "polling",
    "probing",
    "io",
    "device",
    "transfer",
    "late_sender",
    "late_receiver",
    "late_members",
)
"""Kinds of time: outside MPI; costs of MPI calls; messages in flight; waiting, by the late partner."""

INTERVAL_KINDS: Final = (*KINDS, "idle", "skipped")
"""The kinds of time, the time after a rank's end, and that of iterations that were not performed."""

LATE: Final = KINDS[-3:]
SIZES_BYTES: Final = (0, *(4**k for k in range(15)))
"""Lower limits of the size classes in which messages are counted."""

_ROUNDING: Final = 1e-9
_ROWS_MAX: Final = 100_000


@dataclass(frozen=True, slots=True)
class CallSite:
    """A call in one line of the program, on one communicator.

    Parameters
    ----------
    call : str
        "Recv"; empty: the program's own computing, up to that line.
    line : str
        "program.py:12"; empty where it is not known.
    comm : int
        The communicator's number during its life; -1: none; -2: COMM_SELF.
    comm_size : int
        Its ranks; 0: none, or freed.
    """

    call: str
    line: str
    comm: int = -1
    comm_size: int = 0


@dataclass(frozen=True, slots=True)
class MessagePairs:
    """Traffic of pairs, in order: source, target, messages and bytes; unpacked on demand, since there may be a million.

    Parameters
    ----------
    content : bytes
        Records of two 32-bit and two 64-bit integers, in no order.
    """

    content: bytes = b""

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        return iter(sorted(iter_unpack("=iiqq", self.content)))

    def __len__(self) -> int:
        return len(self.content) // calcsize("=iiqq")


class LinkLoad(NamedTuple):
    """Load of a link.

    Parameters
    ----------
    link : str
        Its name.
    most_flows : int
        Largest number of messages on it at once.
    bytes : float
        Bytes of messages, without headers and acknowledgements.
    busy_s, saturated_s : float
        Time with messages on it; time with messages that take all of its bandwidth.
    is_shared : bool
        Whether its messages share the bandwidth; else each has all of it.
    joins : str
        Nodes that it joins, for people: "leaf 3 to spine 1"; its name if they are not known.
    """

    link: str
    most_flows: int
    bytes: float
    busy_s: float
    saturated_s: float
    is_shared: bool = True
    joins: str = ""

    @property
    def label(self) -> str:
        """The link for people."""
        return self.joins or self.link


class SiteWork(NamedTuple):
    """Calls, messages sent and bytes of all ranks at a call site; fractions where iterations were skipped."""

    calls: float = 0.0
    messages: float = 0.0
    sent_bytes: float = 0.0
    received_bytes: float = 0.0


@dataclass(slots=True)
class SiteTotal:
    """Total cost of a call site, over all ranks.

    Parameters
    ----------
    site : CallSite
        The call site.
    count : int
        Calls.
    spent_s : list of float
        By kind.
    sent_bytes, received_bytes : int
        In messages, those of collectives included.
    messages_of_size : list of int
        Messages sent, by size.
    slowest, slowest_s
        The rank that spent most there, and how long.
    above_idle_j : float
        Joules above the idle power of hosts.
    """

    site: CallSite
    count: int = 0
    spent_s: list[float] = field(default_factory=lambda: [0.0] * len(KINDS))
    sent_bytes: int = 0
    received_bytes: int = 0
    messages_of_size: list[int] = field(default_factory=lambda: [0] * len(SIZES_BYTES))
    slowest: int = -1
    slowest_s: float = 0.0
    above_idle_j: float = 0.0

    @property
    def total_s(self) -> float:
        """Time of all kinds together."""
        return sum(self.spent_s)


@dataclass(frozen=True, slots=True, eq=False)
class RunProfile:
    """Time and bytes by rank and call site. The columns have equal length: a row for each rank and call site.

    Parameters
    ----------
    sites : sequence of CallSite
        Call sites that the column `site` numbers from 0.
    rank, site, count : sequence of int
        Rank, call site and number of calls of each row.
    spent_s : sequence of sequence of float
        A column for each of `KINDS`.
    sent_bytes, received_bytes : sequence of int
        In messages, those of collectives included.
    messages_of_size : sequence of sequence of int
        A column for each of `SIZES_BYTES`: messages sent.
    kept_waiting_s : sequence of float
        [ranks] time that others waited for each.
    finish_s : sequence of float
        [ranks] date at which each ended; NaN: it had not.
    makespan_s : float
        The run's.
    pairs : MessagePairs
        Messages and bytes by sender and receiver.
    pairs_are_of_hosts : bool
        Whether sources and targets are hosts, not ranks.
    caused_waits_s : sequence of float
        [ranks] waits that are certainly due to each: at most those that `smpy analyze waits` attributes to it.
    links : sequence of LinkLoad
        Links that were used; empty where the network shares none.
    host_of_rank : sequence of str
        Host of each rank.
    computing_lines : sequence of ComputingLine
        Lines in which measured computing was spent.
    call_stacks : CallStacks or None
        Measured computing by call stack, rank and time; None: no samples were taken.
    burst_spread : Spread or None
        Spread of equal bursts of measured computing on this machine; None: not known.
    above_idle_j : sequence of float
        A column: the rank's part of its host's Joules above idle power; empty: no host has a power.
    skipped_s : sequence of float
        Time of iterations that each rank did not perform; empty: none.
    skipped_work : mapping of CallSite to SiteWork
        Work of iterations that were not performed, as estimated from those that were; empty: none.
    """

    sites: Sequence[CallSite]
    rank: Sequence[int]
    site: Sequence[int]
    count: Sequence[int]
    spent_s: Sequence[Sequence[float]]
    sent_bytes: Sequence[int]
    received_bytes: Sequence[int]
    messages_of_size: Sequence[Sequence[int]]
    kept_waiting_s: Sequence[float]
    finish_s: Sequence[float]
    makespan_s: float
    pairs: MessagePairs
    pairs_are_of_hosts: bool = False
    caused_waits_s: Sequence[float] = ()
    links: Sequence[LinkLoad] = ()
    host_of_rank: Sequence[str] = ()
    computing_lines: Sequence[ComputingLine] = ()
    call_stacks: CallStacks | None = None
    burst_spread: Spread | None = None
    above_idle_j: Sequence[float] = ()
    skipped_s: Sequence[float] = ()
    skipped_work: Mapping[CallSite, SiteWork] = field(default_factory=dict)

    def scaled(self, total: SiteTotal) -> SiteWork:
        """Work at a call site, with that of iterations that were not performed."""
        performed = SiteWork(total.count, sum(total.messages_of_size), total.sent_bytes, total.received_bytes)
        return SiteWork(*map(sum, zip(performed, self.skipped_work.get(total.site, SiteWork()), strict=True)))

    def computed_s(self) -> dict[str, float]:
        """Seconds that the ranks computed up to each call, by its line."""
        seconds: dict[str, float] = {}
        for total in self.by_site():
            if not total.site.call:
                seconds[total.site.line] = seconds.get(total.site.line, 0.0) + total.spent_s[0]
        return seconds

    @property
    def noise_waiting_s(self) -> float:
        """Waiting that noise alone can cause, in seconds.

        The sum of two parts: the spread of equal bursts times the computing of all ranks, and a wait of all other
        ranks for the burst that differs most.
        """
        if self.burst_spread is None:
            return 0.0
        n_others = len(self.finish_s) - 1
        return self.burst_spread.relative * sum(self.computed_s().values()) + n_others * self.burst_spread.largest_s

    def by_host(self) -> dict[str, float]:
        """Seconds that the ranks of each host computed, together."""
        compute_s = dict.fromkeys(self.host_of_rank, 0.0)
        for rank, seconds in zip(self.rank, self.spent_s[0], strict=True):
            compute_s[self.host_of_rank[rank]] += seconds
        return compute_s

    def by_site(self) -> list[SiteTotal]:
        """Totals of call sites, the most expensive first."""
        totals = [SiteTotal(site) for site in self.sites]
        for row, (rank, site) in enumerate(zip(self.rank, self.site, strict=True)):
            total, row_s = totals[site], 0.0
            total.count += self.count[row]
            total.sent_bytes += self.sent_bytes[row]
            total.received_bytes += self.received_bytes[row]
            total.above_idle_j += self.above_idle_j[row] if self.above_idle_j else 0.0
            for kind, column in enumerate(self.spent_s):
                total.spent_s[kind] += column[row]
                row_s += column[row]
            if row_s > total.slowest_s * (1 + _ROUNDING):  # of equal ranks, the first
                total.slowest, total.slowest_s = rank, row_s
        for size, counts in enumerate(self.messages_of_size):
            for site, n in zip(self.site, counts, strict=True):
                totals[site].messages_of_size[size] += n
        return sorted(
            (total for total in totals if total.total_s or (total.count and total.site.call)),
            key=lambda total: -total.total_s,
        )

    def by_rank(self) -> list[list[float]]:
        """Time of each rank by `INTERVAL_KINDS`; a rank's times add up to the makespan."""
        spent_s = [[0.0] * len(INTERVAL_KINDS) for _ in self.finish_s]
        for kind, column in enumerate(self.spent_s):
            for rank, seconds in zip(self.rank, column, strict=True):
                spent_s[rank][kind] += seconds
        for rank, finish_s in enumerate(self.finish_s):
            spent_s[rank][len(KINDS)] = 0.0 if isnan(finish_s) else self.makespan_s - finish_s
        for rank, skipped_s in enumerate(self.skipped_s):
            spent_s[rank][-1] = skipped_s
        return spent_s

    def above_idle_by_rank_j(self) -> list[float]:
        """Joules of each rank above the idle power of its host; empty if no host has a power."""
        joules = [0.0] * len(self.finish_s)
        for rank, part in zip(self.rank, self.above_idle_j, strict=False):
            joules[rank] += part
        return joules

    def to_record(self) -> dict[str, Any]:
        """JSON-serialisable dict of the profile."""
        return {
            "kinds": KINDS,
            "sites": [
                {
                    "call": total.site.call or None,
                    "line": total.site.line or None,
                    "comm": total.site.comm,
                    "comm_size": total.site.comm_size,
                    "count": total.count,
                    "spent_s": total.spent_s,
                    "sent_bytes": total.sent_bytes,
                    "received_bytes": total.received_bytes,
                    "messages_of_size": total.messages_of_size,
                    "slowest": total.slowest,
                    "slowest_s": total.slowest_s,
                    "above_idle_j": total.above_idle_j if self.above_idle_j else None,
                    "scaled": self.scaled(total)._asdict() if self.skipped_work else None,
                }
                for total in self.by_site()
            ],
            "message_sizes_bytes": SIZES_BYTES,
            "computing_lines": self._computing_lines(),
            "call_stacks": self.call_stacks.to_record() if self.call_stacks else None,
            "burst_spread": self.burst_spread._asdict() if self.burst_spread else None,
            "noise_waiting_s": self.noise_waiting_s,
            "calls": self._calls() if len(self.rank) <= _ROWS_MAX else None,
            "kept_waiting_s": list(self.kept_waiting_s) if len(self.kept_waiting_s) <= _ROWS_MAX else None,
            "skipped_s": list(self.skipped_s) if 0 < len(self.skipped_s) <= _ROWS_MAX else None,
            "caused_waits_s": list(self.caused_waits_s) if len(self.caused_waits_s) <= _ROWS_MAX else None,
            "links": _columns(LinkLoad._fields, self.links),
            "hosts": _columns(("host", "compute_s"), list(self.by_host().items())),
            "messages": {
                "of": "hosts" if self.pairs_are_of_hosts else "ranks",
                **(_columns(("source", "target", "messages", "bytes"), list(self.pairs), len(self.pairs)) or {}),
            },
        }

    def to_pandas(self) -> dict[str, pd.DataFrame]:
        """The profile as tables of pandas; none is cut.

        Returns
        -------
        dict of str to DataFrame
            `calls`: by rank and call site; `sites`: the same for all ranks together, the most expensive first; `sizes`:
            messages sent, by call site and size; `ranks`; `hosts`; `links`; `messages`: by pair of ranks, or of hosts.
            Times are in seconds, and `compute_s` and the like are the kinds of time.

        Raises
        ------
        UsageError
            If pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise UsageError(f"tables need pandas: {error}; pip install '.[analysis]'") from error
        kinds = [f"{kind}_s" for kind in KINDS]
        totals = self.by_site()
        place = ["call", "line", "comm", "comm_size"]
        bytes_ = ["sent_bytes", "received_bytes"]
        sites = pd.DataFrame([astuple(total) for total in self.sites], columns=place)
        calls = sites.iloc[list(self.site)].reset_index(drop=True)
        calls.insert(0, "rank", list(self.rank))
        columns = ["count", *kinds, *bytes_]
        if self.above_idle_j:
            calls["above_idle_j"] = list(self.above_idle_j)
        for name, values in zip(
            columns, (self.count, *self.spent_s, self.sent_bytes, self.received_bytes), strict=True
        ):
            calls[name] = list(values)
        hosts = list(self.host_of_rank) or None
        by_rank = pd.DataFrame(self.by_rank(), columns=[f"{kind}_s" for kind in INTERVAL_KINDS])
        by_rank.insert(0, "rank", range(len(by_rank)))
        by_rank.insert(1, "host", hosts)
        return {
            "calls": calls,
            "sites": pd.DataFrame(
                [
                    (
                        *astuple(total.site),
                        total.count,
                        *total.spent_s,
                        total.sent_bytes,
                        total.received_bytes,
                        total.slowest,
                        total.slowest_s,
                    )
                    for total in totals
                ],
                columns=[*place, *columns, "slowest", "slowest_s"],
            ),
            "sizes": pd.DataFrame(
                [
                    (*astuple(total.site), size, n)
                    for total in totals
                    for size, n in zip(SIZES_BYTES, total.messages_of_size, strict=True)
                    if n
                ],
                columns=[*place, "at_least_bytes", "messages"],
            ),
            "ranks": by_rank.assign(kept_waiting_s=list(self.kept_waiting_s), finish_s=list(self.finish_s)),
            "hosts": pd.DataFrame(list(self.by_host().items()), columns=["host", "compute_s"]),
            "links": pd.DataFrame(list(self.links), columns=list(LinkLoad._fields)),
            "messages": pd.DataFrame(list(self.pairs), columns=["source", "target", "messages", "bytes"]),
        }

    def _computing_lines(self) -> list[dict[str, Any]]:
        computed_s = self.computed_s()
        return [
            {
                "ended_by": row.ended_by or None,
                "function": row.function,
                "line": row.line,
                "seconds": row.share * computed_s.get(row.ended_by, 0.0),
                "samples": row.samples,
            }
            for row in self.computing_lines
        ]

    def _calls(self) -> dict[str, Any]:
        """Columns by rank and call site; sites are numbered as in the record's own list."""
        place = {total.site: number for number, total in enumerate(self.by_site())}
        rows = [row for row, site in enumerate(self.site) if self.sites[site] in place]
        return {
            "rank": [self.rank[row] for row in rows],
            "site": [place[self.sites[self.site[row]]] for row in rows],
            "count": [self.count[row] for row in rows],
            "spent_s": [[column[row] for row in rows] for column in self.spent_s],
            "sent_bytes": [self.sent_bytes[row] for row in rows],
            "received_bytes": [self.received_bytes[row] for row in rows],
            "above_idle_j": [self.above_idle_j[row] for row in rows] if self.above_idle_j else None,
        }


def _columns(names: Sequence[str], rows: Sequence[tuple[Any, ...]], rows_max: int = _ROWS_MAX) -> dict[str, Any] | None:
    """JSON-serialisable rows; None if there are too many."""
    if len(rows) > rows_max:
        return None
    return {name: [row[i] for row in rows] for i, name in enumerate(names)}
