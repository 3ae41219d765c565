"""Generalised requests: operations that the program carries out itself."""

import pytest

from smpy.mpi import MPI


def test_a_generalised_request_completes_when_the_program_says_so(run_ranks):
    calls = []

    def query(status, word, *, number):
        calls.append(("query", word, number))
        status.Set_source(3)
        status.Set_elements(MPI.INT, 5)

    def main(rank):
        request = MPI.Grequest.Start(
            query,
            lambda word, *, number: calls.append(("free", word, number)),
            lambda is_complete, word, *, number: calls.append(("cancel", is_complete)),
            ("w",),
            {"number": 1},
        )
        assert not request.Test()
        assert not request.Get_status()
        request.Cancel()
        request.Complete()
        request.Cancel()
        status = MPI.Status()
        assert request.Get_status(status)
        assert request
        request.Wait(status)
        assert not request
        assert (status.source, status.Get_count(MPI.INT)) == (3, 5)

    run_ranks(1, main)
    query_, free = ("query", "w", 1), ("free", "w", 1)
    assert calls == [("cancel", False), ("cancel", True), query_, query_, free]


def test_its_object_comes_with_wait_and_among_other_requests(run_ranks):
    def main(rank):
        own = MPI.Grequest.Start()
        receive = MPI.COMM_WORLD.irecv(source=rank)
        MPI.COMM_WORLD.send("message", rank)
        assert MPI.Request.waitany([own, receive]) == (1, "message")
        assert MPI.Request.testall([own, receive]) == (False, None)
        own.complete(42)
        return MPI.Request.waitall([own, receive])

    assert run_ranks(1, main).returned == [[42, None]]


def test_waiting_for_one_that_nobody_completes_is_an_error(run_ranks):
    def main(rank):
        request = MPI.Grequest.Start()
        for wait in (request.Wait, lambda: MPI.Request.Waitall([request]), lambda: MPI.Request.Waitany([request])):
            with pytest.raises(MPI.Exception, match=r"would wait for ever.*call Complete\(\) first") as caught:
                wait()
            assert caught.value.Get_error_class() == MPI.ERR_PENDING
        request.Complete()
        request.Wait()

    run_ranks(1, main)


def test_what_a_callback_raises_is_printed_and_becomes_an_error(run_ranks, capsys):
    def main(rank):
        def fails(*arguments):
            raise ValueError(42)

        request = MPI.Grequest.Start(fails)
        request.Complete()
        with pytest.raises(MPI.Exception, match="a callback of the generalised request raised ValueError") as caught:
            request.Wait()
        assert caught.value.Get_error_class() == MPI.ERR_OTHER
        assert not request

    run_ranks(1, main)
    assert "ValueError: 42" in capsys.readouterr().err


def test_a_freed_one_calls_its_free_callback_once_it_is_complete(run_ranks):
    def main(rank):
        freed = []
        request = MPI.Grequest.Start(free_fn=lambda: freed.append(1))
        other = MPI.Grequest(request)
        request.Free()
        assert freed == []
        other.Complete()
        return freed

    assert run_ranks(1, main).returned == [[1]]
