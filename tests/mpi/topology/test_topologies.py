"""Virtual topologies: who is whose neighbour, and what becomes of them."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smpy.mpi import MPI
from tests.mpi.conftest import run_world

few = settings(max_examples=25)
GRIDS = st.lists(st.tuples(st.integers(1, 3), st.booleans()), min_size=1, max_size=3)


@few
@given(st.integers(1, 500), st.integers(1, 5))
def test_computed_dimensions_multiply_to_the_number_of_ranks_and_do_not_increase(n_ranks, n_dims):
    dims = MPI.Compute_dims(n_ranks, n_dims)
    assert math.prod(dims) == n_ranks
    assert dims == sorted(dims, reverse=True)


@pytest.mark.parametrize(
    ("n_ranks", "dims", "expected"),
    [
        (12, 2, [4, 3]),
        (9, 2, [3, 3]),
        (12, [0, 2, 0], [3, 2, 2]),
        (4, [4], [4]),
        (np.int64(8), np.zeros(3, int), [2] * 3),
    ],
)
def test_given_dimensions_stay(n_ranks, dims, expected):
    assert MPI.Compute_dims(n_ranks, dims) == expected


@pytest.mark.parametrize(("n_ranks", "dims"), [(12, [5, 0]), (4, [2]), (4, [-2, 0]), (0, 2)])
def test_impossible_dimensions_are_refused(n_ranks, dims):
    with pytest.raises(MPI.Exception) as caught:
        MPI.Compute_dims(n_ranks, dims)
    assert caught.value.Get_error_class() == MPI.ERR_DIMS


@few
@given(GRIDS, st.integers(-4, 4))
def test_shifts_move_everything_along_a_dimension(grid, disp):
    dims, periods = [extent for extent, _ in grid], [is_periodic for _, is_periodic in grid]

    def main(rank):
        cart = MPI.COMM_WORLD.Create_cart(dims, periods)
        assert cart.Get_topo() == (dims, periods, cart.coords)
        assert cart.Get_cart_rank(cart.coords) == rank
        return cart.coords, [cart.Shift(direction, disp) for direction in range(cart.ndim)]

    returned = run_world(math.prod(dims), main).returned
    places = list(itertools.product(*map(range, dims)))
    assert [tuple(coords) for coords, _ in returned] == places

    def rank_at(place):
        wrapped = [c % extent if wraps else c for c, extent, wraps in zip(place, dims, periods, strict=True)]
        return places.index(tuple(wrapped)) if tuple(wrapped) in places else MPI.PROC_NULL

    for place, (_, shifts) in zip(places, returned, strict=True):
        for direction, shift in enumerate(shifts):
            step = [disp * (d == direction) for d in range(len(dims))]
            assert shift == (
                rank_at([c - s for c, s in zip(place, step, strict=True)]),
                rank_at([c + s for c, s in zip(place, step, strict=True)]),
            )


def test_ranks_outside_the_grid_get_a_null_communicator(run_ranks):
    def main(rank):
        cart = MPI.COMM_WORLD.Create_cart([2, 2], reorder=True)
        return isinstance(cart, MPI.Cartcomm), cart == MPI.COMM_NULL, cart.Get_size() if cart else 0

    assert run_ranks(6, main).returned == [(True, False, 4)] * 4 + [(True, True, 0)] * 2


def test_a_grid_without_dimensions_has_one_rank(run_ranks):
    def main(rank):
        cart = MPI.COMM_WORLD.Create_cart([])
        return (cart.Get_topo(), cart.Get_cart_rank([]), cart.inoutedges) if cart else None

    assert run_ranks(2, main).returned == [(([], [], []), 0, ([], [])), None]


@few
@given(GRIDS, st.data())
def test_sub_grids_are_what_remains(grid, data):
    dims, periods = [extent for extent, _ in grid], [is_periodic for _, is_periodic in grid]
    remain = data.draw(st.lists(st.booleans(), min_size=len(dims), max_size=len(dims)))

    def main(rank):
        cart = MPI.COMM_WORLD.Create_cart(dims, periods)
        sub = cart.Sub(remain)
        members = sub.allgather(cart.coords)
        kept = [d for d in range(len(dims)) if remain[d]]
        assert sub.Get_topo() == ([dims[d] for d in kept], [periods[d] for d in kept], [cart.coords[d] for d in kept])
        assert len(members) == math.prod(sub.dims)
        for coords in members:
            assert all(coords[d] == cart.coords[d] for d in range(len(dims)) if not remain[d])
        return sub.Get_topology()

    assert set(run_world(math.prod(dims), main).returned) == {MPI.CART}


def test_wrong_questions_to_a_grid_are_refused(run_ranks):
    def main(rank):
        cart = MPI.COMM_WORLD.Create_cart([2, 2], [True, False])
        wrong = [
            lambda: cart.Get_cart_rank([0, 2]),
            lambda: cart.Get_coords(4),
            lambda: cart.Shift(2, 1),
            lambda: MPI.COMM_WORLD.Create_cart([3, 2]),
            lambda: MPI.COMM_WORLD.Create_cart([0, 2]),
        ]
        assert cart.Get_cart_rank([-1, 1]) == 3
        return [_error_class(call) for call in wrong]

    expected = [MPI.ERR_ARG, MPI.ERR_RANK, MPI.ERR_DIMS, MPI.ERR_DIMS, MPI.ERR_DIMS]
    assert run_ranks(4, main).returned[0] == expected


def _error_class(call):
    try:
        call()
    except MPI.Exception as error:
        return error.Get_error_class()
    return None


def test_ranks_must_describe_the_same_topology(run_ranks):
    def main(rank):
        MPI.COMM_WORLD.Create_cart([2, 2] if rank else [4])

    with pytest.raises(MPI.Exception, match="another topology") as caught:
        run_ranks(4, main)
    assert caught.value.Get_error_class() == MPI.ERR_NOT_SAME


def test_a_graph_tells_every_ranks_neighbours(run_ranks):
    index, edges = [2, 3, 4, 6], [1, 3, 0, 3, 0, 2]

    def main(rank):
        graph = MPI.COMM_WORLD.Create_graph(index, edges)
        if not graph:
            return None
        again = MPI.COMM_SELF.Create_graph([0, 2], [0, 0])
        assert (again.index, again.neighbors) == ([2], [0, 0])
        assert graph.Get_topo() == (index, edges)
        assert (graph.nnodes, graph.nedges, graph.dims) == (4, 6, (4, 6))
        assert graph.Get_neighbors_count(3) == 2
        return [graph.Get_neighbors(r) for r in range(4)], graph.neighbors, graph.inedges, graph.degrees

    every = [[1, 3], [0], [3], [0, 2]]
    returned = run_ranks(5, main).returned
    assert returned[4] is None
    for rank in range(4):
        assert returned[rank] == (every, every[rank], every[rank], (len(every[rank]),) * 2)


@pytest.mark.parametrize(("index", "edges"), [([2, 1], [0, 0]), ([1, 3], [0, 0]), ([1, 2], [0, 2])])
def test_a_graph_that_makes_no_sense_is_refused(run_ranks, index, edges):
    def main(rank):
        MPI.COMM_WORLD.Create_graph(index, edges)

    with pytest.raises(MPI.Exception, match="graph"):
        run_ranks(2, main)


@few
@given(st.integers(1, 6), st.data())
def test_scattered_edges_and_a_ranks_own_make_the_same_graph(n_ranks, data):
    ranks = st.integers(0, n_ranks - 1)
    told = data.draw(st.lists(st.tuples(ranks, ranks, ranks, st.integers(0, 9)), max_size=20))

    def main(rank):
        mine = [edge[1:] for edge in told if edge[0] == rank]
        ends = [[edge[column] for edge in mine] for column in range(3)]
        scattered = MPI.COMM_WORLD.Create_dist_graph(ends[0], [1] * len(mine), ends[1], ends[2])
        sources, destinations, weights = scattered.Get_dist_neighbors()
        adjacent = MPI.COMM_WORLD.Create_dist_graph_adjacent(sources, destinations, *weights)
        assert adjacent.Get_dist_neighbors() == scattered.Get_dist_neighbors()
        return sources, destinations, weights

    returned = run_world(n_ranks, main).returned
    in_order = sorted(told, key=lambda edge: edge[0])
    for rank, (sources, destinations, weights) in enumerate(returned):
        incoming = [edge for edge in in_order if edge[2] == rank]
        outgoing = [edge for edge in in_order if edge[1] == rank]
        assert sources == [edge[1] for edge in incoming]
        assert destinations == [edge[2] for edge in outgoing]
        assert weights == ([edge[3] for edge in incoming], [edge[3] for edge in outgoing])


def test_no_rank_knows_its_scattered_edges_before_all_have_told_theirs(run_ranks):
    def main(rank):
        if rank == 2:
            MPI.COMM_WORLD.Probe(source=0)
        if rank == 0:
            MPI.COMM_WORLD.send(None, 2)
        graph = (
            MPI.COMM_WORLD.Create_dist_graph([2], [1], [0])
            if rank == 2
            else MPI.COMM_WORLD.Create_dist_graph([], [], [])
        )
        return graph.degrees, graph.Get_dist_neighbors_count()[2]

    assert run_ranks(3, main).returned == [((1, 0), False), ((0, 0), False), ((0, 1), False)]


def test_weights_belong_to_all_edges_or_to_none(run_ranks):
    def main(rank):
        create = MPI.COMM_SELF.Create_dist_graph_adjacent
        assert create([0], [0], MPI.UNWEIGHTED, None).Get_dist_neighbors() == ([0], [0], None)
        empty = create([], [], MPI.WEIGHTS_EMPTY, MPI.WEIGHTS_EMPTY)
        assert empty.Get_dist_neighbors() == ([], [], ([], []))
        with pytest.raises(ValueError, match="empty weights"):
            create([0], [0], MPI.WEIGHTS_EMPTY, MPI.WEIGHTS_EMPTY)
        with pytest.raises(ValueError, match="expecting 1 items"):
            create([0], [0], [1, 2], [1])
        return _error_class(lambda: create([0], [0], [1], None)), _error_class(lambda: create([1], [0]))

    assert run_ranks(1, main).returned == [(MPI.ERR_ARG, MPI.ERR_RANK)]


def test_maps_keep_the_order_of_ranks(run_ranks):
    def main(rank):
        world = MPI.COMM_WORLD
        return world.Cart_map([2, 2]), world.Graph_map([1, 2], [1, 0])

    u = MPI.UNDEFINED
    assert run_ranks(5, main).returned == [(0, 0), (1, 1), (2, u), (3, u), (u, u)]


def test_a_duplicate_keeps_the_topology_and_a_split_loses_it(run_ranks):
    def main(rank):
        cart = MPI.COMM_WORLD.Create_cart([3, 2])
        twin, part = cart.Dup(), cart.Split(0)
        assert isinstance(twin, MPI.Cartcomm)
        assert twin.Get_topo() == cart.Get_topo()
        assert (twin.topology, twin.is_topo, part.topology, part.is_topo) == (MPI.CART, True, MPI.UNDEFINED, False)
        with pytest.raises(TypeError, match="no such topology"):
            MPI.Cartcomm(part)
        with pytest.raises(TypeError, match="no such topology"):
            MPI.Graphcomm(cart)
        return MPI.Topocomm(cart) == cart

    assert run_ranks(6, main).returned == [True] * 6


def test_a_communicator_without_topology_is_not_asked_for_one(run_ranks):
    def main(rank):
        cart = MPI.Cartcomm()
        return _error_class(cart.Get_dim)

    assert run_ranks(1, main).returned == [MPI.ERR_COMM]


def test_making_a_topology_costs_what_a_duplicate_costs(run_ranks):
    def finish_s(make):
        return run_ranks(6, lambda rank: make(MPI.COMM_WORLD) and None).finish_s

    duplicate = finish_s(lambda world: world.Dup())
    assert finish_s(lambda world: world.Create_cart([3, 2])) == duplicate
    assert finish_s(lambda world: world.Create_graph([1, 2, 3, 4, 5, 6], range(6))) == duplicate
    assert finish_s(lambda world: world.Create_dist_graph_adjacent([], [])) == duplicate


def test_a_sub_grid_costs_what_a_split_costs(run_ranks):
    def main(rank, make):
        cart = MPI.COMM_WORLD.Create_cart([3, 2])
        make(cart)

    by_hand = run_ranks(6, lambda rank: main(rank, lambda cart: cart.Split(cart.coords[0], rank)))
    assert run_ranks(6, lambda rank: main(rank, lambda cart: cart.Sub([False, True]))).finish_s == by_hand.finish_s
