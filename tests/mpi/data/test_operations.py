"""Operations: functions of objects, reductions of buffers, and those that programs make."""

import operator
import pickle
from functools import reduce

import numpy as np
import pytest

from smpy.mpi import MPI

NUMBERS = [MPI.SHORT, MPI.INT, MPI.LONG, MPI.UINT8_T, MPI.FLOAT, MPI.DOUBLE, MPI.LONG_DOUBLE, MPI.AINT, MPI.REAL8]
COMPLEX = [MPI.C_FLOAT_COMPLEX, MPI.C_DOUBLE_COMPLEX, MPI.C_LONG_DOUBLE_COMPLEX, MPI.COMPLEX8]
WHOLE = [MPI.SIGNED_CHAR, MPI.UNSIGNED_SHORT, MPI.INT64_T, MPI.INTEGER, MPI.OFFSET, MPI.COUNT]
PAIRS = [MPI.SHORT_INT, MPI.INT_INT, MPI.LONG_INT, MPI.FLOAT_INT, MPI.DOUBLE_INT, MPI.LONG_DOUBLE_INT]


def reduced(op, datatype, left, right, dtype=None):
    dtype = np.dtype(dtype or datatype.typestr)
    given, result = np.array(left, dtype), np.array(right, dtype)
    op.Reduce_local([given, datatype], [result, datatype])
    assert given.tolist() == np.array(left, dtype).tolist()
    return result.tolist()


@pytest.mark.parametrize("datatype", NUMBERS + WHOLE)
def test_numbers_have_extremes_sums_and_products(datatype):
    assert reduced(MPI.MAX, datatype, [1, 5, 3], [2, 4, 3]) == [2, 5, 3]
    assert reduced(MPI.MIN, datatype, [1, 5, 3], [2, 4, 3]) == [1, 4, 3]
    assert reduced(MPI.SUM, datatype, [1, 5, 3], [2, 4, 3]) == [3, 9, 6]
    assert reduced(MPI.PROD, datatype, [1, 5, 3], [2, 4, 3]) == [2, 20, 9]


@pytest.mark.parametrize("datatype", WHOLE)
def test_whole_numbers_have_truths(datatype):
    assert reduced(MPI.LAND, datatype, [1, 0, 3], [2, 4, 0]) == [1, 0, 0]
    assert reduced(MPI.LOR, datatype, [1, 0, 0], [2, 4, 0]) == [1, 1, 0]
    assert reduced(MPI.LXOR, datatype, [1, 0, 0], [2, 4, 0]) == [0, 1, 0]


@pytest.mark.parametrize("datatype", COMPLEX)
def test_complex_numbers_have_sums_and_products_and_no_order(datatype):
    assert reduced(MPI.SUM, datatype, [1 + 2j], [3 - 1j]) == [4 + 1j]
    assert reduced(MPI.PROD, datatype, [1 + 2j], [3 - 1j]) == [5 + 5j]
    with pytest.raises(MPI.Exception, match="MPI_MAX is not defined for"):
        reduced(MPI.MAX, datatype, [1], [2])


@pytest.mark.parametrize("datatype", [*WHOLE, MPI.BYTE])
def test_whole_numbers_and_bytes_have_bits(datatype):
    assert reduced(MPI.BAND, datatype, [12], [10]) == [8]
    assert reduced(MPI.BOR, datatype, [12], [10]) == [14]
    assert reduced(MPI.BXOR, datatype, [12], [10]) == [6]


@pytest.mark.parametrize("datatype", PAIRS)
def test_pairs_have_extremes_with_their_least_location(datatype):
    value, location = datatype._layout.typestr.split(",")
    pair = np.dtype([("v", value), ("i", location)], align=True)
    assert pair.itemsize == datatype.extent
    assert reduced(MPI.MAXLOC, datatype, [(1, 7), (5, 3)], [(2, 1), (5, 2)], pair) == [(2, 1), (5, 2)]
    assert reduced(MPI.MINLOC, datatype, [(1, 7), (5, 3)], [(2, 1), (5, 4)], pair) == [(1, 7), (5, 3)]


@pytest.mark.parametrize("op", [MPI.MAXLOC, MPI.MINLOC])
def test_the_location_of_an_extreme_that_is_no_number_is_its_own(op):
    pair = np.dtype([("v", "f8"), ("i", "i4")], align=True)
    given, result = np.array([(np.nan, 7), (5, 3)], pair), np.array([(2, 1), (np.nan, 4)], pair)
    op.Reduce_local([given, MPI.DOUBLE_INT], [result, MPI.DOUBLE_INT])
    assert result["i"].tolist() == [7, 4]


@pytest.mark.parametrize(
    ("op", "function"),
    [(MPI.SUM, operator.add), (MPI.PROD, operator.mul), (MPI.BXOR, operator.xor), (MPI.MAX, max), (MPI.MIN, min)],
)
def test_an_operation_is_a_function_of_two_objects(op, function):
    assert reduce(op, [3, 1, 4, 1, 5]) == reduce(function, [3, 1, 4, 1, 5])


def test_an_operation_of_arrays_is_that_of_their_elements():
    assert MPI.SUM(np.arange(3), 1).tolist() == [1, 2, 3]
    assert MPI.MAXLOC((2, 1), (2, 0)) == (2, 0)
    assert MPI.REPLACE(1, 2) == 2
    assert MPI.NO_OP(1, 2) == 1


def test_buffers_that_do_not_match_are_not_reduced():
    with pytest.raises(ValueError, match="datatypes"):
        MPI.SUM.Reduce_local(np.zeros(2), np.zeros(2, int))
    with pytest.raises(ValueError, match="count 2 and inoutbuf count 3"):
        MPI.SUM.Reduce_local(np.zeros(2), np.zeros(3))
    with pytest.raises(MPI.Exception, match="MPI_REPLACE is not defined"):
        MPI.REPLACE.Reduce_local(np.zeros(2), np.zeros(2))


def farthest(left, right, datatype):
    """Keep the point farther out, of equal ones the left; points have a gap between label and coordinate."""
    point = np.dtype([("label", "i1"), ("x", "f8")], align=True)
    one, other = np.frombuffer(left, point), np.frombuffer(right, point)
    other[:] = np.where(abs(one["x"]) >= abs(other["x"]), one, other)


def test_a_programs_operation_sees_entries_as_they_are_in_memory(run_ranks):
    point = np.dtype([("label", "i1"), ("x", "f8")], align=True)

    def main(rank):
        made = MPI.Datatype.Create_struct([1, 1], [0, 8], [MPI.SIGNED_CHAR, MPI.DOUBLE]).Commit()
        mine, best = np.array([(rank, 2.0 - rank), (rank, 1.0)], point), np.zeros(2, point)
        op = MPI.Op.Create(farthest)
        MPI.COMM_WORLD.Allreduce([mine, made], [best, made], op)
        op.Free()
        return best.tolist()

    assert run_ranks(4, main).returned == [[(0, 2.0), (0, 1.0)]] * 4


def test_a_rank_may_have_many_operations_at_a_time(run_ranks):
    def main(rank):
        made = [MPI.Op.Create(farthest) for _ in range(32)]
        with pytest.raises(RuntimeError, match="Free one"):
            MPI.Op.Create(farthest)
        made.pop().Free()
        made.append(MPI.Op.Create(farthest, commute=True))
        return made[-1].is_commutative, made[0].is_commutative

    assert run_ranks(2, main).returned == [(True, False)] * 2


@pytest.mark.usefixtures("named_mpi4py")
def test_operations_are_pickled_by_name_or_by_function():
    assert pickle.loads(pickle.dumps(MPI.SUM)) is MPI.SUM
    made = MPI.Op.Create(operator.add, commute=True)
    again = pickle.loads(pickle.dumps(MPI.Op.Create(max, commute=True)))
    assert again != made
    assert again.is_commutative


def test_predefined_operations_cannot_be_freed():
    with pytest.raises(MPI.Exception, match="MPI_SUM is predefined"):
        MPI.SUM.Free()
    further = MPI.Op(MPI.SUM)
    further.free()
    assert further == MPI.OP_NULL


def test_an_error_of_a_derived_datatype_says_that_it_is_one():
    pair = MPI.INT.Create_contiguous(2).Commit()
    with pytest.raises(MPI.Exception, match="MPI_SUM is not defined for a derived datatype, only for"):
        MPI.SUM.Reduce_local([bytearray(8), 1, pair], [bytearray(8), 1, pair])
