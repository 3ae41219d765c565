"""Ends of ranks and of runs, and the state that they leave."""

import json
import os
import select
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from smpy.emulate.run.run import run
from smpy.errors import UsageError
from smpy.options import RunConfig

SMPY = str(Path(sys.executable).with_name("smpy"))


def test_run_by_mpi4py_an_exit_code_ends_all_ranks(emulated: Callable):
    program = """
        import sys
        from mpi4py import MPI
        if MPI.COMM_WORLD.rank == 1:
            sys.exit(3)
        MPI.COMM_WORLD.recv(source=1)
        """
    ran = emulated(None, files={"main.py": program}, program="mpi4py.run", is_module=True, args=("main.py",))
    assert ran.code == 3
    assert "rank 1 called Abort(3)" in ran.error


def test_run_by_mpi4py_an_exit_code_of_zero_ends_a_rank_alone(emulated: Callable):
    program = """
        import sys
        from mpi4py import MPI
        if MPI.COMM_WORLD.rank == 1:
            MPI.COMM_WORLD.send(None, dest=0)
            sys.exit(0)
        MPI.COMM_WORLD.recv(source=1)
        print("received")
        """
    ran = emulated(None, files={"main.py": program}, program="mpi4py.run", is_module=True, args=("main.py",))
    assert (ran.code, ran.out) == (0, "received\n")


HOLDER = """
    from mpi4py import MPI
    class Holder:
        def __init__(self):
            self.comm = MPI.COMM_WORLD.Dup()
        def __del__(self):
            print("freed by", MPI.COMM_WORLD.rank, self.comm.allreduce(1))
            self.comm.Free()
    """


def test_objects_that_a_program_holds_free_what_they_have_when_their_rank_ends(emulated: Callable):
    ran = emulated("from holder import Holder\nmine = Holder()\n", files={"holder.py": HOLDER})
    assert sorted(ran.out.splitlines()) == ["freed by 0 2", "freed by 1 2"]
    assert ran.err == ""


def test_what_a_program_held_is_gone_before_its_streams_are_closed(emulated: Callable):
    ran = emulated(
        """
        class Last:
            def __del__(self):
                print("last words", end="")
        last = Last()
        """,
        1,
    )
    assert ran.out == "last words"


def test_a_shared_package_registers_functions_for_the_end_of_the_rank_that_calls_it(emulated: Callable):
    pool = """
        import atexit
        def register(comm):
            atexit.register(lambda: print("closed by", comm.rank))
        """
    ran = emulated(
        """
        import pool
        from mpi4py import MPI
        pool.register(MPI.COMM_WORLD)
        """,
        files={"pool.py": pool},
        shared=("pool",),
    )
    assert sorted(ran.out.splitlines()) == ["closed by 0", "closed by 1"]


def test_the_first_exit_code_is_announced_with_its_rank(smpy_run: Callable):
    ran = smpy_run("import sys\nfrom mpi4py import MPI\nsys.exit(3 * MPI.COMM_WORLD.rank)\n", 3, "--compute", "none")
    assert ran.code == 3
    assert "smpy: rank 1 ended with exit code 3 at 0 s\n" in ran.err


def test_a_private_or_shared_package_that_does_not_exist_is_an_error(smpy_run: Callable):
    for option in ("--private", "--shared"):
        ran = smpy_run("print(1)\n", 2, option, "no_such_package.part")
        assert (ran.code, ran.out) == (2, "")
        assert f"smpy: {option} no_such_package.part: neither on sys.path nor beside the program" in ran.err


def test_a_package_cannot_be_private_and_shared(smpy_run: Callable):
    ran = smpy_run("print(1)\n", 2, "--private", "json", "--shared", "json")
    assert ran.code == 2
    assert "json cannot be both --private and --shared" in ran.err


# ---- a run that ends before its ranks ----


BEGUN = """
    import sys
    from mpi4py import MPI
    comm = MPI.COMM_WORLD
    print("begun by", comm.rank, end="")
    comm.Barrier()
    """
ENDS = {
    "exception": "1 / (comm.rank - 1)",
    "Abort": "comm.rank == 1 and comm.Abort(1)",
    "exit": "comm.rank == 1 and sys.exit(1)",
    "deadlock": "comm.recv()",
    "MemoryError": "comm.rank == 1 and bytearray(1 << 62)",
}


@pytest.mark.parametrize("end", ENDS)
def test_lines_that_ranks_had_begun_are_printed_at_any_end(emulated: Callable, end: str):
    ran = emulated(BEGUN + ENDS[end] + "\n    comm.Barrier()\n", 3)
    assert ran.code == 1
    assert sorted(ran.out.splitlines()) == ["begun by 0", "begun by 1", "begun by 2"]


def test_smpys_words_begin_a_line_where_both_streams_go_to_the_same_place(tmp_path: Path):
    (tmp_path / "program.py").write_text("print('begun', end='')\n1 / 0\n")
    done = subprocess.run(
        [SMPY, "run", "-np", "1", "program.py"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.stdout.startswith("begun\nsmpy: rank 0 failed")


BREAKS = {
    "builtins": "import builtins\nfor n in list(vars(builtins)):\n    if n[0] != '_': setattr(builtins, n, None)",
    "no builtins": "import builtins\nvars(builtins).clear()",
    "import": "import builtins\nbuiltins.__import__ = None",
    "print and open": "import builtins, io\nbuiltins.print = builtins.open = io.open = None",
    "os": "import os\nos.write = os.open = os.getcwd = os.fstat = os.replace = None",
    "modules": "import sys\nsys.modules.clear()",
    "linecache": "import linecache\nlinecache.cache = linecache.getlines = linecache.getline = None",
    "traceback": "import traceback\ntraceback.TracebackException = None",
    "json": "import json, pathlib\njson.dumps = pathlib.Path.open = pathlib.Path.write_text = None",
    "stdout": "import sys\nsys.stdout = sys.stderr = 3",
    "descriptors": "import os\nos.closerange(0, 256)",
    "all descriptors but the standard ones": "import os\nos.closerange(3, 4096)",
    "recursion": "import sys\nsys.setrecursionlimit(40)",
    "memory": "import resource\nresource.setrlimit(resource.RLIMIT_AS, (1 << 20, 1 << 20))",
    "source": "import os\nif comm.rank: os.remove(__file__)",
}


USUAL_BREAKS = ("builtins", "modules", "stdout", "all descriptors but the standard ones", "memory")


@pytest.mark.parametrize(
    "broken",
    [pytest.param(broken, marks=() if broken in USUAL_BREAKS else pytest.mark.slow) for broken in BREAKS],
)
def test_whatever_a_program_breaks_its_run_ends_with_words_summary_and_record(
    smpy_run: Callable, tmp_path: Path, broken: str
):
    head = "from mpi4py import MPI\ncomm = MPI.COMM_WORLD\n"
    tail = "\ncomm.Barrier()\nif comm.rank == 1: [].nothing\ncomm.recv(source=1)\n"
    ran = smpy_run(head + BREAKS[broken] + tail, 2, "--json", "run.json")
    assert ran.code == 1
    assert ran.err.startswith(("smpy: rank ", "smpy: at "))
    assert ran.err.count("\nsmpy: 2 ranks on the default cluster, stopped before the end\n") == 1
    # the interpreter itself tells so when it has no memory to remove its modules
    assert broken == "memory" or "Exception ignored" not in ran.err
    assert json.loads((tmp_path / "run.json").read_text())["is_partial"]


RESERVES = """
import psutil
from smpy.emulate.run.run_end_reserves import Rescue

for _ in range(3):  # a heap that was given much memory back clears it for the next
    before_bytes = psutil.Process().memory_info().rss
    rescue = Rescue(1)
    print(psutil.Process().memory_info().rss - before_bytes < 1 << 20)
    rescue.restore()
"""


def test_reserves_for_the_end_of_a_run_are_never_touched():
    done = subprocess.run([sys.executable, "-c", RESERVES], capture_output=True, text=True, check=True)
    assert done.stdout == "True\nTrue\nTrue\n"


def test_what_is_printed_after_all_descriptors_are_closed_is_printed(smpy_run: Callable):
    ran = smpy_run("import os\nprint('one')\nos.closerange(0, 256)\nprint('two')\n", 1, "--quiet")
    assert (ran.code, ran.out) == (0, "one\ntwo\n")


@pytest.mark.parametrize("default", ["SIG_DFL", "default_int_handler"])
def test_a_program_that_asks_for_the_default_of_ctrl_c_leaves_its_record(tmp_path: Path, default: str):
    (tmp_path / "program.py").write_text(
        f"""
import signal
from mpi4py import MPI
signal.signal(signal.SIGINT, signal.{default})
MPI.COMM_WORLD.Barrier()
print("ready", flush=True)
while True:
    MPI.COMM_WORLD.Barrier()
"""
    )
    command = [SMPY, "run", "-np", "2", "--json", "run.json", "program.py"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            process.stdout.readline()
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 130
        finally:
            process.kill()
        assert "smpy: interrupted at " in process.stderr.read()
    assert json.loads((tmp_path / "run.json").read_text())["is_partial"]


@pytest.mark.parametrize("error", ["KeyboardInterrupt", "SystemExit"])
def test_a_signal_handler_that_raises_while_no_rank_runs_ends_the_run(tmp_path: Path, error: str):
    program = tmp_path / "program.py"
    program.write_text(
        f"""
import signal
from mpi4py import MPI
def handle(number, frame):
    raise {error}
before = signal.signal(signal.SIGUSR1, handle)
request = MPI.COMM_WORLD.irecv()
while not request.Test():  # the kernel works, until somebody asks how far the run is
    pass
"""
    )
    before = signal.getsignal(signal.SIGUSR1)
    try:
        outcome = run(RunConfig(1, str(program)), lambda _: signal.raise_signal(signal.SIGUSR1))
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert f"raised {error}" in str(outcome.error)
    assert (outcome.exit_code, outcome.summary.is_partial) == (1, True)


# ---- nobody reads ----


PRINT = "print('x' * 1_000_000)\n"
PRINT_FOR_EVER = "from mpi4py import MPI\nwhile True:\n    print('x' * 100)\n    MPI.COMM_WORLD.Barrier()\n"


@pytest.mark.parametrize(
    ("source", "number"),
    [(PRINT, signal.SIGINT), (PRINT, signal.SIGTERM), (PRINT, signal.SIGHUP), (PRINT_FOR_EVER, signal.SIGINT)],
)
def test_a_run_whose_output_nobody_reads_answers_a_signal_and_leaves_its_record(
    tmp_path: Path, source: str, number: signal.Signals
):
    if signal.getsignal(number) == signal.SIG_IGN:
        pytest.skip(f"{number.name} is ignored here, as under nohup")
    (tmp_path / "program.py").write_text(source)
    reader, writer = os.pipe()
    process = subprocess.Popen(
        [SMPY, "run", "-np", "2", "--json", "run.json", "program.py"], cwd=tmp_path, stdout=writer, stderr=writer
    )
    assert os.read(reader, 1) == b"x"
    while select.select([], [writer], [], 0)[1]:  # until the pipe is full
        time.sleep(0.01)
    process.send_signal(number)
    try:
        assert process.wait(60) == 128 + number
    finally:
        process.kill()
    json.loads((tmp_path / "run.json").read_text())
    os.close(reader)
    os.close(writer)


def test_a_reader_that_leaves_ends_nothing_but_the_output(tmp_path: Path):
    program = "import signal\nsignal.signal(signal.SIGPIPE, signal.SIG_DFL)\nprint('first')\n" + PRINT
    (tmp_path / "program.py").write_text(program)
    command = f"{SMPY} run -np 1 --quiet --json run.json program.py | head -1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "first\n", "")
    assert not json.loads((tmp_path / "run.json").read_text())["is_partial"]


def test_a_reader_that_leaves_just_before_a_write_sends_no_signal_to_die_of():
    source = """
        import os, signal
        from smpy.runs import own_stream
        own_stream._poll = None  # nothing looks whether somebody reads
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        reader, writer = os.pipe()
        stream = own_stream.OwnStream(open(writer, "w"))
        os.close(reader)
        stream.write("nobody reads it")
        try:
            stream.flush()
        except BrokenPipeError:
            print("went on", signal.pthread_sigmask(signal.SIG_BLOCK, ()))
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(source)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "went on set()\n"), done.stderr


@pytest.mark.parametrize("redirection", [">/dev/full", ">&-", "2>/dev/full", "2>&-", ">/dev/full 2>&1", ">&- 2>&-"])
def test_a_record_is_written_whatever_takes_the_output(tmp_path: Path, redirection: str):
    (tmp_path / "program.py").write_text("import sys\nprint('out')\nprint('err', file=sys.stderr)\n")
    command = f"{SMPY} run -np 2 --json run.json program.py {redirection}"
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == ("full" in redirection)
    assert ("No space left" in done.stderr) == (redirection == ">/dev/full")
    assert not json.loads((tmp_path / "run.json").read_text())["is_partial"]


# ---- exit codes ----


CODES = {"sys.exit(2**100)": 255, "sys.exit(-1)": 255, "sys.exit(256)": 0, "sys.exit(True)": 1, "os._exit(300)": 44}
CODES |= {"sys.exit('text')": 1, "sys.exit([])": 1, "raise SystemExit(None)": 0, "sys.exit(-(2**100))": 255}


@pytest.mark.parametrize("end", CODES)
def test_an_exit_code_is_the_one_that_python_makes_of_it(emulated: Callable, end: str):
    ran = emulated(f"import os, sys\n{end}\n", 1)
    assert ran.code == CODES[end]
    code = "import os, sys\n" + end
    assert ran.code == subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("os", "all ranks share it, and each sees its own state in it; leave it out"),
        ("builtins", "all ranks share it, and each sees its own state in it; leave it out"),
        ("numpy.linalg", "all ranks share it, and each sees its own state in it; leave it out"),
        ("_json", "a compiled module has one copy for all ranks; leave it out"),
        ("colorsy", "neither on sys.path nor beside the program is such a package: did you mean colorsys?"),
        ("json.decodr", "neither on sys.path nor beside the program is such a package: did you mean json.decoder?"),
    ],
)
def test_what_cannot_be_private_is_refused(emulated: Callable, name: str, told: str):
    with pytest.raises(UsageError) as refused:
        emulated("", 1, private=(name,))
    assert str(refused.value) == f"--private {name}: {told}"


@pytest.mark.parametrize("end", ["raise RuntimeError", "os.kill(os.getpid(), signal.SIGINT); world.recv()"])
def test_what_ranks_have_written_to_files_is_there_after_any_end(tmp_path: Path, end: str):
    program = f"""
        import os, signal
        from mpi4py import MPI
        world = MPI.COMM_WORLD
        text, data = open(f"text{{world.rank}}", "w"), open(f"data{{world.rank}}", "wb")
        text.write("text")
        data.write(b"data")
        reader, writer = os.pipe()
        full = open(writer, "wb")
        full.write(bytes(100))
        os.set_blocking(writer, False)
        try:
            while True:
                os.write(writer, bytes(4096))
        except BlockingIOError:
            os.set_blocking(writer, True)
        world.Barrier()
        if world.rank == 1:
            {end}
        world.Barrier()
        """
    (tmp_path / "program.py").write_text(textwrap.dedent(program))
    command = [SMPY, "run", "-np", "2", "--quiet", "program.py"]
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=60, check=False).returncode
    assert {path.name: path.read_text() for path in tmp_path.glob("[td]*[01]")} == {
        "text0": "text", "text1": "text", "data0": "data", "data1": "data"
    }  # fmt: skip
