"""Exchanging rows in the process columns, so that every process has the rows that a panel updates: U.

The binary exchange sends whole rows in log2 P pairwise steps. The long one spreads each process its part of U along a
tree, balances the parts if asked to, and rolls them around a ring; it moves fewer bytes when there are many columns.
Between steps whoever waits for a panel looks for it.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from linpack.broadcast import Awaited
from linpack.grid import power_of_two
from linpack.messages import Calls, Steps, exchange, is_empty, nothing, sequence
from linpack.panel import Panel
from linpack.settings import Settings

Array = Any
SWAP_TAG = 2002


def exchange_rows(panel: Panel, n: int, settings: Settings, awaited: Awaited | None) -> Array:
    """Apply a panel's pivots to the next `n` local columns: U, whose rows are the block's.

    Parameters
    ----------
    panel : Panel
        Panel whose pivots are applied.
    n : int
        Local columns.
    settings : Settings
        Settings that choose the exchange.
    awaited : Awaited, optional
        A panel to look for between the steps.

    Returns
    -------
    (width, n) array
        U, complete on every process of the column.
    """
    is_long = settings.swap == "long" or (settings.swap == "mix" and n > settings.swap_threshold)
    way = _LongExchange if is_long else _BinaryExchange
    return way(panel, n, settings.equil, awaited).run()


class _Exchange:
    """State that both exchanges share: the panel's moves, its columns and U."""

    def __init__(self, panel: Panel, n: int, equil: bool, awaited: Awaited | None) -> None:
        self.panel, self.grid, self.comm = panel, panel.grid, panel.grid.along_column
        self.n, self.equil, self.awaited = n, equil, awaited
        self.is_real = panel.kernels.is_real
        self.moves = panel.moves
        self.u = panel.kernels.memory(panel.width, n)
        self.a = panel.matrix.a[panel.i :, panel.j : panel.j + n] if self.is_real else None

    def look(self) -> None:
        if self.awaited is not None:
            self.awaited.look()

    def is_in_block(self, rows: Array) -> Array:
        return (rows >= self.panel.first) & (rows < self.panel.first + self.panel.width)

    def slots(self, rows: Array) -> Array:
        """Rows of U where rows of other processes wait to be fetched: each in place of the row from there."""
        order = np.argsort(self.moves.source)
        found = order[np.searchsorted(self.moves.source, rows, sorter=order)]
        return self.moves.target[found] - self.panel.first

    def move_own(self, u_places: Array, from_rows: Array) -> None:
        """Move the current row's rows: those that stay to their places, all others into U."""
        moves = self.moves
        stays = (moves.source_owner == self.panel.row) & (moves.target_owner == self.panel.row)
        stays &= ~self.is_in_block(moves.target)
        kept = self.a[moves.kept(moves.source[stays])]
        self.u[u_places] = self.a[from_rows]
        self.a[moves.kept(moves.target[stays])] = kept


class _BinaryExchange(_Exchange):
    """Rows for the block climb a tree to the current row, whose U comes down on the same way.

    A message of k rows is k times (n + 1) numbers: each row says where in U it belongs.
    """

    def run(self) -> Array:
        panel, grid, held = self.panel, self.grid, self.moves.held
        n_all = sum(held) - held[panel.row]
        w = panel.kernels.memory(n_all, self.n + 1)
        facts = panel.width, grid.row, panel.row, held
        if not self.is_real:
            sequence(write_binary_exchange, *facts).perform(self.comm, self.u, w, arrival=self.awaited)
            return self.u
        self.w, self.n_own = w, 0 if panel.is_row else held[grid.row]
        self.prepare()
        calls = Calls(self.comm, self.look, self.u, w)
        write_binary_exchange(calls, *facts, into_u=self.into_u, fetch_own=self.fetch_own)
        return self.u

    def prepare(self) -> None:
        """Put rows that leave into U (the current row) or into a message (all others)."""
        moves, panel = self.moves, self.panel
        if panel.is_row:
            own = moves.source_owner == panel.row
            targets = moves.target[own]
            in_block = self.is_in_block(targets)
            leaves = moves.target_owner[own] != panel.row
            goes = in_block | leaves
            places = np.where(in_block, targets - panel.first, 0)
            places[leaves] = self.slots(targets[leaves])
            self.move_own(places[goes], moves.kept(moves.source[own][goes]))
        else:
            own = moves.source_owner == self.grid.row
            self.own_places = moves.target[own] - panel.first
            self.own_rows = moves.kept(moves.source[own])
            self.w[: self.n_own, 0] = self.own_places
            self.w[: self.n_own, 1:] = self.a[self.own_rows]

    def into_u(self, start: int, n: int) -> None:
        """Put rows of a message where they say that they belong."""
        if n:
            rows = self.w[start : start + n]
            self.u[rows[:, 0].astype(int)] = rows[:, 1:]

    def fetch_own(self) -> None:
        """Take from U the rows that come to this process, before its own take their places there."""
        if self.n_own:
            self.a[self.own_rows] = self.u[self.own_places]


class _LongExchange(_Exchange):
    """Spread and roll: each process holds a part of U's rows, and the parts go around."""

    def run(self) -> Array:
        row, current, parts = self.grid.row, self.panel.row, self.moves.parts
        if not self.is_real:
            sequence(write_long_exchange, row, current, parts, self.equil).perform(
                self.comm, self.u, arrival=self.awaited
            )
            return self.u
        self.order, lengths = sorted_by_length(parts, current)
        self.starts = tuple(itertools.accumulate(lengths, initial=0))
        self.place = self.order.index(row)
        self.prepare()
        calls = Calls(self.comm, self.look, self.u)
        write_long_exchange(calls, row, current, parts, self.equil, fetch_own=self.fetch_own)
        return self.ordered()

    def prepare(self) -> None:
        """Move the current row's leaving rows into U, part by part."""
        moves = self.moves
        self.targets, self.owners = moves.target[moves.leaves], moves.target_owner[moves.leaves]
        self.places = self.positions(self.owners)
        if self.panel.is_row:
            self.move_own(self.places, moves.kept(moves.source[moves.leaves]))

    def fetch_own(self) -> None:
        """Exchange this process's rows for the part that came."""
        if self.panel.is_row:
            return
        rows = self.moves.kept(self.targets[self.owners == self.grid.row])
        part = slice(self.starts[self.place], self.starts[self.place + 1])
        coming = self.a[rows]
        self.a[rows] = self.u[part]
        self.u[part] = coming

    def ordered(self) -> Array:
        """U with its rows where the block wants them."""
        final = self.targets - self.panel.first
        is_outside = ~self.is_in_block(self.targets)
        final[is_outside] = self.slots(self.targets[is_outside])
        u = np.empty_like(self.u)
        u[final] = self.u[self.places]
        return u

    def positions(self, owners: Array) -> Array:
        """Place in U of each row: parts in the order of their processes, rows in the order of the moves."""
        by_place = np.array([self.order.index(owner) for owner in range(self.grid.n_rows)])[owners]
        positions = np.empty(len(owners), int)
        positions[np.argsort(by_place, kind="stable")] = np.arange(len(owners))
        return positions


# ---- their messages ----


def write_binary_exchange(
    steps: Steps,
    width: int,
    row: int,
    current: int,
    held: tuple[int, ...],
    into_u: Callable[[int, int], None] = nothing,
    fetch_own: Callable[[], None] = nothing,
) -> None:
    """Array 0 is U, of `width` rows; array 1 takes the rows of others behind one's own.

    `held` says how many rows the process of each row of the grid has to give, `current` which row is the panel's.
    `into_u` is told of rows that have come into array 1, `fetch_own` is called when U has come.
    """
    n_rows, u = len(held), (0, 0, width)
    steps.Look()
    rows = [(current + distance) % n_rows for distance in range(n_rows)]
    lengths = [0, *(held[other] for other in rows[1:])]  # by distance
    distance = (row - current) % n_rows
    n_held = lengths[distance]
    core = power_of_two(n_rows)
    n_extra = n_rows - core
    mate = distance ^ core
    has_mate = n_extra > 0 and mate < n_rows
    if has_mate:  # the processes beyond the power of two hand over what they have
        n_its = lengths[mate]
        if distance == 0:
            exchange(steps, u, (1, 0, n_its), rows[mate], SWAP_TAG)
            into_u(0, n_its)
        elif distance == core:
            exchange(steps, (1, 0, n_held), u, rows[mate], SWAP_TAG)
        elif distance & core:
            exchange(steps, (1, 0, n_held), (1, 0, 0), rows[mate], SWAP_TAG)
        else:
            exchange(steps, (1, 0, 0), (1, n_held, n_held + n_its), rows[mate], SWAP_TAG)
            n_held += n_its
    for extra in range(1, n_extra):
        lengths[extra] += lengths[extra + core]
    steps.Look()
    if distance < core:
        _write_climb(steps, u, rows[:core], distance, lengths[:core], n_held, into_u, fetch_own)
    else:
        if n_extra > 1:
            _write_descent(steps, u, rows[core:], distance - core)
        fetch_own()
    if has_mate and distance & core:
        steps.Recv(u, rows[mate], SWAP_TAG)
    elif has_mate:
        steps.Send(u, rows[mate], SWAP_TAG)
    steps.Look()


def _write_climb(
    steps: Steps,
    u: tuple[int, int, int],
    rows: list[int],
    distance: int,
    lengths: list[int],
    n_held: int,
    into_u: Callable[[int, int], None],
    fetch_own: Callable[[], None],
) -> None:
    """Pairs that have no U yet join their rows; a pair of which one has it exchanges it for the other's rows."""
    step = 1
    while step < len(rows):
        partner, n_mine, n_its = rows[distance ^ step], lengths[distance], lengths[distance ^ step]
        behind = (1, n_held, n_held + n_its)
        if distance < step:
            exchange(steps, u, behind, partner, SWAP_TAG)
            into_u(n_held, n_its)
            n_held += n_its
        elif distance < 2 * step:
            exchange(steps, (1, 0, n_mine), u, partner, SWAP_TAG)
            fetch_own()
            into_u(0, n_mine)
        else:
            exchange(steps, (1, 0, n_mine), behind, partner, SWAP_TAG)
            n_held += n_its
        lengths = [length + lengths[other ^ step] for other, length in enumerate(lengths)]
        steps.Look()
        step *= 2


def _write_descent(steps: Steps, u: tuple[int, int, int], rows: list[int], distance: int) -> None:
    """U comes down to the processes beyond the power of two."""
    n, step = len(rows), power_of_two(len(rows) - 1)
    while step:
        if distance % step == 0:
            partner = distance ^ step
            if distance & step:
                steps.Recv(u, rows[partner], SWAP_TAG)
            elif partner < n:
                steps.Send(u, rows[partner], SWAP_TAG)
        steps.Look()
        step //= 2


def write_long_exchange(
    steps: Steps,
    row: int,
    current: int,
    parts: tuple[int, ...],
    equil: bool,
    fetch_own: Callable[[], None] = nothing,
) -> None:
    """Array 0 is U; `parts` says how many of its rows each process row is to have, `current` which row is the panel's.

    `fetch_own` is called when this process's part has come.
    """
    order, lengths = sorted_by_length(parts, current)
    starts = tuple(itertools.accumulate(lengths, initial=0))
    place = order.index(row)
    _write_spread(steps, order, place, 0, starts, to_right=True)
    fetch_own()
    if equil:
        starts = _write_balance(steps, order, place, starts)
    _write_roll(steps, order, place, starts)


def _write_spread(
    steps: Steps, order: list[int], place: int, root: int, starts: tuple[int, ...], *, to_right: bool
) -> None:
    """A binomial tree from the process at place `root` to those on one side of it, each getting its part."""
    n = len(order) - root if to_right else root + 1
    distance = place - root if to_right else root - place
    if n == 1 or distance < 0:
        return
    step = power_of_two(n - 1)
    while step:
        if distance % step == 0:
            partner = distance ^ step
            first = distance if distance & step else partner
            if first < n:
                end = min(first + step, n)  # the part of the processes from `first` to `end` places away from the root
                part = (
                    (0, starts[root + first], starts[root + end])
                    if to_right
                    else (0, starts[root - end + 1], starts[root - first + 1])
                )
                rank = order[root + partner if to_right else root - partner]
                if not is_empty(part) and distance & step:
                    steps.Recv(part, rank, SWAP_TAG)
                elif not is_empty(part):
                    steps.Send(part, rank, SWAP_TAG)
        steps.Look()
        step //= 2


def _write_balance(steps: Steps, order: list[int], place: int, starts: tuple[int, ...]) -> tuple[int, ...]:
    """Make all parts of about the same length: where they start then."""
    n, total = len(order), starts[-1]
    if n <= 2:
        return starts
    small, n_large = divmod(total, n)
    fair = {small, small + (n_large > 0)}
    if all(end - start in fair for start, end in itertools.pairwise(starts[:-1])):
        return starts  # HPL does not look at the last part
    wanted = tuple(other * small + min(other, n_large) for other in range(n + 1))
    for other, (start, end) in enumerate(itertools.pairwise(starts)):
        if start == end:
            continue
        cuts = tuple(min(max(cut, start), end) for cut in wanted)
        if start < wanted[other]:
            _write_spread(steps, order, place, other, cuts, to_right=False)
        if wanted[other + 1] < end:
            _write_spread(steps, order, place, other, cuts, to_right=True)
    return wanted


def _write_roll(steps: Steps, order: list[int], place: int, starts: tuple[int, ...]) -> None:
    """A ring that turns to and fro until all have all parts."""
    n = len(order)
    parts = [(0, start, end) for start, end in itertools.pairwise(starts)]
    before, behind = order[(place - 1) % n], order[(place + 1) % n]
    for turn in range(n - 1):
        half = turn // 2
        if (place + turn) % 2:
            out, into, partner = (place + half) % n, (place - half - 1) % n, before
        else:
            out, into, partner = (place - half) % n, (place + half + 1) % n, behind
        exchange(steps, parts[out], parts[into], partner, SWAP_TAG)
        steps.Look()


@functools.cache
def sorted_by_length(counts: tuple[int, ...], current: int) -> tuple[list[int], list[int]]:
    """Process rows in the order in which a binomial tree serves them, longest parts first, and the parts' lengths.

    Processes whose distance has few bits set are served in fewer steps; among them the longest come first.
    """
    n = len(counts)
    order = [(current + distance) % n for distance in range(n)]
    lengths = [counts[row] for row in order]
    bits = [distance.bit_count() for distance in range(n)]
    for level in range(1, max(bits, default=0) + 1):
        for j in range(1, n):
            if bits[j] != level:
                continue
            for i in range(2, n):
                if bits[i] > level and lengths[j] < lengths[i]:
                    order[i], order[j] = order[j], order[i]
                    lengths[i], lengths[j] = lengths[j], lengths[i]
    return order, lengths
