"""Reading and writing files: pointers, views, forms of the calls, representations, failures."""

import os
import sys

import numpy as np
import pytest

from smpy.compute.folded import folded
from smpy.mpi import MPI
from tests.mpi.conftest import run_world

WORLD = MPI.COMM_WORLD
TO_MAKE = MPI.MODE_RDWR | MPI.MODE_CREATE


def raised(call, *args, **kwargs):
    with pytest.raises(MPI.Exception) as caught:
        call(*args, **kwargs)
    return caught.value


def with_file(path, n_ranks, use, amode=TO_MAKE, comm=WORLD):
    """Values that `use(rank, file)` returns, of each rank."""

    def rank_main(rank):
        file = MPI.File.Open(comm, path, amode)
        try:
            return use(rank, file)
        finally:
            file.Close()

    return run_world(n_ranks, rank_main).returned


# ---- pointers ----


def test_each_rank_has_a_pointer_of_its_own(tmp_path):
    def use(rank, file):
        file.Seek(10 * rank)
        for _ in range(2):
            file.Write(bytes([65 + rank]) * 3)
        position = file.Get_position()
        file.Seek(-2, MPI.SEEK_CUR)
        file.Seek(1, MPI.SEEK_CUR)
        return position, file.Get_position()

    assert with_file(tmp_path / "data", 2, use) == [(6, 5), (16, 15)]
    assert (tmp_path / "data").read_bytes() == b"AAAAAA\0\0\0\0BBBBBB"


def test_a_read_ends_with_the_file_and_moves_the_pointer_as_far(tmp_path):
    (tmp_path / "data").write_bytes(bytes(range(10)))

    def use(rank, file):
        status, room = MPI.Status(), bytearray(b"x" * 8)
        file.Seek(6)
        file.Read(room, status)
        return status.Get_count(), file.Get_position(), bytes(room)

    assert with_file(tmp_path / "data", 1, use) == [(4, 10, bytes(range(6, 10)) + b"xxxx")]


def test_the_shared_pointer_serves_ranks_in_the_order_of_simulated_time(tmp_path):
    def use(rank, file):
        WORLD.Barrier()
        from smpy.engine.running import current

        current().sleep(0.1 * (3 - rank))
        file.Write_shared(bytes([65 + rank]) * 2)
        WORLD.Barrier()
        return file.Get_position_shared()

    assert with_file(tmp_path / "data", 3, use) == [6] * 3
    assert (tmp_path / "data").read_bytes() == b"CCBBAA"


@pytest.mark.parametrize("form", ["blocking", "split"])
def test_ordered_accesses_follow_the_ranks(tmp_path, form):
    def use(rank, file):
        data, room = bytes([65 + rank]) * (rank + 1), bytearray(rank + 1)
        for _ in range(2):
            if form == "split":
                file.Write_ordered_begin(data)
                file.Write_ordered_end(data)
            else:
                file.Write_ordered(data)
        file.Seek_shared(0)
        file.Read_ordered(room)
        return bytes(room), file.Get_position_shared()

    assert with_file(tmp_path / "data", 3, use) == [(b"A", 6), (b"BB", 6), (b"CCC", 6)]
    assert (tmp_path / "data").read_bytes() == b"ABBCCC" * 2


def test_pointers_of_an_appended_file_begin_at_its_end(tmp_path):
    (tmp_path / "data").write_bytes(b"abc")

    def use(rank, file):
        return file.Get_position(), file.Get_position_shared(), file.Write_ordered(b"x")

    assert with_file(tmp_path / "data", 2, use, TO_MAKE | MPI.MODE_APPEND) == [(3, 3, None)] * 2
    assert (tmp_path / "data").read_bytes() == b"abcxx"


def test_a_sequential_file_has_the_shared_pointer_alone(tmp_path):
    def use(rank, file):
        errors = [
            raised(call, *arguments)
            for call, arguments in (
                (file.Write, (b"x",)), (file.Write_at_all, (0, b"x")), (file.Seek, (0,)), (file.Seek_shared, (0,)),
                (file.Get_position, ()), (file.Get_position_shared, ()), (file.Get_byte_offset, (0,)),
            )
        ]  # fmt: skip
        file.Write_ordered(b"ab")
        file.Set_view(MPI.DISPLACEMENT_CURRENT, MPI.INT)
        return errors, file.Get_view()[0], raised(file.Set_view, 0)

    amode = MPI.MODE_WRONLY | MPI.MODE_CREATE | MPI.MODE_SEQUENTIAL
    expected = [MPI.ERR_UNSUPPORTED_OPERATION] * 7, 4, MPI.ERR_ARG
    assert with_file(tmp_path / "data", 2, use, amode) == [expected] * 2


# ---- views ----


def test_a_subarray_view_puts_the_parts_of_an_array_together(tmp_path):
    whole = np.arange(8 * 6, dtype="d").reshape(8, 6)

    def use(rank, file):
        row, column = divmod(rank, 2)
        part = np.ascontiguousarray(whole[4 * row : 4 * row + 4, 3 * column : 3 * column + 3])
        box = MPI.DOUBLE.Create_subarray([8, 6], [4, 3], [4 * row, 3 * column]).Commit()
        file.Set_view(16, MPI.DOUBLE, box)
        file.Write_all(part)
        back = np.empty_like(part)
        file.Read_at_all(0, back)
        return (back == part).all(), file.Get_byte_offset(4), file.Get_position()

    offsets = [16 + 8 * (24 * (rank // 2) + 3 * (rank % 2) + 6 + 1) for rank in range(4)]
    assert with_file(tmp_path / "data", 4, use) == [(True, offset, 12) for offset in offsets]
    assert (tmp_path / "data").read_bytes()[16:] == whole.tobytes()


def test_a_rank_whose_filetype_has_no_bytes_takes_part_in_accesses_without_any(tmp_path):
    def use(rank, file):
        filetype = MPI.INT.Create_vector(2, 1, 2).Commit() if rank == 0 else MPI.INT.Create_contiguous(0).Commit()
        file.Set_view(4, MPI.INT, filetype)
        file.Write_all(np.array([1, 2] if rank == 0 else [], "i4"))
        back, status = np.zeros(2, "i4"), MPI.Status()
        file.Read_at_all(0, back, status)
        if rank == 1:
            assert raised(file.Write, back) == MPI.ERR_IO
        file.Seek(0, MPI.SEEK_END)
        return back.tolist(), status.Get_count(MPI.INT), file.Get_position()

    assert with_file(tmp_path / "data", 2, use) == [([1, 2], 2, 2), ([0, 0], 0, 0)]


def test_a_view_of_short_stretches_leaves_what_lies_between_them(tmp_path):
    n = 300_000  # more than one window
    (tmp_path / "data").write_bytes(b"\xff" * 8 * n)

    def use(rank, file):
        file.Set_view(4, MPI.BYTE, MPI.BYTE.Create_resized(0, 8).Commit())
        file.Write(np.arange(n).astype("B"))
        file.Seek(5)
        back = np.zeros(n, "B")
        status = MPI.Status()
        file.Read(back, status)
        return status.Get_count(), (back[: n - 5] == np.arange(5, n).astype("B")).all(), file.Get_position()

    assert with_file(tmp_path / "data", 1, use) == [(n - 5, True, n)]
    content = np.fromfile(tmp_path / "data", "B").reshape(n, 8)
    assert (content[:, 4] == np.arange(n).astype("B")).all()
    assert (np.delete(content, 4, axis=1) == 255).all()


def test_the_end_of_a_view_with_gaps_is_the_etype_behind_the_end_of_the_file(tmp_path):
    def use(rank, file):
        file.Set_size(40)
        file.Set_view(0, MPI.INT, MPI.INT.Create_vector(2, 1, 2).Create_resized(0, 16).Commit())
        file.Seek(0, MPI.SEEK_END)
        file.Seek_shared(-1, MPI.SEEK_END)
        return file.Get_position(), file.Get_position_shared()

    assert with_file(tmp_path / "data", 2, use) == [(5, 4)] * 2


def test_a_view_gives_its_types_back_even_when_the_program_has_freed_them(tmp_path):
    def use(rank, file):
        filetype = MPI.INT.Create_contiguous(3).Commit()
        file.Set_view(8, MPI.INT, filetype, "internal")
        filetype.Free()
        displacement, etype, found, name = file.Get_view()
        return displacement, etype == MPI.INT, found.size, name

    assert with_file(tmp_path / "data", 1, use) == [(8, True, 12, "internal")]


# ---- forms of the calls ----


def test_requests_of_files_have_the_status_of_what_was_read(tmp_path):
    def use(rank, file):
        data, room, status = bytes([65 + rank]) * 4, bytearray(6), MPI.Status()
        MPI.Request.Waitall([file.Iwrite_at(4 * rank, data), file.Iwrite_at_all(4 * rank, data)])
        WORLD.Barrier()
        assert file.Iread_at(4, room).Wait(status)
        return bytes(room), status.Get_count()

    assert with_file(tmp_path / "data", 2, use) == [(b"BBBB\0\0", 4)] * 2


def test_a_split_collective_ends_as_it_was_begun_and_is_alone(tmp_path):
    def use(rank, file):
        errors = [raised(file.Read_all_end, bytearray(1))]
        file.Write_at_all_begin(0, b"x")
        errors += [raised(file.Write_all_begin, b"x"), raised(file.Write_all_end, b"x")]
        file.Write_at_all_end(b"x")
        return errors

    assert with_file(tmp_path / "data", 2, use) == [[MPI.ERR_IO] * 3] * 2


def test_collective_accesses_cost_two_allgathers_and_ordered_ones_a_scan_and_a_broadcast_more(tmp_path):
    def time_of(use):
        return run_world(5, use).finish_s

    def opened(rank):
        return MPI.File.Open(WORLD, tmp_path / "data", TO_MAKE)

    def allgathers():
        for _ in range(2):
            WORLD.Allgather(bytearray(8), bytearray(8 * 5))

    def together(rank):
        opened(rank).Write_at_all(rank, b"x")

    def in_order(rank):
        opened(rank).Write_ordered(b"x")

    def together_by_hand(rank):
        opened(rank)
        allgathers()

    def in_order_by_hand(rank):
        opened(rank)
        WORLD.Scan(np.zeros(1), np.zeros(1))
        allgathers()
        WORLD.Bcast(bytearray(1), root=4)

    assert time_of(together) == time_of(together_by_hand)
    assert time_of(in_order) == time_of(in_order_by_hand)


# ---- memory and representations ----


def test_entries_with_gaps_in_memory_leave_no_gaps_in_the_file(tmp_path):
    def use(rank, file):
        memory = np.arange(12, dtype="i4")
        every_third = MPI.INT.Create_vector(4, 1, 3).Commit()
        file.Write([memory, 1, every_third])
        back = np.full(12, -1, "i4")
        file.Read_at(0, [back, 1, every_third])
        return back.tolist()

    assert with_file(tmp_path / "data", 1, use) == [[0, -1, -1, 3, -1, -1, 6, -1, -1, 9, -1, -1]]
    assert np.fromfile(tmp_path / "data", "i4").tolist() == [0, 3, 6, 9]


def test_external32_has_the_sizes_and_the_byte_order_of_the_standard(tmp_path):
    def use(rank, file):
        file.Set_view(0, MPI.LONG, MPI.LONG.Create_vector(2, 1, 2).Commit(), "external32")
        file.Write(np.array([1, 2, 300, 4]))
        back, status = np.full(5, -1), MPI.Status()
        file.Read_at(1, back, status)
        extents = file.Get_type_extent(MPI.LONG), file.Get_type_extent(MPI.DOUBLE.Create_contiguous(3))
        return back.tolist(), status.Get_count(MPI.LONG), extents, file.Get_byte_offset(2)

    assert with_file(tmp_path / "data", 1, use) == [([2, 300, 4, -1, -1], 3, (4, 24), 12)]
    assert np.fromfile(tmp_path / "data", ">i4").tolist() == [1, 0, 2, 300, 0, 4]


def test_a_registered_representation_converts_entries_and_has_extents(tmp_path):
    def read(memory, datatype, count, stored, position):
        memory.cast("i")[:count] = np.array(stored.cast("h")[:count], "i4").data

    def write(memory, datatype, count, stored, position):
        assert (datatype, position) == (MPI.INT, 0)
        stored.cast("h")[:count] = np.array(memory.cast("i")[:count], "i2").data

    def use(rank, file):
        MPI.Register_datarep("short", read, write, lambda datatype: datatype.size // 2)
        again = raised(MPI.Register_datarep, "short", None, None, lambda datatype: datatype.size)
        file.Set_view(0, MPI.INT, MPI.INT, "short")
        file.Write_ordered(np.arange(3, dtype="i4") + 10 * rank)
        back = np.zeros(3, "i4")
        file.Read_at_all(1, back)
        return again, back.tolist(), file.Get_type_extent(MPI.DOUBLE), file.Get_view()[3]

    expected = MPI.ERR_DUP_DATAREP, [1, 2, 10], 4, "short"
    assert with_file(tmp_path / "data", 2, use) == [expected] * 2
    assert np.fromfile(tmp_path / "data", "i2").tolist() == [0, 1, 2, 10, 11, 12]


def test_a_failing_conversion_is_told_as_such(tmp_path, capsys):
    def use(rank, file):
        MPI.Register_datarep("broken", None, lambda *arguments: 1 / 0, lambda datatype: datatype.size)
        file.Set_view(0, MPI.INT, None, "broken")
        return raised(file.Write, np.zeros(1, "i4"))

    assert with_file(tmp_path / "data", 1, use) == [MPI.ERR_CONVERSION]
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_folded_arrays_make_a_file_as_long_and_move_no_bytes(tmp_path):
    def use(rank, file):
        file.Write_ordered(folded(1000, "d"))
        status = MPI.Status()
        file.Read_at(500, folded(10**9, "d"), status)
        return status.Get_count()

    assert with_file(tmp_path / "data", 2, use) == [15_500] * 2
    assert os.stat(tmp_path / "data").st_blocks == 0


# ---- failures ----


def test_what_a_mode_does_not_allow_has_the_error_class_of_the_standard(tmp_path):
    (tmp_path / "data").touch()

    def read_only(rank, file):
        return [raised(file.Write, b"x"), raised(file.Write_at_all, 0, b"x"), raised(file.Set_size, 1)]

    assert with_file(tmp_path / "data", 2, read_only, MPI.MODE_RDONLY) == [[MPI.ERR_READ_ONLY] * 3] * 2
    room = bytearray(1)
    write_only = with_file(tmp_path / "data", 1, lambda _, file: raised(file.Read, room), MPI.MODE_WRONLY)
    assert write_only == [MPI.ERR_ACCESS]


@pytest.mark.skipif(sys.platform != "linux", reason="a device of Linux")
def test_a_full_disk_is_told_by_the_ranks_that_write(tmp_path):
    def use(rank, file):
        count = 0 if rank == 1 else 4
        error = raised(file.Write_at_all, 0, b"x" * 4) if count else file.Write_at_all(0, b"")
        WORLD.Barrier()
        return error

    assert with_file("/dev/full", 3, use, MPI.MODE_WRONLY) == [MPI.ERR_NO_SPACE, None, MPI.ERR_NO_SPACE]


def test_a_rank_with_wrong_arguments_does_not_hold_up_the_others(tmp_path):
    def use(rank, file):
        buffers = (object(), b"ab") if rank == 1 else (b"xy", b"ab")
        failed = []
        for call, arguments in (
            (file.Write_all, ()), (file.Write_at_all, (-1 if rank == 2 else 0,)), (file.Write_ordered, ()),
        ):  # fmt: skip
            try:
                call(*arguments, buffers[0])
            except (TypeError, MPI.Exception) as error:
                failed.append((type(error).__name__, call.__name__))
        file.Seek_shared(0)
        file.Write_ordered(buffers[1])
        return failed

    calls = ["Write_all", "Write_at_all", "Write_ordered"]
    expected = [[], [("TypeError", name) for name in calls], [("Exception", "Write_at_all")]]
    assert with_file(tmp_path / "data", 3, use) == expected
    assert (tmp_path / "data").read_bytes() == b"ab" * 3


@pytest.mark.parametrize(
    ("arguments", "error_class"),
    [
        ((-5,), "ERR_ARG"),
        ((MPI.DISPLACEMENT_CURRENT,), "ERR_ARG"),
        ((0, MPI.INT, MPI.BYTE), "ERR_ARG"),
        ((0, MPI.INT, MPI.INT, "nonsense"), "ERR_UNSUPPORTED_DATAREP"),
        ((0, MPI.DATATYPE_NULL), "ERR_TYPE"),
        ((0, MPI.INT, MPI.INT.Create_contiguous(2)), "ERR_TYPE"),
        ((0, MPI.INT, MPI.INT.Create_indexed([1, 1], [1, 0]).Commit()), "ERR_IO"),
        ((0, MPI.INT, MPI.INT.Create_indexed([1, 1], [-1, 0]).Commit()), "ERR_IO"),
        ((0, MPI.INT, MPI.INT.Create_vector(2, 2, 1).Commit()), "ERR_IO"),
    ],
)
def test_a_view_that_does_not_fit_has_the_error_class_of_mpich(tmp_path, arguments, error_class):
    errors = with_file(tmp_path / "data", 2, lambda rank, file: raised(file.Set_view, *arguments))
    assert errors == [getattr(MPI, error_class)] * 2


def test_a_filetype_that_overlaps_itself_may_be_read(tmp_path):
    def use(rank, file):
        file.Set_view(0, MPI.BYTE, MPI.BYTE.Create_vector(2, 2, 1).Commit())
        into = bytearray(8)
        file.Read(into)
        return bytes(into)

    (tmp_path / "data").write_bytes(b"abcdef")
    assert with_file(tmp_path / "data", 1, use, MPI.MODE_RDONLY) == [b"abbcdeef"]


def test_positions_and_sizes_that_mean_nothing_are_refused(tmp_path):
    def use(rank, file):
        file.Set_view(0, MPI.INT)
        return [
            raised(file.Seek, -1), raised(file.Seek, 0, 7), raised(file.Seek_shared, -1), raised(file.Set_size, -1),
            raised(file.Get_byte_offset, -1), raised(file.Write_at, -1, np.zeros(1, "i4")),
            raised(file.Write, np.zeros(3, "B")),
        ]  # fmt: skip

    assert with_file(tmp_path / "data", 1, use) == [[MPI.ERR_ARG] * 6 + [MPI.ERR_IO]]
