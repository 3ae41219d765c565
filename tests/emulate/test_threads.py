"""Threads that a rank starts are the rank's; a call of MPI in one of the operating system's ends the run."""

import os
import signal
import threading
from collections.abc import Callable, Iterator

import pytest

# the thread that called ends with SystemExit, which python passes over and pytest does not
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")


@pytest.fixture(autouse=True)
def threads_end_with_their_test() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    for thread in set(threading.enumerate()) - before:
        thread.join(10)
        assert not thread.is_alive()


@pytest.fixture(params=["compiled", "python"])
def surface(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SMPY_SURFACE", request.param)


STARTS = """
import threading, _thread
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.pool import ThreadPool

def as_thread(function):
    thread = threading.Thread(target=function)
    thread.start()
    thread.join()

def as_timer(function):
    timer = threading.Timer(0.001, function)
    timer.start()
    timer.join()

def as_raw_thread(function):
    ended = threading.Lock()
    ended.acquire()
    def body():
        try:
            function()
        finally:
            ended.release()
    _thread.start_new_thread(body, ())
    ended.acquire()

def in_executor(function):
    with ThreadPoolExecutor(1) as pool:
        pool.submit(function).result()

def in_pool(function):
    with ThreadPool(1) as pool:
        pool.apply(function)

def in_thread_of_thread(function):
    as_thread(lambda: as_thread(function))

STARTS = [as_thread, as_timer, as_raw_thread, in_executor, in_pool, in_thread_of_thread]
"""


def test_a_thread_finds_what_its_rank_finds(smpy_run: Callable, surface: None):
    ran = smpy_run(
        """
        from mpi4py import MPI
        from starts import STARTS
        import os, pickle, random, sys, time
        import helper

        comm = MPI.COMM_WORLD
        rank = comm.rank
        pair = comm.Split(rank % 2)
        os.environ["MINE"] = str(rank)
        sys.argv.append(str(rank))
        sys.path.append(f"path{rank}")
        helper.value = rank
        random.seed(rank)
        expected = random.Random(rank)

        class Mine:
            pass

        def own():
            assert (comm.Get_rank(), comm.rank, comm.Get_size(), comm.size) == (rank, rank, 4, 4)
            assert (pair.rank, pair.size) == (rank // 2, 2)
            assert (MPI.COMM_SELF.rank, MPI.COMM_SELF.size) == (0, 1)
            assert MPI.Is_initialized() and not MPI.Is_finalized()
            assert not MPI.Is_thread_main() and MPI.Query_thread() == MPI.THREAD_MULTIPLE
            assert os.environ["MINE"] == os.environ["PMI_RANK"] == sys.argv[-1] == str(rank)
            assert sys.path[-1] == f"path{rank}"
            import helper as again
            assert again is helper and sys.modules["helper"].value == rank
            assert sys.modules["__main__"].rank == rank
            assert pickle.loads(pickle.dumps(Mine)) is Mine and type(pickle.loads(pickle.dumps(Mine()))) is Mine
            assert random.random() == expected.random()
            seen.append(rank)

        for start in STARTS:
            seen = []
            comm.Barrier()
            start(own)
            assert seen == [rank], start
        assert MPI.Is_thread_main()
        """,
        4,
        "--quiet",
        files={"starts.py": STARTS, "helper.py": "value = None\n"},
    )
    assert (ran.code, ran.err) == (0, "")


QUEUED = """
from mpi4py import MPI
import queue, threading
from array import array
comm = MPI.COMM_WORLD
request = comm.Irecv(bytearray(1), 0, 99)
result = queue.Queue()
def work():
    result.put({call})
comm.Barrier()
if comm.rank == 2:  # compiled code calls `work`, in a thread of its own
    threading.Thread(target=max, args=([1, 2],), kwargs={{"key": lambda _: work() or 0}}, name="worker").start()
    result.get()  # for ever, unless the run ends
comm.Barrier()
"""


def refused(call: str) -> str:
    return (
        f"rank 2 called {call} in worker, at program.py:9: this thread was started by compiled code or belongs to "
        "multiprocessing, and cannot be simulated; call MPI in a threading.Thread"
    )


@pytest.mark.parametrize(
    ("call", "name"),
    [
        ("comm.Iprobe()", "Iprobe"),
        ("comm.Isend(b'x', 0)", "Isend"),
        ("comm.Irecv(bytearray(1), 0)", "Irecv"),
        ("comm.Send(b'x', 0)", "Send"),
        ("comm.Recv(bytearray(1), 0)", "Recv"),
        ("comm.Sendrecv(b'x', 0, 0, bytearray(1))", "Sendrecv"),
        ("comm.Allreduce(array('d', [1]), array('d', [1]))", "Allreduce"),
        ("request.Wait()", "Wait"),
        ("request.Test()", "Test"),
        ("request.Cancel()", "Cancel"),
        ("MPI.Request.Waitall([request])", "Waitall"),
        ("MPI.Request.Waitany([request])", "Waitany"),
        ("comm.send(1, 0)", "send"),
        ("comm.isend(1, 0)", "isend"),
        ("comm.recv()", "recv"),
        ("comm.iprobe()", "iprobe"),
        ("comm.barrier()", "barrier"),
        ("comm.bcast(1)", "bcast"),
        ("comm.Ibarrier()", "Ibarrier"),
        ("comm.Dup()", "Dup"),
        ("comm.Split()", "Split"),
        ("comm.Abort()", "Abort"),
        ("MPI.COMM_SELF.Barrier()", "Barrier"),
        ("__import__('smpy').execute(1e9)", "execute"),
    ],
)
def test_a_call_of_mpi_in_a_thread_of_compiled_code_ends_the_run(emulated: Callable, call: str, name: str):
    assert emulated(QUEUED.format(call=call), 3).error == refused(name)


@pytest.mark.parametrize(("call", "name"), [("comm.Iprobe()", "Iprobe"), ("comm.isend(1, 0)", "isend")])
def test_on_both_surfaces_such_a_call_ends_the_command(smpy_run: Callable, surface: None, call: str, name: str):
    ran = smpy_run(QUEUED.format(call=call), 3, "--quiet")
    assert (ran.code, ran.out, ran.err) == (1, "", f"smpy: {refused(name)}\n")


@pytest.mark.timeout(60)
def test_a_rank_that_is_stopped_as_it_gives_work_to_a_pool_lets_the_command_end(smpy_run: Callable):
    ran = smpy_run(
        """
        from mpi4py import MPI
        import concurrent.futures.thread as pools
        if MPI.COMM_WORLD.rank == 0:
            pools._global_shutdown_lock.acquire()  # as in `submit`
            MPI.COMM_WORLD.Recv(bytearray(1), 1)
        raise SystemExit(3)
        """,
        2,
        "--quiet",
    )
    assert ran.code != 0


@pytest.mark.parametrize("wait", ["thread.join()", "done.wait()"])
def test_whatever_the_rank_waits_in_such_a_call_ends_the_run(smpy_run: Callable, wait: str):
    ran = smpy_run(
        f"""
        from mpi4py import MPI
        import threading
        comm, done = MPI.COMM_WORLD, threading.Event()
        def work():
            try:
                comm.barrier()
            except Exception:
                "the call raises, but no exception that a program would pass over"
            done.wait()
        thread = threading.Thread(target=max, args=([1, 2],), kwargs={{"key": lambda _: work() or 0}}, daemon=True)
        thread.start()
        {wait}
        comm.barrier()
        """,
        2,
        "--quiet",
    )
    assert ran.code == 1
    assert ran.err.startswith("smpy: rank 0 called barrier in Thread-1 (max)")


def test_a_signal_that_comes_just_before_the_rank_waits_is_sent_again(
    emulated: Callable, monkeypatch: pytest.MonkeyPatch
):
    real, numbers = signal.pthread_kill, []

    def lose_the_first(thread: int, number: int) -> None:
        numbers.append(number)
        if len(numbers) > 1:
            real(thread, number)

    monkeypatch.setattr(signal, "pthread_kill", lose_the_first)
    assert emulated(QUEUED.format(call="comm.barrier()"), 3).error == refused("barrier")
    assert numbers[:2] == [signal.SIGURG, signal.SIGURG]


def test_what_threads_compute_takes_no_simulated_time(emulated: Callable):
    ran = emulated(
        """
        from mpi4py import MPI
        from concurrent.futures import ThreadPoolExecutor
        comm = MPI.COMM_WORLD
        def square(x):
            return x * x
        numbers = range(comm.rank, comm.rank + 50)
        squares = list(ThreadPoolExecutor(4).map(square, numbers))
        assert comm.allreduce(sum(squares)) == sum(x * x for r in range(4) for x in range(r, r + 50))
        assert MPI.Wtime() < 1e-3
        """,
        4,
    )
    assert ran.error == ""


def test_pools_of_several_ranks_start_threads_that_wait_for_messages(smpy_run: Callable):
    ran = smpy_run(
        """
        from mpi4py import MPI
        import concurrent.futures
        comm = MPI.COMM_WORLD
        after, before = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
        def shift(tag):
            return comm.sendrecv(comm.rank, after, tag, source=before, recvtag=tag)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:  # the package imports it now, relative to itself
            print(comm.rank, *pool.map(shift, range(4)))
        """,
        3,
        "--quiet",
    )
    assert (ran.code, ran.err) == (0, "")
    assert sorted(ran.out.splitlines()) == ["0 2 2 2 2", "1 0 0 0 0", "2 1 1 1 1"]


def test_the_clocks_of_a_thread_never_fall_behind_its_rank(emulated: Callable):
    ran = emulated(
        """
        from mpi4py import MPI
        import threading, time
        comm = MPI.COMM_WORLD
        clocks = MPI.Wtime, time.time, time.monotonic, time.perf_counter
        time.sleep(1000 * (1 + comm.rank))
        comm.Barrier()
        for wait_s in 0, 5000:
            time.sleep(wait_s)
            before = [clock() for clock in clocks]
            seen = []
            thread = threading.Thread(target=lambda: seen.extend(clock() for clock in clocks))
            thread.start()
            thread.join()
            assert all(0 <= late - early < 1000 for early, late in zip(before, seen, strict=True)), (before, seen)
            comm.Barrier()
        """,
        3,
    )
    assert ran.error == ""


def test_a_thread_that_waits_for_a_date_sees_it_come(emulated: Callable):
    ran = emulated(
        """
        from mpi4py import MPI
        import asyncio, threading, time
        def work():
            start = MPI.Wtime()
            while time.monotonic() < start + 0.001:
                pass
            time.sleep(0.01)
            asyncio.run(asyncio.sleep(0.01))
            took.append(MPI.Wtime() - start)
        took = []
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert took[0] >= 0.021
        print(MPI.Wtime() > 0.021)
        """,
        2,
    )
    assert (ran.error, ran.out) == ("", "True\nTrue\n")


def test_what_a_thread_prints_comes_between_what_its_rank_prints(emulated: Callable):
    ran = emulated(
        """
        from mpi4py import MPI
        import sys, threading
        comm = MPI.COMM_WORLD
        comm.Barrier()
        print(comm.rank, "before")
        thread = threading.Thread(target=lambda: [print(comm.rank, "in", i) for i in range(3)])
        thread.start()
        thread.join()
        print(comm.rank, "after")
        comm.Barrier()
        last = threading.Thread(target=lambda: print(comm.rank, "last"))
        last.start()
        """,
        3,
    )
    assert ran.error == ""
    for rank in range(3):
        own = [line[2:] for line in ran.out.splitlines() if line.startswith(f"{rank} ")]
        assert own == ["before", "in 0", "in 1", "in 2", "after", "last"]


def test_a_rank_lists_its_own_threads(emulated: Callable):
    ran = emulated(
        """
        from mpi4py import MPI
        import threading
        comm = MPI.COMM_WORLD
        stop = threading.Event()
        threads = [threading.Thread(target=stop.wait, name=f"{comm.rank}.{i}") for i in range(comm.rank)]
        for thread in threads:
            thread.start()
        comm.Barrier()
        listed = [thread.name for thread in threading.enumerate() if thread is not threading.main_thread()]
        assert listed == [thread.name for thread in threads] and threading.active_count() == 1 + comm.rank
        stop.set()
        """,
        3,
    )
    assert ran.error == ""


def test_a_rank_ends_after_its_threads_that_are_no_daemons(emulated: Callable):
    reader, writer = os.pipe()
    ran = emulated(
        f"""
        from mpi4py import MPI
        from concurrent.futures import ThreadPoolExecutor
        import atexit, os, threading, time
        comm = MPI.COMM_WORLD
        name = "own"
        def work(kind):
            time.sleep(0.02)
            print(comm.rank, name, kind)
        threading.Thread(target=work, args=("thread",)).start()
        pool = ThreadPoolExecutor(1)
        pool.submit(work, "task")
        threading.Thread(target=os.read, args=({reader}, 1), daemon=True).start()
        atexit.register(print, comm.rank, "at exit")
        """,
        2,
    )
    os.write(writer, b"12")
    assert ran.error == ""
    for rank in range(2):
        own = [line[2:] for line in ran.out.splitlines() if line.startswith(f"{rank} ")]
        assert sorted(own[:2]) == ["own task", "own thread"]
        assert own[2:] == ["at exit"]


def test_a_run_that_fails_does_not_wait_for_threads(smpy_run: Callable):
    ran = smpy_run(
        """
        from mpi4py import MPI
        import threading
        threading.Thread(target=threading.Event().wait).start()
        MPI.COMM_WORLD.recv()
        """,
        2,
        "--quiet",
    )
    assert ran.code == 1
    assert "DeadlockError" not in ran.err
    assert "2 ranks wait for messages nobody will send" in ran.err


def test_a_thread_that_exits_its_process_ends_the_run(emulated: Callable):
    ran = emulated(
        """
        from mpi4py import MPI
        import os, threading
        def leave():
            os._exit(3)
        if MPI.COMM_WORLD.rank == 1:
            thread = threading.Thread(target=leave, name="worker")
            thread.start()
            threading.Event().wait()
        MPI.COMM_WORLD.Barrier()
        """,
        2,
    )
    assert ran.error.endswith("its thread worker called os._exit(3)")
    assert ran.error.startswith("rank 1 failed")


def test_exit_in_a_thread_ends_the_thread_alone(emulated: Callable):
    ran = emulated(
        """
        from mpi4py import MPI
        import sys, threading
        thread = threading.Thread(target=sys.exit, args=(3,))
        thread.start()
        thread.join()
        print(MPI.COMM_WORLD.allreduce(1))
        """,
        2,
    )
    assert (ran.error, ran.code, ran.out) == ("", 0, "2\n2\n")


def test_threads_may_hammer_what_is_local_while_ranks_collect(smpy_run: Callable, surface: None):
    ran = smpy_run(
        """
        from mpi4py import MPI
        import faulthandler, gc, os, random, sys, threading, time
        import numpy as np
        faulthandler.enable()
        sys.setswitchinterval(1e-4)
        comm = MPI.COMM_WORLD
        rank, stop, wrong = comm.rank, threading.Event(), []
        new = comm.Split(rank % 2, rank)
        def hammer():  # so often at most: on one core, threads that ask in a loop may keep the rest from running
            last = 0.0
            for _ in range(5000):
                if stop.is_set():
                    break
                now = MPI.Wtime()
                found = (comm.rank, comm.size, new.Get_rank(), new.size, os.environ["PMI_RANK"], now >= last)
                if found != (rank, 4, rank // 2, 2, str(rank), True):
                    wrong.append(found)
                last = now
                time.perf_counter(), random.random(), sys.argv, [[] for _ in range(100)]
        threads = [threading.Thread(target=hammer) for _ in range(2)]
        for thread in threads:
            thread.start()
        for i in range(30):
            total = np.zeros(4)
            comm.Allreduce(np.full(4, float(rank)), total)
            assert total[0] == 6 and comm.allreduce(i) == 4 * i
            comm.Dup().Free()
            if i % 10 == 0:
                gc.collect()
        stop.set()
        for thread in threads:
            thread.join()
        assert not wrong, wrong[0]
        """,
        4,
        "--quiet",
    )
    assert (ran.code, ran.err) == (0, "")
