"""Collectives on buffers and objects, judged by numpy."""

import functools
import operator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smpy.mpi import MPI
from tests.mpi.conftest import run_world

RANKS = st.integers(1, 17)
COUNTS = st.sampled_from([0, 1, 2, 7, 300, 9000])
NUMBERS = ["i1", "u2", "i4", "i8", "u8", "f4", "f8", "f16", "c8", "c16"]
few = settings(max_examples=25)


def contributions(n_ranks, count, dtype, seed):
    """Numbers whose sum depends on the order."""
    draw = np.random.default_rng(seed)
    return (draw.standard_normal((n_ranks, count)) * 10.0 ** draw.integers(-3, 2, (n_ranks, count))).astype(dtype)


def fold_left(function, rows):
    with np.errstate(all="ignore"):
        return functools.reduce(function, rows)


@few
@given(RANKS, COUNTS, st.sampled_from(NUMBERS), st.booleans(), st.integers(0, 99))
def test_sums_and_products_fold_left_in_rank_order(n_ranks, count, dtype, in_place, seed):
    rows = contributions(n_ranks, count, dtype, seed)

    def main(rank):
        world, root = MPI.COMM_WORLD, (seed + 1) % n_ranks
        mine, total, product = rows[rank].copy(), np.zeros(count, dtype), np.zeros(count, dtype)
        if in_place:
            total[:] = mine
            world.Allreduce(MPI.IN_PLACE, total)
        else:
            world.Allreduce(mine, total, MPI.SUM)
        mine[:] = rows[rank]
        world.Reduce(mine, product if rank == root else None, MPI.PROD, root)
        mine[:] = 0
        return total, product if rank == root else None

    returned = run_world(n_ranks, main).returned
    total = fold_left(np.add, rows)
    for mine, _ in returned:
        np.testing.assert_array_equal(mine, total)
    np.testing.assert_array_equal(returned[(seed + 1) % n_ranks][1], fold_left(np.multiply, rows))


@few
@given(RANKS, COUNTS, st.sampled_from(["i2", "u4", "i8", "f4", "f8"]), st.integers(0, 99))
def test_extremes_equal_numpy(n_ranks, count, dtype, seed):
    rows = contributions(n_ranks, count, dtype, seed)

    def main(rank):
        low, high = np.zeros(count, dtype), np.zeros(count, dtype)
        MPI.COMM_WORLD.Allreduce(rows[rank], low, MPI.MIN)
        MPI.COMM_WORLD.Allreduce(rows[rank], high, MPI.MAX)
        return low, high

    for low, high in run_world(n_ranks, main).returned:
        assert (low == rows.min(axis=0)).all()
        assert (high == rows.max(axis=0)).all()


@few
@given(RANKS, st.sampled_from(["LAND", "LOR", "LXOR", "BAND", "BOR", "BXOR"]), st.integers(0, 99))
def test_logic_equals_numpy(n_ranks, name, seed):
    rows = np.random.default_rng(seed).integers(0, 3, (n_ranks, 20))
    ufunc = getattr(np, {"L": "logical_", "B": "bitwise_"}[name[0]] + name[1:].lower())

    def main(rank):
        result = np.zeros(20, int)
        MPI.COMM_WORLD.Allreduce(rows[rank], result, getattr(MPI, name))
        return result

    expected = fold_left(lambda x, y: ufunc(x, y).astype(int), rows)
    for result in run_world(n_ranks, main).returned:
        assert (result == expected).all()


@few
@given(RANKS, st.booleans(), st.integers(0, 99))
def test_locations_are_those_of_the_first_extreme(n_ranks, largest, seed):
    rows = np.zeros((n_ranks, 9), np.dtype([("value", "f8"), ("place", "i4")], align=True))
    rows["value"] = np.random.default_rng(seed).integers(0, 4, rows.shape)
    rows["place"] = np.random.default_rng(seed + 1).permutation(rows.size).reshape(rows.shape)

    def main(rank):
        result = rows[0].copy()
        op = MPI.MAXLOC if largest else MPI.MINLOC
        MPI.COMM_WORLD.Allreduce([rows[rank], MPI.DOUBLE_INT], [result, MPI.DOUBLE_INT], op)
        return result

    for result in run_world(n_ranks, main).returned:
        for column in range(9):
            order = sorted(rows[:, column].tolist(), key=lambda pair: (-pair[0] if largest else pair[0], pair[1]))
            assert result[column].tolist() == order[0]


@few
@given(RANKS, COUNTS, st.sampled_from(NUMBERS), st.integers(0, 99))
def test_blocks_go_where_they_belong(n_ranks, count, dtype, seed):
    rows = contributions(n_ranks, count, dtype, seed)
    root = seed % n_ranks

    def main(rank):
        world = MPI.COMM_WORLD
        mine = rows[rank].copy()
        every, some, own = np.zeros((n_ranks, count), dtype), np.zeros((n_ranks, count), dtype), np.zeros(count, dtype)
        world.Allgather(mine, every)
        world.Gather(mine, some if rank == root else None, root)
        mine[:] = 0
        world.Scatter(rows if rank == root else None, own, root)
        word = rows[root].copy() if rank == root else np.zeros(count, dtype)
        world.Bcast(word, root)
        if rank == root:
            word[:] = 0
        return every, some, own, word

    for rank, (every, some, own, word) in enumerate(run_world(n_ranks, main).returned):
        assert (every == rows).all()
        assert (own == rows[rank]).all()
        if rank == root:
            assert (some == rows).all()
        else:
            assert (word == rows[root]).all()


def test_in_place_blocks_stay_where_they_are(run_ranks):
    def main(rank):
        world = MPI.COMM_WORLD
        every = np.zeros((3, 2))
        every[rank] = rank + 1
        world.Allgather(MPI.IN_PLACE, every)
        some = every.copy()
        some[:] = -1
        some[rank] = rank + 1
        world.Gather(MPI.IN_PLACE if rank == 1 else some[rank], some if rank == 1 else None, 1)
        rows = np.arange(6.0).reshape(3, 2)
        own = np.zeros(2)
        world.Scatter(rows if rank == 1 else None, MPI.IN_PLACE if rank == 1 else own, 1)
        return every[:, 0].tolist(), some[:, 0].tolist(), own.tolist()

    returned = run_ranks(3, main).returned
    assert [every for every, _, _ in returned] == [[1, 2, 3]] * 3
    assert returned[1][1] == [1, 2, 3]
    assert [own for _, _, own in returned] == [[0, 1], [0, 0], [4, 5]]


def test_a_root_may_overwrite_its_buffer_before_the_others_have_read(run_ranks):
    def main(rank):
        world = MPI.COMM_WORLD
        for turn in range(3):
            data = np.full(10, turn if rank == 0 else -1)
            world.Bcast(data)
            assert (data == turn).all()
            data[:] = -2
        return True

    assert all(run_ranks(9, main).returned)


def test_two_collectives_of_one_communicator_may_be_open_at_once(run_ranks):
    def main(rank):
        world = MPI.COMM_WORLD
        totals = []
        for turn in range(20):
            total = np.zeros(1)
            world.Reduce(np.array([rank + turn], float), total if rank == turn % 5 else None, root=turn % 5)
            totals.append(total[0])
        return totals

    returned = run_ranks(5, main).returned
    assert [returned[turn % 5][turn] for turn in range(20)] == [10 + 5 * turn for turn in range(20)]


@pytest.mark.parametrize("commute", [True, False])
def test_a_program_may_reduce_with_an_operation_of_its_own(run_ranks, commute):
    def compose(left, right, datatype):
        """2 x 2 matrices, multiplied: not commutative."""
        assert datatype == MPI.DOUBLE
        a, b = (np.frombuffer(buffer).reshape(2, 2) for buffer in (left, right))
        right[:] = (a @ b).tobytes()

    matrices = np.random.default_rng(1).integers(-2, 3, (6, 2, 2)).astype(float)

    def main(rank):
        product = np.zeros((2, 2))
        op = MPI.Op.Create(compose, commute)
        MPI.COMM_WORLD.Allreduce(matrices[rank], product, op)
        op.Free()
        assert op == MPI.OP_NULL
        return product

    for product in run_ranks(6, main).returned:
        assert (product == functools.reduce(operator.matmul, matrices)).all()


def test_an_error_in_an_operation_of_its_own_is_the_rank_s(run_ranks):
    def main(rank):
        op = MPI.Op.Create(lambda left, right, datatype: 1 / 0)
        MPI.COMM_WORLD.Allreduce(np.zeros(1), np.zeros(1), op)

    with pytest.raises(ZeroDivisionError):
        run_ranks(2, main)


def test_objects_are_broadcast_gathered_and_scattered(run_ranks):
    def main(rank):
        world = MPI.COMM_WORLD
        world.barrier()
        return (
            world.bcast({"from": rank}, 2),
            world.gather([rank] * rank, 1),
            world.allgather(str(rank)),
            world.scatter([(k, rank) for k in range(4)] if rank == 3 else None, 3),
        )

    for rank, (word, some, every, own) in enumerate(run_ranks(4, main).returned):
        assert word == {"from": 2}
        assert some == ([[], [1], [2, 2], [3, 3, 3]] if rank == 1 else None)
        assert every == ["0", "1", "2", "3"]
        assert own == (rank, 3)


def test_all_ranks_get_copies_of_a_broadcast_object(run_ranks):
    def main(rank):
        mine = [rank]
        return MPI.COMM_WORLD.bcast(mine) is mine

    assert run_ranks(3, main).returned == [False] * 3


@pytest.mark.parametrize("n_ranks", range(1, 10))
def test_objects_are_reduced_in_rank_order(run_ranks, n_ranks):
    def main(rank):
        world = MPI.COMM_WORLD
        letter = "abcdefghi"[rank]
        return (
            world.allreduce(letter),
            world.reduce(letter, operator.add, n_ranks - 1),
            world.allreduce(rank, MPI.MAX),
            world.allreduce((rank % 3, rank), MPI.MAXLOC),
            world.allreduce(np.full(2, rank), lambda x, y: x + y).tolist(),
        )

    whole = "abcdefghi"[:n_ranks]
    for rank, (every, some, high, place, total) in enumerate(run_ranks(n_ranks, main).returned):
        assert every == whole
        assert some == (whole if rank == n_ranks - 1 else None)
        assert high == n_ranks - 1
        assert place == min(((r % 3, r) for r in range(n_ranks)), key=lambda pair: (-pair[0], pair[1]))
        assert total == [sum(range(n_ranks))] * 2


def test_a_scatter_of_too_few_objects_is_an_error(run_ranks):
    def main(rank):
        with pytest.raises(ValueError, match="expecting 1 items, got 2"):
            MPI.COMM_SELF.scatter([1, 2])

    run_ranks(1, main)


@pytest.mark.parametrize(
    ("datatype", "op", "kind"),
    [("BYTE", "SUM", "byte"), ("C_BOOL", "PROD", "logical"), ("C_DOUBLE_COMPLEX", "MAX", "complex"),
     ("DOUBLE", "BAND", "floating"), ("DOUBLE", "LOR", "floating"), ("DOUBLE", "MAXLOC", "floating"),
     ("DOUBLE_INT", "SUM", "pair"), ("INT", "REPLACE", "one-sided")],
)  # fmt: skip
def test_an_operation_that_is_not_defined_for_a_datatype_is_an_error(run_ranks, datatype, op, kind):
    def main(rank):
        buffer = [bytearray(16), 1, getattr(MPI, datatype)]
        with pytest.raises(MPI.Exception, match=f"MPI_{op} is not defined for .*{kind}") as caught:
            MPI.COMM_SELF.Allreduce(buffer, [bytearray(16), 1, getattr(MPI, datatype)], getattr(MPI, op))
        return caught.value.Get_error_class()

    assert run_ranks(1, main).returned == [MPI.ERR_OP]


@pytest.mark.parametrize(
    ("mine", "error", "text"),
    [
        ([np.zeros(2, "f4"), np.zeros(2)], ValueError, "mismatch in send and receive MPI datatypes"),
        ([np.zeros(3), np.zeros(2)], ValueError, "mismatch in send count 3 and receive count 2"),
    ],
)
def test_buffers_of_a_reduction_must_agree(run_ranks, mine, error, text):
    def main(rank):
        with pytest.raises(error, match=text):
            MPI.COMM_SELF.Allreduce(*mine)

    run_ranks(1, main)


def test_a_block_of_another_size_is_an_error(run_ranks):
    def main(rank):
        with pytest.raises(MPI.Exception, match="a block of 24 bytes where blocks of 16 bytes are expected") as caught:
            MPI.COMM_SELF.Gather(np.zeros(3), np.zeros(2))
        return caught.value.Get_error_class()

    assert run_ranks(1, main).returned == [MPI.ERR_TRUNCATE]


@pytest.mark.parametrize("call", ["bcast", "reduce", "gather", "scatter"])
def test_a_root_outside_the_communicator_is_an_error(run_ranks, call):
    def main(rank):
        for name in (call, call.title()):
            with pytest.raises(MPI.Exception, match=rf"{name}\(root=2\): the communicator has ranks 0 to 1") as caught:
                getattr(MPI.COMM_WORLD, name)(
                    *([np.zeros(1)] * (1 if name == "Bcast" or name.islower() else 2)), root=2
                )
            assert caught.value == MPI.ERR_ROOT

    run_ranks(2, main)


@pytest.mark.parametrize(
    ("odd_one", "error_class", "texts"),
    [
        (lambda world: world.Barrier(), "ERR_OTHER", ["Bcast(root=0), 8 bytes", "Barrier()"]),
        (lambda world: world.Bcast(np.zeros(1), 1), "ERR_ROOT", ["Bcast(root=0), 8 bytes", "Bcast(root=1), 8 bytes"]),
        (lambda world: world.Bcast(np.zeros(2)), "ERR_TRUNCATE", ["8 bytes", "16 bytes"]),
    ],
)
def test_ranks_that_disagree_are_named_with_their_lines(run_ranks, odd_one, error_class, texts):
    def main(rank):
        world = MPI.COMM_WORLD
        if rank == 2:
            odd_one(world)
        else:
            world.Bcast(np.zeros(1))

    with pytest.raises(MPI.Exception) as caught:
        run_ranks(4, main)
    message = str(caught.value)
    assert caught.value == getattr(MPI, error_class)
    assert "rank 0:" in message
    assert "rank 2:" in message
    assert message.count("test_collectives.py:") == 2
    for text in texts:
        assert text in message


def test_operations_that_differ_between_ranks_are_an_error(run_ranks):
    def main(rank):
        MPI.COMM_WORLD.Allreduce(np.zeros(1), np.zeros(1), MPI.SUM if rank else MPI.MAX)

    with pytest.raises(MPI.Exception, match="op=MPI_MAX") as caught:
        run_ranks(2, main)
    assert caught.value == MPI.ERR_OP


def test_nothing_is_left_of_a_collective_when_all_have_left(run_ranks):
    from smpy.mpi.state.world import world

    def main(rank):
        comm = MPI.COMM_WORLD
        comm.Allreduce(np.zeros(1), np.zeros(1))
        comm.bcast("x")
        comm.allgather(rank)
        comm.allreduce(rank)
        comm.Split(rank % 2).Dup()
        comm.Barrier()
        comm.Barrier()
        return len(world().communicator(0).joint.open) if rank == 0 else 0

    assert run_ranks(4, main).returned[0] <= 1  # the last barrier
