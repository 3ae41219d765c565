"""Messages between arrays that share memory: what is private on both sides arrives, and nothing else."""

from dataclasses import dataclass

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import smpy
from smpy.mpi import MPI
from tests.mpi.conftest import run_world

N_RANKS = 3
CONTENT, GARBAGE = 1000, -7


@dataclass(frozen=True)
class Model:
    """An array as plain numpy has it: what is in it, what should be in the end, and where that means anything."""

    kind: str
    zones: list[tuple[int, int]]
    content: np.ndarray
    expected: np.ndarray
    is_private: np.ndarray

    def made(self):
        """The array itself, with garbage where it may be."""
        n = len(self.content)
        if self.kind == "plain":
            return self.content.copy()
        if self.kind == "folded":
            return smpy.folded(n, np.int32)
        if self.kind == "partial":
            array = smpy.partial_shared_array(n, np.int32, private=self.zones)
        else:
            array = smpy.shared_array(n, np.int32, self.kind)
        array[:] = GARBAGE
        array[self.is_private] = self.content[self.is_private]
        return array

    def take(self, places, its, its_places):
        """Expect at `places` here the content of another array at `its_places`, where both are private."""
        arrives = its.is_private[its_places] & self.is_private[places]
        self.expected[places[arrives]] = its.content[its_places][arrives]

    def check(self, array):
        if self.kind != "folded":
            assert (array[self.is_private] == self.expected[self.is_private]).all()


@st.composite
def models(draw, n, seed):
    kind = draw(st.sampled_from(["plain", "folded", "local", "global", "partial", "partial", "partial"]))
    is_private = np.full(n, kind == "plain")
    ends = sorted(draw(st.lists(st.integers(0, n), max_size=8)))
    zones = list(zip(ends[::2], ends[1::2], strict=False)) if kind == "partial" else []
    for first, last in zones:
        is_private[first:last] = True
    content = np.random.default_rng(seed).integers(1, CONTENT, n, np.int32)
    return Model(kind, zones, content, content.copy(), is_private)


@st.composite
def worlds(draw):
    """Arrays of all ranks, of one length: below and above a page, and the limit of eager messages."""
    n = draw(st.sampled_from([60, 6_000, 39_999]))
    return [draw(models(n, rank)) for rank in range(N_RANKS)]


def run_and_check(arrays, main):
    """Make the arrays, have each rank do its part, and compare what it holds with its model."""

    def whole(rank):
        array = arrays[rank].made()
        main(MPI.COMM_WORLD, rank, array)
        return array

    for array, model in zip(run_world(N_RANKS, whole).returned, arrays, strict=True):
        model.check(array)


few = settings(max_examples=20)
PARTS = st.tuples(st.floats(0, 1), st.floats(0, 1))


@few
@given(worlds(), PARTS, st.floats(0, 1), st.sampled_from(["blocking", "started", "synchronous"]))
def test_messages_carry_what_is_private_on_both_sides(arrays, parts, length, form):
    n = len(arrays[0].content)
    count = max(1, int(length * n))
    out, into = (slice(start, start + count) for start in (int(part * (n - count)) for part in parts))
    arrays[1].take(np.arange(n)[into], arrays[0], out)

    def main(world, rank, array):
        if rank == 0 and form == "started":
            world.Isend(array[out], 1).Wait()
        elif rank == 0:
            world.Ssend(array[out], 1) if form == "synchronous" else world.Send(array[out], 1)
        elif rank == 1:
            world.Irecv(array[into], 0).Wait() if form == "started" else world.Recv(array[into], 0)

    run_and_check(arrays, main)


@few
@given(worlds(), st.integers(1, 5), st.integers(1, 5), st.sampled_from([(0, 1), (1, 0), (1, 1)]))
def test_entries_with_gaps_carry_what_is_private_on_both_sides(arrays, length, gap, are_apart):
    assume(all(model.kind != "folded" for model in arrays[:2]))
    n = len(arrays[0].content)
    count = n // (length + gap) // 2
    apart = (np.arange(count)[:, None] * (length + gap) + np.arange(length)).ravel()
    source, target = (apart if is_apart else np.arange(count * length) + 3 for is_apart in are_apart)
    arrays[1].take(target, arrays[0], source)

    def specified(array, is_apart):
        if not is_apart:
            return array[3 : 3 + count * length]
        return [array, 1, MPI.INT.Create_vector(count, length, length + gap).Commit()]

    def main(world, rank, array):
        if rank == 0:
            world.Send(specified(array, are_apart[0]), 1)
        elif rank == 1:
            world.Recv(specified(array, are_apart[1]), 0)

    run_and_check(arrays, main)


@few
@given(worlds())
def test_an_exchange_in_place_carries_what_is_private_on_both_sides(arrays):
    for rank, model in enumerate(arrays):
        model.take(np.arange(len(model.content)), arrays[rank - 1], slice(None))

    def main(world, rank, array):
        world.Sendrecv_replace(array, (rank + 1) % N_RANKS, source=(rank - 1) % N_RANKS)

    run_and_check(arrays, main)


@few
@given(worlds(), st.integers(0, N_RANKS - 1))
def test_a_broadcast_carries_what_is_private_on_both_sides(arrays, root):
    for model in arrays:
        model.take(np.arange(len(model.content)), arrays[root], slice(None))
    run_and_check(arrays, lambda world, rank, array: world.Bcast(array, root))


CALLS = ["Alltoall", "Alltoallv", "Allgather", "Gatherv", "Scatter", "Neighbor_allgather"]


def moved(call, rank, peer, width):
    """Elements of its receive buffer that a rank gets from a peer, and the elements of the peer's send buffer."""
    mine, first = (slice(place * width, (place + 1) * width) for place in (peer, 0))
    its = slice(rank * width, (rank + 1) * width)
    if call in ("Alltoall", "Alltoallv"):
        return mine, its
    if call == "Allgather" or (call == "Gatherv" and rank == 0):
        return mine, first
    if call == "Scatter" and peer == 0:
        return first, its
    if call == "Neighbor_allgather" and peer != rank:  # on a ring, the one before comes first
        place = 0 if peer == (rank - 1) % N_RANKS else 1
        return slice(place * width, (place + 1) * width), first
    return None


@settings(max_examples=60)
@given(worlds(), worlds(), st.sampled_from(CALLS))
def test_collectives_carry_what_is_private_on_both_sides(out, into, call):
    n = min(len(out[0].content), len(into[0].content))
    width = n // N_RANKS
    counts = [width] * N_RANKS
    for rank, model in enumerate(into):
        for peer, its in enumerate(out):
            if places := moved(call, rank, peer, width):
                model.take(np.arange(n)[places[0]], its, places[1])

    def main(world, rank, array):
        received = into[rank].made()
        whole, block, room = array[:n], array[:width], received[:n]
        if call == "Alltoall":
            world.Alltoall(whole, room)
        elif call == "Alltoallv":
            world.Alltoallv([whole, counts], [room, counts])
        elif call == "Allgather":
            world.Allgather(block, room)
        elif call == "Gatherv":
            world.Gatherv(block, [room, counts])
        elif call == "Scatter":
            world.Scatter(whole, room[:width])
        else:
            world.Create_cart([N_RANKS], periods=[True]).Neighbor_allgather(block, room[: 2 * width])
        into[rank].check(received)

    run_and_check(out, main)


@settings(max_examples=60)
@given(worlds(), worlds(), st.sampled_from(["Allreduce", "Reduce", "Scan", "Reduce_scatter_block"]), st.booleans())
def test_reductions_have_a_content_where_all_contributions_do(out, into, call, is_own):
    n = min(len(out[0].content), len(into[0].content)) // N_RANKS * N_RANKS
    width = n // N_RANKS

    def result(n_first):
        content = sum(model.content[:n] for model in out[:n_first])
        return Model("plain", [], content, content, np.all([model.is_private[:n] for model in out[:n_first]], axis=0))

    for rank, model in enumerate(into):
        if call == "Reduce_scatter_block":
            model.take(np.arange(width), result(N_RANKS), slice(rank * width, (rank + 1) * width))
        elif call != "Reduce" or rank == 0:
            model.take(np.arange(n), result(rank + 1 if call == "Scan" else N_RANKS), slice(n))

    def add(a, b, datatype):
        total = np.frombuffer(b, np.int32)
        total += np.frombuffer(a, np.int32)

    def main(world, rank, array):
        received = into[rank].made()
        room = received[:width] if call == "Reduce_scatter_block" else received[:n]
        getattr(world, call)(array[:n], room, op=MPI.Op.Create(add, commute=False) if is_own else MPI.SUM)
        into[rank].check(received)

    run_and_check(out, main)
