"""pdb on ranks, at a real terminal."""

import os
import pty
import select
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import smpy
from smpy.errors import UsageError
from tests.conftest import write_files

SMPY = str(Path(sys.executable).with_name("smpy"))
LIMIT_S = 30
STOPS_AT_BREAKPOINT = sys.version_info >= (3, 13)
"""Python's debugger stops at the breakpoint itself; before at the line after it."""
BEGIN = "import time\nfrom mpi4py import MPI\ncomm = MPI.COMM_WORLD\nrank = comm.rank\n"


class Session:
    """A command that runs at a terminal."""

    def __init__(self, folder: Path, command: list[str]) -> None:
        self._pid, self._terminal = pty.fork()
        if not self._pid:
            os.chdir(folder)
            os.environ |= {"TERM": "dumb", "HOME": str(folder), "INPUTRC": os.devnull, "COLUMNS": "200"}
            os.execv(command[0], command)
        self._text = ""

    def until(self, text: str) -> str:
        """Text that comes up to this one."""
        end_s = time.monotonic() + LIMIT_S
        while text not in self._text:
            assert time.monotonic() < end_s, f"{text!r} does not come after {self._text!r}"
            self._read(end_s)
        before, _, self._text = self._text.partition(text)
        return before

    def answer(self, prompt: str, line: str) -> str:
        """Wait for a prompt, answer it, and return the text before it."""
        before = self.until(prompt)
        os.write(self._terminal, f"{line}\n".encode())
        return before

    def press(self, key: bytes) -> None:
        os.write(self._terminal, key)

    def end(self) -> tuple[int, str]:
        """Exit code, and the rest of the text."""
        end_s = time.monotonic() + LIMIT_S
        while self._read(end_s):
            pass
        pid, self._pid = self._pid, 0
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), self._text

    def close(self) -> None:
        os.close(self._terminal)
        if self._pid:
            os.kill(self._pid, 9)
            os.waitpid(self._pid, 0)

    def _read(self, end_s: float) -> bool:
        if not select.select([self._terminal], [], [], max(0, end_s - time.monotonic()))[0]:
            return False
        try:
            data = os.read(self._terminal, 1 << 16)
        except OSError:  # Linux says so when the command has closed the terminal
            return False
        self._text += data.decode().replace("\r\n", "\n")
        return bool(data)


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Callable[..., Session]]:
    """Starts a program at a terminal, with its computing for free: `session(source, 2, "--pdb")`."""
    sessions = []

    def start(source: str, n_ranks: int, *options: str, under: tuple[str, ...] = (), **more: str) -> Session:
        write_files(tmp_path, {"program.py": source})
        line = [SMPY, "run", "-np", str(n_ranks), "--compute", more.get("compute", "none"), *options, "program.py"]
        command = [*under, " ".join(line), os.devnull] if under else line
        sessions.append(Session(tmp_path, command))
        return sessions[-1]

    yield start
    for each in sessions:
        each.close()


def test_a_breakpoint_stops_a_rank_at_its_date_and_the_run_goes_on(session: Callable[..., Session]):
    at = session(
        BEGIN
        + """time.sleep(1 + rank)
print(rank, "begins")
if rank == 1:
    breakpoint()
twice = 2 * rank
comm.Barrier()
print(rank, "ends")
""",
        3,
        "--quiet",
    )
    before = at.answer("(Pdb rank 1) ", "next") if STOPS_AT_BREAKPOINT else ""
    before += at.answer("(Pdb rank 1) ", "p twice")
    assert before.startswith("0 begins\n1 begins\nrank 1 at 2 s stops\n> ")
    assert "program.py(9)<module>()\n-> twice = 2 * rank\n" in before
    assert "NameError" in at.answer("(Pdb rank 1) ", "next")
    assert "program.py(10)" in at.answer("(Pdb rank 1) ", "p twice")
    assert "\n2\n" in at.answer("(Pdb rank 1) ", "next")
    after = at.answer("(Pdb rank 1) ", "continue")
    assert "2 begins\n" in after
    assert "rank 1 at 3.0000" in after
    code, rest = at.end()
    assert code == 0
    assert "1 ends\n" in after + rest


def test_frames_of_smpy_between_those_of_the_program_are_not_shown(session: Callable[..., Session]):
    source = "def add(a, b):\n    raise ValueError('no sum')\ntotal = comm.allreduce([rank], add)\n"
    at = session(BEGIN + source, 2, "--quiet", "--pdb")
    at.answer("(Pdb rank 0) ", "where")
    shown = at.answer("(Pdb rank 0) ", "up")
    assert shown.count("program.py(") == 2
    assert "smpy/" not in shown
    assert "program.py(7)<module>()" in at.answer("(Pdb rank 0) ", "quit")


def test_a_stop_changes_no_date(session: Callable[..., Session], smpy_run: Callable):
    source = BEGIN + (
        "request = comm.isend(rank, (rank + 1) % comm.size)\nif STOPS and rank:\n    breakpoint()\n"
        "comm.recv()\nrequest.wait()\nprint(rank, repr(MPI.Wtime()))\n"
    )
    plain = smpy_run(source.replace("STOPS", "False"), 3, "--quiet", "--compute", "none")
    at = session(source.replace("STOPS", "True"), 3, "--quiet")
    text = "".join(at.answer("(Pdb rank ", "next") for _ in range(4))
    text += "".join(at.answer("(Pdb rank ", "continue") for _ in range(2)) + at.end()[1]
    assert {line for line in text.splitlines() if line[:2] in ("0 ", "1 ", "2 ")} == set(plain.out.splitlines())


def test_a_rank_stops_while_another_one_waits_for_the_date_of_its_stop(session: Callable[..., Session]):
    source = f"import smpy\n{BEGIN}if rank: time.sleep(2)\nbreakpoint(header='here')\nsmpy.execute(1e12)\nlast = rank\n"
    at = session(source, 2, "--quiet")
    if STOPS_AT_BREAKPOINT:
        at.answer("(Pdb rank 0) ", "next")
    at.answer("(Pdb rank 0) ", "next")
    assert "rank 1 at 2 s stops\nhere\n> " in at.answer("(Pdb rank 1) ", "continue")
    assert "program.py(9)<module>()\n-> last = rank\n" in at.answer("(Pdb rank 0) ", "continue")
    assert at.end()[0] == 0


def test_time_at_the_prompt_is_no_computing_of_the_rank(session: Callable[..., Session]):
    source = (
        BEGIN + "began_s = MPI.Wtime()\ndef stop():\n    breakpoint()\nstop()\nprint('took', MPI.Wtime() - began_s)\n"
    )
    at = session(source, 1, "--quiet", compute="measured")
    at.answer("(Pdb rank 0) ", "p sum(range(10**7))")  # a tenth of a second
    at.answer("(Pdb rank 0) ", "continue")
    assert float(at.end()[1].split("took")[1]) < 0.01


def test_the_first_rank_that_fails_is_examined(session: Callable[..., Session]):
    at = session(
        BEGIN
        + """
def part(n):
    here = 10 * n
    return 1 / (n - n)
time.sleep(5 - rank)
part(rank)
""",
        3,
        "--pdb",
        "--quiet",
    )
    before = at.answer("(Pdb rank 2) ", "p here")
    assert before.startswith("rank 2 at 3 s failed:\nTraceback")
    assert "ZeroDivisionError: division by zero\n> " in before
    assert before.endswith("program.py(8)part()\n-> return 1 / (n - n)\n")
    assert "\n20\n" in at.answer("(Pdb rank 2) ", "up")
    assert at.answer("(Pdb rank 2) ", "continue").endswith("program.py(10)<module>()\n-> part(rank)\n")
    code, rest = at.end()
    assert code == 1
    assert "smpy: rank 2 failed at 3 s:\n" in rest
    assert "(Pdb" not in rest


def test_of_ranks_that_fail_at_one_date_one_is_examined(session: Callable[..., Session]):
    at = session(BEGIN + "1 / 0\n", 5, "--pdb", "--quiet")
    at.answer("(Pdb rank 0) ", "q")
    code, rest = at.end()
    assert (code, "Pdb" in rest) == (1, False)


def test_a_failure_in_a_call_of_mpi_is_examined_at_the_line_of_the_program(session: Callable[..., Session]):
    at = session(BEGIN + "comm.Send(3.5, 0)\n", 1, "--pdb", "--quiet")
    assert at.answer("(Pdb rank 0) ", "q").endswith("program.py(5)<module>()\n-> comm.Send(3.5, 0)\n")
    assert at.end()[0] == 1


def test_a_chosen_rank_stops_at_its_first_line_and_no_other_one_stops(session: Callable[..., Session]):
    at = session(BEGIN + "breakpoint()\nfor i in range(3):\n    comm.Barrier()\n", 3, "--pdb-rank", "1", "--quiet")
    assert at.answer("(Pdb rank 1) ", "break 7").endswith("program.py(1)<module>()\n-> import time\n")
    assert "Breakpoint 1 at" in at.answer("(Pdb rank 1) ", "continue")
    assert f"program.py({5 if STOPS_AT_BREAKPOINT else 6})" in at.answer("(Pdb rank 1) ", "continue")
    assert "program.py(7)" in at.answer("(Pdb rank 1) ", "clear 1")
    at.answer("(Pdb rank 1) ", "continue")
    code, rest = at.end()
    assert (code, "Pdb" in rest) == (0, False)


def test_where_a_rank_stands_is_told_without_frames_of_smpy(session: Callable[..., Session]):
    at = session(BEGIN + "def inner():\n    import pdb; pdb.set_trace()\n    return 1\ninner()\n", 1, "--quiet")
    at.answer("(Pdb rank 0) ", "where")
    frames = [
        line for line in at.answer("(Pdb rank 0) ", "continue").splitlines() if "program.py" in line or "smpy" in line
    ]
    inner = f"({6 if STOPS_AT_BREAKPOINT else 7})inner("
    assert [frame.rpartition(")")[0].rpartition("program.py")[2] for frame in frames] == ["(8)<module>(", inner]
    assert at.end()[0] == 0


def test_ctrl_c_at_the_prompt_does_not_end_the_run(session: Callable[..., Session]):
    at = session(BEGIN + "breakpoint()\nprint('went', 'on')\n", 1, "--quiet")
    at.until("(Pdb rank 0) ")
    time.sleep(0.3)  # readline begins to wait: a signal before that is seen with the next key
    at.press(b"\x03")
    at.until("--KeyboardInterrupt--")
    at.answer("(Pdb rank 0) ", "continue")
    code, rest = at.end()
    assert (code, "went on\n" in rest) == (0, True)


@pytest.mark.parametrize("answer", ["quit", "\x04"])
def test_who_leaves_the_debugger_ends_the_run(session: Callable[..., Session], answer: str):
    at = session(BEGIN + "time.sleep(2)\nif rank: breakpoint()\ncomm.Barrier()\n", 2, "--quiet")
    at.answer("(Pdb rank 1) ", answer)
    code, rest = at.end()
    assert code == 1
    assert "smpy: the debugger of rank 1 was left at 2 s\n" in rest


def test_the_debugger_works_under_script(session: Callable[..., Session]):
    script = shutil.which("script")
    if script is None:
        pytest.skip("there is no script")
    at = session(BEGIN + "breakpoint()\nprint('went', 'on')\n", 1, "--quiet", under=(script, "-qec"))
    at.answer("(Pdb rank 0) ", "p comm.size + 41")
    assert "\n42\n" in at.answer("(Pdb rank 0) ", "continue")
    code, rest = at.end()
    assert (code, "went on\n" in rest) == (0, True)


@pytest.mark.parametrize("option", [("--pdb",), ("--pdb-rank", "0")])
def test_a_debugger_without_a_terminal_is_refused(smpy_run: Callable, option: tuple[str, ...]):
    ran = smpy_run("print('begun')", 2, *option)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (
        "smpy: the debugger (--pdb) talks to a terminal, and standard input or output is none: start `smpy run` from a "
        "terminal, without redirecting them\n"
    )


def test_a_rank_to_debug_that_is_not_there_is_refused(smpy_run: Callable):
    ran = smpy_run("print()", 2, "--pdb-rank", "2")
    assert ran.code == 2
    assert "--pdb-rank: there is no rank 2: the last one is 1" in ran.err


def test_a_run_in_python_has_no_terminal(tmp_path: Path):
    options: dict[str, Any] = {"pdb": True}
    write_files(tmp_path, {"program.py": "print()"})
    with pytest.raises(UsageError, match="talks to a terminal"):
        smpy.simulate(tmp_path / "program.py", ranks=1, **options)
