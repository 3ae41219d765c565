"""Hints, and MPI without COMM_WORLD."""

import pickle

import pytest

from smpy.mpi import MPI


def test_hints_are_a_dictionary_in_the_order_of_their_keys():
    info = MPI.Info.Create({"b": "2", "a": "1"})
    info["c"] = "3"
    assert (len(info), list(info), info.values()) == (3, ["b", "a", "c"], ["2", "1", "3"])
    assert (info.Get_nkeys(), info.Get_nthkey(1), info.Get("a"), info.get("d", "4")) == (3, "a", "1", "4")
    assert (info.pop("b"), info.pop("b", "5"), info.popitem()) == ("2", "5", ("c", "3"))
    copy = info.Dup()
    info.clear()
    assert (info.items(), copy.items()) == ([], [("a", "1")])
    assert info != copy
    info.Free()
    assert info == MPI.INFO_NULL


def test_hints_are_pickled_with_their_pairs():
    info = MPI.Info.Create([("a", "1")])
    assert MPI.Info.Create(info).items() == info.items()
    kind, arguments = info.__reduce__()
    assert kind(*arguments).items() == info.items()


@pytest.mark.usefixtures("named_mpi4py")
def test_predefined_hints_are_pickled_by_name():
    for info in (MPI.INFO_NULL, MPI.INFO_ENV):
        assert pickle.loads(pickle.dumps(info)) is info
        assert pickle.loads(pickle.dumps(MPI.Info(info))) == info


@pytest.mark.parametrize(
    ("call", "error_class"),
    [
        (lambda info: info.Set("", "v"), "ERR_INFO_KEY"),
        (lambda info: info.Set("k" * MPI.MAX_INFO_KEY, "v"), "ERR_INFO_KEY"),
        (lambda info: info.Set("k", "v" * MPI.MAX_INFO_VAL), "ERR_INFO_VALUE"),
        (lambda info: info.Delete("k"), "ERR_INFO_NOKEY"),
        (lambda info: info.Get_nthkey(0), "ERR_ARG"),
        (lambda info: MPI.INFO_NULL.Get("k"), "ERR_INFO"),
        (lambda info: MPI.INFO_NULL.Dup(), "ERR_INFO"),
        (lambda info: MPI.INFO_ENV.Set("k", "v"), "ERR_INFO"),
        (lambda info: MPI.INFO_ENV.Free(), "ERR_INFO"),
    ],
)
def test_wrong_use_of_hints_has_the_standard_s_error_class(call, error_class):
    with pytest.raises(MPI.Exception) as caught:
        call(MPI.Info.Create())
    assert caught.value == getattr(MPI, error_class)


def test_null_hints_are_an_empty_dictionary():
    null = MPI.INFO_NULL
    assert (len(null), null.keys(), null.get("k"), "k" in null, null.copy()) == (0, [], None, False, null)
    for call in (lambda: null["k"], lambda: null.update({}), lambda: null.pop("k"), null.popitem):
        with pytest.raises(KeyError):
            call()
    with pytest.raises(KeyError):
        null["k"] = "v"


def test_the_environment_says_how_a_rank_was_started(run_ranks):
    def main(rank):
        made = MPI.Info.Create_env(["solve", "-n", "3"])
        assert (made["command"], made["argv"]) == ("solve", "-n 3")
        assert MPI.INFO_ENV.Dup().Get("maxprocs") == "2"
        return MPI.INFO_ENV["host"]

    assert run_ranks(2, main, "cluster.xml").returned == ["n0", "n1"]


def test_a_session_has_the_world_and_the_rank_itself(run_ranks):
    def main(rank):
        session = MPI.Session.Init()
        assert session == MPI.Session(session) != MPI.SESSION_NULL
        names = [session.Get_nth_pset(n) for n in range(session.Get_num_psets())]
        assert names == ["mpi://WORLD", "mpi://SELF"]
        assert [session.Get_pset_info(name)["mpi_size"] for name in names] == ["3", "1"]
        group = MPI.Group.Create_from_session_pset(session, "mpi://WORLD")
        total = MPI.Intracomm.Create_from_group(group).allreduce(rank)
        with pytest.raises(MPI.Exception, match="the sets are mpi://WORLD and mpi://SELF"):
            session.Create_group("mpi://MOON")
        session.Finalize()
        assert session == MPI.SESSION_NULL
        with pytest.raises(MPI.Exception, match="the session is null"):
            session.Get_info()
        return total

    assert run_ranks(3, main).returned == [3, 3, 3]


def test_a_session_tells_its_error_handler(run_ranks):
    def main(rank):
        told = []
        handler = MPI.Session.Create_errhandler(lambda session, code: told.append((session, code)))
        session = MPI.Session.Init(errhandler=handler)
        for call, argument in ((session.Create_group, "mpi://MOON"), (session.Get_nth_pset, 9)):
            with pytest.raises(MPI.Exception):
                call(argument)
        return [(holder == session, code) for holder, code in told]

    assert run_ranks(2, main).returned == [[(True, MPI.ERR_ARG)] * 2] * 2


def test_sessions_are_numbered_alike_in_every_run(run_ranks):
    def numbers(rank):
        return [MPI.Session.Init().handle for _ in range(3)]

    assert run_ranks(2, numbers).returned == run_ranks(2, numbers).returned


def test_the_null_window_has_no_calls():
    with pytest.raises(MPI.Exception, match="the handle is null"):
        MPI.WIN_NULL.Free()
    assert MPI.Win() == MPI.WIN_NULL != MPI.FILE_NULL
    with pytest.raises(TypeError, match="expected a Win, not a File"):
        MPI.Win(MPI.FILE_NULL)
