"""Greenlets of a program: an MPI call comes back in the greenlet that made it; shared loops are refused."""

from collections.abc import Callable

import pytest


@pytest.fixture(params=["compiled", "python"])
def surface(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SMPY_SURFACE", request.param)


def test_a_call_comes_back_in_the_greenlet_that_made_it(smpy_run: Callable, surface: None):
    ran = smpy_run(
        """
        from mpi4py import MPI
        from greenlet import getcurrent, greenlet
        import numpy as np
        comm = MPI.COMM_WORLD
        rank, size = comm.rank, comm.size
        main, order = getcurrent(), []

        def work(x):
            order.append(f"begun with {x}")
            inbox = np.zeros(1)
            comm.Sendrecv(np.array([float(rank)]), (rank + 1) % size, 0, inbox, (rank - 1) % size)
            assert inbox[0] == (rank - 1) % size
            order.append("exchanged")
            order.append(main.switch("half"))
            request = comm.Irecv(inbox, (rank + 1) % size)
            comm.Send(np.array([7.0]), (rank - 1) % size)
            request.Wait()
            order.append(comm.allreduce(1))
            return "end"

        other = greenlet(work)
        order.append(other.switch(5))
        comm.Barrier()
        order.append(comm.allreduce(2))
        order.append(other.switch("go on"))
        assert other.dead
        comm.Barrier()
        print(order)
        """,
        3,
        "--quiet",
    )
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == 3 * "['begun with 5', 'exchanged', 'half', 6, 'go on', 3, 'end']\n"


def test_a_greenlet_is_of_the_rank_that_switches_to_it(emulated: Callable):
    ran = emulated(
        """
        from mpi4py import MPI
        from contextvars import Context
        from greenlet import greenlet
        import os, pickle, random, sys, time
        import helper
        comm = MPI.COMM_WORLD
        rank = comm.rank
        helper.value, expected = rank, random.Random(rank)
        random.seed(rank)
        sys.argv.append(str(rank))

        class Mine:
            pass

        def own():
            comm.Barrier()
            assert os.environ["PMI_RANK"] == sys.argv[-1] == str(rank)
            import helper as again
            assert again.value == rank and sys.modules["__main__"].rank == rank
            assert type(pickle.loads(pickle.dumps(Mine()))) is Mine
            assert random.random() == expected.random() and time.time() < 1.65e9
            comm.Barrier()
            print("own", rank)

        greenlet(own).switch()
        Context().run(own)
        """,
        3,
        files={"helper.py": "value = None\n"},
    )
    assert ran.error == ""
    assert sorted(ran.out.splitlines()) == sorted(2 * [f"own {rank}" for rank in range(3)])


def test_many_greenlets_take_turns_between_messages(emulated: Callable):
    ran = emulated(
        """
        from mpi4py import MPI
        from greenlet import getcurrent, greenlet
        comm = MPI.COMM_WORLD
        main = getcurrent()
        def talk(tag):
            total = 0
            for i in range(5):
                total += comm.sendrecv(tag * i, (comm.rank + 1) % comm.size, tag)
                main.switch()
            return total
        turns = [greenlet(talk) for _ in range(4)]
        ended = []
        for tag, turn in enumerate(turns):
            turn.switch(tag)
        while turns:
            for turn in turns[:]:
                total = turn.switch()
                if turn.dead:
                    turns.remove(turn)
                    ended.append(total)
        print(ended)
        """,
        3,
    )
    assert (ran.error, ran.out) == ("", 3 * "[0, 10, 20, 30]\n")


def test_a_deadlock_in_a_greenlet_names_its_line(emulated: Callable):
    ran = emulated(
        """
        from mpi4py import MPI
        from greenlet import greenlet
        def work():
            MPI.COMM_WORLD.recv(source=0)
        greenlet(work).switch()
        """
    )
    assert "program.py:5" in ran.error
    assert "program.py:6" not in ran.error


def test_a_greenlet_that_waits_in_mpi_is_not_woken_by_another_rank(emulated: Callable):
    ran = emulated(
        """
        from mpi4py import MPI
        from greenlet import greenlet
        import pool
        comm = MPI.COMM_WORLD
        if comm.rank == 0:
            pool.waits = greenlet(comm.recv)
            pool.waits.switch()
        else:
            pool.waits.switch()
        """,
        files={"pool.py": "__smpy_shared__ = True\n"},
    )
    assert "a greenlet that waits in MPI, of rank 0, was switched to by rank 1" in ran.error


LOOPS = {
    "gevent/__init__.py": "from gevent.hub import Hub\ndef sleep(seconds):\n    Hub()\n",
    "gevent/hub.py": "class Hub:\n    def __init__(self, loop=None): pass\n",
    "gevent/monkey.py": "def patch_all(): pass\n",
    "eventlet/__init__.py": "from eventlet.hubs.hub import BaseHub\ndef sleep(seconds):\n    BaseHub()\n\n"
    "def monkey_patch(): pass\n",
    "eventlet/hubs/__init__.py": "",
    "eventlet/hubs/hub.py": "class BaseHub:\n    def __init__(self, clock=None): pass\n",
}


@pytest.mark.parametrize(
    "program",
    [
        "import gevent; gevent.sleep(1)",
        "from gevent import monkey; monkey.patch_all()",
        "import gevent; import gevent; from gevent import monkey; monkey.patch_all()",
        "from gevent.monkey import patch_all; patch_all()",
        "import eventlet; eventlet.sleep(1)",
        "import eventlet; eventlet.monkey_patch()",
    ],
)
def test_a_loop_that_waits_for_all_ranks_at_once_is_refused(emulated: Callable, program: str):
    ran = emulated(f"from mpi4py import MPI\n{program}\n", files=LOOPS, shared=("gevent", "eventlet"))
    assert "waits in real time, in one loop for all that a thread runs; all ranks and their threads" in ran.error
    assert 'program.py", line 2' in ran.error


def test_a_thread_of_a_rank_may_have_no_such_loop_either(smpy_run: Callable):
    ran = smpy_run(
        """
        import threading, gevent
        thread = threading.Thread(target=gevent.sleep, args=(0,))
        thread.start()
        thread.join()
        """,
        1,
        "--quiet",
        "--shared",
        "gevent",
        files=LOOPS,
    )
    assert "all ranks and their threads" in ran.err
