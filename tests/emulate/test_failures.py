"""Premature ends of runs, and their messages."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from smpy.errors import DeadlockError, RankFailure, UsageError

RANK = "from mpi4py import MPI\ncomm = MPI.COMM_WORLD\nrank = comm.rank\n"


def test_the_failure_that_is_first_in_simulated_time_is_reported(emulated: Callable):
    """Rank 0 ran ahead: it had failed, in real time, before rank 5 did."""
    ran = emulated(
        """
        import time
        from mpi4py import MPI
        rank = MPI.COMM_WORLD.rank
        print(rank, "begins")
        if rank == 0:
            time.sleep(2)
            print("0 never gets here")
            raise KeyError("late")
        if rank == 5:
            time.sleep(0.5)
            print("5 at 0.5 s")
            time.sleep(0.5)
            raise ValueError("early")
        MPI.COMM_WORLD.Barrier()
        """,
        6,
    )
    assert ran.code == 1
    assert isinstance(ran.outcome.error, RankFailure)
    assert ran.error.startswith("rank 5 failed at 1")
    assert ran.error.endswith("ValueError: early")
    out = ran.out.splitlines()
    assert sorted(out[:6]) == [f"{rank} begins" for rank in range(6)]
    assert out[6:] == ["5 at 0.5 s"]
    assert ran.outcome.summary.is_partial
    assert ran.outcome.summary.makespan_s == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize(
    "mistake",
    [
        "open('nowhere')", "os.chdir('nowhere')", "os.kill('', 9)", "os.umask('')", "os.write(1, 'text')",
        "os.write(777, b'')", "select.select([], [], [], -1)", "sys.modules['nowhere']", "sys.setrecursionlimit(0)",
        "time.strftime(1)",
    ],
)  # fmt: skip
def test_a_wrong_call_of_python_shows_the_programs_frames_alone(emulated: Callable, mistake: str):
    ran = emulated(f"import os, select, sys, time\n{mistake}\n", 1)
    assert ran.code == 1
    assert ran.error.count("  File ") == 1, ran.error


def test_an_exception_is_reported_with_its_rank_and_the_programs_frames(smpy_run: Callable):
    ran = smpy_run(
        RANK + "import helper\nif rank == 3:\n    helper.work()\ncomm.Barrier()\n",
        4,
        "--quiet",
        files={"helper.py": "def work():\n    raise RuntimeError('no more')\n"},
    )
    assert ran.code == 1
    assert ran.err.startswith("smpy: rank 3 failed at ")
    frames = [line.strip() for line in ran.err.splitlines() if line.strip().startswith("File")]
    assert [frame.rpartition(os.sep)[2] for frame in frames] == [
        'program.py", line 6, in <module>',
        'helper.py", line 2, in work',
    ]
    assert ran.err.rstrip().endswith("RuntimeError: no more")


def test_a_message_that_does_not_fit_is_reported_at_its_receive(emulated: Callable):
    ran = emulated(
        RANK
        + "import numpy as np\nif rank == 0:\n    comm.Send(np.zeros(50), 1)\nelse:\n    comm.Recv(np.zeros(5), 0)\n"
    )
    assert ran.code == 1
    assert "rank 1 failed" in ran.error
    assert 'program.py", line 8' in ran.error
    assert "truncated" in ran.error
    assert "smpy" + os.sep not in ran.error


def test_errors_that_followed_others_are_reported_with_them(emulated: Callable):
    ran = emulated("try:\n    1 / 0\nexcept ZeroDivisionError as error:\n    raise ValueError('then') from error\n", 1)
    assert "ZeroDivisionError" in ran.error
    assert "direct cause" in ran.error
    assert ran.error.endswith("ValueError: then")


def test_abort_ends_all_ranks_with_its_code(emulated: Callable):
    ran = emulated(
        RANK + "import time\ntime.sleep(rank)\nprint(rank)\nif rank == 1:\n    comm.Abort(7)\ncomm.Barrier()\n", 4
    )
    assert ran.code == 7
    assert ran.out == "0\n1\n"
    assert "rank 1 called Abort(7) at 1" in ran.error


def test_exit_ends_its_rank_alone(emulated: Callable):
    ran = emulated(
        RANK
        + """
import sys, time
if rank == 1:
    time.sleep(1)
    sys.exit(3)
if rank == 2:
    sys.exit("a word of farewell")
if rank == 3:
    raise SystemExit
time.sleep(2)
print("done")
""",
        4,
    )
    assert ran.error == ""
    assert ran.out == "done\n"
    assert ran.err == "a word of farewell\n"
    assert ran.code == 1  # rank 2 came first


def test_os_exit_ends_its_rank_alone(emulated: Callable):
    ran = emulated(RANK + "import os\nif rank == 1:\n    os._exit(4)\nprint('done')\n")
    assert (ran.error, ran.out, ran.code) == ("", "done\n", 4)


@pytest.mark.parametrize(
    ("name", "advice"),
    [("jacobbi.py", ": did you mean 'jacobi.py'?"), ("jacobi", ": did you mean 'jacobi.py'?"), ("nofile.py", "")],
)
def test_a_program_that_does_not_exist_is_told_with_a_likely_name(smpy_run: Callable, name: str, advice: str):
    ran = smpy_run(None, 2, name, files={"jacobi.py": "", "coll.py": ""})
    assert ran.code == 2
    assert ran.err == f"smpy: there is no program {name!r}{advice}\n"


def test_a_module_that_does_not_exist_is_told(emulated: Callable):
    with pytest.raises(UsageError, match="there is no module 'absent'"):
        emulated(None, program="absent", is_module=True)


def test_a_syntax_error_is_shown_once(smpy_run: Callable):
    ran = smpy_run("x = 1\ny = = 2\n", 4)
    assert ran.code == 1
    assert ran.out == ""
    assert ran.err.startswith("smpy: syntax error in the program:\n")
    assert 'program.py", line 2\n    y = = 2\n' in ran.err
    assert ran.err.rstrip().endswith("SyntaxError: invalid syntax")


def test_a_syntax_error_in_a_module_is_its_importers(emulated: Callable):
    ran = emulated("import broken\n", files={"broken.py": "def f(:\n    pass\n"})
    assert 'program.py", line 1, in <module>' in ran.error
    assert 'broken.py", line 1' in ran.error
    assert "smpy" + os.sep not in ran.error


# ---- deadlocks ----


def test_two_ranks_that_receive_first_are_told(emulated: Callable):
    ran = emulated(RANK + "def exchange():\n    comm.recv(source=1 - rank, tag=7)\nexchange()\n")
    assert ran.code == 1
    assert isinstance(ran.outcome.error, DeadlockError)
    head, *rest = ran.error.splitlines()
    assert head.startswith("at ")
    assert head.endswith(" s, 2 ranks wait for messages nobody will send")
    assert rest == [
        "  rank 0: recv(source=1, tag=7)   program.py:5",
        "  rank 1: recv(source=0, tag=7)   program.py:5",
        "Each waits for another to send first: use Sendrecv, or let one of them send before it receives.",
    ]


def test_ranks_that_wait_in_the_same_place_are_told_together(emulated: Callable):
    ran = emulated(
        RANK
        + """
import numpy as np
if rank in (0, 99):
    comm.Send(np.zeros(100000), 99 - rank, tag=rank)
else:
    comm.Recv(np.zeros(1), source=0, tag=7)
""",
        100,
    )
    assert ran.error.splitlines()[1:] == [
        "  rank 0: Send(dest=99, tag=0) of 800,000 bytes    program.py:7",
        "  ranks 1-98 (98): Recv(source=0, tag=7)           program.py:9",
        "  rank 99: Send(dest=0, tag=99) of 800,000 bytes   program.py:7",
        "A Send above the eager limit waits for its receive: use Sendrecv, or Isend and a later Wait.",
    ]


def test_many_ranks_that_wait_for_different_ones_are_told_in_one_line(emulated: Callable):
    ran = emulated(RANK + "comm.recv(source=(rank + 1) % comm.size)\n", 1000)
    assert ran.error.splitlines()[1] == "  ranks 0-999 (1000): recv(source=various)   program.py:4"


def test_a_collective_that_not_all_enter_names_the_missing(emulated: Callable):
    ran = emulated(RANK + "if rank == 2:\n    raise SystemExit\ncomm.Barrier()\n", 4)
    assert ran.error.splitlines()[1:] == [
        "  ranks 0-1, 3: Barrier()   program.py:6",
        "Barrier has not been entered by rank 2 (rank 2 ended).",
    ]


def test_a_non_blocking_collective_that_not_all_start_names_those_who_have_not(emulated: Callable):
    program = RANK + "if rank == 2:\n    raise SystemExit\nrequest = comm.Ibarrier()\nrequest.Wait()\n"
    ran = emulated(program, 4)
    assert ran.error.splitlines()[1:] == [
        "  ranks 0-1, 3: Wait(Ibarrier())   program.py:7",
        "Ibarrier has not been entered by rank 2 (rank 2 ended).",
    ]


def test_a_receive_from_a_rank_that_has_ended_says_so(emulated: Callable):
    ran = emulated(RANK + "if rank == 1:\n    comm.recv(source=0)\n")
    assert ran.error.splitlines()[-1] == "Rank 0 has ended: it will neither send to rank 1 nor receive."


def test_a_receive_from_any_source_too_many_is_told(emulated: Callable):
    ran = emulated(RANK + "if rank:\n    comm.send(1, 0)\nelse:\n    [comm.recv() for _ in range(3)]\n", 3)
    assert "rank 0: recv(source=ANY_SOURCE, tag=ANY_TAG)" in ran.error
    assert ran.error.endswith("A receive from ANY_SOURCE waits for one message more than is sent.")


def test_ranks_of_a_communicator_are_named_by_their_world_ranks(emulated: Callable):
    ran = emulated(
        RANK
        + "half = comm.Split(rank % 2)\nif rank == 1:\n    half.recv(source=1)\nelif rank == 2:\n    half.Barrier()\n",
        4,
    )
    number = ran.error.partition("communicator ")[2].partition(" ")[0]
    assert f"rank 1: recv(source=1, tag=ANY_TAG) on communicator {number} " in ran.error
    assert "Barrier has not been entered by rank 0 of its communicator (rank 0 ended)." in ran.error
    assert "Rank 3 has ended: it will neither send to rank 1 nor receive." in ran.error


@pytest.mark.timeout(60)  # a second, when nothing is told rank by rank
def test_a_large_deadlock_is_told_at_once(emulated: Callable):
    ran = emulated(RANK + "comm.Dup().recv(source=(rank + 1) % comm.size)\n", 4096)
    assert "ranks 0-4095 (4096): recv(source=various)" in ran.error


def test_tags_that_differ_are_told(emulated: Callable):
    ran = emulated(
        RANK + "if rank:\n    comm.Ssend(bytearray(8), 0, tag=3)\nelse:\n    comm.Recv(bytearray(8), 1, tag=4)\n"
    )
    assert "Rank 1 sends to rank 0 with tag 3 (program.py:5), which receives only tag 4." in ran.error


@pytest.mark.parametrize(
    ("sent", "received", "told"),
    [
        ("comm.send(1, 0, 3)", "comm.recv(source=1, tag=4)", "with tag 3 (program.py:6), which receives only tag 4."),
        ("comm.Isend(a, 0, 3)", "comm.Recv(a, 1, 4)", "with tag 3 (program.py:6), which receives only tag 4."),
        ("comm.Send(a, 0, 3)", "comm.Probe(1, 4)", "with tag 3 (program.py:6), which receives only tag 4."),
        ("comm.Send(a, 0, 3)", "comm.Recv(a, 2, 3)", "with tag 3 (program.py:6), which receives only from rank 2."),
        (
            "other.Send(a, 0, 3)",
            "comm.Recv(a, 1, 3)",
            " on communicator {} (program.py:6), which receives on COMM_WORLD.",
        ),
    ],
)
def test_a_message_that_is_like_the_one_waited_for_is_told(emulated: Callable, sent: str, received: str, told: str):
    program = (
        RANK + f"other, a = comm.Dup(), bytearray(8)\nif rank == 1:\n    {sent}\nelif rank == 0:\n    {received}\n"
    )
    error = emulated(program, 3).error
    assert "Rank 1 sends to rank 0 with tag 3" in error
    assert told.replace("{}", error.partition("communicator ")[2].partition(" ")[0]) in error


COLLECTIVES = {
    "Barrier": "comm.Barrier()",
    "Allreduce": "comm.Allreduce(np.ones(3), np.ones(3))",
    "Reduce": "comm.Reduce(np.ones(100000), np.ones(100000) if rank == 3 else None, root=3)",
    "Scan": "comm.Scan(np.ones(100000), np.ones(100000))",
    "Gatherv": "comm.Gatherv(np.ones(100000), np.ones(400000) if rank == 3 else None, 3)",
    "bcast": "comm.bcast(1, 2)",
    "gather": "comm.gather(bytes(99999), 3)",
    "allgather": "comm.allgather(1)",
    "alltoall": "comm.alltoall(range(4))",
    "reduce": "comm.reduce(bytes(99999), root=3)",
    "allreduce": "comm.allreduce(1)",
    "scan": "comm.scan(bytes(99999))",
    "exscan": "comm.exscan(bytes(99999))",
    "Split": "comm.Split(rank % 2)",
    "Dup": "comm.Dup()",
    "Create": "comm.Create(comm.group)",
    "Create_cart": "comm.Create_cart([4])",
    "Create_dist_graph_adjacent": "comm.Create_dist_graph_adjacent([rank], [rank])",
    "neighbor_allgather": "cart.neighbor_allgather(1)",
    "Neighbor_alltoall": "cart.Neighbor_alltoall(np.ones(2), np.ones(2))",
    "Wait(Iallreduce())": "comm.Iallreduce(np.ones(3), np.ones(3)).Wait()",
    "Waitall(Ibarrier())": "MPI.Request.Waitall([comm.Ibarrier()])",
}


@pytest.mark.parametrize("name", COLLECTIVES)
def test_a_collective_is_named_as_the_program_called_it_with_those_who_never_entered(emulated: Callable, name: str):
    ran = emulated(
        RANK
        + f"""
import numpy as np
cart = comm.Create_cart([4], [True])
comm.allreduce(1)
if rank != 2:
    {COLLECTIVES[name]}
""",
        4,
    )
    assert ran.code == 1
    call = name if "(" in name else f"{name}()"
    bare = (
        call.removesuffix(")").rpartition("(")[0]
        if call.count("(") == 1
        else call.partition("(")[2].removesuffix("())")
    )
    who, *hints = [line for line in ran.error.splitlines()[1:] if not line.startswith("  ")] or [""]
    assert f": {call}" in ran.error
    assert who.startswith(f"{bare} has not been entered by rank 2")
    assert "(rank 2 ended)." in who
    assert hints == []


def test_a_wait_names_what_it_waits_for(emulated: Callable):
    ran = emulated(
        RANK
        + """
requests = [comm.Irecv(bytearray(8), 1 - rank, tag) for tag in (1, 2)]
if rank:
    requests[0].Wait()
else:
    MPI.Request.Waitall(requests)
"""
    )
    assert ran.error.splitlines()[1:3] == [
        "  rank 0: Waitall(Irecv(source=1, tag=1))   program.py:9",
        "  rank 1: Wait(Irecv(source=0, tag=1))      program.py:7",
    ]


# ---- interruption ----


BEGIN = RANK + "import pathlib\nprint('begun')\npathlib.Path('begun').touch()\n"
ENDLESS = {
    "a loop": "while True:\n    pass\n",
    "a loop that catches all": "while True:\n    try:\n        while True:\n            pass\n"
    "    except BaseException:\n        pass\n",
    "exchanges": "while True:\n    comm.sendrecv(rank, 1 - rank)\n",
    "polling": "request = comm.Irecv(bytearray(8), 1 - rank)\nwhile not request.Test():\n    pass\n",
    "polling without the program": "import smpy\nsmpy.experimental.poll_until(comm.Iprobe, 1 - rank)\n",
}


@dataclass(frozen=True, slots=True)
class Interrupted:
    """Exit code and output of an interrupted run, and the time until it ended, in seconds."""

    code: int
    out: str
    err: str
    summary: str
    took_s: float


@pytest.fixture
def interrupted(tmp_path: Path) -> Callable[[str, int], Interrupted]:
    """Runs one of the endless programs and sends it a signal."""

    def run(endless: str, number: int) -> Interrupted:
        (tmp_path / "program.py").write_text(BEGIN + ENDLESS[endless], encoding="utf-8")
        command = [Path(sys.executable).with_name("smpy"), "run", "-np", "2", "--json", "summary.json", "program.py"]
        child = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while not (tmp_path / "begun").exists() and child.poll() is None:
            time.sleep(0.01)
        sent_s = time.perf_counter()
        child.send_signal(number)
        try:
            out, err = child.communicate(timeout=60)
        finally:
            child.kill()
        took_s = time.perf_counter() - sent_s
        return Interrupted(child.returncode, out, err, (tmp_path / "summary.json").read_text(encoding="utf-8"), took_s)

    return run


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
@pytest.mark.parametrize("endless", ENDLESS)
def test_a_run_answers_an_interruption(interrupted: Callable[[str, int], Interrupted], endless: str, number: int):
    run = interrupted(endless, number)
    assert run.code == 128 + number
    assert "begun" in run.out
    assert "smpy: interrupted at " in run.err
    assert "stopped before the end" in run.err
    assert '"is_partial": true' in run.summary


@pytest.mark.timed
@pytest.mark.parametrize("endless", ENDLESS)
def test_the_answer_comes_within_half_a_second(interrupted: Callable[[str, int], Interrupted], endless: str):
    assert interrupted(endless, signal.SIGINT).took_s < 0.5
