"""Collectives among the neighbours in a topology, judged edge by edge."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smpy.engine.running import current
from smpy.mpi import MPI
from smpy.mpi.state.virtual_topologies import CartTopology
from tests.mpi.conftest import run_world

few = settings(max_examples=25)
GRIDS = st.lists(st.tuples(st.integers(1, 3), st.booleans()), min_size=1, max_size=3)
FORMS = ["blocking", "non-blocking", "persistent"]


def call(form, comm, name, *buffers):
    """Make a call in one of its forms; send buffers are overwritten before it has completed."""
    if form == "blocking":
        getattr(comm, name)(*buffers)
        return
    if form == "persistent":
        request = getattr(comm, f"{name}_init")(*buffers)
        request.Start()
        request.Wait()
        request.Start()
    else:
        request = getattr(comm, "I" + name[0].lower() + name[1:])(*buffers)
    request.Wait()


def graphs(n_ranks):
    return st.lists(st.tuples(st.integers(0, n_ranks - 1), st.integers(0, n_ranks - 1)), max_size=24)


def on_edges(edges):
    """The communicator on a graph of these edges, in any form of telling them."""
    world, rank = MPI.COMM_WORLD, MPI.COMM_WORLD.rank
    return world.Create_dist_graph_adjacent(
        [begin for begin, end in edges if end == rank], [end for begin, end in edges if begin == rank]
    )


@few
@given(st.integers(1, 6), st.sampled_from(FORMS), st.data())
def test_every_edge_of_a_graph_carries_its_own_block(n_ranks, form, data):
    edges = data.draw(graphs(n_ranks))
    sizes = [(7 * place) % 5 for place in range(len(edges))]

    def main(rank):
        comm = on_edges(edges)
        leaving = [place for place, (begin, _) in enumerate(edges) if begin == rank]
        coming = [place for place, (_, end) in enumerate(edges) if end == rank]
        out = np.array([place for place in leaving for _ in range(sizes[place])], "i4")
        into = np.full(sum(sizes[place] for place in coming), -1, "i4")
        out_counts, in_counts = [sizes[place] for place in leaving], [sizes[place] for place in coming]
        call(form, comm, "Neighbor_alltoallv", [out, out_counts], [into, in_counts])
        assert into.tolist() == [place for place in coming for _ in range(sizes[place])]
        equal = np.zeros((len(coming), 2), "i8")
        call(form, comm, "Neighbor_alltoall", np.repeat(np.array(leaving, "i8"), 2), equal)
        assert equal.tolist() == [[place, place] for place in coming]
        objects = comm.neighbor_alltoall([{"place": place, "pad": "x" * sizes[place]} for place in leaving])
        assert objects == [{"place": place, "pad": "x" * sizes[place]} for place in coming]

    run_world(n_ranks, main)


@few
@given(st.integers(1, 6), st.sampled_from(FORMS), st.data())
def test_all_get_what_their_sources_give(n_ranks, form, data):
    edges = data.draw(graphs(n_ranks))

    def main(rank):
        comm = on_edges(edges)
        sources = comm.inedges
        every = np.full((len(sources), 3), -1.0)
        call(form, comm, "Neighbor_allgather", np.full(3, rank, "f8"), every)
        assert every.tolist() == [[source] * 3 for source in sources]
        counts = [source + 1 for source in sources]
        ragged = np.full(sum(counts), -1, "i2")
        call(form, comm, "Neighbor_allgatherv", np.full(rank + 1, rank, "i2"), [ragged, counts])
        assert ragged.tolist() == [source for source in sources for _ in range(source + 1)]
        assert comm.neighbor_allgather([rank] * rank) == [[source] * source for source in sources]

    run_world(n_ranks, main)


@few
@given(GRIDS, st.sampled_from(FORMS))
def test_on_a_grid_what_goes_down_comes_from_above(grid, form):
    """Also where the rank below and the rank above are the same, or this rank itself."""
    dims, periods = [extent for extent, _ in grid], [is_periodic for _, is_periodic in grid]

    def main(rank):
        cart = MPI.COMM_WORLD.Create_cart(dims, periods)
        down_and_up = np.array([10 * rank + direction for direction in range(2 * len(dims))], "i4")
        came = np.full(2 * len(dims), -1, "i4")
        call(form, cart, "Neighbor_alltoall", down_and_up, came)
        for place, source in enumerate(cart.inedges):
            assert came[place] == (-1 if source == MPI.PROC_NULL else 10 * source + (place ^ 1))
        objects = cart.neighbor_alltoall(down_and_up.tolist())
        assert objects == [None if value < 0 else value for value in came]
        ragged = np.array([value for place, value in enumerate(came) for _ in range((place ^ 1) + 1)])
        counts = [place + 1 for place in range(2 * len(dims))]
        got, swapped = np.full(sum(counts), -1, "i4"), [(place ^ 1) + 1 for place in range(2 * len(dims))]
        call(form, cart, "Neighbor_alltoallv", [np.repeat(down_and_up, counts), counts], [got, swapped])
        assert got.tolist() == ragged.tolist()

    run_world(math.prod(dims), main)


@few
@given(st.integers(1, 6), st.integers(0, 2**32), st.data())
def test_neighbours_out_of_step_with_many_exchanges_in_flight_disturb_nobody(n_ranks, seed, data):
    edges = data.draw(graphs(n_ranks))

    def main(rank):
        plan, own = np.random.default_rng(seed), np.random.default_rng((seed, rank))
        comm, pending = on_edges(edges), []
        leaving = np.array([place for place, (begin, _) in enumerate(edges) if begin == rank], int)
        coming = [place for place, (_, end) in enumerate(edges) if end == rank]
        for turn in range(25):
            kind = plan.integers(4)
            if own.integers(2):
                current().sleep(float(own.exponential(20e-6)))
            out, into = leaving + 100 * turn, np.full(len(coming), -1)
            if kind == 0:
                assert comm.neighbor_alltoall(out.tolist()) == [place + 100 * turn for place in coming]
            elif kind == 1:
                assert comm.allgather(turn) == [turn] * n_ranks
            elif kind == 2:
                comm.Neighbor_alltoall(out, into)
                assert into.tolist() == [place + 100 * turn for place in coming]
            else:
                pending.append((comm.Ineighbor_alltoall(out, into), into, turn))
            out[:] = -2
            while pending and own.integers(3) == 0:
                request, into, then = pending.pop(own.integers(len(pending)))
                request.Wait()
                assert into.tolist() == [place + 100 * then for place in coming]
        MPI.Request.Waitall([request for request, _, _ in pending])
        for _, into, then in pending:
            assert into.tolist() == [place + 100 * then for place in coming]

    run_world(n_ranks, main)


def test_blocks_have_datatypes_of_their_own(run_ranks):
    def main(rank):
        graph = MPI.COMM_WORLD.Create_graph([1, 2], [1, 0])
        out, into = np.array([rank + 1.5]), np.zeros(2, "f4")
        for name in ("Neighbor_alltoallw", "Ineighbor_alltoallw"):
            request = getattr(graph, name)([out, ([8], [0]), [MPI.BYTE]], [into.view("u1"), ([1], [0]), [MPI.DOUBLE]])
            if request is not None:
                request.Wait()
        return into.view("f8").tolist()

    assert run_ranks(2, main).returned == [[2.5], [1.5]]


def test_a_rank_without_neighbours_names_blocks_of_an_empty_buffer(run_ranks):
    def main(rank):
        comm = MPI.COMM_WORLD.Create_dist_graph_adjacent([0] * rank, [1] * (1 - rank))
        out, into = np.full(2 * (1 - rank), 7), np.zeros(2 * rank, int)
        comm.Neighbor_alltoall([out, 2, MPI.LONG], [into, 2, MPI.LONG])
        return into.tolist()

    assert run_ranks(2, main).returned == [[], [7, 7]]


@pytest.mark.parametrize("form", ["blocking", "non-blocking"])
def test_a_send_buffer_is_free_when_the_call_returns(run_ranks, form):
    def main(rank):
        ring = MPI.COMM_WORLD.Create_cart([3], [True])
        came = []
        for turn in range(4):
            out, into = np.full(2, 10 * turn + rank), np.zeros(4, int)
            if form == "blocking":
                ring.Neighbor_allgather(out, into)
            else:
                request = ring.Ineighbor_allgather(out, into)
            out[:] = -1
            if form != "blocking":
                request.Wait()
            came.append(into[::2].tolist())
        return came

    for rank, came in enumerate(run_ranks(3, main).returned):
        assert came == [[10 * turn + (rank - 1) % 3, 10 * turn + (rank + 1) % 3] for turn in range(4)]


def test_a_rank_waits_for_its_neighbours_alone(run_ranks):
    """A chain: the last rank comes late, and only the one before it notices."""

    def main(rank):
        chain = MPI.COMM_WORLD.Create_cart([5])
        if rank == 4:
            MPI.COMM_WORLD.recv(source=0)
        chain.Neighbor_alltoall(np.zeros(2), np.zeros(2))
        passed_s = MPI.Wtime()
        if rank == 0:
            MPI.COMM_WORLD.send(None, 4)
        return passed_s

    passed_s = run_ranks(5, main).returned
    assert max(passed_s[:3]) < min(passed_s[3:])


def test_ranks_in_no_neighbourhood_lose_no_time(run_ranks):
    def main(rank):
        graph = MPI.COMM_WORLD.Create_dist_graph_adjacent([], [])
        before_s = MPI.Wtime()
        graph.Neighbor_allgather(np.zeros(3), np.zeros(0))
        assert graph.neighbor_allgather(1) == graph.neighbor_alltoall([]) == []
        return MPI.Wtime() - before_s

    assert max(run_ranks(3, main).returned) < 1e-7


def test_neighbours_may_be_many_calls_apart(run_ranks):
    """Data that a rank has left stay until its neighbours take them, and no longer."""

    def main(rank):
        graph = MPI.COMM_WORLD.Create_dist_graph_adjacent([0] * (rank == 1), [1] * (rank == 0))
        came = []
        for turn in range(20):
            into = np.zeros(rank, int)
            graph.Neighbor_allgather(np.array([turn]), into)
            came += into.tolist()
        return came

    assert run_ranks(2, main).returned == [[], list(range(20))]


def test_a_block_that_does_not_fit_is_reported(run_ranks):
    def main(rank):
        ring = MPI.COMM_WORLD.Create_cart([3], [True])
        ring.Neighbor_allgather(np.zeros(3 if rank == 1 else 2), np.zeros((2, 2)))

    with pytest.raises(MPI.Exception, match="rank 1 sends rank 0 a block of 24 bytes") as caught:
        run_ranks(3, main)
    assert caught.value.Get_error_class() == MPI.ERR_TRUNCATE


def test_the_wrong_number_of_objects_is_refused(run_ranks):
    def main(rank):
        MPI.COMM_WORLD.Create_cart([2], [True]).neighbor_alltoall([1])

    with pytest.raises(ValueError, match="expecting 2 items, got 1"):
        run_ranks(2, main)


def test_a_neighbourhood_needs_a_topology(run_ranks):
    with pytest.raises(MPI.Exception) as caught:
        run_ranks(1, lambda rank: MPI.Cartcomm().neighbor_allgather(0))
    assert caught.value.Get_error_class() == MPI.ERR_COMM


@pytest.mark.parametrize("shape", list(itertools.product([1, 2, 4], repeat=2)))
def test_a_halo_exchange_equals_the_array_that_was_dealt_out(run_ranks, shape):
    """Rows and columns of a periodic array, by strided datatypes from and into the array itself."""
    whole = np.arange(16.0).reshape(4, 4)
    n_rows, n_columns = 4 // shape[0], 4 // shape[1]

    def main(rank):
        cart = MPI.COMM_WORLD.Create_cart(shape, [True, True])
        i, j = cart.coords
        rows, columns = slice(i * n_rows, (i + 1) * n_rows), slice(j * n_columns, (j + 1) * n_columns)
        mine = whole[rows, columns]
        edges = [mine[0], mine[-1], mine[:, 0], mine[:, -1]]
        halo = cart.neighbor_alltoall([edge.copy() for edge in edges])
        assert (halo[0] == whole[i * n_rows - 1, columns]).all()
        assert (halo[1] == whole[(i + 1) * n_rows % 4, columns]).all()
        assert (halo[2] == whole[rows, j * n_columns - 1]).all()
        assert (halo[3] == whole[rows, (j + 1) * n_columns % 4]).all()

    run_ranks(math.prod(shape), main)


def test_an_exchange_takes_as_long_as_its_messages(run_ranks):
    """Receives first, then sends, all at once: what a rank would write by hand."""

    def by_hand(comm, world, out, into):
        left, right = comm.Shift(0, 1)
        requests = [world.Irecv(into[1], right), world.Irecv(into[0], left)]
        requests += [world.Isend(out[0], left), world.Isend(out[1], right)]
        MPI.Request.Waitall(requests)

    def main(rank, exchange):
        cart = MPI.COMM_WORLD.Create_cart([6], [True])
        exchange(cart, MPI.COMM_WORLD, np.zeros((2, 30_000)), np.zeros((2, 30_000)))

    def with_one_call(comm, world, out, into):
        comm.Neighbor_alltoall(out, into)

    expected = run_ranks(6, lambda rank: main(rank, by_hand)).finish_s
    assert run_ranks(6, lambda rank: main(rank, with_one_call)).finish_s == pytest.approx(expected, rel=1e-9)


def test_the_edges_of_a_rank_are_looked_up_once(run_ranks, monkeypatch):
    looked_up = []
    monkeypatch.setattr(CartTopology, "neighbours", lambda self, rank: looked_up.append(rank) or [rank, rank])

    def main(rank):
        grid = MPI.COMM_WORLD.Create_cart([2], periods=[True])
        got = [grid.neighbor_alltoall([call, call + 1]) for call in range(3)]
        other = np.zeros(2)
        grid.Ineighbor_allgather(np.array([rank + 0.0]), other).Wait()
        return got, other.tolist()

    exchanged = [[call + 1, call] for call in range(3)]
    assert run_ranks(2, main).returned == [(exchanged, [0, 0]), (exchanged, [1, 1])]
    assert looked_up == [0, 0, 1, 1]  # incoming and outgoing
