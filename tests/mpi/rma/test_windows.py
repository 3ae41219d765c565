"""Windows: memory that ranks open to each other, shared within a host."""

import gc
import itertools
import weakref

import pytest

import smpy
from smpy.engine.running import current
from smpy.mpi import MPI
from tests.mpi.conftest import run_world

WORLD = MPI.COMM_WORLD
TWO_HOSTS = "multicore.xml"
"""Ranks are on its hosts in turn; on the default machine a few ranks are on one host."""


def raised(call, *args, **kwargs):
    with pytest.raises(MPI.Exception) as caught:
        call(*args, **kwargs)
    return caught.value


# ---- what a window is ----


def test_a_window_is_on_the_memory_that_it_was_given():
    def rank_main(rank):
        memory = bytearray(8 + rank)
        win = MPI.Win.Create(memory, 2, comm=WORLD)
        win.tomemory()[0] = 7
        found = memory[0], win.attrs == (MPI.Get_address(memory), 8 + rank, 2)
        same = [win.Get_attr(key) for key in (MPI.WIN_BASE, MPI.WIN_SIZE, MPI.WIN_DISP_UNIT)] == list(win.attrs)
        kind = win.flavor, win.model
        win.Free()
        return found, same, kind

    expected = (7, True), True, (MPI.WIN_FLAVOR_CREATE, MPI.WIN_UNIFIED)
    assert run_world(2, rank_main).returned == [expected] * 2


def test_a_window_as_a_buffer_is_the_memory_of_its_rank():
    def rank_main(rank):
        memory = bytearray(4 + rank)
        win = MPI.Win.Create(memory, comm=WORLD)
        again = MPI.Win(win)
        MPI.buffer(again)[1] = 5
        length = len(MPI.buffer(win))
        win.Free()
        return bytes(memory[:2]), length, len(MPI.buffer(win))

    assert run_world(2, rank_main).returned == [(b"\0\5", 4, 0), (b"\0\5", 5, 0)]


@pytest.mark.parametrize("nothing", [None, MPI.BOTTOM, b""])
def test_a_window_may_be_on_no_memory(nothing):
    def rank_main(rank):
        win = MPI.Win.Create(bytearray(nothing) if nothing == b"" else nothing)
        attrs = win.attrs
        win.Free()
        return attrs

    assert run_world(1, rank_main).returned == [(0, 0, 1)]


def test_windows_allocate_memory_that_is_zero():
    def rank_main(rank):
        win = MPI.Win.Allocate(4 * rank, 4, comm=WORLD)
        found = win.flavor, win.tomemory().tobytes()
        win.Free()
        return found

    assert run_world(2, rank_main).returned == [(MPI.WIN_FLAVOR_ALLOCATE, bytes(4 * rank)) for rank in (0, 1)]


def test_small_memory_of_a_window_is_made_when_it_is_first_needed():
    def rank_main(rank):
        win = MPI.Win.Allocate(8, comm=WORLD)
        win.Fence()
        pieces = win._membership.window.pieces
        before = list(pieces)
        WORLD.Barrier()
        if rank == 0:
            win.Put(b"ab", 1)
        win.Fence()
        after = list(pieces)
        WORLD.Barrier()
        same = bytes(win.tomemory()) == bytes(MPI.buffer(win))
        found = bytes(win.tomemory()[:2])
        win.Free()
        return before, after, same, found

    assert run_world(2, rank_main).returned == [([], [1], True, b"\0\0"), ([], [1], True, b"ab")]


def test_memory_that_cannot_be_had_is_refused_by_allocate():
    def rank_main(rank):
        with pytest.raises((MemoryError, MPI.Exception)):
            MPI.Win.Allocate(1 << 60)

    run_world(1, rank_main)


def test_memory_is_attached_to_a_dynamic_window_and_detached_again():
    def rank_main(rank):
        win, memory = MPI.Win.Create_dynamic(comm=WORLD), bytearray(8)
        win.Attach(memory)
        twice = raised(win.Attach, memory)
        win.Detach(memory)
        gone = raised(win.Detach, memory)
        win.Free()
        return twice, gone

    errors = (MPI.ERR_RMA_ATTACH, MPI.ERR_RMA_ATTACH)
    assert run_world(2, rank_main).returned == [errors] * 2


def test_a_window_has_a_group_a_name_and_hints():
    def rank_main(rank):
        win = MPI.Win.Create(None, info=MPI.Info.Create({"a": "1"}), comm=WORLD)
        nameless = win.name
        win.name = f"mine {rank}"
        win.info = MPI.Info.Create({"b": "2"})
        found = win.name, dict(win.info.items()), (win.group_size, win.group_rank), MPI.WIN_NULL.name
        is_same = MPI.Group.Compare(win.group, WORLD.group) == MPI.IDENT
        win.Free()
        return nameless, found, is_same

    hints = {"a": "1", "b": "2"}
    assert run_world(2, rank_main).returned == [
        ("", (f"mine {rank}", hints, (2, rank), "MPI_WIN_NULL"), True) for rank in (0, 1)
    ]


# ---- its life ----


def test_a_window_outlives_the_communicator_that_it_was_made_with():
    def rank_main(rank):
        comm = WORLD.Dup()
        win = MPI.Win.Create(bytearray(1), comm=comm)
        comm.Free()
        size = win.group_size
        win.Free()
        return size, win == MPI.WIN_NULL

    assert run_world(3, rank_main).returned == [(3, True)] * 3


def test_a_freed_window_lets_go_of_its_memory():
    class Memory(bytearray):
        """One that weak references can see."""

    def rank_main(rank):
        memory = Memory(8)
        alive = weakref.ref(memory)
        win = MPI.Win.Create(memory)
        del memory
        gc.collect()
        was_alive = alive() is not None
        win.Free()
        gc.collect()
        return was_alive, alive() is None

    assert run_world(1, rank_main).returned == [(True, True)]


def test_memory_may_change_its_length_once_the_window_is_freed():
    def rank_main(rank):
        memory = bytearray(8)
        MPI.Win.Create(memory, comm=WORLD).Free()
        memory.extend(b"more")
        return len(memory)

    assert run_world(3, rank_main).returned == [12] * 3


def test_a_put_is_let_go_of_once_it_is_written():
    def rank_main(rank):
        vector = MPI.BYTE.Create_vector(2, 1, 2).Commit()
        memory = bytearray(8)
        win = MPI.Win.Create(memory, comm=WORLD)
        win.Lock_all()
        win.Put([b"ab", 2, MPI.BYTE], 1 - rank, [0, 1, vector])
        win.Unlock_all()
        win.Free()
        memory.extend(b"more")
        vector.Free()
        return bytes(memory[:4])

    gc.disable()
    try:
        assert run_world(2, rank_main).returned == [b"a\0b\0"] * 2
    finally:
        gc.enable()


def test_another_handle_of_a_freed_window_says_so():
    def rank_main(rank):
        win = MPI.Win.Create(None, comm=WORLD)
        other = MPI.Win(win)
        assert other == win
        win.Free()
        return raised(other.Get_group), raised(win.Get_group)

    assert run_world(2, rank_main).returned == [(MPI.ERR_WIN, MPI.ERR_WIN)] * 2


def test_attributes_of_a_window_are_deleted_when_it_is_freed():
    def rank_main(rank):
        deleted = []
        keyval = MPI.Win.Create_keyval(delete_fn=lambda win, key, value: deleted.append((bool(win), value)))
        win = MPI.Win.Create(None, comm=WORLD)
        win.Set_attr(keyval, rank)
        cached = win.Get_attr(keyval)
        win.Free()
        return cached, deleted

    assert run_world(2, rank_main).returned == [(rank, [(True, rank)]) for rank in (0, 1)]


def test_a_window_comes_back_with_its_number():
    def rank_main(rank):
        first, second = MPI.Win.Create(None), MPI.Win.Create(None)
        numbers = {first.handle, second.handle, MPI.WIN_NULL.handle}
        found = MPI.Win.fromhandle(second.handle) == second, MPI.Win.fromhandle(0) == MPI.WIN_NULL, len(numbers)
        first.Free()
        second.Free()
        return found

    assert run_world(2, rank_main).returned == [(True, True, 3)] * 2


def test_an_error_handler_of_a_window_is_told_of_its_errors():
    def rank_main(rank):
        told = []
        win = MPI.Win.Create(bytearray(1), comm=WORLD)
        win.Set_errhandler(MPI.Win.Create_errhandler(lambda win, code: told.append((win.attrs[1], code))))
        raised(win.Shared_query, 9)
        win.Free()
        return told

    assert run_world(2, rank_main).returned == [[(1, MPI.ERR_RANK)]] * 2


# ---- shared memory ----


def test_shared_memory_is_one_stretch_that_all_ranks_see():
    def rank_main(rank):
        win = MPI.Win.Allocate_shared(2 + rank, comm=WORLD)
        mine = win.tomemory()
        mine[:] = rank + 1
        WORLD.Barrier()
        memories = [win.Shared_query(other)[0] for other in range(WORLD.size)]
        seen = b"".join(memory.tobytes() for memory in memories)
        is_one = all(a.address + len(a) == b.address for a, b in itertools.pairwise(memories))
        win.Free()
        return seen, is_one

    assert run_world(3, rank_main).returned == [(b"\1\1\2\2\2\3\3\3\3", True)] * 3


def test_without_a_rank_shared_memory_is_that_of_the_first_rank_that_has_some():
    def rank_main(rank):
        win = MPI.Win.Allocate_shared(5 if rank == 1 else 0, rank + 1, comm=WORLD)
        memory, disp_unit = win.Shared_query(MPI.PROC_NULL)
        win.Free()
        return len(memory), disp_unit

    assert run_world(3, rank_main).returned == [(5, 2)] * 3


def test_ranks_of_several_hosts_cannot_allocate_shared_memory():
    def rank_main(rank):
        return raised(MPI.Win.Allocate_shared, 1, comm=WORLD)

    errors = run_world(3, rank_main, TWO_HOSTS).returned
    assert errors == [MPI.ERR_RMA_SHARED] * 3
    assert "Split_type(COMM_TYPE_SHARED)" in str(errors[0])


def test_memory_of_another_host_is_not_seen():
    def rank_main(rank):
        win = MPI.Win.Create(bytearray(3), comm=WORLD)
        lengths = [len(win.Shared_query(other)[0]) for other in range(2)]
        win.Free()
        return lengths

    assert run_world(2, rank_main, TWO_HOSTS).returned == [[3, 0], [0, 3]]
    assert run_world(2, rank_main).returned == [[3, 3]] * 2


# ---- its time ----


def test_a_window_costs_an_allgather_of_addresses_and_two_barriers():
    def with_window(rank):
        win = MPI.Win.Create(bytearray(100), comm=WORLD)
        win.Free()

    def by_hand(rank):
        WORLD.Allgather(bytearray(8), bytearray(8 * WORLD.size))
        WORLD.Barrier()
        WORLD.Barrier()

    assert run_world(5, with_window).finish_s == run_world(5, by_hand).finish_s


def test_nobody_has_a_window_before_all_ranks_have_come():
    def rank_main(rank):
        if rank == 2:
            current().sleep(1.0)
        win = MPI.Win.Allocate(8, comm=WORLD)
        made_s = MPI.Wtime()
        win.Free()
        return made_s

    assert min(run_world(3, rank_main).returned) > 1.0


# ---- wrong use ----


@pytest.mark.parametrize(
    ("make", "error_class"),
    [
        (lambda: MPI.Win.Create(None, 0), "ERR_DISP"),
        (lambda: MPI.Win.Allocate(-1), "ERR_SIZE"),
        (lambda: MPI.Win.Create_dynamic().Attach(smpy.folded(8)), "ERR_BASE"),
        (lambda: MPI.Win.Create(None).Attach(bytearray(1)), "ERR_RMA_FLAVOR"),
        (lambda: MPI.Win.Create_dynamic().Shared_query(0), "ERR_RMA_FLAVOR"),
        (lambda: MPI.Win.Create(None).Shared_query(1), "ERR_RANK"),
        (lambda: MPI.Win.Create(None, comm=MPI.Intracomm()), "ERR_COMM"),
        (MPI.WIN_NULL.Free, "ERR_WIN"),
        (MPI.WIN_NULL.Get_errhandler, "ERR_WIN"),
    ],
)
def test_wrong_use_of_windows_has_the_standard_s_error_class(make, error_class):
    assert run_world(1, lambda rank: raised(make)).returned == [getattr(MPI, error_class)]


def test_null_windows_and_null_files_are_not_the_same():
    assert MPI.Win() == MPI.WIN_NULL != MPI.FILE_NULL
    with pytest.raises(TypeError, match="expected a Win, not a File"):
        MPI.Win(MPI.FILE_NULL)


def test_a_window_is_made_of_memory_that_can_be_written():
    def rank_main(rank):
        with pytest.raises((BufferError, ValueError)):
            MPI.Win.Create(b"read only")
        with pytest.raises(TypeError):
            MPI.Win.Create(bytearray(1), comm=MPI.COMM_NULL)

    run_world(1, rank_main)
