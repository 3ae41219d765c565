"""A network model from outside smpy, in a package of its own: own_network/ has its C and its Python.

A message of n bytes takes latency + n / bandwidth. Runs know the model by the entry point of the package.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

import smpy
from smpy.engine.model import kernel_model
from smpy.errors import UsageError
from smpy.platforms import Models, Network, NetworkModel, network_model
from smpy.platforms.models import network_models
from smpy.platforms.models.networks import with_network

OWN = Path(__file__).with_name("own_network")
ROOT = Path(smpy.__file__).parents[1]
LATENCY_S, BANDWIDTH_BYTES_PER_S = 1e-3, 1e6  # defaults of mine.py
N_BYTES, ROUNDS = 100_000, 3
PROGRAM = f"""
from mpi4py import MPI
world = MPI.COMM_WORLD
for _ in range({ROUNDS}):
    if world.rank:
        world.Send(bytearray({N_BYTES}), 0)
    else:
        MPI.Request.Waitall([world.Irecv(bytearray({N_BYTES}), peer) for peer in range(1, world.size)])
"""  # in each round all messages are under way at once
MACHINE = """<platform version='4.1'>
<cluster id='c' prefix='n' suffix='' radical='0-7' speed='1Gf' bw='1GBps' lat='1us'/>
</platform>
"""  # under SMPI's costs, its calls take no time


def formula_s(latency_s: float = LATENCY_S, bandwidth_bytes_per_s: float = BANDWIDTH_BYTES_PER_S) -> float:
    return ROUNDS * (latency_s + N_BYTES / bandwidth_bytes_per_s)


def compiled(folder: Path, *changes: tuple[str, str]) -> Path:
    """The package as it is installed, with changes of its sources."""
    for name in ("mine.c", "mine.py"):
        text = (OWN / name).read_text()
        for before, after in changes:
            text = text.replace(before, after)
        (folder / name).write_text(text)
    header = next((ROOT / "kernels").rglob("network_kind.h"))
    flags = ["-std=c11", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-shared", "-fPIC", f"-I{header.parent}"]
    compiler = shutil.which("cc") or "gcc"
    subprocess.run([compiler, *flags, folder / "mine.c", "-o", folder / "libmine.so"], check=True)
    about = folder / "mine-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: mine-network\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[smpy.networks]\nmine = mine\n")
    return folder


@pytest.fixture(autouse=True)
def registered_here_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have what a test registers gone with it."""
    monkeypatch.setattr(network_models, "_models", dict(network_models._models))


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("package"))


def command(package: Path, folder: Path, *line: str) -> subprocess.CompletedProcess[str]:
    """`smpy` beside the package, in a folder with a program and a machine."""
    (folder / "program.py").write_text(PROGRAM)
    (folder / "machine.xml").write_text(MACHINE)
    paths = {"PYTHONPATH": os.pathsep.join([str(ROOT), str(package)])}
    return subprocess.run(
        [sys.executable, "-m", "smpy", *line],
        cwd=folder,
        env=os.environ | paths,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def makespan_s(package: Path, tmp_path: Path) -> Callable[..., float]:
    """Makespan of a command on three ranks."""

    def of(*line: str) -> float:
        ended = command(package, tmp_path, *line[:1], "--json=out.json", *line[1:])
        assert ended.returncode == 0, ended.stderr
        return float(json.loads((tmp_path / "out.json").read_text())["makespan_s"])

    return of


def run(*options: str, platform: str = "machine.xml") -> list[str]:
    return ["run", "-np", "3", "--compute=none", f"--platform={platform}", *options, "program.py"]


def test_a_run_names_the_model_of_an_installed_package(makespan_s: Callable[..., float], tmp_path: Path) -> None:
    assert makespan_s(*run("--network=mine")) == pytest.approx(formula_s(), rel=1e-12)
    assert json.loads((tmp_path / "out.json").read_text())["settings"] == [["network", "mine"]]
    assert makespan_s(*run("--set=network/model=mine")) == pytest.approx(formula_s(), rel=1e-12)
    given = makespan_s(*run("--network=Mine:latency=2ms, bandwidth=4MB/s"))
    assert given == pytest.approx(formula_s(2e-3, 4e6), rel=1e-12)


def test_a_trace_keeps_the_model_and_a_replay_names_it(makespan_s: Callable[..., float]) -> None:
    makespan_s(*run("--network=mine", "--trace=with"))
    assert makespan_s("replay", "with") == pytest.approx(formula_s(), rel=1e-12)
    assert makespan_s("replay", "with", "--network=mine:latency=0s") == pytest.approx(formula_s(0), rel=1e-12)
    makespan_s(*run("--trace=without"))
    assert makespan_s("replay", "without", "--network=mine") == pytest.approx(formula_s(), rel=1e-12)


@pytest.mark.slow
def test_a_machine_of_ours_has_the_model_and_its_parameters(
    makespan_s: Callable[..., float], package: Path, tmp_path: Path
) -> None:
    text = "host.count = 3\nmpi.costs = 'smpi'\n[network]\nmodel = 'mine'\nlatency = '2ms'\n"
    (tmp_path / "machine.toml").write_text(text)
    expected_s = pytest.approx(formula_s(2e-3), rel=1e-12)
    assert makespan_s(*run("--ppn=1", platform="machine.toml")) == expected_s
    converted = command(package, tmp_path, "platform", "convert", "machine.toml", "other.toml")
    assert converted.returncode == 0, converted.stderr
    assert makespan_s(*run("--ppn=1", platform="other.toml")) == expected_s


def test_help_and_messages_list_the_model(package: Path, tmp_path: Path) -> None:
    told = command(package, tmp_path, *run("--network=min")).stderr
    assert "--network min: 'min' is not a network model: there are smpi, " in told
    assert "mine, ideal: did you mean 'mine'?" in told
    assert "NAME:KEY=VALUE,...: mine." in " ".join(command(package, tmp_path, "run", "--help").stdout.split())


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ("lat=1ms", "'lat' is no parameter of it: latency, bandwidth are: did you mean 'latency'?"),
        ("latency", "'latency' has no value: write latency=1us"),
        ("latency=-1s", "latency_s is -1.0: it cannot be negative"),
    ],
)
def test_a_wrong_parameter_is_refused(package: Path, tmp_path: Path, parameters: str, message: str) -> None:
    ended = command(package, tmp_path, *run(f"--network=mine:{parameters}"))
    assert (ended.returncode, message in ended.stderr) == (2, True), ended.stderr


def test_a_part_that_the_model_has_not_cannot_be_ideal(package: Path, tmp_path: Path) -> None:
    command(package, tmp_path, *run("--network=mine", "--trace=it"))
    ended = command(package, tmp_path, "replay", "it", "--ideal=latency")
    assert (ended.returncode, "its parts are overhead under the network model mine" in ended.stderr) == (2, True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("{NETWORK_ABI,", "{NETWORK_ABI + 1,", "was compiled for version 4 of network_kind.h"),
        ("sizeof(network_kind)}", "sizeof(network_kind) - 8}", "compile it again with the header of this smpy"),
        ('{"latency_s", 1}, ', "", "its kind in C has bandwidth_bytes_per_s in a block of 16 bytes"),
        ("double latency_s,", "double more[2], latency_s,", "in a block of 32 bytes: name in both"),
        ("smpy_network =", "other =", "exports a network_kind as smpy_network"),
        ("@network_model", "#", "registers no model of that name: put it under @network_model"),
        ("import annotations", "import annotations\n1 / 0", "of mine-network cannot be imported: ZeroDivisionError"),
    ],
)
def test_a_package_that_does_not_fit_is_refused(tmp_path: Path, before: str, after: str, message: str) -> None:
    folder = tmp_path / "package"
    folder.mkdir()
    ended = command(compiled(folder, (before, after)), tmp_path, *run("--network=mine"))
    assert ended.returncode == 2
    assert message in ended.stderr


# ---- what registers ----


def test_python_hands_over_the_address_of_a_kind(package: Path) -> None:
    library = ctypes.CDLL(str(package / "libmine.so"))

    @network_model("by_address", kernel=lambda: ctypes.addressof(ctypes.c_char.in_dll(library, "smpy_network")))
    @dataclass(frozen=True, slots=True)
    class ByAddress(Network):
        latency_s: float = 5.0
        bandwidth_bytes_per_s: float = 7.0

    machine = NetworkModel(loopback_latency_s=9)
    chosen = with_network(machine, "by_address")
    assert chosen == ByAddress(loopback_latency_s=9)
    assert list(kernel_model(Models(chosen)).parameters) == [5, 7]
    assert with_network(chosen, "smpi") == machine


@pytest.mark.parametrize("name", ["ib", "ideal"])
def test_a_second_model_of_a_name_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"smpy has a network model '{name}': give the one in .* another name"):
        network_model(name, kernel="flow")(Network)


def test_a_parameter_is_a_number_with_a_default() -> None:
    @dataclass(frozen=True, slots=True)
    class Worded(Network):
        rule: str = "fast"

    with pytest.raises(TypeError, match="rule of the network model 'worded' must have a number as its default"):
        network_model("worded", kernel="flow")(Worded)


def test_a_model_of_a_kind_that_the_kernel_has_not_is_refused() -> None:
    @network_model("of_nothing", kernel="nothing")
    @dataclass(frozen=True, slots=True)
    class OfNothing(Network):
        pass

    with pytest.raises(UsageError, match="the kernel has no 'nothing', which the network model of_nothing is made of"):
        kernel_model(Models(OfNothing()))
