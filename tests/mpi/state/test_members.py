"""Ordered sets of ranks."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from smpy.mpi.state.members import common, in_order, joined, place_of, without

ranks = st.lists(st.integers(0, 12), unique=True)
spaced = st.builds(range, st.integers(0, 9), st.integers(0, 30), st.integers(1, 4))
sets = st.one_of(ranks, spaced.map(list), spaced.map(lambda r: list(reversed(r))))


@given(sets)
def test_evenly_spaced_ranks_are_a_range_and_others_keep_their_order(wanted):
    members = in_order(wanted)
    assert list(members) == wanted
    steps = {b - a for a, b in pairwise(wanted)}
    assert isinstance(members, range) == (len(steps) <= 1)


@given(sets, sets)
def test_equal_sets_in_equal_order_are_equal_objects(one, other):
    assert (in_order(one) == in_order(other)) == (one == other)
    assert hash(in_order(one)) == hash(in_order(list(one)))


@given(sets, sets)
def test_set_operations_keep_the_order_of_the_first(one, other):
    first, second = in_order(one), in_order(other)
    assert list(joined(first, second)) == one + [rank for rank in other if rank not in one]
    assert list(common(first, second)) == [rank for rank in one if rank in other]
    assert list(without(first, second)) == [rank for rank in one if rank not in other]


@given(sets, st.integers(0, 30))
def test_a_rank_has_the_place_at_which_it_is_found(members, rank):
    assert place_of(in_order(members), rank) == (members.index(rank) if rank in members else -1)
