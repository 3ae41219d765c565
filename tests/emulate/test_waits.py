"""Waits with a time-out pass in simulated time; what nothing can end is an error; what is real stays real."""

from collections.abc import Callable
from typing import Any

import pytest

IMPORTS = "import os, queue, sched, select, selectors, signal, socket, subprocess, threading, time\n"

# Each takes so many simulated seconds.
WAITS = {
    "select": "select.select([], [], [], 1000)",
    "poll": "select.poll().poll(1_000_000)",
    "epoll": "select.epoll().poll(1000)",
    "DefaultSelector": "selectors.DefaultSelector().select(1000)",
    "SelectSelector": "selectors.SelectSelector().select(1000)",
    "PollSelector": "selectors.PollSelector().select(1000)",
    "Event": "threading.Event().wait(1000)",
    "Semaphore": "threading.Semaphore(0).acquire(timeout=1000)",
    "Condition.wait_for": "locked.wait_for(lambda: False, 1000)",
    "Queue.get": "expect(queue.Empty, queue.Queue().get, timeout=1000)",
    "Queue.put": "expect(queue.Full, full.put, 2, timeout=1000)",
    "Barrier": "expect(threading.BrokenBarrierError, threading.Barrier(2).wait, 1000)",
    "sched": "scheduler.run()",
}
PREPARED = """
locked = threading.Condition()
locked.acquire()
full = queue.Queue(1)
full.put(1)
scheduler = sched.scheduler()
scheduler.enter(1000, 1, print, ("called",))
def expect(error, call, *args, **kwargs):
    try:
        call(*args, **kwargs)
    except error:
        return
    raise AssertionError(f"no {error}")
"""


def succeed(ran: Any) -> None:
    assert ran.code == 0, ran.error


@pytest.mark.parametrize("wait", WAITS.values(), ids=WAITS.keys())
def test_a_wait_for_nothing_real_passes_in_simulated_time(emulated: Callable, wait: str):
    ran = emulated(IMPORTS + PREPARED + wait, 2)
    succeed(ran)
    assert ran.outcome.summary.makespan_s == pytest.approx(1000)  # longer than a test may take


ENDLESS = {
    "select": "select.select([], [], [])",
    "poll": "select.poll().poll()",
    "epoll": "select.epoll().poll()",
    "selector": "selectors.DefaultSelector().select()",
    "Event": "threading.Event().wait()",
    "Queue.get": "queue.Queue().get()",
}


@pytest.mark.parametrize("wait", ENDLESS.values(), ids=ENDLESS.keys())
def test_a_wait_that_nothing_can_end_is_an_error(emulated: Callable, wait: str):
    ran = emulated(f"{IMPORTS}{wait}\n", 2)
    assert "rank 0: " in ran.error
    assert "would wait for ever" in ran.error
    assert "program.py" in ran.error


SIGNALS = {
    "alarm": "signal.alarm(1)",
    "setitimer": "signal.setitimer(signal.ITIMER_REAL, 1)",
    "pause": "signal.pause()",
    "sigwait": "signal.sigwait({signal.SIGUSR1})",
    "sigtimedwait": "signal.sigtimedwait({signal.SIGUSR1}, 1)",
}


@pytest.mark.parametrize("wait", SIGNALS.values(), ids=SIGNALS.keys())
def test_waits_for_signals_are_refused(emulated: Callable, wait: str):
    ran = emulated(f"{IMPORTS}{wait}\n", 2)
    assert "rank 0: signal." in ran.error
    assert "real time" in ran.error


def test_a_timer_may_be_stopped(emulated: Callable):
    succeed(emulated(f"{IMPORTS}assert signal.setitimer(signal.ITIMER_VIRTUAL, 0.0) == (0.0, 0.0)\n"))


# Each waits for something that comes, and 10 ms for something that does not.
REAL = {
    "select": "assert select.select([there], [], [], 9)[0] == [there]\nselect.select([never], [], [], 0.01)",
    "poll": "p = select.poll()\np.register(there)\nassert p.poll(9000)\np.modify(there, 0)\np.poll(10)",
    "epoll": """
poll = select.epoll()
poll.register(there)
assert poll.poll(9)
poll.unregister(there)
poll.register(never)
poll.poll(0.01)
""",
    "selector": "p = selectors.DefaultSelector()\np.register(never, 1)\np.select(0.01)",
    "subprocess": """
assert subprocess.run(["sleep", "0.05"], timeout=9).returncode == 0
expect(subprocess.TimeoutExpired, subprocess.run, ["sleep", "9"], timeout=0.01)
""",
    "socket": """
here, other = socket.socketpair()
here.settimeout(0.01)
other.send(b"x")
assert here.recv(1) == b"x"
expect(TimeoutError, here.recv, 1)
here.close()
other.close()
""",
    "join": """
thread = threading.Thread(target=os.read, args=(never, 1))
thread.start()
thread.join(0.01)
assert thread.is_alive()
os.write(in_never, b"x")
thread.join(9)
""",
}


@pytest.mark.parametrize(
    "wait",
    [
        # a child process takes real time of its own, which counts against its time-out
        pytest.param(wait, id=name, marks=[pytest.mark.timed] if name == "subprocess" else [])
        for name, wait in REAL.items()
    ],
)
def test_a_wait_for_something_real_takes_simulated_time_only_when_it_times_out(emulated: Callable, wait: str):
    pipes = "there, in_there = os.pipe()\nos.write(in_there, b'x')\nnever, in_never = os.pipe()\n"
    ran = emulated(IMPORTS + PREPARED + pipes + wait, 1)
    succeed(ran)
    assert ran.outcome.summary.makespan_s == pytest.approx(0.01, rel=0.1 if "subprocess" in wait else 0.01)


def test_a_rank_that_accepts_a_connection_lets_others_connect(emulated: Callable):
    program = """
        import socket, time
        from mpi4py import MPI
        comm = MPI.COMM_WORLD
        if comm.rank == 0:
            with socket.create_server(("127.0.0.1", 0)) as server:
                comm.send(server.getsockname(), 1)
                with server.accept()[0] as end:
                    print(end.recv(5).decode())
        else:
            address = comm.recv()
            time.sleep(3)
            with socket.create_connection(address) as end:
                end.sendall(b"hello")
        """
    ran = emulated(program)
    assert (ran.error, ran.out) == ("", "hello\n")
