"""Threads of a rank call MPI, wait and sleep in simulated time, and share the rank's core."""

from collections.abc import Callable
from pathlib import Path

import pytest

from smpy.errors import UsageError
from smpy.records.trace import Trace
from smpy.replay.replay import replay

IMPORTS = """
import _thread, asyncio, concurrent.futures, os, queue, socket, sys, threading, time
from concurrent.futures import ThreadPoolExecutor
from mpi4py import MPI
comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
def now():
    return round(MPI.Wtime(), 3)
def start(function, *args, **kwargs):
    thread = threading.Thread(target=function, args=args, **kwargs)
    thread.start()
    return thread
"""


@pytest.fixture(params=["compiled", "python"])
def surface(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SMPY_SURFACE", request.param)


def test_threads_of_all_ranks_talk_at_once_on_both_surfaces(smpy_run: Callable, surface: None):
    ran = smpy_run(
        IMPORTS
        + """
got = {}
def talk(tag):
    time.sleep(0.1 * tag)
    got[tag] = comm.sendrecv((rank, tag), (rank + 1) % size, tag, source=(rank - 1) % size, recvtag=tag)
    buffer = bytearray(4)
    request = comm.Irecv(buffer, (rank + 1) % size, 100 + tag)
    comm.Send(b"abcd", (rank - 1) % size, 100 + tag)
    request.Wait()
    assert buffer == b"abcd" and not MPI.Is_thread_main()
threads = [start(talk, tag) for tag in range(6)]
for thread in threads:
    thread.join()
assert got == {tag: ((rank - 1) % size, tag) for tag in range(6)}, got
assert 0.5 <= now() < 0.51 and MPI.Query_thread() == MPI.THREAD_MULTIPLE and MPI.Is_thread_main()
""",
        3,
        "--quiet",
    )
    assert (ran.code, ran.err) == (0, "")


WAITS = {
    "sleep": "thread = start(time.sleep, 1000)\nthread.join(1)\nassert thread.is_alive() and now() == 1\nthread.join()",
    "timer": "timer = threading.Timer(1000, seen.append, (1,))\ntimer.start()\ntimer.join()\nassert seen == [1]",
    "event": "done = threading.Event()\nstart(lambda: (time.sleep(1000), done.set()))\nassert done.wait(2000)",
    "event in time": "done = threading.Event()\nstart(time.sleep, 1)\nassert not done.wait(1000)",
    "condition": """
ready = threading.Condition()
def wake():
    time.sleep(1000)
    with ready:
        ready.notify_all()
with ready:
    start(wake)
    assert ready.wait(9999)
""",
    "semaphore": """
places = threading.BoundedSemaphore(2)
def work():
    with places:
        time.sleep(500)
for thread in [start(work) for _ in range(4)]:
    thread.join()
""",
    "barrier": """
meeting = threading.Barrier(3)
for thread in [start(lambda i=i: (time.sleep(500 * i), meeting.wait(), seen.append(now()))) for i in range(3)]:
    thread.join()
assert seen == [1000] * 3
""",
    "queue": """
q = queue.Queue(1)
def consume():
    while (item := q.get()) is not None:
        time.sleep(250)
        seen.append(item)
thread = start(consume)
for item in range(4):
    q.put(item)
q.put(None)
thread.join()
assert seen == [0, 1, 2, 3]
""",
    "simple queue": """
q = queue.SimpleQueue()
start(lambda: (time.sleep(1000), q.put(5)))
assert q.get() == 5
""",
    "lock": """
lock = threading.Lock()
def hold():
    with lock:
        time.sleep(250)
for thread in [start(hold) for _ in range(4)]:
    thread.join()
""",
    "lock in time": """
lock = threading.Lock()
with lock:
    start(lambda: seen.append((lock.acquire(timeout=500), lock.acquire(False), now()))).join()
    assert seen == [(False, False, 500)]
time.sleep(500)
""",
    "reentrant lock": """
lock = threading.RLock()
def hold():
    with lock, lock:
        time.sleep(500)
for thread in [start(hold) for _ in range(2)]:
    thread.join()
""",
    "executor": """
with ThreadPoolExecutor(4) as pool:
    assert list(pool.map(lambda x: (time.sleep(500), x * x)[1], range(8))) == [x * x for x in range(8)]
""",
    "first of several": """
pool = ThreadPoolExecutor(2)
futures = [pool.submit(time.sleep, seconds) for seconds in (3000, 1000)]
done, _ = concurrent.futures.wait(futures, return_when="FIRST_COMPLETED")
assert done == {futures[1]}
os._exit(0)
""",
    "pool of threads": """
from multiprocessing.pool import ThreadPool
with ThreadPool(2) as pool:
    assert pool.map(lambda x: time.sleep(500) or MPI.COMM_WORLD.rank, range(4), 1) == [rank] * 4
""",
    "raw thread": """
ended = _thread.allocate_lock()
ended.acquire()
_thread.start_new_thread(lambda seconds: (time.sleep(seconds), ended.release()), (1000,))
ended.acquire()
""",
    "asyncio": """
async def work():
    await asyncio.gather(*(asyncio.to_thread(time.sleep, 1000) for _ in range(3)))
asyncio.run(work())
""",
    "loop in a thread": "start(lambda: asyncio.run(asyncio.sleep(1000))).join()",
    "spin": """
ended = threading.Event()
start(lambda: (time.sleep(1000), ended.set()))
while not ended.is_set():
    time.sleep(0)
    if now() < 999.9:
        time.sleep(999.9 - now())
""",
}


@pytest.mark.parametrize("wait", WAITS.values(), ids=WAITS.keys())
def test_a_wait_for_a_thread_passes_in_simulated_time(emulated: Callable, wait: str):
    ran = emulated(f"{IMPORTS}seen = []\n{wait}\n", 2)
    assert ran.error == ""
    assert ran.outcome.summary.makespan_s == pytest.approx(1000, rel=1e-3)


def test_a_thread_that_waits_holds_up_nobody(emulated: Callable):
    ran = emulated(
        IMPORTS
        + """
if rank == 0:
    start(lambda: comm.recv(source=1, tag=7))
    time.sleep(5)
    comm.send("main", 1)
else:
    assert comm.recv() == "main" and now() == 5
    comm.send("late", 0, 7)
"""
    )
    assert ran.error == ""


def test_threads_of_a_rank_share_its_core_however_many_its_host_has(smpy_run: Callable):
    program = (
        IMPORTS
        + """
import smpy
def compute():
    smpy.inject_seconds(1.0)
    ends.append(now())
ends = []
for thread in [start(compute) for _ in range(2)]:
    thread.join()
print(rank, ends)
"""
    )
    ran = smpy_run(program, 2, "--quiet", "--compute", "none")
    assert sorted(ran.out.splitlines()) == ["0 [2.0, 2.0]", "1 [2.0, 2.0]"]


def test_values_and_identifiers_are_each_threads_own(emulated: Callable):
    ran = emulated(
        IMPORTS
        + """
class Counted(threading.local):
    made = []
    def __init__(self, first):
        self.made.append(threading.get_ident())
        self.n = first
plain, counted = threading.local(), Counted(10)
plain.x = "main"
counted.n += 1
idents = {threading.get_ident()}
def work(i):
    assert not hasattr(plain, "x") and counted.n == 10
    plain.x, counted.n = i, counted.n + i
    comm.Barrier() if i == 0 else time.sleep(1)
    assert (plain.x, counted.n) == (i, 10 + i)
    assert threading.current_thread().ident == threading.get_ident() == _thread.get_ident()
    idents.add(threading.get_ident())
    names.append(threading.current_thread().name)
names = []
threads = [start(work, i) for i in range(3)]
assert len(threading.enumerate()) == 4 == threading.active_count()
for thread in threads:
    thread.join()
assert len(idents) == 4 == len(counted.made) and (plain.x, counted.n) == ("main", 11)
assert sorted(names) == [f"Thread-{i} (work)" for i in (1, 2, 3)]
"""
    )
    assert ran.error == ""


def test_what_a_thread_raises_is_printed_and_ends_it_alone(smpy_run: Callable):
    ran = smpy_run(
        IMPORTS
        + """
def fail():
    raise ValueError("of the thread")
start(fail).join()
threading.excepthook = lambda args: print("hook", args.exc_value, args.thread.name)
start(fail, name="second").join()
print(comm.allreduce(1))
""",
        1,
        "--quiet",
    )
    assert (ran.code, ran.out) == (0, "hook of the thread second\n1\n")
    assert ran.err.startswith("Exception in thread Thread-1 (fail):")
    assert ran.err.endswith("ValueError: of the thread\n")


def test_a_rank_waits_for_its_threads_and_leaves_daemons(emulated: Callable):
    ran = emulated(
        IMPORTS
        + """
import atexit
start(lambda: (time.sleep(2), print("thread", now())))
start(comm.recv, daemon=True)
start(lambda: time.sleep(100) or print("never"), daemon=True)
atexit.register(lambda: print("exit", now()))
print("main", now())
""",
        1,
    )
    assert (ran.error, ran.out) == ("", "main 0.0\nthread 2.0\nexit 2.0\n")
    assert ran.outcome.summary.makespan_s == pytest.approx(2, rel=1e-3)


def test_a_deadlock_among_threads_says_who_waits_for_whom(emulated: Callable):
    ran = emulated(
        """
import queue, threading
from mpi4py import MPI
comm, q, lock = MPI.COMM_WORLD, queue.Queue(), threading.Lock()
def hold():
    with lock:
        q.get()
def want():
    with lock:
        pass
def receive():
    comm.recv(source=0, tag=3)
threads = [threading.Thread(target=work, name=work.__name__) for work in (hold, want, receive)]
for thread in threads:
    thread.start()
threads[1].join()
""",
        1,
    )
    assert [line.split("   ")[0].strip() for line in ran.error.splitlines()[1:5]] == [
        "rank 0: Thread.join() of thread want",
        "rank 0: in thread hold: Queue.get()",
        "rank 0: in thread want: Lock.acquire(), held by thread hold",
        "rank 0: in thread receive: recv(source=0, tag=3)",
    ]
    assert "program.py:16" in ran.error


def test_a_run_with_threads_is_the_same_every_time(smpy_run: Callable):
    program = (
        IMPORTS
        + """
import random
q = queue.Queue(2)
def consume(i):
    while (item := q.get()) is not None:
        time.sleep(random.random())
        comm.Send(bytes(item), (rank + 1) % size, i)
def receive():
    for _ in range(20):
        comm.Recv(bytearray(100), (rank - 1) % size)
threads = [start(consume, i) for i in range(3)] + [start(receive)]
for item in range(20):
    q.put(item)
for _ in range(3):
    q.put(None)
for thread in threads:
    thread.join()
print(rank, MPI.Wtime())
"""
    )
    first, second = (smpy_run(program, 3, "--quiet", "--compute", "none") for _ in range(2))
    assert (first.code, first.err) == (0, "")
    assert first.out == second.out


@pytest.mark.slow
def test_recorded_bursts_of_threads_replay(smpy_run: Callable, tmp_path: Path):
    program = (
        IMPORTS
        + """
with ThreadPoolExecutor(4) as pool:
    futures = [pool.submit(lambda x: (sum(range(1000)), time.sleep(0.1), x * x)[2], x) for x in range(8)]
    print([future.result() for future in concurrent.futures.as_completed(futures)])
print(MPI.Wtime())
"""
    )
    bursts = tmp_path / "bursts"
    recorded = smpy_run(program, 2, "--quiet", "--compute", f"record:{bursts}")
    replayed = [smpy_run(program, 2, "--quiet", "--compute", f"replay:{bursts}") for _ in range(2)]
    assert (recorded.code, recorded.err) == (0, "")
    assert [(ran.code, ran.err, ran.out) for ran in replayed] == [(0, "", recorded.out)] * 2


def test_a_lock_handed_back_and_forth_at_one_date_starves_nobody(emulated: Callable):
    ran = emulated(
        IMPORTS
        + """
lock, turns = threading.Lock(), []
def work(i):
    for _ in range(3):
        with lock:
            turns.append(i)
            time.sleep(1)
threads = [start(work, i) for i in range(3)]
for thread in threads:
    thread.join()
assert turns == [0, 1, 2] * 3, turns
""",
        1,
    )
    assert ran.error == ""


def test_a_thread_waits_for_a_pipe_that_another_writes(emulated: Callable):
    ran = emulated(
        IMPORTS
        + """
reader, writer = os.pipe()
here, there = socket.socketpair()
got = []
threads = [start(lambda: got.append(os.read(reader, 1))), start(lambda: got.append(here.recv(1)))]
time.sleep(0.01)
os.write(writer, b"x")
there.send(b"y")
for thread in threads:
    thread.join()
here.close()
there.close()
assert sorted(got) == [b"x", b"y"]
""",
        1,
    )
    assert ran.error == ""
    assert ran.outcome.summary.makespan_s == pytest.approx(0.01, rel=0.02)


def test_a_trace_of_ranks_with_threads_has_the_time_of_ranks_and_the_messages_of_all(
    emulated: Callable, tmp_path: Path
):
    ran = emulated(
        IMPORTS
        + """
threads = [start(lambda i=i: (time.sleep(i), comm.sendrecv(i, 1 - rank, i, None, 1 - rank, i))) for i in (1, 2)]
for thread in threads:
    thread.join()
""",
        trace=tmp_path / "trace",
    )
    assert ran.error == ""
    trace = Trace(tmp_path / "trace")
    rows = trace.table("intervals").to_pandas()
    assert (rows["end_s"] - rows["start_s"]).sum() == pytest.approx(2 * 2, rel=1e-3)
    assert trace.n_rows("messages") == 4
    with pytest.raises(UsageError, match="its ranks have threads"):
        replay(trace)


def test_each_thread_of_each_rank_has_its_own_local_values(smpy_run: Callable):
    ran = smpy_run(
        IMPORTS
        + """
mine = threading.local()
mine.value = ("main", rank)
made = []
def use(number):
    inner = threading.local()
    inner.value = number
    made.append(inner)
    assert not hasattr(mine, "value")
    mine.value = number
    for _ in range(3):
        comm.sendrecv(rank, (rank + 1) % size, number, source=(rank - 1) % size, recvtag=number)
        assert mine.value == inner.value == number and [hasattr(other, "value") for other in made].count(True) == 1
if rank != 1:
    threads = [start(use, number) for number in range(3)]
else:
    for number in (2, 0, 1) * 3:
        comm.sendrecv(rank, (rank + 1) % size, number, source=(rank - 1) % size, recvtag=number)
        assert mine.value == ("main", 1)
    threads = []
for thread in threads:
    thread.join()
    assert mine.value == ("main", rank)
assert not any(hasattr(inner, "value") for inner in made)
""",
        3,
        "--quiet",
    )
    assert (ran.code, ran.err) == (0, "")
