"""The order of reductions, for every way contributions may come."""

import random

import numpy as np
import pytest

from smpy.mpi import MPI
from smpy.mpi.data.reductions import ReductionInProgress


def result_of(rows, arrival, op=MPI.SUM, datatype=MPI.DOUBLE):
    fold = ReductionInProgress(op._operation, datatype._layout, len(rows))
    for rank in arrival:
        fold.put(rank, memoryview(rows[rank].tobytes()))
    return np.frombuffer(fold.result(op._operation), rows.dtype)


@pytest.mark.parametrize("n_columns", [1, 2, 3, 511, 512, 513, 5000])
@pytest.mark.parametrize("n_ranks", [1, 2, 9, 1000])
def test_a_sum_is_the_loop_that_one_would_write(n_columns, n_ranks):
    rows = np.random.default_rng(0).standard_normal((n_ranks, n_columns))
    expected = rows[0].copy()
    for row in rows[1:]:
        expected = expected + row
    orders = [range(n_ranks), range(n_ranks - 1, -1, -1), random.Random(1).sample(range(n_ranks), n_ranks)]
    for arrival in orders:
        assert result_of(rows, arrival).tobytes() == expected.tobytes()


def test_a_sum_of_one_column_is_not_summed_in_pairs():
    rows = np.array([[1e16], *[[1.0]] * 1000])
    assert result_of(rows, range(1001))[0] == 1e16  # each 1 is lost; in pairs they would not be


def test_contributions_in_rank_order_are_not_kept():
    fold = ReductionInProgress(MPI.SUM._operation, MPI.DOUBLE._layout, 500)
    wide = memoryview(np.ones(10_000).tobytes())
    for rank in range(500):
        fold.put(rank, wide)
        assert not any(fold._kept)
    assert np.frombuffer(fold.result(MPI.SUM._operation))[0] == 500


def test_many_short_contributions_are_folded_as_they_come():
    fold = ReductionInProgress(MPI.SUM._operation, MPI.DOUBLE._layout, 5000)
    short = memoryview(np.ones(100).tobytes())
    for rank in range(5000):
        fold.put(rank, short)
        assert fold._kept_bytes <= 1 << 20
    assert np.frombuffer(fold.result(MPI.SUM._operation))[0] == 5000


@pytest.mark.parametrize("name", ["i1", "u1", "i2"])
def test_small_integers_wrap_as_in_c(name):
    rows = np.full((300, 2), 100, name)
    datatype = MPI.Datatype.fromcode(name)
    assert (result_of(rows, range(300), datatype=datatype) == np.array(30000).astype(name)).all()


def test_overflow_is_silent_as_in_c():
    rows = np.full((3, 1), 1e308)
    assert result_of(rows, range(3))[0] == np.inf
