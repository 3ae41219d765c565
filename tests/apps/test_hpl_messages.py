"""Messages of HPL, by phase and iteration, are those of its algorithm."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from apps.linpack.cyclic import owned

APPS = Path(__file__).parents[2] / "apps"

# One copy for all ranks: counts what any of them sends, by phase, the panel's first column, and bytes.
COUNTING = """
__smpy_shared__ = True
from collections import Counter
from mpi4py import MPI
from smpy.experimental import AwaitedMessage, MessageProgram
from linpack import factorise, grid, solve, substitution, swap, update

MessageProgram.perform = MessageProgram._perform  # which makes the calls one by one
AwaitedMessage.look = lambda self: self.is_done or self._look()
AwaitedMessage.wait = lambda self: self.is_done or self._wait()
AwaitedMessage.overlap = AwaitedMessage._overlap

sent, factored, swapped = Counter(), {}, {}  # the last two: the panel at which a rank is

def phase_of(tag):
    if tag == factorise.PIVOT_TAG:
        return "pivot", factored[MPI.COMM_WORLD.rank]
    if tag == swap.SWAP_TAG:
        return "swap", swapped[MPI.COMM_WORLD.rank]
    if tag in (substitution.RIGHT_TAG, substitution.UP_TAG, substitution.LAST_TAG):
        return "substitution", 0
    if tag == grid.COLLECTIVE_TAG:
        return "around", 0
    return "broadcast", (tag - solve.FIRST_PANEL_TAG) * block

def counting(send):
    def counted(comm, buf, dest, tag=0):
        sent[*phase_of(tag), buf.nbytes] += 1
        return send(comm, buf, dest, tag)
    return counted

def noting(places, call):
    def noted(panel, *args):
        places[MPI.COMM_WORLD.rank] = panel.first
        return call(panel, *args)
    return noted

for name in ("Send", "Ssend", "Isend", "Issend"):
    type.__setattr__(MPI.Comm, name, counting(getattr(MPI.Comm, name)))
solve.factorise = noting(factored, solve.factorise)
update.exchange_rows = noting(swapped, update.exchange_rows)
"""
PROGRAM = """
import json, runpy, sys
sys.path.insert(0, {apps!r})
import counter
from mpi4py import MPI
counter.block = {nb}
sys.argv = ["hpl.py", *{arguments!r}]
try:
    runpy.run_path({apps!r} + "/hpl.py", run_name="__main__")
except SystemExit as end:
    assert not end.code, end.code
MPI.COMM_WORLD.Barrier()
if MPI.COMM_WORLD.rank == 0:
    print("sent", json.dumps([[*what, n] for what, n in counter.sent.items()]))
"""

Sent = Counter[tuple[str, int, int]]


@pytest.fixture
def sent(emulated: Callable[..., Any], smpy_patched: None) -> Callable[..., Sent]:
    """Messages by phase, first column of the panel, and bytes."""

    def count(n: int, nb: int, grid: tuple[int, int], **choices: object) -> Sent:
        flags = {"n": n, "nb": nb, "p": grid[0], "q": grid[1], **choices}
        words = [word for name, value in flags.items() for word in (f"--{name}", str(value))]
        program = PROGRAM.format(apps=str(APPS), nb=nb, arguments=[*words, "--skeleton"])
        ran = emulated(program, grid[0] * grid[1], files={"counter.py": COUNTING})
        assert ran.code == 0, ran.err
        found = json.loads(ran.out.rpartition("sent ")[2])
        return Counter({tuple(what): times for *what, times in found})

    return count


@pytest.fixture
def smpy_patched() -> Any:
    """The counter replaces methods of the surface, which outlives the run."""
    from smpy.experimental import AwaitedMessage, MessageProgram
    from smpy.mpi.MPI import Comm

    replaced = [(Comm, name) for name in ("Send", "Ssend", "Isend", "Issend")]
    replaced += [(MessageProgram, "perform"), (AwaitedMessage, "look"), (AwaitedMessage, "wait")]
    before = [(kind, name, vars(kind).get(name)) for kind, name in replaced]
    yield
    for kind, name, method in before:
        if method is None:
            type.__delattr__(kind, name)
        else:
            type.__setattr__(kind, name, method)


def by_panel(sent: Sent, phase: str) -> Counter[int]:
    """Messages of a phase for each panel's first column."""
    return sum((Counter({first: n}) for (found, first, _), n in sent.items() if found == phase), Counter())


def log2(n: int) -> int:
    return n.bit_length() - 1


def binary_exchange(first: int, n: int, nb: int, n_rows: int) -> int:
    """Messages in one process column when regular pivots all lie on one process row.

    U goes down to all others: P - 1 messages. Of the P - 1 only the chosen row's process has a row to give, unless it
    is the current one; in each step up to the highest bit of its distance all who have the row pass it on.
    """
    current = first // nb % n_rows
    chosen = next(row for row in range(n_rows) if owned(n, nb, row, n_rows) > owned(first, nb, row, n_rows))
    distance = (chosen - current) % n_rows
    return n_rows - 1 + 2 ** distance.bit_length() - 1


def n_exchanges(first: int, n: int, nb: int, n_columns: int, depth: int) -> int:
    """Number of exchanges of rows that a panel asks for: one in each process column with columns to update.

    With look-ahead, the one that owns the next panel updates this first, and then the columns behind it.
    """
    end = min(first + nb, n)
    left = [owned(n + 1, nb, column, n_columns) - owned(end, nb, column, n_columns) for column in range(n_columns)]
    owner_of_next, width_of_next = (first + nb) // nb % n_columns, max(0, min(nb, n - first - nb))
    is_split = depth > 0 and n_columns > 1 and left[owner_of_next] > width_of_next > 0
    return sum(columns > 0 for columns in left) + is_split


@pytest.mark.parametrize(
    "grid", [(2, 4), *(pytest.param(each, marks=pytest.mark.slow) for each in ((4, 2), (8, 1), (1, 4), (8, 4)))]
)
@pytest.mark.parametrize("depth", [0, 1])
@pytest.mark.parametrize("bcast", ["1ring", "1ringM", "2ring", "2ringM"])
def test_each_iteration_sends_the_messages_of_the_formulas(
    sent: Callable[..., Sent], grid: tuple[int, int], depth: int, bcast: str
) -> None:
    n, nb, (p, q) = 487, 16, grid
    counts = sent(n, nb, grid, depth=depth, swap="bin-exch", bcast=bcast)
    firsts = range(0, n, nb)
    assert by_panel(counts, "pivot") == Counter({first: min(nb, n - first) * p * log2(p) for first in firsts})
    assert by_panel(counts, "broadcast") == Counter(dict.fromkeys(firsts, p * (q - 1)))
    assert by_panel(counts, "swap") == Counter(
        {first: binary_exchange(first, n, nb, p) * n_exchanges(first, n, nb, q, depth) for first in firsts}
    )


def test_a_pivot_travels_with_its_row_and_where_it_is_missing_with_the_current_row(sent: Callable[..., Sent]) -> None:
    n, nb, p = 128, 16, 8
    sizes = Counter(
        {
            nbytes: times
            for (phase, first, nbytes), times in sent(n, nb, (p, 1)).items()
            if (phase, first) == ("pivot", 0)
        }
    )
    assert sizes == {8 * (4 + 2 * nb): nb * (p - 1), 8 * (4 + nb): nb * (p * log2(p) - (p - 1))}


@pytest.mark.slow
def test_the_c_program_sends_as_many_messages(sent: Callable[..., Sent]) -> None:
    second = {"depth": 1, "bcast": "2ring", "swap": "bin-exch", "pfact": "crout", "rfact": "right"}
    counts = sent(10000, 128, (8, 8), **second)
    phases = {phase: by_panel(counts, phase).total() for phase in ("pivot", "broadcast", "swap")}
    assert phases == json.loads((APPS.parent / "tests" / "oracle" / "hpl.json").read_text())["second"]["messages"]
