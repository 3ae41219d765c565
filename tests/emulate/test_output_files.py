"""Output of ranks, told apart: labels on lines, and files of their own."""

import os
import resource
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from smpy.emulate.modules import output_files
from smpy.errors import UsageError

RANK = "import os, sys\nfrom mpi4py import MPI\ncomm = MPI.COMM_WORLD\nrank = comm.rank\n"


def texts_in(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.iterdir())}


def test_each_line_begins_with_its_rank(emulated: Callable):
    ran = emulated(
        RANK
        + """
print("begun", end=" ")
comm.Barrier()
sys.stdout.write("and ended\\n\\nnext\\n")
os.write(1, b"raw ")
os.write(1, b"bytes\\n")
print("trouble", file=sys.stderr)
print("last", end="")
""",
        2,
        label=True,
    )
    for rank in (0, 1):
        label = f"[{rank}] "
        mine = [line.removeprefix(label) for line in ran.out.splitlines() if line.startswith(label)]
        assert mine == ["begun and ended", "", "next", "raw bytes", "last"]
    assert len(ran.out.splitlines()) == 10
    assert sorted(ran.err.splitlines()) == ["[0] trouble", "[1] trouble"]


def test_a_carriage_return_begins_a_labelled_line(emulated: Callable):
    ran = emulated("for i in range(3): print(f'\\r{i}', end='', flush=True)\nprint()\n", 1, label=True)
    assert ran.out == "\r[0] 0\r[0] 1\r[0] 2\n"


def test_a_line_that_goes_on_has_one_label(emulated: Callable):
    ran = emulated("for word in 'abc': print(word, end='', flush=True)\nprint()\n", 1, label=True)
    assert ran.out == "[0] abc\n"


def test_each_rank_has_a_file_with_both_of_its_streams_in_order(emulated: Callable, tmp_path: Path):
    ran = emulated(
        RANK
        + """
print("one")
os.write(2, b"two\\n")
print("thr", end="")
os.chdir("/")
comm.Barrier()
print("ee \\u00e9")
sys.stdout.buffer.write(b"four\\n")
""",
        12,
        output_dir=Path("out"),
    )
    assert (ran.out, ran.err) == ("", "")
    assert texts_in(tmp_path / "out") == {f"rank-{rank:02}.txt": "one\ntwo\nthree é\nfour\n" for rank in range(12)}


def test_a_line_of_one_stream_does_not_continue_that_of_the_other(emulated: Callable, tmp_path: Path):
    source = "import sys\nprint('a', end='', flush=True)\nprint('b', file=sys.stderr)\nprint('c')\n"
    emulated(source, 1, output_dir=Path("out"))
    assert texts_in(tmp_path / "out") == {"rank-0.txt": "a\nb\nc\n"}


def test_files_of_an_earlier_run_are_removed(emulated: Callable, tmp_path: Path):
    emulated("print('before')", 3, output_dir=Path("out"))
    emulated("print('after')", 2, output_dir=Path("out"))
    assert texts_in(tmp_path / "out") == {"rank-0.txt": "after\n", "rank-1.txt": "after\n"}


def test_a_folder_with_other_files_is_left_alone(emulated: Callable, tmp_path: Path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "notes.txt").write_text("mine")
    with pytest.raises(UsageError, match=r"out holds 'notes\.txt', which is no rank's output: name a new or an empty"):
        emulated("print()", 2, output_dir=Path("out"))
    assert texts_in(tmp_path / "out") == {"notes.txt": "mine"}


def test_output_that_finds_no_folder_is_refused(emulated: Callable, tmp_path: Path):
    (tmp_path / "out").write_text("a file")
    with pytest.raises(UsageError, match=r"cannot write the ranks' output to out: .*; name another folder"):
        emulated("print()", 2, output_dir=Path("out"))


def test_text_that_waits_to_be_written_is_bounded(emulated: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(output_files, "_HELD_MAX", 1000)
    ran = emulated(
        """
        import os
        from mpi4py import MPI
        for i in range(100):
            print("x" * 99)
            MPI.COMM_WORLD.Barrier()
        if MPI.COMM_WORLD.rank == 0:
            print(os.path.getsize("out/rank-1.txt") >= 9000)
        """,
        2,
        output_dir=Path("out"),
    )
    assert ran.error == ""
    assert texts_in(tmp_path / "out")["rank-0.txt"].endswith("x\nTrue\n")


def test_a_run_whose_files_find_no_room_says_so(emulated: Callable, tmp_path: Path):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    try:
        ran = emulated("for i in range(1000): print('0123456')\n", 1, output_dir=Path("out"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert ran.code == 1
    assert ran.error == "the program's output was lost: File too large; make room for it"
    assert texts_in(tmp_path / "out") == {"rank-0.txt": "0123456\n" * 512}


def test_an_interrupted_run_has_written_all_that_was_printed(smpy_run: Callable, tmp_path: Path):
    source = (
        RANK + "import subprocess\nprint('printed')\ncomm.Barrier()\n"
        "if rank == 0: subprocess.Popen(['kill', '-INT', str(os.getpid())])\nwhile True: comm.Barrier()\n"
    )
    ran = smpy_run(source, 3, "--output-dir", "out", "--quiet", "--compute", "none")
    assert ran.code == 128 + signal.SIGINT
    assert texts_in(tmp_path / "out") == {f"rank-{rank}.txt": "printed\n" for rank in range(3)}


def test_a_forked_child_does_not_write_its_parents_text_again(smpy_run: Callable, tmp_path: Path):
    source = "import os\nprint('parent')\nif os.fork() == 0: print('child')\nelse: os.wait()\n"
    ran = smpy_run(source, 1, "--output-dir", "out", "--quiet")
    assert (ran.code, ran.out) == (0, "child\n")
    assert texts_in(tmp_path / "out") == {"rank-0.txt": "parent\n"}


def test_a_repeated_run_writes_the_files_of_the_first(smpy_run: Callable, tmp_path: Path):
    ran = smpy_run("print('once')", 2, "--output-dir", "out", "--repeat", "2", "--compute", "none")
    assert "2 runs: all alike" in ran.err
    assert texts_in(tmp_path / "out") == {"rank-0.txt": "once\n", "rank-1.txt": "once\n"}


def test_a_label_in_a_file_of_one_rank_is_refused(smpy_run: Callable):
    ran = smpy_run("print()", 2, "--label", "--output-dir", "out")
    assert ran.code == 2
    assert "--label and --output-dir both separate the lines of ranks: give one of them" in ran.err


def test_many_ranks_write_with_few_descriptors(emulated: Callable, tmp_path: Path):
    n_open = len(os.listdir("/proc/self/fd"))
    source = "import os\nprint(len(os.listdir('/proc/self/fd')))\n"
    emulated(source, 2000, output_dir=Path("out"))
    counts = {int(text) for text in texts_in(tmp_path / "out").values()}
    assert max(counts) < n_open + 20
