"""Derived datatypes: exactly the bytes of their typemap, whatever they are made of."""

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from smpy.mpi import MPI
from smpy.mpi.data.block_specifications import vector_of
from smpy.mpi.data.message_specifications import part_of
from tests.mpi.conftest import run_world
from tests.mpi.data.reference_typemaps import datatype, recipes, reference


def packed(made, memory, count):
    out = bytearray(made.Pack_size(count, MPI.COMM_SELF))
    assert made.Pack(memory, out, 0, MPI.COMM_SELF) == len(out)
    return out


def moved_up(made, expected):
    """The same entries with no byte below 0, and how far they were moved."""
    shift = max(0, -min(expected.places, default=0))
    return made.Create_hindexed_block(1, [shift]), shift


def room_for(expected, shift, count, extent):
    """Bytes for entries, numbered so that all differ within 251."""
    highest = max((place + shift + i * extent for i in (0, count - 1) for place in expected.places), default=-1) + 1
    return np.arange(max(highest, count * max(extent, 1))) % 251 + 1


def bytes_at(expected, shift, count, extent):
    return [place + shift + i * extent for i in range(count) for place in expected.places]


@given(recipes())
@settings(max_examples=300)
def test_sizes_and_bounds_are_those_of_the_typemap(recipe):
    made, expected = datatype(recipe), reference(recipe)
    places = expected.places
    assert made.size == len(places)
    assert (made.lb, made.extent) == (expected.lb, expected.extent)
    if places:
        assert (made.true_lb, made.true_ub) == (min(places), max(places) + 1)
    assert made._layout.typemap.n_elements == len(expected.elements)


@given(recipes(), st.integers(1, 3))
@settings(max_examples=300)
def test_a_message_carries_the_bytes_of_the_typemap_in_its_order(recipe, count):
    made, expected = datatype(recipe), reference(recipe)
    made, shift = moved_up(made, expected)
    assume(made.extent >= 0)
    memory = room_for(expected, shift, count, made.extent).astype(np.uint8)
    places = bytes_at(expected, shift, count, made.extent)
    part = part_of([memory, count, made.Commit()], is_written=False)
    assert bytes(part.carried()) == memory[places].tobytes()
    target = np.zeros_like(memory)
    part_of([target, count, made], is_written=True).put(bytes(memory[places]))
    wanted = np.zeros_like(memory)
    wanted[places] = memory[places]
    assert target.tolist() == wanted.tolist()


@given(recipes(lowest=0), st.integers(1, 3), st.data())
@settings(max_examples=80)
def test_a_message_may_be_sent_as_one_datatype_and_received_as_another(recipe, count, data):
    expected = reference(recipe)
    assume(expected.places and expected.extent > 0)
    assume(len(set(bytes_at(expected, 0, count, expected.extent))) == count * len(expected.places))
    memory = room_for(expected, 0, count, expected.extent).astype(np.uint8)
    places = bytes_at(expected, 0, count, expected.extent)
    n_bytes = data.draw(st.integers(0, len(places)))

    def main(rank):
        world, made, status = MPI.COMM_WORLD, datatype(recipe).Commit(), MPI.Status()
        if rank == 0:
            world.Send([memory, count, made], 1)
            world.Send(memory[places[:n_bytes]], 1)
            return None
        flat, target = np.zeros(len(places), np.uint8), np.zeros_like(memory)
        world.Recv(flat, 0, status=status)
        whole = flat.tobytes(), status.Get_count(made), status.Get_elements(made)
        world.Irecv([target, count, made], 0).Wait(status)
        return whole, target, status.Get_count(made), status.Get_elements(made), status.count

    whole, target, n_entries, n_elements, n_received = run_world(2, main).returned[1]
    assert whole == (memory[places].tobytes(), count, count * len(expected.elements))
    wanted = np.zeros_like(memory)
    wanted[places[:n_bytes]] = memory[places[:n_bytes]]
    assert target.tolist() == wanted.tolist()
    assert n_received == n_bytes
    assert n_entries == (MPI.UNDEFINED if n_bytes % len(expected.places) else n_bytes // len(expected.places))
    ends = list(itertools.accumulate((size for _, size in expected.elements * count), initial=0))
    assert n_elements == (ends.index(n_bytes) if n_bytes in ends else MPI.UNDEFINED)


@given(recipes())
@settings(max_examples=100)
def test_what_decode_says_makes_an_equal_datatype(recipe):
    made = datatype(recipe)
    assume(not made.is_named)
    base, combiner, arguments = made.decode()
    again = getattr(base, f"Create_{combiner.lower()}")(**arguments)
    assert (again.envelope, again.size, again.Get_extent()) == (made.envelope, made.size, made.Get_extent())
    assert again.Get_contents()[:3] == made.Get_contents()[:3]


@pytest.mark.usefixtures("named_mpi4py")
def test_derived_datatypes_are_pickled_as_they_were_made():
    column = MPI.INT.Create_vector(3, 1, 2)
    for made in (column, MPI.Datatype.Create_struct([1, 2], [0, 40], [column, MPI.DOUBLE]), column.Dup()):
        again = pickle.loads(pickle.dumps(made))
        assert again != made
        assert (again.Get_contents()[:3], again.Get_extent()) == (made.Get_contents()[:3], made.Get_extent())
    assert pickle.loads(pickle.dumps(MPI.INT)) is MPI.INT
    digits = MPI.Datatype.Create_f90_real(15, 300)
    assert pickle.loads(pickle.dumps(digits)) == digits


@given(st.data(), st.sampled_from([MPI.ORDER_C, MPI.ORDER_FORTRAN]))
@settings(max_examples=100)
def test_a_subarray_is_numpys_slice(data, order):
    sizes = data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    starts = [data.draw(st.integers(0, size - 1)) for size in sizes]
    subsizes = [data.draw(st.integers(0, size - start)) for size, start in zip(sizes, starts, strict=True)]
    letter = "C" if order == MPI.ORDER_C else "F"
    array = np.arange(np.prod(sizes), dtype="i4").reshape(sizes, order=letter)
    made = MPI.INT.Create_subarray(sizes, subsizes, starts, order)
    box = array[tuple(slice(start, start + n) for start, n in zip(starts, subsizes, strict=True))]
    assert packed(made, array, 1) == box.tobytes(letter)
    assert (made.lb, made.extent) == (0, array.nbytes)


def _dealt(n, n_ranks, rank, kind, length):
    if kind == MPI.DISTRIBUTE_NONE:
        return list(range(n))
    if length == MPI.DISTRIBUTE_DFLT_DARG:
        length = -(-n // n_ranks) if kind == MPI.DISTRIBUTE_BLOCK else 1
    return [i for i in range(n) if (i // length) % n_ranks == rank]


@given(st.data(), st.sampled_from([MPI.ORDER_C, MPI.ORDER_FORTRAN]))
@settings(max_examples=150)
def test_the_shares_of_a_distributed_array_are_numpys_selections(data, order):
    sizes = data.draw(st.lists(st.integers(1, 9), min_size=1, max_size=3))
    kinds, lengths, grid = [], [], []
    for size in sizes:
        kind = data.draw(st.sampled_from([MPI.DISTRIBUTE_BLOCK, MPI.DISTRIBUTE_CYCLIC, MPI.DISTRIBUTE_NONE]))
        grid.append(1 if kind == MPI.DISTRIBUTE_NONE else data.draw(st.integers(1, 4)))
        least = -(-size // grid[-1]) if kind == MPI.DISTRIBUTE_BLOCK else 1
        lengths.append(data.draw(st.sampled_from([MPI.DISTRIBUTE_DFLT_DARG, least, least + 1])))
        kinds.append(kind)
    letter = "C" if order == MPI.ORDER_C else "F"
    array = np.arange(np.prod(sizes), dtype="i2").reshape(sizes, order=letter)
    n_ranks = int(np.prod(grid))
    for rank in range(n_ranks):
        made = MPI.SHORT.Create_darray(n_ranks, rank, sizes, kinds, lengths, grid, order)
        place = np.unravel_index(rank, grid)
        mine = [_dealt(*dimension) for dimension in zip(sizes, grid, place, kinds, lengths, strict=True)]
        assert packed(made, array, 1) == array[np.ix_(*mine)].tobytes(letter)
        assert (made.lb, made.extent) == (0, array.nbytes)


def test_blocks_that_touch_are_one_and_gapless_datatypes_travel_by_reference():
    for made in (
        MPI.DOUBLE.Create_contiguous(5),
        MPI.DOUBLE.Create_vector(3, 2, 2),
        MPI.DOUBLE.Create_indexed([1, 2], [0, 1]),
        MPI.Datatype.Create_struct([1, 1], [0, 4], [MPI.INT, MPI.INT]),
        MPI.DOUBLE.Create_subarray([3, 4], [3, 4], [0, 0]),
    ):
        assert made._layout.is_contiguous
        data = np.arange(30.0)
        part = part_of([data, 1, made.Commit()], is_written=False)
        assert part.outgoing().address == data.__array_interface__["data"][0]


def test_a_datatype_is_as_small_as_the_calls_that_made_it():
    column = MPI.DOUBLE.Create_vector(10**6, 1, 10**6)
    block = column.Create_hvector(10**3, 1, 8)
    assert len(block._layout.typemap.runs) == 1
    scattered = MPI.DOUBLE.Create_indexed_block(2, np.arange(0, 3 * 10**5, 3) ** 2 // 10**4 * 3)
    assert len(scattered._layout.typemap.runs) < 5


def test_many_places_without_a_rule_are_found_again():
    places = np.cumsum(np.random.default_rng(7).integers(3, 9, 3000)).tolist()
    made = MPI.INT.Create_indexed([1 + (i % 3 == 0) for i in range(3000)], places).Create_contiguous(40)
    memory = np.arange(made.extent // 4 * 2, dtype="i4")
    once = [p + i for k, p in enumerate(places) for i in range(1 + (k % 3 == 0))]
    step = places[-1] - places[0] + 1
    expected = [memory[p + entry * step] for entry in range(40) for p in once]
    part = part_of([memory, 1, made.Commit()], is_written=False)
    assert np.frombuffer(part.carried(), "i4").tolist() == expected
    target = np.zeros_like(memory)
    part_of([target, 1, made], is_written=True).put(bytes(part.carried()))
    assert np.flatnonzero(target).tolist() == sorted(expected)


def test_absolute_addresses_reach_memory_below_bottom(run_ranks):
    def main(rank):
        world = MPI.COMM_WORLD
        numbers, text = np.arange(4.0) + rank, bytearray(b"text" if rank == 0 else b"    ")
        base = [MPI.Get_address(numbers), MPI.Get_address(text)]
        both = MPI.Datatype.Create_struct([2, 4], [MPI.Aint_add(base[0], 8), base[1]], [MPI.DOUBLE, MPI.CHAR]).Commit()
        if rank == 0:
            world.Send([MPI.BOTTOM, 1, both], 1)
        else:
            world.Recv([MPI.BOTTOM, 1, both], 0)
        return numbers.tolist(), bytes(text)

    assert run_ranks(2, main).returned[1] == ([1, 1, 2, 4], b"text")


def test_entries_below_bottom_without_addresses_are_an_error():
    with pytest.raises(MPI.Exception, match="displacements are addresses"):
        part_of([MPI.BOTTOM, 2, MPI.INT.Create_vector(2, 1, 2).Commit()], is_written=False).carried()


def test_a_datatype_that_was_not_committed_is_refused_by_name():
    pair = MPI.INT.Create_contiguous(2)
    pair.Set_name("pair of ints")
    with pytest.raises(MPI.Exception, match="pair of ints was not committed") as caught:
        part_of([bytearray(8), pair], is_written=False)
    assert caught.value.Get_error_class() == MPI.ERR_TYPE


def test_a_freed_datatype_lives_on_in_what_was_made_of_it(run_ranks):
    def main(rank):
        world, data = MPI.COMM_WORLD, np.arange(8) if rank == 0 else np.zeros(8, int)
        column = MPI.LONG.Create_vector(4, 1, 2)
        made = column.Create_resized(0, 8).Commit()
        column.Free()
        request = world.Isend([data, 2, made], 1) if rank == 0 else world.Irecv([data, 2, made], 0)
        made.Free()
        assert made == MPI.DATATYPE_NULL
        request.Wait()
        return data.tolist()

    assert run_ranks(2, main).returned[1] == list(range(8))


def test_blocks_of_different_lengths_of_a_derived_datatype_go_where_they_belong():
    row = MPI.INT.Create_vector(2, 1, 2).Create_resized(0, 4).Commit()
    data = np.arange(12, dtype="i4")
    parts = vector_of([data, ([2, 0, 1], [0, 0, 8]), row], is_written=False, n_blocks=3)
    assert [np.frombuffer(part.carried(), "i4").tolist() for part in parts] == [[0, 2, 1, 3], [], [8, 10]]
    assert parts.offsets().tolist() == [0, 16, 16, 24]


def test_names_are_each_ranks_own(run_ranks):
    def main(rank):
        if rank == 0:
            MPI.INT.Set_name("mine")
        MPI.COMM_WORLD.Barrier()
        copy = MPI.INT.Dup()
        copy.name = f"copy {rank}"
        return MPI.INT.Get_name(), copy.Get_name()

    assert run_ranks(2, main).returned == [("mine", "copy 0"), ("MPI_INT", "copy 1")]
    assert MPI.INT.Get_name() == "MPI_INT"


def test_synonyms_have_the_name_of_the_standard():
    assert MPI.C_FLOAT_COMPLEX.Get_name() == MPI.C_COMPLEX.Get_name() == "MPI_C_COMPLEX"
    assert MPI.LONG_LONG.Get_name() == "MPI_LONG_LONG_INT"


def test_attributes_are_handed_on_by_dup_and_deleted_by_free(run_ranks):
    def main(rank):
        told = []
        key = MPI.Datatype.Create_keyval(
            lambda datatype, key, value: value + 1, lambda datatype, key, value: told.append(value)
        )
        MPI.INT.Set_attr(key, 10 * rank)
        copy = MPI.INT.Dup()
        assert copy.Get_attr(key) == 10 * rank + 1
        copy.Free()
        MPI.INT.Delete_attr(key)
        return told

    assert run_ranks(2, main).returned == [[1, 0], [11, 10]]


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: MPI.INT.Create_contiguous(-1), MPI.Exception),
        (lambda: MPI.INT.Create_vector(2, -1, 3), MPI.Exception),
        (lambda: MPI.INT.Create_indexed([1, 2], [0]), ValueError),
        (lambda: MPI.Datatype.Create_struct([1], [0], [MPI.INT, MPI.INT]), ValueError),
        (lambda: MPI.INT.Create_subarray([4], [3], [2]), MPI.Exception),
        (lambda: MPI.INT.Create_darray(4, 4, [8], [MPI.DISTRIBUTE_BLOCK], [-1], [4]), MPI.Exception),
        (lambda: MPI.INT.Create_darray(2, 0, [8], [MPI.DISTRIBUTE_BLOCK], [3], [2]), MPI.Exception),
        (lambda: MPI.DATATYPE_NULL.Create_contiguous(1), MPI.Exception),
        (MPI.INT.Free, MPI.Exception),
        (lambda: MPI.Datatype.Create_f90_integer(99), MPI.Exception),
        (lambda: MPI.Datatype.Match_size(MPI.TYPECLASS_REAL, 3), MPI.Exception),
        (lambda: MPI.Datatype(3), TypeError),
    ],
)
def test_a_constructor_refuses_what_makes_no_datatype(call, error):
    with pytest.raises(error):
        call()


def test_a_negative_count_has_the_error_class_of_counts():
    with pytest.raises(MPI.Exception) as caught:
        MPI.INT.Create_vector(-1, 1, 1)
    assert caught.value.Get_error_class() == MPI.ERR_COUNT


def test_a_collective_under_way_keeps_the_datatypes_and_operations_that_it_uses(run_ranks):
    def added(left, right, datatype):
        assert datatype.Get_size() == 8
        np.frombuffer(right, "i4")[:] += np.frombuffer(left, "i4")

    def main(rank):
        world = MPI.COMM_WORLD
        pair, add = MPI.INT.Create_vector(2, 1, 2).Commit(), MPI.Op.Create(added, True)
        ones, total, swapped = np.ones(6, "i4"), np.zeros(6, "i4"), np.zeros(6, "i4")
        requests = [
            world.Ireduce([ones, 1, pair], [total, 1, pair] if rank == 0 else None, add),
            world.Ialltoallv([ones, [1, 1], [0, 1], pair], [swapped, [1, 1], [0, 1], pair]),
        ]
        again = world.Allreduce_init([ones, 1, pair], [np.zeros(6, "i4"), 1, pair], add)
        pair.Free()
        add.Free()
        again.Start()
        MPI.Request.Waitall([*requests, again])
        return total.tolist(), swapped.tolist()

    of_all, swapped = [2, 0, 2, 0, 0, 0], [1, 0, 1, 1, 0, 1]
    assert run_ranks(2, main).returned == [(of_all, swapped), ([0] * 6, swapped)]


def test_the_compiled_surface_moves_a_derived_datatype_after_its_commit():
    gaps, dense = MPI.DOUBLE.Create_vector(2, 1, 2), MPI.DOUBLE.Create_contiguous(3)
    assert [(one._size, one._strided) for one in (gaps, dense)] == [(0, None)] * 2
    other = MPI.Datatype(gaps.Commit())
    assert gaps._size == 0
    assert gaps._strided == other._strided == gaps.Dup()._strided is not None
    assert (dense.Commit()._size, dense._strided) == (24, None)
    dense.Free()
    assert dense._size == 0
