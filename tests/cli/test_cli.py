"""The command line: what it reads, calls and prints."""

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import CliRunner, Result

import smpy.emulate.run.run as emulate_run
from smpy.cli.click_classes import GroupedOption
from smpy.cli.main import main
from smpy.cli.run import command as run_command
from smpy.emulate.config import with_host_speed
from smpy.emulate.run.run import Outcome, RunProgress
from smpy.errors import DeadlockError, Interrupted, PlatformError, SmpyError
from smpy.options import OPTION_GROUPS, RunConfig
from smpy.records.inputs import Inputs
from smpy.records.summary import Summary
from smpy.records.time_shares import TimeShares


class Stub:
    """Stands for `smpy.emulate.run.run`."""

    def __init__(self) -> None:
        self.config: RunConfig | None = None
        self.exit_code = 0
        self.error: SmpyError | None = None
        self.raises: BaseException | None = None

    def run(self, config: RunConfig, progress: object = None, **counts: bool) -> Outcome:
        self.config = config
        if self.raises is not None:
            raise self.raises
        summary = Summary(
            inputs=Inputs("0", config.program, config.is_module, config.args, None, None, [("h", 1)], {}, "seed"),
            platform="stub",
            n_ranks=config.n_ranks,
            makespan_s=2.0,
            finish_s=np.full(config.n_ranks, 2.0),
            messages=0,
            bytes=0,
            shares=TimeShares(compute=1.0, communication=0.0, waiting=0.0, sleep=0.0),
            compute=config.compute,
            host_speed_flop_per_s=config.host_speed_flop_per_s,
            keeps_memory=False,
            is_partial=self.error is not None,
            is_folded=False,
            remarks=(),
            wall_s=1.0,
            peak_rss_bytes=1,
        )
        return Outcome(summary=summary, exit_code=self.exit_code, error=self.error)


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Stub:
    stub = Stub()
    monkeypatch.setattr(emulate_run, "run", stub.run)
    return stub


def smpy(*args: str) -> Result:
    return CliRunner().invoke(main, args)


def config_of(stub: Stub, *args: str) -> RunConfig:
    result = smpy("run", *args)
    assert result.exit_code == 0, result.output
    assert stub.config is not None
    return stub.config


# ---- reading ----


@pytest.mark.parametrize("given", [("-np", "4"), ("-n", "4"), ("-n4",)])
def test_number_of_ranks_is_given_as_mpi_users_do(stub: Stub, given: tuple[str, ...]):
    assert config_of(stub, *given, "program.py").n_ranks == 4


def test_what_follows_the_program_is_the_programs(stub: Stub):
    config = config_of(stub, "-np", "2", "program.py", "--json", "x", "-np", "7", "--", "-m", "--help")
    assert config.program == "program.py"
    assert config.args == ("--json", "x", "-np", "7", "--", "-m", "--help")
    assert config.n_ranks == 2
    assert not config.is_module


def test_what_follows_a_module_is_the_modules(stub: Stub):
    config = config_of(stub, "-np", "2", "-m", "package.module", "--quiet", "-m", "other")
    assert config.is_module
    assert config.program == "package.module"
    assert config.args == ("--quiet", "-m", "other")


def test_options_reach_the_run(stub: Stub):
    config = config_of(
        stub,
        *("-np", "2", "--platform", "p.xml", "--hostfile", "hosts", "--compute", "none", "--host-speed", "2.5Gf"),
        *("--ppn", "3", "--map-by", "socket", "--host-order", "natural", "--seed", "7"),
        *("--private", "a", "--private", "b", "--shared", "c", "program.py"),
    )
    assert config == RunConfig(
        n_ranks=2,
        program="program.py",
        is_module=False,
        args=(),
        platform="p.xml",
        hostfile=Path("hosts"),
        ranks_per_host=3,
        map_by="socket",
        host_order="natural",
        seed=7,
        compute="none",
        host_speed_flop_per_s=2.5e9,
        private=("a", "b"),
        shared=("c",),
    )


def test_bursts_are_recorded_or_replayed(stub: Stub):
    config = config_of(stub, "-np", "2", "--compute", "record:a:b", "program.py")
    assert (config.compute, config.record, config.replay) == ("measured", Path("a:b"), None)
    config = config_of(stub, "-np", "2", "--compute", "replay:c", "program.py")
    assert (config.compute, config.record, config.replay) == ("measured", None, Path("c"))


def test_a_calibration_says_how_fast_this_machine_is(stub: Stub, tmp_path: Path):
    file = tmp_path / "laptop.toml"
    file.write_text('[calibration]\ndate = "today"\n[host]\nspeed = "41.2Gf"\n')
    config = config_of(stub, "-np", "2", "--host", str(file), "program.py")
    assert with_host_speed(config) == RunConfig(2, "program.py", host_speed_flop_per_s=41.2e9)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is no calibration"),
        ("[calibration]", "it says no host.speed"),
        ("[calibration]\n[host]\nspeed = '2.5gf'", "host.speed: '2.5gf'"),
        ("[calibration]\n[host]\nspeed = '0Gf'", "is no speed of a machine"),
    ],
)
def test_a_calibration_without_a_speed_is_refused(tmp_path: Path, text: str, message: str):
    file = tmp_path / "laptop.toml"
    file.write_text(text)
    result = smpy("run", "-np", "2", "--host", str(file), "program.py")
    assert result.exit_code == 2
    assert message in result.stderr


def test_the_speed_of_this_machine_is_said_once(stub: Stub, tmp_path: Path):
    file = tmp_path / "laptop.toml"
    file.write_text('[calibration]\n[host]\nspeed = "41.2Gf"\n')
    result = smpy("run", "-np", "2", "--host", str(file), "--host-speed", "1Gf", "program.py")
    assert "give one of them" in result.stderr


@pytest.mark.parametrize(
    "args",
    [
        ("program.py",),
        ("-np", "2"),
        ("-np", "0", "program.py"),
        ("-np", "two", "program.py"),
        ("-np", "2", "--compute", "some", "program.py"),
        ("-np", "2", "--compute", "none:some", "program.py"),
        ("-np", "2", "--compute", "record:", "program.py"),
        ("-np", "2", "--compute", "replay", "program.py"),
        ("-np", "2", "--host-speed", "0", "program.py"),
        ("-np", "2", "--host-speed", "fast", "program.py"),
        ("-np", "2", "--host-speed", "2.5gf", "program.py"),
        ("-np", "2", "--unknown", "program.py"),
        ("-np", "2", "--ppn", "0", "program.py"),
        ("-np", "2", "--map-by", "cores", "program.py"),
        ("-np", "2", "--seed", "-1", "program.py"),
    ],
)
def test_a_usage_error_exits_with_2_and_runs_nothing(stub: Stub, args: tuple[str, ...]):
    result = smpy("run", *args)
    assert result.exit_code == 2
    assert "Error" in result.stderr
    assert stub.config is None


@pytest.mark.parametrize(
    ("args", "kind"),
    [(("run", "-np", "two", "prog.py"), "integer"), (("study", "scale", "--efficiency", "half", "prog.py"), "number")],
)
def test_a_word_in_place_of_a_number_is_no_number(args: tuple[str, ...], kind: str):
    result = smpy(*args)
    assert result.exit_code == 2
    assert result.stderr.endswith(f"'{args[-2]}' is not a valid {kind}.\n")


def test_options_behind_the_program_are_said_to_belong_before_it(stub: Stub):
    result = smpy("run", "prog.py", "--its", "own", "-np", "2")
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1].endswith("must stand before it: smpy run -np 2 prog.py")
    assert smpy("run", "prog.py").stderr.splitlines()[-1].endswith("Say -np N, as in: smpy run -np 4 prog.py")


@pytest.mark.parametrize("delay_s", [0.0, 0.02, 0.05, 0.1])
def test_an_interrupt_while_smpy_is_still_importing_has_its_answer(tmp_path: Path, delay_s: float):
    (tmp_path / "program.py").write_text("while True: pass\n")
    code = "import sys; sys.argv = sys.argv[1:]; import smpy.__main__ as m; print(flush=True); m.main()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, "smpy", "run", "-np", "2", "program.py"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(delay_s)
    process.send_signal(signal.SIGINT)
    try:
        err = process.communicate(timeout=60)[1]
    finally:
        process.kill()
    assert process.returncode == 130
    assert err.startswith("smpy: interrupted ")
    assert "Traceback" not in err


# ---- printing ----


def test_summary_goes_to_standard_error_unless_quiet(stub: Stub):
    result = smpy("run", "-np", "2", "program.py")
    assert result.stdout == ""
    assert "2 ranks on stub" in result.stderr
    assert smpy("run", "-np", "2", "--quiet", "program.py").output == ""


def test_exit_code_is_the_programs(stub: Stub):
    stub.exit_code = 7
    assert smpy("run", "-np", "2", "program.py").exit_code == 7


def test_json_is_the_summary(stub: Stub, tmp_path: Path):
    path = tmp_path / "summary.json"
    assert smpy("run", "-np", "2", "--json", str(path), "program.py").exit_code == 0
    assert json.loads(path.read_text(encoding="utf-8"))["makespan_s"] == 2.0


def test_a_json_path_that_cannot_be_written_stops_before_the_run(stub: Stub, tmp_path: Path):
    result = smpy("run", "-np", "2", "--json", str(tmp_path / "missing" / "summary.json"), "program.py")
    assert result.exit_code == 2
    assert result.stderr.startswith("smpy: cannot write ")
    assert stub.config is None


def test_a_table_is_printed_though_its_json_cannot_be_written(tmp_path: Path):
    done = CliRunner().invoke(main, ["platform", "list", "--json", str(tmp_path / "nowhere" / "list.json")])
    assert done.exit_code == 2
    assert "hdr" in done.stdout
    assert "cannot write" in done.stderr


@pytest.mark.parametrize("quiet", [(), ("--quiet",)])
def test_a_json_that_fails_after_the_run_is_told(
    stub: Stub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quiet: tuple[str, ...]
):
    folder = tmp_path / "folder"
    folder.mkdir()
    run = stub.run

    def remove_folder_and_run(config: RunConfig, progress: object = None, **counts: bool) -> Outcome:
        folder.rmdir()
        return run(config)

    monkeypatch.setattr(emulate_run, "run", remove_folder_and_run)
    result = smpy("run", "-np", "2", *quiet, "--json", str(folder / "summary.json"), "program.py")
    assert result.exit_code == 1
    assert result.stderr.splitlines()[-1].startswith("smpy: cannot write ")


def test_an_error_of_the_run_is_printed_without_traceback(stub: Stub):
    stub.error, stub.exit_code = DeadlockError("at 0.5 s, 2 ranks wait for messages nobody will send"), 1
    result = smpy("run", "-np", "2", "program.py")
    assert result.exit_code == 1
    assert "smpy: at 0.5 s, 2 ranks wait" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_bad_file_exits_with_2(stub: Stub):
    stub.raises = PlatformError("cluster.xml:3: no such element")
    result = smpy("run", "-np", "2", "program.py")
    assert result.exit_code == 2
    assert result.stderr == "smpy: cluster.xml:3: no such element\n"


def test_an_interrupted_run_leaves_a_partial_summary_and_exits_with_130(stub: Stub):
    stub.error, stub.exit_code = Interrupted("interrupted at 1.5 s of simulated time"), 130
    result = smpy("run", "-np", "2", "program.py")
    assert result.exit_code == 130
    assert "1.5 s" in result.stderr
    assert "stopped before the end" in result.stderr


def test_an_interrupt_before_the_simulation_exits_with_130(stub: Stub):
    stub.raises = KeyboardInterrupt()
    result = smpy("run", "-np", "2", "program.py")
    assert result.exit_code == 130
    assert result.stderr == "smpy: interrupted before the simulation started\n"


def test_version_and_help_read_well():
    assert smpy("--version").output.startswith("smpy 0.")
    assert "Run an mpi4py program." in smpy("--help").output
    assert "-np" in smpy("run", "--help").output


@pytest.mark.parametrize("group", ["", "analyze", "calibrate", "coll", "platform", "study"])
def test_the_list_of_commands_cuts_no_sentence_short(group: str):
    listed = CliRunner().invoke(main, [*group.split(), "--help"]).output.partition("Commands:")[2]
    assert listed
    assert "..." not in listed


def test_every_option_of_a_run_has_a_group():
    options = [param for param in run_command.params if isinstance(param, click.Option)]
    assert [option.name for option in options if not isinstance(option, GroupedOption)] == []
    assert {option.group for option in options if isinstance(option, GroupedOption)} == set(OPTION_GROUPS)


@pytest.mark.parametrize("command", [("run",), ("replay",), ("study", "scale"), ("study", "sensitivity")])
def test_help_shows_options_in_groups(command: tuple[str, ...]):
    headings = re.findall(r"^(\w+):$", smpy(*command, "--help").output, re.MULTILINE)
    assert headings == [heading for heading in ("Options", *OPTION_GROUPS) if heading in headings]
    assert {"Options", "Ranks", "Machine", "Computing", "Records"} <= set(headings)


def test_help_of_a_run_shows_each_option_once_and_below_its_heading():
    sections = re.split(r"^(\w+):$", smpy("run", "--help").output, flags=re.MULTILINE)
    assert sections[1::2] == ["Options", *OPTION_GROUPS]
    shown = dict(zip(sections[1::2], sections[2::2], strict=True))
    for option in run_command.params:
        if isinstance(option, GroupedOption):
            row = re.compile(rf"^  {option.opts[0]}(?![\w-])", re.MULTILINE)
            assert [group for group, text in shown.items() if row.search(text)] == [option.group]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("rnu",), "smpy has no command 'rnu': did you mean 'run'?"),
        (("analyze", "wait"), "smpy analyze has no command 'wait': did you mean 'waits'?"),
        (("study", "scael"), "smpy study has no command 'scael': did you mean 'scale'?"),
        (("platform", "shwo", "default"), "smpy platform has no command 'shwo': did you mean 'show'?"),
        (("hello.py",), "smpy has no command 'hello.py': smpy run -np 4 hello.py simulates it on 4 ranks"),
        (("calibrate", "blass"), "smpy calibrate has no command 'blass': did you mean 'blas'?"),
        (
            ("platform", "xyz"),
            "smpy platform has no command 'xyz': its commands are check, convert, list, show, validate",
        ),
    ],
)
def test_a_misspelt_command_is_answered_with_the_nearest_one(words: tuple[str, ...], message: str):
    result = CliRunner().invoke(main, words, prog_name="smpy")
    assert (result.exit_code, result.output) == (2, f"Error: {message}\n")


# ---- the progress line ----


class Terminal:
    """A standard stream that is a terminal."""

    def __init__(self) -> None:
        self.text = ""

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.text += text
        return len(text)

    def flush(self) -> None:
        pass


PROGRESS = RunProgress(now_s=0.25, events_per_s=500.0, rss_bytes=1 << 20, wall_s=2.0)


def test_a_long_run_shows_a_line_that_is_erased_before_other_output(monkeypatch: pytest.MonkeyPatch):
    from smpy.cli.progress import ERASE, progress_line

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(sys, "stdout", terminal)
    with progress_line(is_wanted=True) as line:
        assert line is not None
        line(PROGRESS._replace(wall_s=0.1))
        assert terminal.text == ""
        line(PROGRESS)
        sys.stdout.flush()
        assert terminal.text.endswith("500 events/s, 1.049 MB")
        print("from the program")
    assert terminal.text.endswith(f"{ERASE}from the program\n")
    assert sys.stdout is terminal  # type: ignore[comparison-overlap]


def test_no_line_is_drawn_where_it_is_not_wanted_or_not_seen(monkeypatch: pytest.MonkeyPatch):
    from smpy.cli.progress import progress_line

    with progress_line(is_wanted=True) as line:
        assert line is None
    monkeypatch.setattr(sys, "stderr", Terminal())
    with progress_line(is_wanted=False) as line:
        assert line is None
