"""A run as a value: `smpy.simulate`."""

import dataclasses
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import smpy
from smpy.errors import DeadlockError, NoRoomError, SmpyError, UsageError
from smpy.platforms.machine import read_machine
from smpy.records.profile import KINDS
from smpy.runs import simulate
from smpy.runs.warm_server import Files, close_servers
from tests.conftest import Ran, write_files
from tests.runs.conftest import PRINTS_SERVER

HELLO = """
    import sys
    from mpi4py import MPI
    comm = MPI.COMM_WORLD
    total = comm.allreduce(comm.rank)
    if comm.rank == 0:
        print("total", total, *sys.argv[1:])
        print("a word", file=sys.stderr)
"""


def test_a_run_is_a_value_with_its_makespan_its_summary_and_what_it_printed(program: Callable[[str], str]):
    run = smpy.simulate(program(HELLO), "--n", 3, ranks=4, compute="none")
    assert run.stdout == "total 6 --n 3\n"
    assert run.stderr == "a word\n"
    assert run.exit_code == 0
    assert run.makespan_s == run.summary.makespan_s == max(run.summary.finish_s) > 0
    assert run.summary.n_ranks == 4
    assert "4 ranks" in repr(run)
    assert pickle.loads(pickle.dumps(run)).to_json() == run.to_json()
    html = run._repr_html_()
    assert "makespan" in html
    assert html.count("<tr>") == html.count("</tr>") == len(run.summary.render().splitlines()) - 1


def test_simulate_and_the_command_give_the_same_record(program: Callable[[str], str], smpy_run: Callable[..., Ran]):
    options = ("--compute", "none", "--map-by", "core", "--set", "host.cores=2", "--algorithm", "allreduce=ring")
    ran = smpy_run(HELLO, 5, *options, "--json", "record.json", args=("7",))
    run = smpy.simulate(
        *(program(HELLO), 7),
        ranks=5,
        compute="none",
        map_by="core",
        set={"host.cores": 2},
        algorithm={"allreduce": "ring"},
    )
    shell, here = json.loads(Path("record.json").read_text()), json.loads(run.to_json())
    assert shell.pop("host")["command"][1:3] == here.pop("host")["command"][1:3] == ["run", "-np"]
    assert here == shell
    assert run.stdout == ran.out


def test_a_machine_made_in_python_is_the_runs(program: Callable[[str], str]):
    machine = read_machine("torus 2x2 cores=1 latency=50us", 4)
    run = smpy.simulate(program(HELLO), ranks=4, platform=machine, compute="none")
    assert run.summary.inputs.machine == machine
    assert run.makespan_s > 2 * smpy.simulate("program.py", ranks=4, compute="none").makespan_s


def test_each_run_has_the_directory_and_the_environment_of_its_caller(
    program: Callable[[str], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    program("import os; print(os.getcwd(), os.environ.get('COLOUR'), 'HUE' in os.environ)")
    monkeypatch.setenv("HUE", "1")
    smpy.simulate("program.py", ranks=1, compute="none")
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    monkeypatch.setenv("COLOUR", "blue")
    monkeypatch.delenv("HUE")
    run = smpy.simulate("../program.py", ranks=1, compute="none")
    assert run.stdout == f"{tmp_path / 'other'} blue False\n"


def test_rank_0_reads_what_it_is_given_and_else_nothing(program: Callable[[str], str]):
    program("print(input()) if __import__('mpi4py.MPI').MPI.COMM_WORLD.rank == 0 else None")
    assert smpy.simulate("program.py", ranks=2, compute="none", stdin="forty-two\n").stdout == "forty-two\n"
    with pytest.raises(smpy.RunError, match="EOFError"):
        smpy.simulate("program.py", ranks=2, compute="none")


def test_a_failed_run_raises_what_the_command_prints(program: Callable[[str], str], smpy_run: Callable[..., Ran]):
    source = """
        from mpi4py import MPI
        print("before", flush=True)
        MPI.COMM_WORLD.recv(source=1 - MPI.COMM_WORLD.rank)
    """
    ran = smpy_run(source, 2, "--compute", "none", "--quiet")
    with pytest.raises(smpy.RunError) as raised:
        smpy.simulate(program(source), ranks=2, compute="none")
    assert ran.err == f"smpy: {raised.value}\n"
    assert raised.value.exit_code == ran.code == 1
    assert isinstance(raised.value.failure, DeadlockError)
    assert raised.value.stdout == "before\nbefore\n"
    assert raised.value.summary is not None
    assert raised.value.summary.is_partial


def test_ranks_that_end_with_another_exit_code_than_0_are_an_error_that_has_the_summary(program: Callable[[str], str]):
    with pytest.raises(smpy.RunError, match="rank 1 ended with exit code 3 at") as raised:
        smpy.simulate(program("import mpi4py.MPI as m; raise SystemExit(3 * m.COMM_WORLD.rank)"), ranks=2)
    assert raised.value.exit_code == 3
    assert raised.value.summary is not None
    assert not raised.value.summary.is_partial


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"compute": "some"}, "compute='some' is none of"),
        ({"platfrom": "hdr"}, "there is no option 'platfrom': did you mean 'platform'?"),
        ({"platform": "no-such.xml"}, "no-such.xml"),
        ({"network": object()}, "an option takes text, a number or a path"),
        ({"host": "none.toml"}, "cannot read none.toml"),
        ({"host": "none.toml", "host_speed": "1Gf"}, "host= and host_speed= both say how fast this machine is"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_mistake_in_the_options_is_a_usage_error(
    program: Callable[[str], str], options: dict[str, object], told: str
):
    with pytest.raises(UsageError) as raised:
        smpy.simulate(program(""), **{"ranks": 1, **options})  # type: ignore[arg-type]
    assert told in str(raised.value)


@pytest.mark.parametrize(
    ("argument", "value", "kind"),
    [
        ("ranks", 0, ValueError),
        ("ranks", 2**31, ValueError),
        ("ranks", "4", TypeError),
        ("ranks", True, TypeError),
        ("ranks", 2.0, TypeError),
        ("timeout_s", -1.0, ValueError),
        ("timeout_s", 1e300, ValueError),
        ("timeout_s", 10**400, ValueError),
        ("timeout_s", float("nan"), ValueError),
        ("timeout_s", True, TypeError),
        ("timeout_s", "60", TypeError),
        ("memory_limit_bytes", 0, ValueError),
        ("memory_limit_bytes", 2**70, ValueError),
        ("memory_limit_bytes", 1.5, TypeError),
        ("memory_limit_bytes", True, TypeError),
        ("stdin", b"x", TypeError),
        ("stdin", None, TypeError),
        ("stdin", "\ud800", ValueError),
        ("program", b"program.py", TypeError),
        ("program", 3, TypeError),
        ("program", "a\0b", ValueError),
        ("args[1]", "a\0b", ValueError),
        ("args[1]", "\ud800", ValueError),
        ("network", object(), TypeError),
        ("network", "a\0b", ValueError),
    ],
)
def test_a_wrong_argument_is_named_before_anything_starts(
    program: Callable[[str], str], monkeypatch: pytest.MonkeyPatch, argument: str, value: object, kind: type[Exception]
):
    monkeypatch.setattr("smpy.runs.simulate.warm_server", None)
    arguments: dict[str, object] = {"ranks": 1, argument: value}
    what = arguments.pop("program", program(""))
    args = ["--n", arguments.pop(argument)] if argument.startswith("args") else []
    with pytest.raises(UsageError) as raised:
        smpy.simulate(what, *args, **arguments)  # type: ignore[arg-type]
    assert isinstance(raised.value, kind)
    assert str(raised.value).startswith(argument)


def test_numbers_of_numpy_are_numbers(program: Callable[[str], str]):
    limits = {"timeout_s": np.float32(1e9), "memory_limit_bytes": np.int64(2**62)}
    assert smpy.simulate(program("print(1)"), ranks=np.int64(1), compute="none", **limits).stdout == "1\n"


def test_a_module_of_the_programs_that_it_would_not_get_is_refused(program: Callable[[str], str], tmp_path: Path):
    program("")
    write_files(tmp_path, {"socket.py": "", "random.py": ""})  # `smpy run` has imported random, too
    with pytest.raises(UsageError, match=r"socket.py has the name of a module that smpy.simulate has imported"):
        smpy.simulate("program.py", ranks=1)
    (tmp_path / "socket.py").unlink()
    smpy.simulate("program.py", ranks=1)


def test_a_program_that_is_not_there_is_a_usage_error(program: Callable[[str], str]):
    program("")
    with pytest.raises(UsageError, match=r"there is no program 'progam.py': did you mean 'program.py'\?"):
        smpy.simulate("progam.py", ranks=1)


def test_a_run_that_crashes_is_an_error_and_the_next_one_goes_well(program: Callable[[str], str]):
    program("import sys, ctypes; print('so far', flush=True); 'crash' in sys.argv and ctypes.string_at(0)")
    with pytest.raises(smpy.RunError, match="ended by SIGSEGV") as raised:
        smpy.simulate("program.py", "crash", ranks=1)
    assert raised.value.exit_code == 139
    assert raised.value.summary is None
    assert smpy.simulate("program.py", ranks=1).stdout == "so far\n"


def test_output_for_which_there_is_no_room_is_an_error(program: Callable[[str], str], monkeypatch: pytest.MonkeyPatch):
    program("print('lost')")
    files = simulate._files

    @contextmanager
    def full(stdin: str) -> Iterator[Files]:
        with files(stdin) as made, open("/dev/full", "wb") as stdout:
            yield dataclasses.replace(made, stdout=stdout.fileno())

    monkeypatch.setattr(simulate, "_files", full)
    with pytest.raises(smpy.RunError, match="the program's output was lost: No space left on device") as raised:
        smpy.simulate("program.py", ranks=1)
    assert isinstance(raised.value.failure, NoRoomError)
    assert raised.value.exit_code == 1
    assert raised.value.summary is not None


def test_a_server_that_does_not_start_says_why(program: Callable[[str], str], monkeypatch: pytest.MonkeyPatch):
    close_servers()
    monkeypatch.setattr("smpy.runs.warm_server._BOOT", "raise SystemExit('no such module')")
    with pytest.raises(SmpyError, match="the process that starts runs does not start:\nno such module"):
        smpy.simulate(program(""), ranks=1)


def test_a_server_that_was_killed_is_replaced(program: Callable[[str], str]):
    program(PRINTS_SERVER)
    first = smpy.simulate("program.py", ranks=1).stdout
    os.kill(int(first), signal.SIGKILL)
    assert smpy.simulate("program.py", ranks=1).stdout != first


def test_several_threads_may_have_runs_at_the_same_time(program: Callable[[str], str]):
    program(HELLO)
    printed: dict[int, str] = {}

    def ask(number: int) -> None:
        printed[number] = smpy.simulate("program.py", number, ranks=number, compute="none").stdout

    threads = [threading.Thread(target=ask, args=(number,)) for number in (1, 2, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert printed == {1: "total 0 1\n", 2: "total 1 2\n", 3: "total 3 3\n"}


@pytest.mark.slow
def test_a_forked_process_starts_a_server_of_its_own(program: Callable[[str], str]):
    program(PRINTS_SERVER)
    server = smpy.simulate("program.py", ranks=1, compute="none").stdout
    pid = os.fork()
    if not pid:
        try:
            other = smpy.simulate("program.py", ranks=1, compute="none").stdout
            close_servers()
            os._exit(other == server)
        finally:
            os._exit(99)
    assert os.waitpid(pid, 0)[1] == 0
    assert smpy.simulate("program.py", ranks=1, compute="none").stdout == server


def test_blas_has_one_thread_in_measured_runs_and_else_as_many_as_in_a_shell(
    program: Callable[[str], str], smpy_run: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
):
    for name in [name for name in os.environ if name.endswith("_NUM_THREADS")]:
        monkeypatch.delenv(name)
    source = "import numpy; from threadpoolctl import threadpool_info; print(threadpool_info()[0]['num_threads'])"
    program(source)
    for compute in ("none", "measured", "models"):
        run = smpy.simulate("program.py", ranks=1, compute=compute)
        assert run.stdout == smpy_run(source, 1, "--compute", compute).out
        assert [remark.topic for remark in run.summary.remarks] == []
        assert (run.stdout == "1\n") == (compute == "measured" or len(os.sched_getaffinity(0)) == 1)


def test_a_simulated_program_cannot_simulate(program: Callable[[str], str]):
    with pytest.raises(smpy.RunError, match="cannot start another simulation"):
        smpy.simulate(program("import smpy; smpy.simulate('program.py', ranks=1)"), ranks=1)


def test_an_error_of_a_run_can_be_sent_to_another_process(program: Callable[[str], str]):
    with pytest.raises(smpy.RunError) as raised:
        smpy.simulate(program("1 / 0"), ranks=1)
    sent = pickle.loads(pickle.dumps(raised.value))
    assert str(sent) == str(raised.value)
    assert (sent.exit_code, sent.stderr) == (raised.value.exit_code, raised.value.stderr)


@pytest.mark.slow
def test_the_server_ends_with_the_process_that_started_it(program: Callable[[str], str]):
    program(PRINTS_SERVER)
    code = "import smpy; print(smpy.simulate('program.py', ranks=1, compute='none').stdout)"
    server = int(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)
    with pytest.raises(ProcessLookupError):
        os.kill(server, 0)


@pytest.mark.slow
def test_simulate_imports_neither_scipy_nor_pandas_nor_click(program: Callable[[str], str]):
    program("")
    code = "import sys, smpy; smpy.simulate('program.py', ranks=1); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert not {"scipy", "pandas", "pyarrow", "plotly", "dask", "click", "IPython", "mpi4py"}.intersection(loaded)


def test_a_run_with_a_trace_has_it_read(program: Callable[[str], str], tmp_path: Path):
    run = smpy.simulate(program(HELLO), ranks=4, compute="none", trace="recorded")
    assert run.trace is not None
    assert (run.trace.folder, run.trace.n_ranks) == (tmp_path / "recorded", 4)
    assert run.trace.makespan_s == run.makespan_s
    assert max(run.trace.table("intervals")["end_s"].to_pylist()) == run.makespan_s
    assert smpy.simulate(program(HELLO), ranks=4, compute="none").trace is None


def test_the_tables_of_a_runs_profile_add_up(program: Callable[[str], str]):
    run = smpy.simulate(program(HELLO), ranks=4, compute="none")
    assert run.profile is not None
    tables = run.profile.to_pandas()
    assert set(tables) == {"calls", "sites", "sizes", "ranks", "hosts", "links", "messages"}
    times = [f"{kind}_s" for kind in KINDS]
    whole = tables["calls"].groupby("rank")[times].sum()
    ranks = tables["ranks"].set_index("rank")
    assert abs(whole - ranks[times]).max(axis=None) < 1e-15
    assert ranks[[*times, "idle_s"]].sum(axis=1).to_list() == pytest.approx([run.makespan_s] * 4, rel=1e-9)
    assert tables["messages"]["messages"].sum() == tables["sizes"]["messages"].sum() == run.summary.messages
    assert tables["messages"]["bytes"].sum() == tables["sites"]["sent_bytes"].sum() == run.summary.bytes
    assert tables["hosts"]["host"].to_list() == list(dict.fromkeys(ranks["host"]))
    calls = tables["calls"]
    assert calls[calls["call"] == "allreduce"]["count"].to_list() == [1] * 4
    assert set(calls[calls["call"] == "allreduce"]["line"]) == {"program.py:5"}


def test_without_pandas_the_extra_is_named(program: Callable[[str], str], monkeypatch: pytest.MonkeyPatch):
    run = smpy.simulate(program(HELLO), ranks=2, compute="none")
    assert run.profile is not None
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UsageError, match=r"pip install '\.\[analysis\]'"):
        run.profile.to_pandas()
