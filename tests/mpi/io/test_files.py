"""Files that ranks open together."""

import os
from pathlib import Path

import pytest

from smpy.mpi import MPI
from tests.mpi.conftest import run_world

WORLD = MPI.COMM_WORLD
TO_MAKE = MPI.MODE_RDWR | MPI.MODE_CREATE


def raised(call, *args, **kwargs):
    with pytest.raises(MPI.Exception) as caught:
        call(*args, **kwargs)
    return caught.value


def test_a_file_is_made_by_all_ranks_and_stays_when_it_is_closed(tmp_path):
    path = tmp_path / "data"

    def rank_main(rank):
        file = MPI.File.Open(WORLD, path, TO_MAKE)
        found = file.size, file.amode == TO_MAKE, (file.group_size, file.group_rank), path.exists()
        file.Close()
        return found, file == MPI.FILE_NULL

    assert run_world(3, rank_main).returned == [((0, True, (3, rank), True), True) for rank in range(3)]
    assert path.exists()


@pytest.mark.parametrize("kind", [Path, str, os.fsencode])
def test_a_file_is_named_by_a_path_a_string_or_bytes(tmp_path, kind):
    path = tmp_path / "data"

    def rank_main(rank):
        MPI.File.Open(WORLD, kind(path), TO_MAKE).Close()
        WORLD.Barrier()
        if rank == 0:
            MPI.File.Delete(kind(path))

    run_world(2, rank_main)
    assert not path.exists()


def test_a_file_to_be_deleted_is_gone_when_the_first_rank_has_closed_it(tmp_path):
    path = tmp_path / "data"

    def rank_main(rank):
        file = MPI.File.Open(WORLD, path, TO_MAKE | MPI.MODE_DELETE_ON_CLOSE)
        was_there = path.exists()
        file.Close()
        return was_there, path.exists()

    assert run_world(3, rank_main).returned == [(True, False)] * 3


def test_ranks_share_one_descriptor_and_give_it_back(tmp_path):
    def n_open():
        return len(os.listdir("/proc/self/fd"))

    def rank_main(rank):
        before = n_open()
        WORLD.Barrier()
        file = MPI.File.Open(WORLD, tmp_path / "data", TO_MAKE)
        WORLD.Barrier()
        opened = n_open() - before
        file.Close()
        WORLD.Barrier()
        return opened, n_open() - before

    assert run_world(4, rank_main).returned == [(1, 0)] * 4


def test_a_file_that_is_not_there_is_missed_by_all_ranks(tmp_path):
    def rank_main(rank):
        error = raised(MPI.File.Open, WORLD, tmp_path / "data")
        WORLD.Barrier()
        return error, raised(MPI.File.Delete, tmp_path / "data")

    returned = run_world(3, rank_main).returned
    assert returned == [(MPI.ERR_NO_SUCH_FILE, MPI.ERR_NO_SUCH_FILE)] * 3
    assert str(tmp_path / "data") in str(returned[2][0])


def test_a_file_may_be_made_by_a_rank_that_comes_to_open_it_last(tmp_path):
    path = tmp_path / "data"

    def rank_main(rank):
        if rank == 1:
            path.write_bytes(b"abc")
        file = MPI.File.Open(WORLD, path)
        size = file.Get_size()
        file.Close()
        return size

    assert run_world(2, rank_main).returned == [3, 3]


@pytest.mark.parametrize(
    ("amode", "error_class"),
    [
        (0, "ERR_AMODE"),
        (MPI.MODE_RDONLY | MPI.MODE_RDWR, "ERR_AMODE"),
        (MPI.MODE_RDONLY | MPI.MODE_CREATE, "ERR_AMODE"),
        (MPI.MODE_RDWR | MPI.MODE_SEQUENTIAL, "ERR_AMODE"),
        (MPI.MODE_WRONLY | MPI.MODE_CREATE | MPI.MODE_EXCL, "ERR_FILE_EXISTS"),
    ],
)
def test_modes_have_to_go_together_and_fit_the_file(tmp_path, amode, error_class):
    (tmp_path / "data").touch()
    returned = run_world(2, lambda rank: raised(MPI.File.Open, WORLD, tmp_path / "data", amode)).returned
    assert returned == [getattr(MPI, error_class)] * 2


def test_ranks_open_the_same_file_in_the_same_way(tmp_path):
    def rank_main(rank):
        MPI.File.Open(WORLD, tmp_path / str(rank), TO_MAKE)

    with pytest.raises(MPI.Exception, match="all ranks open the same file") as caught:
        run_world(2, rank_main)
    assert caught.value == MPI.ERR_NOT_SAME


def test_ranks_set_the_size_of_a_file_and_never_lose_what_is_allocated(tmp_path):
    def rank_main(rank):
        file = MPI.File.Open(WORLD, tmp_path / "data", TO_MAKE)
        sizes = []
        for change, size in ((file.Set_size, 10), (file.Preallocate, 5), (file.Preallocate, 20), (file.Set_size, 7)):
            change(size)
            sizes.append(file.size)
        file.Sync()
        file.Close()
        return sizes

    assert run_world(2, rank_main).returned == [[10, 10, 20, 7]] * 2


def test_a_file_has_hints_and_an_atomicity(tmp_path):
    def rank_main(rank):
        file = MPI.File.Open(WORLD, tmp_path / "data", TO_MAKE, MPI.Info.Create({"a": "1"}))
        file.info = MPI.Info.Create({"b": str(rank)})
        was_atomic, file.atomicity = file.atomicity, True
        found = dict(file.info.items()), (was_atomic, file.atomicity), file.Get_type_extent(MPI.DOUBLE)
        file.Close()
        return found

    assert run_world(2, rank_main).returned == [({"a": "1", "b": str(rank)}, (False, True), 8) for rank in (0, 1)]


def test_the_null_file_s_error_handler_is_told_of_files_that_cannot_be_opened_and_of_no_open_one(tmp_path):
    def rank_main(rank):
        default = MPI.FILE_NULL.Get_errhandler()
        told = []
        MPI.FILE_NULL.Set_errhandler(MPI.File.Create_errhandler(lambda file, code: told.append((bool(file), code))))
        file = MPI.File.Open(WORLD, tmp_path / "data", TO_MAKE)
        raised(MPI.File.Open, MPI.COMM_SELF, tmp_path / "nothing")
        MPI.FILE_NULL.Set_errhandler(default)
        raised(file.Set_size, -1)
        raised(MPI.File.Open, MPI.COMM_SELF, tmp_path / "nothing")
        file.Close()
        return default == MPI.ERRORS_RETURN, told

    told = [(False, MPI.ERR_NO_SUCH_FILE)]
    assert run_world(2, rank_main).returned == [(True, told)] * 2


def test_the_world_s_error_handler_is_not_told_of_files(tmp_path):
    def rank_main(rank):
        WORLD.Set_errhandler(MPI.ERRORS_ARE_FATAL)
        return raised(MPI.File.Open, MPI.COMM_SELF, tmp_path / "nothing"), raised(MPI.FILE_NULL.Close)

    assert run_world(2, rank_main).returned == [(MPI.ERR_NO_SUCH_FILE, MPI.ERR_FILE)] * 2


def test_opening_costs_a_window_and_two_broadcasts_and_closing_three_barriers(tmp_path):
    def with_file(rank):
        MPI.File.Open(WORLD, tmp_path / "data", TO_MAKE).Close()

    def by_hand(rank):
        WORLD.Allgather(bytearray(8), bytearray(8 * WORLD.size))
        for _ in range(2):
            WORLD.Bcast(bytearray(8))
        for _ in range(3):
            WORLD.Barrier()

    assert run_world(5, with_file).finish_s == run_world(5, by_hand).finish_s


def test_a_file_to_be_read_only_is_not_resized(tmp_path):
    (tmp_path / "data").touch()

    def rank_main(rank):
        file = MPI.File.Open(WORLD, tmp_path / "data")
        error = raised(file.Set_size, 1)
        file.Close()
        return error

    assert run_world(1, rank_main).returned == [MPI.ERR_READ_ONLY]


def test_a_rank_with_other_modes_or_another_name_fails_on_all_ranks(tmp_path):
    def rank_main(rank):
        errors = [
            raised(MPI.File.Open, WORLD, tmp_path / "data", TO_MAKE | (MPI.MODE_APPEND if rank == 1 else 0)),
            raised(MPI.File.Open, WORLD, tmp_path / str(rank), TO_MAKE),
            raised(MPI.File.Open, WORLD, tmp_path / "data", 0 if rank == 1 else TO_MAKE),
        ]
        WORLD.Barrier()
        return errors

    assert run_world(3, rank_main).returned == [[MPI.ERR_NOT_SAME] * 3] * 3


def test_a_directory_is_no_file(tmp_path):
    def rank_main(rank):
        return [raised(MPI.File.Open, WORLD, tmp_path, amode) for amode in (MPI.MODE_RDONLY, MPI.MODE_RDWR)]

    assert run_world(2, rank_main).returned == [[MPI.ERR_BAD_FILE] * 2] * 2


def test_ranks_that_open_the_same_file_alone_share_one_descriptor(tmp_path):
    def rank_main(rank):
        before = len(os.listdir("/proc/self/fd"))
        WORLD.Barrier()
        file = MPI.File.Open(MPI.COMM_SELF, tmp_path / "data", TO_MAKE)
        file.Write_at(rank, bytes([rank]))
        WORLD.Barrier()
        opened = len(os.listdir("/proc/self/fd")) - before
        WORLD.Barrier()
        file.Close()
        return opened

    assert run_world(20, rank_main).returned == [1] * 20
    assert (tmp_path / "data").read_bytes() == bytes(range(20))


def test_a_file_closed_behind_our_back_fails_by_name(tmp_path):
    def rank_main(rank):
        file = MPI.File.Open(WORLD, tmp_path / "data", TO_MAKE)
        if rank == 0:
            os.close(file._membership.file.descriptor)
        WORLD.Barrier()
        errors = [raised(file.Write_at_all, 0, b"x"), raised(file.Get_size), raised(file.Read, bytearray(1))]
        file.Close()
        return errors

    assert run_world(2, rank_main).returned == [[MPI.ERR_FILE] * 3] * 2


def test_the_arguments_of_collective_calls_agree(tmp_path):
    def rank_main(rank):
        file = MPI.File.Open(WORLD, tmp_path / "data", TO_MAKE)
        errors = [
            raised(file.Set_size, rank),
            raised(file.Preallocate, rank),
            raised(file.Seek_shared, rank),
            raised(file.Set_atomicity, bool(rank)),
            raised(file.Set_view, 0, MPI.INT if rank else MPI.BYTE),
            raised(file.Set_view, 0, MPI.INT, None, "external32" if rank else "native"),
        ]
        file.Close()
        return errors

    assert run_world(2, rank_main).returned == [[MPI.ERR_NOT_SAME] * 6] * 2
