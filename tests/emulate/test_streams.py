"""Output and input of ranks."""

from collections.abc import Callable

import pytest

RANK = "from mpi4py import MPI\ncomm = MPI.COMM_WORLD\nrank = comm.rank\n"


def lines(ran) -> list[str]:
    assert ran.error == ""
    return ran.out.splitlines()


def test_lines_come_in_simulated_order(emulated: Callable):
    ran = emulated(
        """
        import time
        from mpi4py import MPI
        rank = MPI.COMM_WORLD.rank
        for step in range(3):
            time.sleep(rank + 1)
            print(f"rank {rank} at {time.perf_counter():.0f}")
        """,
        3,
    )
    dates = [int(line.split()[-1]) for line in lines(ran)]
    assert dates == sorted(dates) == [1, 2, 2, 3, 3, 4, 6, 6, 9]


def test_a_line_made_of_pieces_is_printed_whole(emulated: Callable):
    ran = emulated(
        RANK
        + """
import sys
print("rank", end=" ")
comm.Barrier()
print(rank, "says", end="")
comm.Barrier()
sys.stdout.write(" a")
sys.stdout.flush()
comm.Barrier()
sys.stdout.write("b\\nand c")
comm.Barrier()
print("d", "e", sep="-")
"""
    )
    assert sorted(lines(ran)) == ["and cd-e", "and cd-e", "rank 0 says ab", "rank 1 says ab"]


def test_an_unfinished_line_is_printed_when_its_rank_ends(emulated: Callable):
    ran = emulated(RANK + "import time\ntime.sleep(rank)\nprint(rank, end='')\n", 3)
    assert ran.out == "0\n1\n2"


def test_one_rank_alone_prints_what_it_flushes(emulated: Callable):
    ran = emulated(
        "import sys\nprint('a', end='')\nsys.stdout.flush()\nprint('b', end='', flush=True)\nwhile True: 1 / 0", 1
    )
    assert ran.out == "ab"


def test_bytes_come_out_as_they_went_in(smpy_run: Callable):
    ran = smpy_run(
        r"""
        import sys
        sys.stdout.buffer.write("a\u00e9".encode()[:2])
        print(end="", flush=True)
        sys.stdout.buffer.write("\u00e9".encode()[1:] + b"\n")
        """,
        2,
        "--quiet",
    )
    assert ran.out == "aé\naé\n"


def test_standard_streams_tell_what_they_are(emulated: Callable):
    ran = emulated(
        """
        import sys, io
        assert not sys.stdout.isatty() and sys.stdout.writable() and sys.stdout.encoding
        assert (sys.stdout.fileno(), sys.stderr.fileno()) == (1, 2)
        assert isinstance(sys.stdout, io.TextIOBase) and sys.stdout.buffer.writable() and not sys.stdout.closed
        sys.stdout.reconfigure(line_buffering=True)
        sys.stdout.close()
        assert print("still open") is None and sys.__stdout__ is sys.stdout
        try:
            sys.stdout.write(b"bytes")
        except TypeError as error:
            print(error)
        """,
        1,
    )
    assert lines(ran) == ["still open", "write() argument must be str, not bytes"]


def test_redirected_output_is_the_ranks_own(emulated: Callable):
    ran = emulated(
        RANK
        + """
import contextlib, io, sys
if rank == 0:
    kept = io.StringIO()
    with contextlib.redirect_stdout(kept), contextlib.redirect_stderr(kept):
        print("zero inside")
        comm.Barrier()
        print("more", file=sys.stderr)
        comm.Barrier()
    print(kept.getvalue().split())
else:
    comm.Barrier()
    print("one outside")
    comm.Barrier()
"""
    )
    assert lines(ran) == ["one outside", "['zero', 'inside', 'more']"]


def test_a_stream_that_wraps_the_standard_one_does_not_meet_itself(emulated: Callable):
    ran = emulated(
        RANK
        + """
import sys
class Tagged:
    def __init__(self, stream):
        self.stream = stream
    def write(self, text):
        return self.stream.write(text.replace("#", f"[{rank}]"))
    def flush(self):
        self.stream.flush()
sys.stdout = Tagged(sys.stdout)
comm.Barrier()
print("# hello")
"""
    )
    assert sorted(lines(ran)) == ["[0] hello", "[1] hello"]


def test_standard_error_goes_to_standard_error(emulated: Callable):
    ran = emulated("import sys\nprint('trouble', file=sys.stderr)\n", 1)
    assert (ran.out, ran.err) == ("", "trouble\n")


def test_standard_input_is_rank_0s(smpy_run: Callable):
    ran = smpy_run(
        RANK
        + """
import sys
if rank == 0:
    name = input("name? ")
    print("hello", name, sys.stdin.readline().strip(), [line.strip() for line in sys.stdin])
else:
    print(repr(sys.stdin.read()), repr(sys.stdin.readline()), list(sys.stdin), repr(sys.stdin.buffer.read()))
    try:
        input()
    except EOFError:
        print("nothing to read")
""",
        2,
        "--quiet",
        stdin="world\nsecond\nthird\nfourth\n",
    )
    assert ran.code == 0, ran.err
    out = ran.out.replace("name? ", "", 1).splitlines()
    assert sorted(filter(None, out)) == ["'' '' [] b''", "hello world second ['third', 'fourth']", "nothing to read"]


def test_a_question_is_shown_before_the_answer_is_read(smpy_run: Callable):
    ran = smpy_run("print('first')\nname = input('name? ')\nprint()\n1 / 0\n", 2, "--quiet", stdin="x\n")
    assert ran.out.startswith("first\n")
    assert "name? " in ran.out


def test_what_is_written_to_a_standard_descriptor_comes_in_its_place(emulated: Callable):
    ran = emulated(
        RANK
        + """
import os, sys, time
time.sleep(rank)
print(f"{rank} prints")
os.write(1, b"%d writes\\n" % rank)
os.write(sys.stdout.fileno(), b"%d be" % rank)
sys.stdout.buffer.write(b"gins and ")
print("ends")
os.write(2, b"%d complains\\n" % rank)
"""
    )
    assert ran.out == "".join(f"{rank} prints\n{rank} writes\n{rank} begins and ends\n" for rank in (0, 1))
    assert ran.err == "0 complains\n1 complains\n"


def test_what_goes_through_files_made_of_standard_descriptors_comes_in_its_place(emulated: Callable):
    ran = emulated(
        RANK
        + """
import os, sys, time
time.sleep(rank)
print(f"{rank} prints")
log = open(1, "w", closefd=False)
log.write(f"{rank} logs\\n")
with os.fdopen(1, "wb", 0) as raw:
    raw.write(b"%d writes\\n" % rank)
print(f"{rank} prints again")
sys.stdout = os.fdopen(sys.stdout.fileno(), "w", 1)
print(f"{rank} prints on a file of its own")
os.write(1, b"%d writes on\\n" % rank)
with open(2, "a") as complaints:
    complaints.write(f"{rank} complains\\n")
assert complaints.closed and log.fileno() == 1
log.write("never flushed by the program\\n")
"""
    )
    what = ("prints", "logs", "writes", "prints again", "prints on a file of its own", "writes on")
    expected = "".join(
        "".join(f"{rank} {each}\n" for each in what) + "never flushed by the program\n" for rank in (0, 1)
    )
    assert ran.error == ""
    assert ran.out == expected
    assert ran.err == "0 complains\n1 complains\n"


def test_the_bytes_below_standard_output_may_be_wrapped_anew(emulated: Callable):
    ran = emulated(
        RANK
        + """
import codecs, io, sys
sys.stdout = io.TextIOWrapper(sys.stdout.detach(), encoding="utf-8", line_buffering=True)
print(rank, "wraps")
sys.stdout = codecs.getwriter("utf-8")(sys.__stdout__.detach())
print(rank, "wraps again")
for wrong in (3, "text"):
    try:
        sys.__stdout__.buffer.write(wrong)
    except TypeError as error:
        print(error)
"""
    )
    errors = ["a bytes-like object is required, not 'int'", "a bytes-like object is required, not 'str'"]
    assert sorted(lines(ran)) == sorted(["0 wraps", "0 wraps again", "1 wraps", "1 wraps again", *errors, *errors])


def test_what_goes_to_a_file_laid_over_standard_output_is_not_printed_nor_is_printing_lost(smpy_run: Callable):
    ran = smpy_run(
        """
        import os, tempfile
        print("before")
        with tempfile.TemporaryFile() as captured:
            saved = os.dup(1)
            os.dup2(captured.fileno(), 1)
            os.write(1, b"captured\\n")
            os.system("echo from a child")
            print("meanwhile")
            os.dup2(saved, 1)
            captured.seek(0)
            print("after", captured.read())
        """,
        1,
        "--quiet",
    )
    assert ran.out == "before\nmeanwhile\nafter b'captured\\nfrom a child\\n'\n"


@pytest.mark.slow
def test_a_test_run_that_captures_descriptors_prints_all_it_has_to_say(smpy_run: Callable):
    tests = (
        "def test_passes(): print('kept')\n\ndef test_fails():\n    import os\n    os.write(1, b'raw')\n    assert 0\n"
    )
    ran = smpy_run(
        None, 2, "--quiet", "-m", "pytest", files={"test_it.py": tests}, args=("-p", "no:cacheprovider", "test_it.py")
    )
    assert ran.out.count("1 failed, 1 passed") == 2
    assert ran.code == 1


def test_a_progress_bar_comes_out_piece_by_piece(smpy_run: Callable):
    ran = smpy_run("for i in range(1000): print(f'\\r{i}', end='', flush=True)\n", 1, "--quiet")
    assert ran.out.splitlines() == ["", *map(str, range(1000))]
