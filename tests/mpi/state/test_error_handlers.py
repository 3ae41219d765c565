"""Error handlers, and calls outside of the time between the start and the end of MPI."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from smpy.engine.outcomes import Aborted
from smpy.engine.surface import surface
from smpy.mpi import MPI
from smpy.mpi.state.environment import imported
from smpy.mpi.state.surface_bases import RequestBase


@pytest.fixture
def outcome(monkeypatch, run_ranks):
    """Runs ranks to the outcome with which one of them ends the run."""
    from smpy.engine.engine import Engine

    ended = []
    run = Engine.run
    monkeypatch.setattr(Engine, "run", lambda engine, on_yield: ended.append(run(engine, on_yield)) or ended[-1])

    def go(n_ranks, main):
        run_ranks(n_ranks, main)
        return ended[-1]

    return go


def test_errors_are_raised_as_long_as_nobody_else_is_to_be_told(run_ranks):
    def main(rank):
        assert MPI.COMM_WORLD.Get_errhandler() == MPI.ERRORS_RETURN
        MPI.COMM_WORLD.Call_errhandler(MPI.ERR_OTHER)
        with pytest.raises(MPI.Exception, match="ranks 0 to 1"):
            MPI.COMM_WORLD.Bcast(bytearray(1), root=7)

    run_ranks(2, main)
    assert "Send" not in vars(MPI.Comm)


def test_an_error_handler_is_told_once_and_then_the_error_is_raised(run_ranks):
    def main(rank):
        told = []
        handler = MPI.Comm.Create_errhandler(lambda comm, code: told.append((comm.Get_name(), code)))
        world = MPI.COMM_WORLD
        world.Set_errhandler(handler)
        assert world.Get_errhandler() == handler
        handler.Free()
        assert handler == MPI.ERRHANDLER_NULL
        for call in (lambda: world.Bcast(bytearray(1), root=7), lambda: world.Send(bytearray(1), dest=7)):
            with pytest.raises(MPI.Exception):
                call()
        world.Call_errhandler(MPI.ERR_OTHER)
        world.Set_errhandler(MPI.ERRORS_RETURN)
        with pytest.raises(MPI.Exception):
            world.Send(bytearray(1), dest=7)
        return told

    told = [("MPI_COMM_WORLD", code) for code in (MPI.ERR_ROOT, MPI.ERR_RANK, MPI.ERR_OTHER)]
    assert run_ranks(2, main).returned == [told, told]


def test_a_message_that_is_too_long_is_told_as_well(run_ranks):
    def main(rank):
        told = []
        MPI.COMM_WORLD.Set_errhandler(MPI.Comm.Create_errhandler(lambda comm, code: told.append(code)))
        if rank == 0:
            for _ in range(3):
                MPI.COMM_WORLD.Send(np.zeros(4), 1)
            return told
        into = np.zeros(2)
        for call in (
            lambda: MPI.COMM_WORLD.Recv(into, 0),
            lambda: MPI.COMM_WORLD.Irecv(into, 0).Wait(),
            lambda: MPI.Request.Waitall([MPI.COMM_WORLD.Irecv(into, 0)]),
        ):
            with pytest.raises(MPI.Exception):
                call()
        return told

    returned = run_ranks(2, main).returned
    assert (returned[0], returned[1][0], len(returned[1])) == ([], MPI.ERR_TRUNCATE, 3)


def test_new_communicators_raise_their_errors_whatever_their_parent_does(run_ranks):
    def main(rank):
        first = MPI.COMM_WORLD.Dup()
        first.Set_errhandler(MPI.ERRORS_ARE_FATAL)
        new = first.Dup(), first.Split(0, 0), first.Create(first.group), first.Create_cart([2])
        for comm in new:
            with pytest.raises(MPI.Exception):
                comm.Send(bytearray(1), dest=7)
        return [comm.Get_errhandler() == MPI.ERRORS_RETURN for comm in new]

    assert run_ranks(2, main).returned == [[True] * 4] * 2


@pytest.mark.skipif(surface is None, reason="there is no extension")
def test_the_extension_leaves_the_calls_of_a_watched_world_to_python_and_of_no_other(run_ranks):
    def frames_of_a_call():
        called = []
        sys.setprofile(lambda frame, event, arg: called.append(frame.f_code.co_name) if event == "call" else None)
        MPI.COMM_WORLD.Get_rank()
        sys.setprofile(None)
        return called

    def main(rank):
        before = frames_of_a_call()
        MPI.COMM_SELF.Set_errhandler(MPI.ERRORS_ABORT)
        return before, "Get_rank" in frames_of_a_call()

    calls = MPI.Comm.Send, MPI.Comm.rank, MPI.Request.Wait, vars(RequestBase).get("Waitall")
    for _ in range(2):
        assert run_ranks(1, main).returned == [([], True)]
    assert calls == (MPI.Comm.Send, MPI.Comm.rank, MPI.Request.Wait, vars(RequestBase).get("Waitall"))


@pytest.mark.parametrize("handler", ["ERRORS_ABORT", "ERRORS_ARE_FATAL"])
def test_a_fatal_error_ends_the_run(outcome, capsys, handler):
    def main(rank):
        MPI.COMM_WORLD.Set_errhandler(getattr(MPI, handler))
        if rank == 1:
            MPI.COMM_WORLD.Send(bytearray(1), dest=7)
        MPI.COMM_WORLD.Barrier()

    assert outcome(2, main) == Aborted(1, MPI.ERR_RANK)
    assert "rank 1 ends the run: invalid rank" in capsys.readouterr().err


def test_an_error_handler_that_raises_ends_the_run(outcome, capsys):
    def main(rank):
        def fail_itself(comm, code):
            raise KeyError("mine")

        MPI.COMM_WORLD.Set_errhandler(MPI.Comm.Create_errhandler(fail_itself))
        MPI.COMM_WORLD.Call_errhandler(MPI.ERR_OTHER)

    assert outcome(1, main) == Aborted(0, MPI.ERR_OTHER)
    assert "KeyError: 'mine'" in capsys.readouterr().err


def test_a_rank_has_thirty_two_error_handlers_of_a_kind(run_ranks):
    def main(rank):
        made = [MPI.Comm.Create_errhandler(lambda comm, code: None) for _ in range(32)]
        with pytest.raises(RuntimeError, match="32 error handlers of a Comm"):
            MPI.Comm.Create_errhandler(lambda comm, code: None)
        made.pop().Free()
        MPI.Comm.Create_errhandler(lambda comm, code: None)
        MPI.Session.Create_errhandler(lambda session, code: None)

    run_ranks(2, main)


def test_a_null_error_handler_is_an_error(run_ranks):
    def main(rank):
        for call in (MPI.ERRHANDLER_NULL.Free, lambda: MPI.COMM_SELF.Set_errhandler(MPI.ERRHANDLER_NULL)):
            with pytest.raises(MPI.Exception, match="the error handler is null"):
                call()
        with pytest.raises(MPI.Exception, match="predefined"):
            MPI.ERRORS_RETURN.Free()
        with pytest.raises(MPI.Exception, match="of a Session"):
            MPI.COMM_SELF.Set_errhandler(MPI.Session.Create_errhandler(lambda session, code: None))
        with pytest.raises(TypeError, match="not callable"):
            MPI.Comm.Create_errhandler(3)

    run_ranks(1, main)


def test_calls_after_finalize_are_errors_that_name_the_call(run_ranks):
    def main(rank):
        world = MPI.COMM_WORLD
        if rank == 0:
            world.Recv(bytearray(1), 1)
            return None
        MPI.Finalize()
        calls = {
            "Send": lambda: world.Send(bytearray(1), 0),
            "Barrier": world.Barrier,
            "send": lambda: world.send(1, 0),
            "Get_rank": lambda: world.rank,
            "Dup": world.Dup,
        }
        for name, call in calls.items():
            with pytest.raises(MPI.Exception, match=rf"{name}: rank 1 has called Finalize") as caught:
                call()
            assert caught.value == MPI.ERR_OTHER
        return MPI.Is_finalized()

    def send_first(rank):
        if rank == 1:
            MPI.COMM_WORLD.Send(bytearray(1), 0)
        return main(rank)

    assert run_ranks(2, send_first).returned == [None, True]


def test_calls_before_init_are_errors_that_name_the_call(run_ranks, monkeypatch):
    package = SimpleNamespace(rc=SimpleNamespace(initialize=False))
    monkeypatch.setitem(sys.modules, "mpi4py", package)

    def main(rank):
        imported()
        with pytest.raises(MPI.Exception, match="Barrier: MPI has not been started"):
            MPI.COMM_WORLD.Barrier()
        MPI.Init()
        MPI.COMM_WORLD.Barrier()
        return MPI.Is_initialized()

    assert run_ranks(2, main).returned == [True, True]


def test_added_error_codes_have_a_class_and_a_string(run_ranks):
    def main(rank):
        error_class = MPI.Add_error_class()
        assert MPI.COMM_WORLD.Get_attr(MPI.LASTUSEDCODE) == error_class == MPI.ERR_LASTCODE + 1
        code = MPI.Add_error_code(error_class)
        assert MPI.Get_error_string(code) == ""
        MPI.Add_error_string(code, "out of cheese")
        assert (MPI.Get_error_class(code), MPI.Get_error_string(code)) == (error_class, "out of cheese")
        assert str(MPI.Exception(code)) == "out of cheese"
        with pytest.raises(MPI.Exception, match="remove its error codes first"):
            MPI.Remove_error_class(error_class)
        with pytest.raises(MPI.Exception, match="remove its error string first"):
            MPI.Remove_error_code(code)
        with pytest.raises(MPI.Exception, match="this is a class"):
            MPI.Remove_error_code(error_class)
        MPI.Remove_error_string(code)
        MPI.Remove_error_code(code)
        MPI.Remove_error_class(error_class)
        with pytest.raises(MPI.Exception, match="has been added"):
            MPI.Remove_error_class(MPI.ERR_OTHER)
        return MPI.COMM_WORLD.Get_attr(MPI.LASTUSEDCODE)

    assert run_ranks(2, main).returned == [MPI.ERR_LASTCODE] * 2
