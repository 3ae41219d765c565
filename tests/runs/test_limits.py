"""Runs that are ended: by a limit, by Ctrl-C, with the process that asked for them."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import smpy
from smpy.errors import Interrupted
from smpy.runs.run import MemoryLimitError, TimeLimitError
from tests.runs.conftest import PRINTS_SERVER

ENDLESS = """
    import os, sys
    from mpi4py import MPI
    open("pid.new", "w").write(str(os.getpid()))
    os.replace("pid.new", "pid")  # a test that waits for the file never reads half of it
    print("on the way", flush=True)
    while True:
        MPI.COMM_WORLD.Barrier()
"""


def is_gone(pid: int) -> bool:
    """Whether a process ends within some seconds."""
    for _ in range(500):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.01)
    return False


def test_a_run_that_takes_too_long_says_where_it_was(program: Callable[[str], str]):
    with pytest.raises(
        TimeLimitError, match=r"timeout_s allows, 500 ms:\ninterrupted at .* s of simulated time"
    ) as raised:
        smpy.simulate(program(ENDLESS), ranks=2, compute="none", timeout_s=0.5)
    assert raised.value.stdout == "on the way\n" * 2
    assert raised.value.exit_code == 130
    assert isinstance(raised.value.failure, Interrupted)
    assert raised.value.summary is not None
    assert raised.value.summary.is_partial
    assert is_gone(int(Path("pid").read_text()))


@pytest.mark.slow
def test_a_run_that_does_not_want_to_end_is_killed(program: Callable[[str], str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("smpy.runs.warm_server._GRACE_S", 0.2)
    program("import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass")
    with pytest.raises(TimeLimitError, match="did not end when it was interrupted") as raised:
        smpy.simulate("program.py", ranks=1, timeout_s=1.5)
    assert raised.value.exit_code == 128 + signal.SIGKILL
    assert raised.value.summary is None


@pytest.mark.slow
def test_what_a_program_started_ends_with_its_run_when_that_is_killed(
    program: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("smpy.runs.warm_server._GRACE_S", 0.2)
    program("""
        import signal, subprocess
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        open("pid", "w").write(str(subprocess.Popen(["sleep", "600"]).pid))
        while True: pass
    """)
    with pytest.raises(TimeLimitError):
        smpy.simulate("program.py", ranks=1, timeout_s=1.0)
    assert is_gone(int(Path("pid").read_text()))


def test_a_run_that_holds_too_much_memory_is_ended(program: Callable[[str], str]):
    program("""
        import sys
        print("begun", flush=True)
        held = [bytearray(10_000_000) for _ in range(int(sys.argv[1]))]
        print("done")
    """)
    limit = 300_000_000
    assert smpy.simulate("program.py", 5, ranks=1, memory_limit_bytes=limit).stdout == "begun\ndone\n"
    with pytest.raises(MemoryLimitError, match=r"_limit_bytes allows, 300 MB:\ninterrupted .* program.py:4") as raised:
        smpy.simulate("program.py", 10_000, ranks=1, memory_limit_bytes=limit)
    assert raised.value.stdout == "begun\n"
    assert raised.value.summary is not None
    assert raised.value.summary.is_partial


@pytest.mark.slow
def test_a_run_that_takes_memory_in_no_time_is_killed(program: Callable[[str], str]):
    program("held = bytearray(3_000_000_000)")
    with pytest.raises(MemoryLimitError, match=r"memory_limit_bytes allows, 300 MB$") as raised:
        smpy.simulate("program.py", ranks=1, memory_limit_bytes=300_000_000)
    assert raised.value.exit_code == 128 + signal.SIGKILL


def test_memory_that_stands_in_many_places_counts_once(program: Callable[[str], str]):
    program("""
        import mmap, os
        memory = os.memfd_create("pages")
        os.truncate(memory, 50_000_000)
        places = [mmap.mmap(memory, 50_000_000) for _ in range(8)]
        for place in places:
            place.write(bytes(50_000_000))
        sum(range(10_000_000))  # while somebody looks
    """)
    run = smpy.simulate("program.py", ranks=1, memory_limit_bytes=250_000_000)
    assert run.summary.peak_rss_bytes > 400_000_000


def test_ctrl_c_ends_the_run_and_is_the_callers(program: Callable[[str], str]):
    program(ENDLESS)

    def interrupt() -> None:
        while not Path("pid").exists():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        smpy.simulate("program.py", ranks=2, compute="none")
    thread.join()
    assert is_gone(int(Path("pid").read_text()))
    program("print('next')")
    assert smpy.simulate("program.py", ranks=1).stdout == "next\n"


@pytest.mark.slow
def test_ctrl_c_in_a_terminal_comes_to_the_caller_alone(program: Callable[[str], str]):
    program(ENDLESS)
    code = "import smpy\ntry:\n smpy.simulate('program.py', ranks=2)\nexcept KeyboardInterrupt:\n print('stopped')"
    caller = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, start_new_session=True)
    while not Path("pid").exists():
        time.sleep(0.01)
    os.killpg(caller.pid, signal.SIGINT)
    assert caller.communicate(timeout=60)[0] == "stopped\n"


@pytest.mark.slow
def test_a_run_ends_with_the_process_that_asked_for_it(program: Callable[[str], str]):
    program(ENDLESS)
    caller = subprocess.Popen([sys.executable, "-c", "import smpy; smpy.simulate('program.py', ranks=2)"])
    while not Path("pid").exists():
        time.sleep(0.01)
    caller.kill()
    caller.wait()
    assert is_gone(int(Path("pid").read_text()))


@pytest.mark.slow
def test_a_child_of_the_caller_does_not_keep_the_server(program: Callable[[str], str]):
    program(PRINTS_SERVER)
    code = """if True:
        import os, time, smpy
        print(smpy.simulate("program.py", ranks=1, compute="none").stdout, end="", flush=True)
        child = os.fork()
        if not child:
            os.close(1)
            time.sleep(600)
        print(child, flush=True)
        os._exit(0)
    """
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True)
    server, child = map(int, done.stdout.split())
    try:
        assert is_gone(server)
    finally:
        os.kill(child, signal.SIGKILL)
