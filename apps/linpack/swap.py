"""Exchanging rows in the process columns, so that every process has the rows that a panel updates: U.

The binary exchange sends whole rows in log2 P pairwise steps. The long one spreads each process its part of U along a
tree, balances the parts if asked to, and rolls them around a ring; it moves fewer bytes when there are many columns.
Between steps whoever waits for a panel looks for it.
"""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np

from linpack.broadcast import Broadcast
from linpack.grid import exchange, power_of_two
from linpack.panel import Panel
from linpack.settings import Settings

Array = Any
SWAP_TAG = 2002


def exchange_rows(panel: Panel, n: int, settings: Settings, awaited: Broadcast | None) -> Array:
    """Apply a panel's pivots to the next `n` local columns: U, whose rows are the block's.

    Parameters
    ----------
    panel : Panel
        Whose pivots.
    n : int
        Local columns.
    settings : Settings
        Which exchange.
    awaited : Broadcast, optional
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
    """What both have: the panel's moves, its columns and U."""

    def __init__(self, panel: Panel, n: int, equil: bool, awaited: Broadcast | None) -> None:
        self.panel, self.grid, self.comm = panel, panel.grid, panel.grid.along_column
        self.n, self.equil, self.awaited = n, equil, awaited
        self.is_real = panel.kernels.is_real
        self.moves = panel.moves
        self.u = panel.kernels.memory(panel.width, n)
        self.a = panel.matrix.a[panel.i :, panel.j : panel.j + n]

    def look(self) -> None:
        if self.awaited is not None and not self.awaited.is_done:
            self.awaited.advance()

    def is_in_block(self, rows: Array) -> Array:
        return (rows >= self.panel.first) & (rows < self.panel.first + self.panel.width)

    def slots(self, rows: Array) -> Array:
        """Where in U a row of another process waits to be fetched: in place of the row that comes from there."""
        order = np.argsort(self.moves.source)
        found = order[np.searchsorted(self.moves.source, rows, sorter=order)]
        return self.moves.target[found] - self.panel.first

    def move_own(self, u_places: Array, from_rows: Array) -> None:
        """In the current row: rows that stay go to their places, all others into U."""
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
        panel, grid = self.panel, self.grid
        n_rows, current = grid.n_rows, panel.row
        lengths = list(self.moves.held)
        self.n_own = 0 if panel.is_row else lengths[grid.row]
        n_all = sum(lengths) - lengths[current]
        self.w = panel.kernels.memory(n_all, self.n + 1)
        if self.is_real:
            self.prepare()
        self.look()
        lengths[current] = 0
        self.lengths, self.n_held = lengths, self.n_own
        self.rows = [(current + distance) % n_rows for distance in range(n_rows)]
        distance = (grid.row - current) % n_rows
        core = power_of_two(n_rows)
        n_extra = n_rows - core
        mate = distance ^ core
        has_mate = n_extra > 0 and mate < n_rows
        if has_mate:
            self.gather_extra(distance, mate, core)
        for extra in range(1, n_extra):
            lengths[self.rows[extra]] += lengths[self.rows[extra + core]]
        self.look()
        if distance < core:
            self.climb(distance, core)
        else:
            if n_extra > 1:
                self.descend(distance - core, n_extra, core)
            self.fetch_own()
        if has_mate and distance & core:
            self.comm.Recv(self.u, self.rows[mate], SWAP_TAG)
        elif has_mate:
            self.comm.Send(self.u, self.rows[mate], SWAP_TAG)
        self.look()
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

    def gather_extra(self, distance: int, mate: int, core: int) -> None:
        """The processes beyond the power of two hand over what they have."""
        partner, n_its = self.rows[mate], self.lengths[self.rows[mate]]
        if distance == 0:
            exchange(self.comm, self.u, self.w[:n_its], partner, SWAP_TAG)
            self.into_u(0, n_its)
        elif distance == core:
            exchange(self.comm, self.w[: self.n_own], self.u, partner, SWAP_TAG)
        elif distance & core:
            if self.n_own:
                self.comm.Send(self.w[: self.n_own], partner, SWAP_TAG)
        elif n_its:
            self.comm.Recv(self.w[self.n_held : self.n_held + n_its], partner, SWAP_TAG)
            self.n_held += n_its

    def climb(self, distance: int, core: int) -> None:
        """Pairs that have no U yet join their rows; a pair of which one has it exchanges it for the other's rows."""
        lengths, rows, me = self.lengths, self.rows, self.grid.row
        step = 1
        while step < core:
            partner = rows[distance ^ step]
            n_its = lengths[partner]
            if distance < step:
                exchange(self.comm, self.u, self.w[self.n_held : self.n_held + n_its], partner, SWAP_TAG)
                self.into_u(self.n_held, n_its)
                self.n_held += n_its
            elif distance < 2 * step:
                exchange(self.comm, self.w[: lengths[me]], self.u, partner, SWAP_TAG)
                self.fetch_own()
                self.into_u(0, lengths[me])
            else:
                held = self.w[self.n_held : self.n_held + n_its]
                exchange(self.comm, self.w[: lengths[me]], held, partner, SWAP_TAG)
                self.n_held += n_its
            for low in range(core):
                if low ^ step > low:
                    both = lengths[rows[low]] + lengths[rows[low ^ step]]
                    lengths[rows[low]] = lengths[rows[low ^ step]] = both
            self.look()
            step *= 2

    def descend(self, distance: int, n: int, core: int) -> None:
        """U comes down to the processes beyond the power of two."""
        step = power_of_two(n - 1)
        while step:
            if distance % step == 0:
                partner = distance ^ step
                if distance & step:
                    self.comm.Recv(self.u, self.rows[core + partner], SWAP_TAG)
                elif partner < n:
                    self.comm.Send(self.u, self.rows[core + partner], SWAP_TAG)
            self.look()
            step //= 2

    def into_u(self, start: int, n: int) -> None:
        """Put rows of a message where they say that they belong."""
        if self.is_real and n:
            rows = self.w[start : start + n]
            self.u[rows[:, 0].astype(int)] = rows[:, 1:]

    def fetch_own(self) -> None:
        """Take from U the rows that come to this process, before its own take their places there."""
        if self.is_real and self.n_own:
            self.a[self.own_rows] = self.u[self.own_places]


class _LongExchange(_Exchange):
    """Spread and roll: each process holds a part of U's rows, and the parts go around."""

    def run(self) -> Array:
        self.order, lengths = sorted_by_length(self.moves.parts, self.panel.row)
        self.starts = list(itertools.accumulate(lengths, initial=0))
        self.place = self.order.index(self.grid.row)
        if self.is_real:
            self.prepare()
        self.spread(0, self.starts, to_right=True)
        if self.is_real and not self.panel.is_row:
            self.fetch_own()
        if self.equil:
            self.balance()
        self.roll()
        return self.ordered() if self.is_real else self.u

    def prepare(self) -> None:
        """In the current row: rows that leave go into U, part by part."""
        moves = self.moves
        self.targets, self.owners = moves.target[moves.leaves], moves.target_owner[moves.leaves]
        self.places = self.positions(self.owners)
        if self.panel.is_row:
            self.move_own(self.places, moves.kept(moves.source[moves.leaves]))

    def fetch_own(self) -> None:
        """Exchange this process's rows for the part that came."""
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
        """Where in U each row goes: parts in the order of their processes, rows in the order of the moves."""
        by_place = np.array([self.order.index(owner) for owner in range(self.grid.n_rows)])[owners]
        positions = np.empty(len(owners), int)
        positions[np.argsort(by_place, kind="stable")] = np.arange(len(owners))
        return positions

    def spread(self, root: int, starts: list[int], *, to_right: bool) -> None:
        """A binomial tree from the process at place `root` to those on one side of it, each getting its part."""
        n = self.grid.n_rows - root if to_right else root + 1
        distance = self.place - root if to_right else root - self.place
        if n == 1 or distance < 0:
            return
        step = power_of_two(n - 1)
        while step:
            if distance % step == 0:
                partner = distance ^ step
                first = distance if distance & step else partner
                if first < n:
                    part = self.parts(root, starts, first, min(first + step, n), to_right)
                    rank = self.order[root + partner if to_right else root - partner]
                    if len(part) and distance & step:
                        self.comm.Recv(part, rank, SWAP_TAG)
                    elif len(part):
                        self.comm.Send(part, rank, SWAP_TAG)
            self.look()
            step //= 2

    def parts(self, root: int, starts: list[int], first: int, end: int, to_right: bool) -> Array:
        """The rows of U for the processes `first` to `end` places away from the root."""
        if to_right:
            return self.u[starts[root + first] : starts[root + end]]
        return self.u[starts[root - end + 1] : starts[root - first + 1]]

    def balance(self) -> None:
        """Make all parts of about the same length."""
        n, total = self.grid.n_rows, self.starts[-1]
        if n <= 2:
            return
        small, n_large = divmod(total, n)
        fair = {small, small + (n_large > 0)}
        if all(end - start in fair for start, end in itertools.pairwise(self.starts[:-1])):
            return  # HPL does not look at the last part
        wanted = [place * small + min(place, n_large) for place in range(n + 1)]
        for place in range(n):
            start, end = self.starts[place], self.starts[place + 1]
            if start == end:
                continue
            cuts = [min(max(cut, start), end) for cut in wanted]
            if start < wanted[place]:
                self.spread(place, cuts, to_right=False)
            if wanted[place + 1] < end:
                self.spread(place, cuts, to_right=True)
        self.starts = wanted

    def roll(self) -> None:
        """A ring that turns to and fro until all have all parts."""
        n, place, starts = self.grid.n_rows, self.place, self.starts
        parts = [self.u[start:end] for start, end in itertools.pairwise(starts)]
        before, behind = self.order[(place - 1) % n], self.order[(place + 1) % n]
        for turn in range(n - 1):
            half = turn // 2
            if (place + turn) % 2:
                out, into, partner = (place + half) % n, (place - half - 1) % n, before
            else:
                out, into, partner = (place - half) % n, (place + half + 1) % n, behind
            request = self.comm.Irecv(parts[into], partner, SWAP_TAG) if len(parts[into]) else None
            if len(parts[out]):
                self.comm.Send(parts[out], partner, SWAP_TAG)
            if request is not None:
                request.Wait()
            self.look()


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
