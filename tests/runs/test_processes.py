"""Processes that a program starts: they end with its run, however that ends, and share its limit of memory."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

import smpy
from smpy.runs.run import KilledError, MemoryLimitError, RunError, TimeLimitError

SMPY = str(Path(sys.executable).with_name("smpy"))

# a daemon, a child with a child of its own, and a program with a session of its own
FAMILY = """
import os, signal, subprocess, sys, time
from mpi4py import MPI

def stay():
    with open("pids", "a") as file:
        file.write(f"{os.getpid()}\\n")
    while True:
        time.sleep(600)

open("pids", "a").close()
if MPI.COMM_WORLD.rank == 0:
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            stay()
        os._exit(0)
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.fork()
        stay()
    subprocess.Popen(["sh", "-c", "echo $$ >>pids; exec nohup sleep 600"], start_new_session=True)
    while open("pids").read().count("\\n") < 4:
        pass
    open("ready", "w").close()
"""

STUBBORN_FAMILY = FAMILY.replace("SIG_DFL", "SIG_IGN")
"""The child and its child ignore SIGTERM, and are killed a second later."""

ENDS = {
    "by itself": ("", None),
    "with an error": ("raise ValueError('lost')", RunError),
    "with an exit code": ("sys.exit(3)", RunError),
    "with Abort": ("MPI.COMM_WORLD.Abort(4)", RunError),
    "killed": ("import ctypes; ctypes.CDLL(None).kill(os.getpid(), 9)", KilledError),
    "with its guard killed": ("import ctypes; ctypes.CDLL(None).kill(os.getppid(), 9)\nwhile True: pass", KilledError),
    "at its limit of time": ("while True: MPI.COMM_WORLD.Barrier()", TimeLimitError),
}


def alive(numbers: list[int]) -> list[int]:
    return [number for number in numbers if psutil.pid_exists(number)]


def family() -> list[int]:
    return list(map(int, Path("pids").read_text().split()))


def wait_until(is_so: Callable[[], bool]) -> None:
    until_s = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < until_s
        time.sleep(0.01)


@pytest.mark.parametrize("end", ENDS)
def test_processes_of_a_program_are_gone_when_its_run_has_ended(program: Callable[[str], str], end: str):
    source, error = ENDS[end]
    program((STUBBORN_FAMILY if end in ("by itself", "killed") else FAMILY) + source)
    limit_s = 1.5 if error is TimeLimitError else None
    if error is None:
        smpy.simulate("program.py", ranks=2, compute="none")
    else:
        with pytest.raises(error):
            smpy.simulate("program.py", ranks=2, compute="none", timeout_s=limit_s)
    assert len(family()) == 4
    assert alive(family()) == []


@pytest.mark.parametrize("victim", ["the caller", "the server", "the guard"])
def test_processes_of_a_program_end_with_any_process_above_it(program: Callable[[str], str], victim: str):
    program(STUBBORN_FAMILY + "open('run', 'w').write(str(os.getpid()))\nwhile True: MPI.COMM_WORLD.Barrier()")
    code = "import smpy; smpy.simulate('program.py', ranks=2, compute='none')"
    caller = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
    wait_until(lambda: Path("run").exists() and Path("run").read_text() != "")
    run = psutil.Process(int(Path("run").read_text()))
    above = {"the guard": run.parent(), "the server": run.parent().parent(), "the caller": psutil.Process(caller.pid)}
    above[victim].kill()
    caller.wait()
    wait_until(lambda: alive([run.pid, *family()]) == [])


COMET = """
import os, subprocess, sys
from mpi4py import MPI
code = '''
import os, sys
if os.fork():
    os._exit(0)
os.setsid() if sys.argv[1] == "sessions" else None
open("begun", "w").close()
while True:
    if os.fork():
        os._exit(0)
'''
subprocess.Popen([sys.executable, "-S", "-c", code, *sys.argv[1:]])
while not os.path.exists("begun"):
    pass
"""


@pytest.mark.parametrize("how", ["sessions", "groups"])
def test_a_process_that_forks_and_ends_again_and_again_is_caught(
    program: Callable[[str], str], tmp_path: Path, how: str
):
    program(COMET)
    smpy.simulate("program.py", how, str(tmp_path), ranks=1, compute="none")
    left = [process for process in psutil.process_iter(["cmdline"]) if str(tmp_path) in (process.info["cmdline"] or ())]
    assert left == []


def test_a_program_does_not_meet_the_orphans_of_its_children(program: Callable[[str], str]):
    program("""
        import os, time
        if os.fork() == 0:
            if os.fork() == 0:
                time.sleep(600)
            os._exit(3)
        print(os.waitstatus_to_exitcode(os.wait()[1]))
        try:
            os.wait()
        except ChildProcessError:
            print("no other")
    """)
    assert smpy.simulate("program.py", ranks=1, compute="none").stdout == "3\nno other\n"


HOLDERS = """
import os, sys, time
n_bytes, n_children = int(sys.argv[1]), int(sys.argv[2])
held = bytearray(b"x") * n_bytes if sys.argv[3] == "shared" else b""
pids = []
for _ in range(n_children):
    pid = os.fork()
    if pid == 0:
        os.setsid()
        held = held or bytearray(b"x") * n_bytes
        time.sleep(1.0)
        os._exit(0)
    pids.append(pid)
for pid in pids:
    os.waitpid(pid, 0)
print("done")
"""


def test_memory_of_all_processes_of_a_run_is_limited(program: Callable[[str], str]):
    program(HOLDERS)
    with pytest.raises(MemoryLimitError, match="memory_limit_bytes allows, 400 MB"):
        smpy.simulate("program.py", 100_000_000, 5, "own", ranks=1, compute="none", memory_limit_bytes=400_000_000)


def test_memory_that_processes_of_a_run_share_counts_once(program: Callable[[str], str]):
    program(HOLDERS)
    run = smpy.simulate("program.py", 100_000_000, 5, "shared", ranks=1, compute="none", memory_limit_bytes=400_000_000)
    assert run.stdout == "done\n"


# ---- from the command line ----


@pytest.fixture
def stranger() -> Iterator[subprocess.Popen[bytes]]:
    """A process of the same user, terminal and name that no run has started."""
    process = subprocess.Popen(["nohup", "sleep", "600"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    yield process
    process.kill()
    process.wait()


def begun(program: Callable[[str], str], source: str) -> subprocess.Popen[str]:
    program(source)
    process = subprocess.Popen(
        [SMPY, "run", "-np", "2", "--compute", "none", "program.py"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    wait_until(Path("ready").exists)
    return process


FAULT = "MPI.COMM_WORLD.Barrier(); import ctypes; ctypes.string_at(0)"


@pytest.mark.parametrize(("end", "code"), [("", 0), ("sys.exit(3)", 3), ("raise ValueError", 1), (FAULT, -11)])
def test_a_command_ends_with_its_processes_as_the_program_does(
    program: Callable[[str], str], stranger: subprocess.Popen[bytes], end: str, code: int
):
    process = begun(program, (FAMILY if end else STUBBORN_FAMILY) + end)
    process.communicate()
    assert process.returncode == code
    assert alive(family()) == []
    assert stranger.poll() is None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, pytest.param(signal.SIGHUP, marks=pytest.mark.slow)])
@pytest.mark.parametrize("whom", ["process", "group"])
def test_a_command_that_is_interrupted_says_so_once_and_ends_with_its_processes(
    program: Callable[[str], str], number: signal.Signals, whom: str
):
    source = STUBBORN_FAMILY if whom == "process" and number == signal.SIGTERM else FAMILY
    process = begun(program, source + "while True: MPI.COMM_WORLD.Barrier()")
    (os.kill if whom == "process" else os.killpg)(process.pid, number)
    _, err = process.communicate()
    assert process.returncode == 128 + number
    assert err.count("interrupted at") == 1
    assert "makespan" in err
    assert alive(family()) == []


@pytest.mark.parametrize("level", [0, 1, 2])
def test_any_process_of_a_command_may_be_killed_and_no_process_stays(program: Callable[[str], str], level: int):
    process = begun(program, STUBBORN_FAMILY + "while True: MPI.COMM_WORLD.Barrier()")
    chain = [psutil.Process(process.pid)]
    while len(chain) < 3:
        chain += chain[-1].children()[:1]
    chain[level].kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    wait_until(lambda: alive([one.pid for one in chain] + family()) == [])


def test_the_output_of_a_command_ends_when_the_program_closes_it(program: Callable[[str], str]):
    process = begun(
        program,
        FAMILY + "os.system('kill -9 ' + open('pids').read().replace(chr(10), ' '))\nos.close(1)\n"
        "os.closerange(900, 1100)\nMPI.COMM_WORLD.Barrier()\nwhile True: pass",
    )
    assert process.stdout is not None
    assert process.stdout.read() == ""
    process.kill()
    process.communicate()


def test_ctrl_c_in_a_terminal_ends_all_and_gives_the_terminal_back(program: Callable[[str], str]):
    program(FAMILY + "while True: MPI.COMM_WORLD.Barrier()")
    shell, terminal = pty.openpty()
    before = termios.tcgetattr(terminal)
    place = os.ttyname(terminal)  # the first one that a session opens: Ctrl-C there comes to its processes
    command = f"exec <{place} >{place} 2>&1; trap : INT; {SMPY} run -np 2 --compute none program.py; echo code $?"
    process = subprocess.Popen(["sh", "-c", f"{command}; read line; echo read $line"], start_new_session=True)
    wait_until(Path("ready").exists)
    os.write(shell, b"\x03")
    text = read_until(shell, b"code 130")
    assert text.count(b"interrupted at") == 1
    assert alive(family()) == []
    os.write(shell, b"typed\n")
    assert b"read typed" in read_until(shell, b"read typed")
    process.wait()
    assert termios.tcgetattr(terminal) == before
    os.close(shell)
    os.close(terminal)


def read_until(descriptor: int, end: bytes) -> bytes:
    text = b""
    while end not in text:
        assert select.select([descriptor], [], [], 60)[0], text
        text += os.read(descriptor, 4096)
    return text
