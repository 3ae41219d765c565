"""Values cached on communicators."""

import pytest

from smpy.mpi import MPI


def test_values_are_each_rank_s_own(run_ranks):
    def main(rank):
        comm = MPI.COMM_WORLD
        key = MPI.Comm.Create_keyval()
        assert comm.Get_attr(key) is None
        comm.Set_attr(key, [rank])
        comm.Barrier()
        found = comm.Get_attr(key)
        comm.Delete_attr(key)
        assert comm.Get_attr(key) is None
        assert MPI.Comm.Free_keyval(key) == MPI.KEYVAL_INVALID
        with pytest.raises(MPI.Exception, match="no key of a Comm"):
            comm.Get_attr(key)
        return found

    assert run_ranks(3, main).returned == [[0], [1], [2]]


@pytest.mark.parametrize(
    ("copy_fn", "copied"),
    [(None, None), (False, None), (True, "value"), (lambda o, k, v: v.upper(), "VALUE"),
     (lambda o, k, v: NotImplemented, None)],
)  # fmt: skip
def test_a_duplicate_has_what_the_callback_gives(run_ranks, copy_fn, copied):
    def main(rank):
        key = MPI.Comm.Create_keyval(copy_fn)
        comm = MPI.COMM_WORLD.Dup()
        comm.Set_attr(key, "value")
        started, request = comm.Idup()
        request.Wait()
        assert started.Get_attr(key) == copied
        return comm.Dup().Get_attr(key)

    assert run_ranks(2, main).returned == [copied, copied]


def test_values_are_deleted_when_replaced_and_when_the_communicator_is_freed(run_ranks):
    def main(rank):
        deleted = []
        keys = [MPI.Comm.Create_keyval(None, lambda o, k, v: deleted.append(v)) for _ in range(2)]
        comm = MPI.COMM_WORLD.Dup()
        comm.Set_attr(keys[0], "first")
        comm.Set_attr(keys[0], "second")
        comm.Set_attr(keys[1], "third")
        MPI.Comm.Free_keyval(keys[1])
        comm.Free()
        return deleted

    assert run_ranks(2, main).returned == [["first", "third", "second"]] * 2


def test_a_callback_that_raises_fails_the_call_and_is_shown(run_ranks, capsys):
    def main(rank):
        def fail_itself(comm, key, value):
            raise ValueError("mine")

        copying, deleting = MPI.Comm.Create_keyval(fail_itself), MPI.Comm.Create_keyval(None, fail_itself)
        comm = MPI.COMM_SELF.Dup()
        comm.Set_attr(copying, 1)
        with pytest.raises(MPI.Exception, match="raised ValueError: mine") as caught:
            comm.Dup()
        assert caught.value == MPI.ERR_OTHER
        comm.Delete_attr(copying)
        comm.Set_attr(deleting, 1)
        with pytest.raises(MPI.Exception, match="raised ValueError: mine"):
            comm.Delete_attr(deleting)
        comm.Free()

    run_ranks(1, main)
    assert capsys.readouterr().err.count("ValueError: mine") == 2


def test_values_for_c_are_integers(run_ranks):
    def main(rank):
        key = MPI.Comm.Create_keyval(nopython=True)
        MPI.COMM_SELF.Set_attr(key, 3.0)
        with pytest.raises(ValueError, match="invalid literal"):
            MPI.COMM_SELF.Set_attr(key, "many")
        return MPI.COMM_SELF.Get_attr(key)

    assert run_ranks(1, main).returned == [3]


def test_predefined_values_can_only_be_read(run_ranks):
    def main(rank):
        comm = MPI.COMM_WORLD
        assert comm.Get_attr(MPI.UNIVERSE_SIZE) == 2
        assert comm.Get_attr(MPI.APPNUM) == 0
        for call in (lambda: comm.Set_attr(MPI.TAG_UB, 1), lambda: comm.Delete_attr(MPI.TAG_UB)):
            with pytest.raises(MPI.Exception, match="no key of a Comm"):
                call()
        with pytest.raises(MPI.Exception, match="the communicator is null"):
            MPI.COMM_NULL.Get_attr(MPI.TAG_UB)

    run_ranks(2, main)
