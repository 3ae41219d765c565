"""Arguments of the wrong type or out of all bounds: an error in the program's words, and no memory touched."""

import traceback

import numpy as np
import pytest

import smpy
from smpy.mpi import MPI
from smpy.mpi.data.block_specifications import several_of, vector_of
from smpy.mpi.data.message_specifications import part_of

SELF, WORLD = MPI.COMM_SELF, MPI.COMM_WORLD
ONE = np.zeros(8)
BEFORE = MPI.DOUBLE.Create_hindexed([1], [-8]).Create_resized(0, 8).Commit()
BEHIND = MPI.DOUBLE.Create_hindexed([1], [800]).Create_resized(0, 8).Commit()
EVERYWHERE = MPI.DOUBLE.Create_resized(0, 0).Commit()


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: SELF.Send(ONE, "a"), "Send: dest is of type str, not an integer"),
        (lambda: SELF.send(ONE, None), "send: dest is of type NoneType, not an integer"),
        (lambda: SELF.Irecv(ONE, tag="a"), "Irecv: tag is of type str, not an integer"),
        (lambda: SELF.Bcast(ONE, "a"), "Bcast: root is of type str, not an integer"),
        (lambda: SELF.bcast(ONE, None), "bcast: root is of type NoneType, not an integer"),
        (lambda: SELF.Gather(ONE, ONE, root="a"), "Gather: root is of type str, not an integer"),
        (lambda: SELF.Split("a"), "Split: color is of type str, not an integer"),
        (lambda: SELF.Split(0, "a"), "Split: key is of type str, not an integer"),
        (lambda: SELF.Reduce(ONE, ONE, op=3), "Reduce: op is of type int, not an Op"),
        (lambda: SELF.Allreduce(ONE, ONE, op=None), "Allreduce: op is of type NoneType, not an Op"),
        (lambda: MPI.Request().Wait(3), "Wait: status is of type int, not a Status"),
        (lambda: smpy.execute("a"), "execute: flop is of type str, not a number"),
        (lambda: MPI.Status().Get_count(5), "Get_count: datatype is of type int, not a Datatype"),
        (lambda: SELF.Create("a"), "Create: group is of type str, not a Group"),
        (lambda: SELF.Abort("a"), "Abort: errorcode is of type str, not an integer"),
        (lambda: SELF.Get_group().Incl(["a"]), "Group: rank is of type str, not an integer"),
        (lambda: MPI.INT.Create_vector("a", 1, 2), "Create_vector: count is of type str, not an integer"),
        (lambda: MPI.Datatype.Create_struct([1], [0], [3]), "expected a Datatype, not a int"),
        (lambda: MPI.INT.Pack(ONE, bytearray(64), "a", SELF), "Pack: position is of type str, not an integer"),
        (lambda: MPI.INT.Pack(ONE, bytearray(64), 0, 3), "Pack: comm is of type int, not a Comm"),
        (SELF.Send, r"^Send\(\) missing 2 required positional arguments"),
        (lambda: SELF.send(ONE, dst=0), r"^send\(\) got an unexpected keyword argument 'dst'"),
        (lambda: SELF.Send([[1.0, 2.0], MPI.DOUBLE], 0), "a buffer is required, such as a numpy array, not list"),
        (lambda: SELF.Send([ONE, 1, 5], 0), "a datatype is required, such as MPI.DOUBLE or 'd', not int"),
        (lambda: SELF.Alltoallv([ONE, [1], [0]], ONE), "a datatype is required, such as MPI.DOUBLE or 'd', not list"),
        (lambda: SELF.Alltoallw([ONE, [None]], [ONE, [MPI.INT]]), "a datatype is required, such as .*, not NoneType"),
        (lambda: SELF.Alltoallw(3, 4), "expecting a list or tuple of buffer, counts and datatypes, not int"),
    ],
)  # fmt: skip
def test_an_argument_of_the_wrong_type_is_named(run_ranks, call, text):
    def main(rank):
        with pytest.raises(TypeError, match=text) as caught:
            call()
        return traceback.extract_tb(caught.tb)[-1]

    last = run_ranks(1, main).returned[0]
    assert last.line.startswith("raise "), "the report of a failed rank shows such frames of ours to nobody"
    assert last.filename.startswith(smpy.__path__[0])


class OnlyInt:
    def __int__(self):
        return 0


@pytest.mark.parametrize("zero", [False, np.False_, np.int8(0), 0.5, np.float32(0.5), np.array(0), OnlyInt()])
def test_one_number_is_converted_as_int_does(run_ranks, zero):
    grid = [1], [True]

    def main(rank):
        assert SELF.Split(zero, zero).size == 1
        assert SELF.Split_type(MPI.COMM_TYPE_SHARED, zero).size == 1
        assert SELF.bcast(7, zero) == 7
        assert SELF.sendrecv(8, zero, zero, None, zero, zero) == 8
        SELF.Sendrecv(ONE, zero, zero, np.empty(8), zero, zero)
        assert SELF.Create_cart(*grid).Shift(zero, zero) == (0, 0)
        assert SELF.Create_cart(*grid).Get_coords(zero) == [0]
        assert MPI.INT.Create_vector(zero, zero, zero).size == 0
        assert SELF.Get_group().Range_incl([(zero, zero, 1)]).size == 1

    run_ranks(1, main)


@pytest.mark.parametrize("zero", [np.False_, 0.0, np.float32(0), OnlyInt()])
def test_items_and_counts_are_whole_numbers(run_ranks, zero):
    def main(rank):
        for call in (
            lambda: SELF.Get_group().Incl([zero]),
            lambda: SELF.Get_group().Excl([zero]),
            lambda: SELF.Create_cart([1], [zero]),
            lambda: SELF.Bcast([ONE, zero, MPI.DOUBLE]),
            lambda: MPI.INT.Create_indexed([zero], [0]),
        ):
            with pytest.raises((TypeError, DeprecationWarning)):  # a warning for np.False_ under numpy before 2
                call()

    run_ranks(1, main)


def test_an_error_of_the_program_s_own_inside_a_call_stays_as_it_is(run_ranks):
    def main(rank):
        if rank == 1:
            return WORLD.reduce(1, op=failing)
        with pytest.raises(TypeError, match=r"^mine$"):
            WORLD.reduce(1, op=failing)
        return None

    def failing(left, right):
        raise TypeError("mine")

    run_ranks(2, main)


@pytest.mark.parametrize("datatype", [BEFORE, BEHIND])
@pytest.mark.parametrize(
    "call",
    [
        lambda datatype: datatype.Pack(ONE, bytearray(100), 0, SELF),
        lambda datatype: datatype.Unpack(bytes(100), 0, ONE, SELF),
        lambda datatype: datatype.Pack_external("external32", ONE, bytearray(100), 0),
        lambda datatype: datatype.Unpack_external("external32", bytes(100), 0, ONE),
        lambda datatype: part_of([ONE, 1, datatype], is_written=True),
        lambda datatype: part_of([ONE, (1, 0), datatype], is_written=True),
        lambda datatype: vector_of([ONE, [1], [0], datatype], is_written=True, n_blocks=1),
        lambda datatype: several_of([ONE, [1], [0], [datatype]], is_written=True, n_blocks=1),
    ],
)
def test_bytes_outside_the_buffer_are_refused(call, datatype):
    with pytest.raises(ValueError, match=r"8 bytes before the buffer|bytes, the buffer has 64"):
        call(datatype)


@pytest.mark.parametrize("displacement", [-1, 8, 1 << 60, 1 << 62, -(1 << 63)])
def test_displacements_outside_the_buffer_are_refused(displacement):
    with pytest.raises(ValueError, match=r"before the buffer|the buffer has 64"):
        vector_of([ONE, [1], [displacement], MPI.DOUBLE], is_written=True, n_blocks=1)
    with pytest.raises(ValueError, match=r"before the buffer|the buffer has 64"):
        several_of([ONE, [1], [8 * displacement], [MPI.DOUBLE]], is_written=True, n_blocks=1)
    with pytest.raises(ValueError, match=r"negative displacement|beyond the 8 entries|the buffer has 64"):
        part_of([ONE, 1, displacement, MPI.DOUBLE], is_written=True)


@pytest.mark.parametrize("at", [0, 8, -8, 1 << 62])
def test_what_is_no_address_is_refused_below_bottom(run_ranks, at):
    def main(rank):
        there = MPI.DOUBLE.Create_hindexed([1], [at]).Commit()
        with pytest.raises(MPI.Exception, match="displacements are addresses"):
            SELF.Isend([MPI.BOTTOM, 1, there], 0)

    run_ranks(1, main)


@pytest.mark.parametrize("count", [1 << 61, 1 << 62, 1 << 70])
def test_more_bytes_than_64_bits_count_are_refused(count):
    with pytest.raises(MPI.Exception, match="more than a message can") as caught:
        part_of([ONE, count, EVERYWHERE], is_written=False)
    assert caught.value == MPI.ERR_COUNT


@pytest.mark.parametrize(
    "call",
    [
        lambda: MPI.DOUBLE.Create_contiguous(1 << 60),
        lambda: MPI.DOUBLE.Create_vector(1 << 60, 1, 2),
        lambda: MPI.DOUBLE.Create_vector(2, 1, -(1 << 61)),
        lambda: MPI.DOUBLE.Create_resized(-(1 << 63), 1 << 63),
        lambda: MPI.DOUBLE.Create_subarray([1 << 40, 1 << 40], [2, 1], [1, 1]),
        lambda: MPI.DOUBLE.Create_hindexed([1] * 99, [1 << 70] * 99),
    ],
)
def test_a_datatype_beyond_64_bits_is_refused(call):
    with pytest.raises((MPI.Exception, OverflowError), match=r"more than 64 bits|too big"):
        call()


def test_entries_far_apart_need_no_more_memory_than_they_have(run_ranks):
    far = MPI.DOUBLE.Create_resized(0, 1 << 40).Commit()

    def main(rank):
        room, total = np.zeros(8), np.zeros(8)
        WORLD.Sendrecv(np.ones(1), 1 - rank, 0, [room, 1, far], 1 - rank)
        WORLD.Sendrecv([np.ones(8), 1, far], 1 - rank, 0, total, 1 - rank)
        with pytest.raises(MPI.Exception, match="need 1099511627776 bytes beside") as caught:
            WORLD.Allreduce([room, 1, far], [total, 1, far], MPI.Op.Create(lambda left, right, datatype: None))
        assert caught.value == MPI.ERR_NO_MEM
        return room.sum(), total.sum()

    import resource

    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (1 << 36, before[1]))
    try:
        assert run_ranks(2, main).returned == [(1, 1), (1, 1)]
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def test_ranges_of_ranks_that_nobody_has_are_not_listed(run_ranks):
    def main(rank):
        for ranks in ([(0, 1 << 40, 1)], [(-1, 0, 1)], [(1 << 40, 0, -1)]):
            with pytest.raises(MPI.Exception, match="the group has ranks 0 to 0") as caught:
                WORLD.Get_group().Range_incl(ranks)
            assert caught.value == MPI.ERR_RANK

    run_ranks(1, main)
