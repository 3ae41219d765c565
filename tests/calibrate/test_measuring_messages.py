"""Measuring messages under a real mpiexec; what goes wrong is told in a line, and what was measured is kept."""

import stat
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import smpy.calibrate.network.calibration as calibration_module
from smpy.calibrate.network import launch
from smpy.calibrate.network.recorded import read_recorded
from smpy.cli.main import main
from smpy.errors import UsageError

HEAD = '# smpy calibrate network {"hosts": ["a", "a"], "plan": {"repetitions": 4}}\nkind,bytes,repetition,time_s\n'


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """An mpiexec of a few lines of Python; its arguments are -n 2 python measure.py RAW PLAN."""
    monkeypatch.setattr(launch, "find_spec", lambda _name: True)
    monkeypatch.setattr(calibration_module, "check_quiet", lambda may_be_loaded: [])

    def make(code: str) -> str:
        path = tmp_path / "mpiexec"
        path.write_text(f"#!{sys.executable}\nimport sys, time\nraw = sys.argv[5]\n{code}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return str(path)

    return make


def _calibrate(result: Path, mpiexec: str):
    return CliRunner().invoke(main, ["calibrate", "network", str(result), "--mpiexec", mpiexec])


def test_without_an_mpiexec_the_error_says_where_to_get_one(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match=r"no mpiexec, neither beside .* pip install '\.\[mpi\]'"):
        launch.find_mpiexec(None)


def test_without_mpi4py_the_error_says_so(monkeypatch, tmp_path):
    monkeypatch.setattr(launch, "find_spec", lambda _name: None)
    with pytest.raises(UsageError, match="mpi4py is not installed"):
        launch.measure(tmp_path / "raw.csv", {}, ["mpiexec"])


def test_a_rank_that_is_alone_is_told_as_another_mpi_than_mpi4pys(fake, tmp_path):
    told = _calibrate(tmp_path / "n.toml", fake("sys.exit('this process is the only one of its MPI_COMM_WORLD')"))
    assert told.exit_code == 2
    assert "each process is rank 0 of 1" in told.output


def test_a_measurement_that_fails_shows_the_last_that_it_said(fake, tmp_path):
    told = _calibrate(tmp_path / "n.toml", fake("sys.exit('no slots available')"))
    assert told.exit_code == 2
    assert "ended with code 1:\n  no slots available" in told.output


def test_messages_of_a_full_host_that_cannot_be_measured_are_left_out_with_a_warning(fake, tmp_path):
    rows = "".join(f"pingpong,{2**k},{r},{1e-6 + 2**k * 1e-10}\n" for k in range(23) for r in range(4))
    only_two = fake(f"if len(sys.argv) > 7:\n    sys.exit('no slots available')\nopen(raw, 'w').write({HEAD + rows!r})")
    told = _calibrate(tmp_path / "n.toml", only_two)
    assert told.exit_code == 0, told.output
    found = tomllib.loads((tmp_path / "n.toml").read_text())
    assert "messages_bandwidth" not in found["host"]
    assert any("at once were not measured" in warning for warning in found["calibration"]["warnings"])
    assert "no slots available" in told.output


def test_ctrl_c_ends_mpiexec_and_says_what_is_kept_and_how_to_fit_it(fake, tmp_path, monkeypatch):
    rows = "".join(f"pingpong,{2**k},0,{1e-6 + 2**k * 1e-10}\n" for k in range(12))
    mpiexec = fake(f"open(raw, 'w').write({HEAD + rows!r})\nprint('12 99', flush=True)\ntime.sleep(600)")
    ended = []
    end = launch._end
    monkeypatch.setattr(launch, "_end", lambda process: (end(process), ended.append(process)))

    follow = launch._follow
    monkeypatch.setattr(launch, "_follow", lambda process, progress: follow(process, _raising(progress)))
    told = _calibrate(tmp_path / "n.toml", mpiexec)
    assert told.exit_code == 130
    assert f"12 of 99 visits are in {tmp_path / 'n.csv'}" in told.output
    assert ended[0].poll() is not None
    done = CliRunner().invoke(
        main, ["calibrate", "network", str(tmp_path / "n.toml"), "--from", str(tmp_path / "n.csv")]
    )
    assert done.exit_code == 0, done.output
    warnings = tomllib.loads((tmp_path / "n.toml").read_text())["calibration"]["warnings"]
    assert "the measurement was interrupted: it has 1.0 of 4 rounds" in warnings


def test_a_measurement_that_failed_at_once_leaves_nothing_in_the_way_of_the_next(fake, tmp_path):
    told = _calibrate(tmp_path / "n.toml", fake(f"open(raw, 'w').write({HEAD!r})\nsys.exit('no memory')"))
    assert "no memory" in told.output
    assert not (tmp_path / "n.csv").exists()


def test_a_disk_that_is_full_ends_both_ranks_with_an_error(mpiexec):
    with pytest.raises(AssertionError, match="No space left on device"):
        mpiexec(2, str(launch._PROGRAM), "/dev/full")


def test_times_that_rank_0_wrote_on_another_host_are_asked_for_in_a_folder_of_both(fake, tmp_path):
    told = _calibrate(tmp_path / "n.toml", fake("print('1 1', flush=True)"))
    assert told.exit_code == 2
    assert "name a file in a folder that both hosts see" in told.output


def _raising(progress):
    def then_interrupted(number: int, of: int) -> None:
        progress(number, of)
        raise KeyboardInterrupt

    return then_interrupted


def test_raw_measurements_that_are_there_are_not_overwritten(fake, tmp_path):
    (tmp_path / "n.csv").write_text("precious")
    told = _calibrate(tmp_path / "n.toml", fake(""))
    assert told.exit_code == 2
    assert "is there already" in told.output
    assert (tmp_path / "n.csv").read_text() == "precious"


@pytest.mark.timed
def test_a_real_ping_pong_is_predicted_within_its_spread(mpiexec, emulated, tmp_path, monkeypatch):
    """Sizes that the fit has not seen, and `smpy run` of a machine that includes the result; medians over the sizes."""
    monkeypatch.setattr(calibration_module, "N_SIZES", 60)
    result = tmp_path / "n.toml"
    done = CliRunner().invoke(main, ["calibrate", "network", str(result), "--largest", "1MiB", "--loaded"])
    assert done.exit_code == 0, done.output
    about = tomllib.loads(result.read_text())["calibration"]
    assert about["route"] == "inside a host"
    samples = read_recorded(tmp_path / "n.csv")
    assert about["held_out_median"] < 3 * max(about["spread"], 0.05)

    (tmp_path / "m.toml").write_text('include = ["n.toml"]')
    sizes, measured_s = samples.medians("pingpong")
    pingpong = str(Path(__file__).parents[2] / "apps" / "pingpong.py")
    args = ("--sizes", *(str(int(size)) for size in sizes), "--repetitions", "3")
    ran = emulated(None, program=pingpong, args=args, platform=tmp_path / "m.toml", ranks_per_host=2)
    predicted_s = np.array([float(row.split()[1]) for row in ran.out.splitlines()[2:]]) * 1e-6
    error = np.median(np.abs(predicted_s / measured_s - 1))
    assert error < 3 * max(about["spread"], 0.05)
