"""A child process that a rank forks is a process of its own: the run goes on in the parent alone."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture(params=["compiled", "python"])
def surface(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SMPY_SURFACE", request.param)


CHILDREN = {  # body of a child: its exit code, and its output
    "pass": (7, "child's end"),
    "os._exit(5)": (5, ""),
    "print(rank, 'leaves'); sys.exit()": (0, "leaves"),
    "atexit.register(lambda: print(rank, 'at exit')); sys.exit(3)": (3, "at exit"),
    "raise ValueError(f'{rank} lost')": (1, "lost"),
    "comm.send(1, 0)": (1, ""),
    "print(rank, comm.rank, comm.size, MPI.Wtime() > 0); os._exit(0)": (0, "{rank} 3 True"),
    "os.execlp('sh', 'sh', '-c', f'echo {rank} other; exit 9')": (9, "other"),
    "os.environ['OWN'] = str(rank); os.execlp('sh', 'sh', '-c', 'echo $OWN is own')": (0, "is own"),
    "os.kill(os.getpid(), 15)": (-15, ""),
    "os.abort()": (-6, ""),
    "assert os.waitpid(os.fork() or os._exit(2), 0)[1] == 2 << 8; os._exit(4)": (4, ""),
    "os.dup2(os.open('file%d' % rank, os.O_CREAT | os.O_WRONLY), 1); print(rank, 'away'); os._exit(8)": (8, ""),
}


def test_children_are_processes_of_their_own(smpy_run: Callable, tmp_path: Path):
    cases = "\n".join(f"def child{i}():\n    {child}" for i, child in enumerate(CHILDREN))
    ran = smpy_run(
        "from mpi4py import MPI\nimport atexit, os, sys\ncomm = MPI.COMM_WORLD\nrank = comm.rank\n"
        f"{cases}\ncodes = []\nprint(rank, 'unfinished', end='')\n"
        f"for child in [{', '.join(f'child{i}' for i in range(len(CHILDREN)))}]:\n"
        "    pid = os.fork()\n"
        "    if pid == 0:\n"
        "        child()\n"
        '        print(rank, "child\'s end")\n'
        "        sys.exit(7)\n"
        "    codes.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n"
        "    comm.Barrier()\n"
        "print()\nprint(rank, codes)\n",
        3,
        "--quiet",
        "--json",
        "run.json",
    )
    assert ran.code == 0, ran.err
    lines = (ran.out + ran.err.replace("ValueError: ", "")).splitlines()
    for rank in range(3):
        assert (
            lines.count(f"{rank} unfinished") == lines.count(f"{rank} {[code for code, _ in CHILDREN.values()]}") == 1
        )
        for _, says in CHILDREN.values():
            assert not says or lines.count(f"{rank} {says.format(rank=rank)}") == 1
        assert (tmp_path / f"file{rank}").read_text() == f"{rank} away\n"
    assert json.loads((tmp_path / "run.json").read_text())["ranks"] == 3


@pytest.mark.parametrize("fork", ["os.fork()", "pty.fork()[0]"])
def test_a_child_cannot_call_mpi(smpy_run: Callable, surface: None, fork: str):
    ran = smpy_run(
        f"""
        from mpi4py import MPI
        import os, pty
        comm = MPI.COMM_WORLD
        calls = [
            comm.Barrier, lambda: comm.send(1, 0), lambda: comm.Isend(b"x", 0), comm.Iprobe, comm.Split,
            lambda: comm.Allreduce(b"12345678", bytearray(8)), lambda: comm.Abort(3),
        ]
        def refused(call):
            try:
                call()
            except Exception as error:
                return f"a child process that rank {{comm.rank}} has started cannot call MPI" in str(error)
        comm.Barrier()
        pid = {fork}
        if pid == 0:
            os._exit(sum(map(refused, calls)))
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == len(calls)
        print(comm.allreduce(1))
        """,
        3,
        "--quiet",
    )
    assert (ran.code, ran.out, ran.err) == (0, "3\n3\n3\n", "")


def test_a_thread_may_fork(smpy_run: Callable):
    ran = smpy_run(
        """
        from mpi4py import MPI
        import os, threading
        comm = MPI.COMM_WORLD
        codes = []
        def work():
            pid = os.fork()
            if pid == 0:
                print(f"child of {comm.rank}", flush=True)
                os._exit(5)
            codes.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert comm.allgather(codes) == [[5]] * comm.size
        """,
        3,
        "--quiet",
    )
    assert (ran.code, sorted(ran.out.splitlines())) == (0, ["child of 0", "child of 1", "child of 2"])


MULTIPROCESSING = """
import multiprocessing, os, sys, time
from concurrent.futures import ProcessPoolExecutor

def square(x):
    return x * x

def answer(inbox, outbox, shared):
    shared["answers"] = shared.get("answers", 0) + 1
    outbox.put(inbox.get() + 1)
    sys.exit(3)

def sleep():
    time.sleep(100)

if __name__ == "__main__":
    from mpi4py import MPI
    comm = MPI.COMM_WORLD
    how = multiprocessing.get_context(sys.argv[1])
    with how.Pool(2) as pool:
        assert pool.map(square, range(comm.rank, 10)) == [x * x for x in range(comm.rank, 10)]
    comm.Barrier()
    with ProcessPoolExecutor(2, mp_context=how) as pool:
        assert sum(pool.map(square, range(5))) == 30
    inbox, outbox = how.Queue(), how.Queue()
    with how.Manager() as manager:
        shared = manager.dict()
        process = how.Process(target=answer, args=(inbox, outbox, shared))
        process.start()
        inbox.put(comm.rank)
        assert outbox.get() == comm.rank + 1
        process.join()
        assert process.exitcode == 3 and dict(shared) == {"answers": 1}
    stuck = how.Process(target=sleep)
    stuck.start()
    stuck.terminate()
    stuck.join()
    assert stuck.exitcode == -15
    print(comm.allreduce(1))
"""


@pytest.mark.parametrize(
    "method", ["fork", *(pytest.param(each, marks=pytest.mark.slow) for each in ("spawn", "forkserver"))]
)
def test_multiprocessing_works_on_every_rank(smpy_run: Callable, method: str):
    ran = smpy_run(MULTIPROCESSING, 2, "--quiet", args=(method,))
    assert (ran.code, ran.out, ran.err) == (0, "2\n2\n", "")


IN_CHILDREN = """
from mpi4py import MPI
import multiprocessing, sys

comm = MPI.COMM_WORLD
rank = comm.Get_rank()

def of_child(turn):
    try:
        comm.Barrier()
    except Exception as error:
        return rank, comm.rank, comm.Get_size(), str(error).partition(";")[0]

if __name__ == "__main__":
    refused = f"Barrier: a child process that rank {rank} has started cannot call MPI"
    with multiprocessing.get_context(sys.argv[1]).Pool(1) as pool:
        assert pool.map(of_child, range(2)) == [(rank, rank, comm.size, refused)] * 2
    print(comm.allreduce(1))
"""


@pytest.mark.parametrize(
    "method", ["fork", *(pytest.param(name, marks=pytest.mark.slow) for name in ("spawn", "forkserver"))]
)
def test_a_child_of_a_program_that_imports_mpi4py_first_of_all_is_beside_its_rank(
    smpy_run: Callable, tmp_path: Path, method: str
):
    (tmp_path / "machine.xml").write_text(
        '<platform version="4.1"><cluster id="c" prefix="n" suffix="" radical="0-1" speed="1Gf" bw="1GBps" lat="1us"/>'
        "</platform>"
    )
    ran = smpy_run(IN_CHILDREN, 2, "--quiet", "--platform", "machine.xml", args=(method,))
    assert (ran.code, ran.out, ran.err) == (0, "2\n2\n", "")


def test_other_programs_start_as_ever(smpy_run: Callable):
    ran = smpy_run(
        """
        from mpi4py import MPI
        import os, subprocess, sys
        comm = MPI.COMM_WORLD
        line = [sys.executable, "-c", "print(5)"]
        assert subprocess.run(line, capture_output=True).stdout == b"5\\n"
        assert subprocess.run(line, capture_output=True, preexec_fn=lambda: os.nice(0)).stdout == b"5\\n"
        assert os.popen("echo 6").read() == "6\\n" and os.system("exit 3") == 3 << 8
        pid = os.posix_spawn(sys.executable, [*line[:-1], "raise SystemExit(4)"], os.environ)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 4
        assert os.spawnlp(os.P_WAIT, "sh", "sh", "-c", "exit 8") == 8
        print(comm.allreduce(1))
        """,
        2,
        "--quiet",
    )
    assert (ran.code, ran.out, ran.err) == (0, "2\n2\n", "")


@pytest.mark.parametrize("call", ["execlp('sh', 'sh')", "execv('/bin/sh', ['sh'])", "execve('/bin/sh', ['sh'], {})"])
def test_a_rank_does_not_become_another_program(emulated: Callable, call: str):
    ran = emulated(f"from mpi4py import MPI\nimport os\nos.{call}")
    assert "rank 0 cannot become another program, for all ranks live in its process: use subprocess" in ran.error


@pytest.mark.parametrize(
    ("call", "how"),
    [
        ("os.abort()", "it called os.abort()"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "it sent itself SIGKILL with os.kill"),
        ("os.kill(os.getpid(), signal.SIGTERM)", "it sent itself SIGTERM with os.kill"),
        ("signal.raise_signal(signal.SIGUSR2)", "it sent itself SIGUSR2 with signal.raise_signal"),
    ],
)
def test_a_rank_that_kills_itself_ends_the_run_at_its_date(emulated: Callable, call: str, how: str):
    ran = emulated(
        f"""
        from mpi4py import MPI
        import os, signal, time
        if MPI.COMM_WORLD.rank == 1:
            time.sleep(2)
            try:
                {call}
            finally:
                print("this is not reached")
        MPI.COMM_WORLD.Barrier()
        """
    )
    assert ran.error == f"rank 1 failed at 2 s:\n{how}"
    assert (ran.code, ran.out) == (1, "")


def test_a_signal_that_the_program_handles_reaches_it(emulated: Callable):
    ran = emulated(
        """
        from mpi4py import MPI
        import os, signal
        rank = MPI.COMM_WORLD.rank
        before = signal.signal(signal.SIGUSR1, lambda *_: print(rank, "handles it"))
        os.kill(os.getpid(), signal.SIGUSR1)
        signal.signal(signal.SIGUSR1, before)
        try:
            os.kill(os.getpid(), signal.SIGINT)
        except KeyboardInterrupt:
            print(rank, "goes on")
        os.kill(os.getpid(), 0)
        """
    )
    assert ran.error == ""
    assert sorted(ran.out.splitlines()) == ["0 goes on", "0 handles it", "1 goes on", "1 handles it"]


def test_a_run_that_fails_does_not_wait_for_child_processes(smpy_run: Callable):
    ran = smpy_run(
        """
        from mpi4py import MPI
        import multiprocessing, time
        multiprocessing.get_context("fork").Process(target=time.sleep, args=(1000,)).start()
        MPI.COMM_WORLD.recv()
        """,
        2,
        "--quiet",
    )
    assert ran.code == 1
    assert "2 ranks wait for messages nobody will send" in ran.err
