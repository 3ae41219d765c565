"""Profile of a finished run: the kernel's accounts, under the program's names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from smpy.engine.accounts import Accounts
from smpy.engine.engine import Engine
from smpy.records.profile import CallSite, LinkLoad, MessagePairs, RunProfile, SiteWork

_SELF: Final = -2  # COMM_SELF, in an account


def profile_of(
    engine: Engine,
    place_of_line: Callable[[int], str],
    finish_s: Sequence[float],
    makespan_s: float,
    count: Sequence[int] | None = None,
    skipped_counts: Mapping[tuple[int, int, int], Sequence[float]] | None = None,
) -> RunProfile:
    """Profile of a run: its time and bytes by rank and call site.

    Parameters
    ----------
    engine : Engine
        Its world, before it is closed.
    place_of_line : callable
        Returns file and line, such as "program.py:12", of the number of a line in the kernel.
    finish_s : sequence of float
        Date at which each rank ended; NaN if it had not.
    makespan_s : float
        Date at which the run ended.
    count : sequence of int, optional
        Number of calls of each account; by default, as the kernel has counted them.
    skipped_counts : mapping, optional
        Calls, messages, bytes sent and received of iterations that were not performed, by the numbers of a call and of
        its line, and the communicator.
    """
    accounts = engine.accounts()
    sites, site = _sites(engine, place_of_line, accounts)
    of_row: dict[tuple[int, int], int] = {}
    row = [of_row.setdefault(key, len(of_row)) for key in zip(accounts.rank, site, strict=True)]
    rows = list(of_row)

    def merged(column: Sequence[float]) -> Sequence[Any]:
        return _merged(column, row, len(rows))

    names = list(engine.call_numbers)
    skipped: dict[CallSite, SiteWork] = {}
    for (call, line, comm), counts in (skipped_counts or {}).items():
        place = _call_site(engine, names[call], place_of_line(line), comm)
        skipped[place] = SiteWork(*map(sum, zip(skipped.get(place, SiteWork()), counts, strict=True)))
    pairs_are_of_hosts, pairs = engine.message_pairs()
    return RunProfile(
        sites=sites,
        rank=[rank for rank, _ in rows],
        site=[number for _, number in rows],
        count=merged(accounts.count if count is None else count),
        spent_s=[merged(column) for column in accounts.spent_s],
        sent_bytes=merged(accounts.sent_bytes),
        received_bytes=merged(accounts.received_bytes),
        messages_of_size=[merged(column) for column in accounts.messages_of_size],
        kept_waiting_s=engine.kept_waiting_s(),
        caused_waits_s=engine.caused_waits_s(),
        finish_s=finish_s,
        makespan_s=makespan_s,
        pairs=MessagePairs(pairs),
        pairs_are_of_hosts=pairs_are_of_hosts,
        links=[LinkLoad(*load) for load in engine.link_loads()],
        above_idle_j=merged(engine.accounts_energy_j(len(site))) if engine.keeps_energy else (),
        skipped_s=skipped_s if any(skipped_s := engine.skipped_s()) else (),
        skipped_work=skipped,
        host_of_rank=[engine.host_name(rank) for rank in range(engine.n_ranks)],
    )


def _merged(column: Sequence[float], row: Sequence[int], n_rows: int) -> Sequence[float]:
    """Column with the entries of each row added up: the kernel keeps calls of one line apart."""
    if len(column) == n_rows:
        return column
    sums: list[float] = [0] * n_rows
    for number, value in zip(row, column, strict=True):
        sums[number] += value
    return sums


def _sites(engine: Engine, place_of_line: Callable[[int], str], accounts: Accounts) -> tuple[list[CallSite], list[int]]:
    """Call sites, and the index of each row's site. Calls in one line are one site: the line is what a user sees.

    Calls in one line are one site: the line is what a user sees.
    """
    names = list(engine.call_numbers)
    number_of: dict[CallSite, int] = {}
    known: dict[tuple[int, int, int], int] = {}
    site = []
    for key in zip(accounts.call, accounts.line, accounts.comm, strict=True):
        if key not in known:
            call, line, comm = key
            call_site = _call_site(engine, names[call], place_of_line(line), comm)
            known[key] = number_of.setdefault(call_site, len(number_of))
        site.append(known[key])
    return list(number_of), site


def _call_site(engine: Engine, call: str, line: str, comm: int) -> CallSite:
    return CallSite(call, line, comm, engine.comm_size(comm) if comm >= 0 else int(comm == _SELF))
