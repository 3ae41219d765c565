"""A study's processes can be reached by each other alone, and secrets of its shell stay there."""

from __future__ import annotations

import json
import os
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import distributed
import psutil
import pytest

import smpy
from smpy.errors import UsageError
from smpy.runs.request import RunInputs
from smpy.runs.variables_read import hashes_of
from smpy.study import dask_cluster
from smpy.study.carried_variables import CarriedVariables, variables_of_a_run
from tests.study.studies import study_table

SMPY = str(Path(sys.executable).with_name("smpy"))
DASK = str(Path(sys.executable).with_name("dask"))
_LISTENS = "0A"

WAITS = """
import socket
from mpi4py import MPI

if MPI.COMM_WORLD.rank == 0:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect("meeting")
        connection.recv(1)  # nothing: the test closes it
"""


def write_study(folder: Path, program: str, more: str = "") -> Path:
    (folder / "program.py").write_text(program)
    path = folder / "study.toml"
    path.write_text(
        f'program = "program.py"\noptions = {{ ranks = 2, compute = "none" }}\naxes = {{ seed = [1] }}\n{more}'
    )
    return path


@contextmanager
def running_study(folder: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    """A study whose only point runs until the body has ended."""
    path = write_study(folder, WAITS)
    (folder / "temporary").mkdir()
    with socket.socket(socket.AF_UNIX) as meeting:
        meeting.bind(os.path.relpath(folder / "meeting"))
        meeting.listen()
        meeting.settimeout(120)
        study = subprocess.Popen(
            [SMPY, "study", "run", str(path), "--workers", "1", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            env={**os.environ, "TMPDIR": str(folder / "temporary")},
        )
        try:
            connection, _ = meeting.accept()
            with connection:
                yield study
            out, _ = study.communicate(timeout=120)
            assert study.returncode == 0, out
        finally:
            study.kill()
            study.communicate()


def listeners(study: subprocess.Popen[str]) -> list[tuple[str, int]]:
    """Address and port of each TCP or UDP socket on which a process of the study can be reached."""
    owned = set()
    processes = [psutil.Process(study.pid), *psutil.Process(study.pid).children(recursive=True)]
    for process in processes:
        for descriptor in Path(f"/proc/{process.pid}/fd").iterdir():
            owned.add(os.readlink(descriptor))
    addresses = []
    for protocol in ("tcp", "tcp6", "udp", "udp6"):
        for line in Path(f"/proc/{study.pid}/net/{protocol}").read_text().splitlines()[1:]:
            fields = line.split()
            if f"socket:[{fields[9]}]" in owned and (fields[3] == _LISTENS or protocol.startswith("udp")):
                address, port = fields[1].split(":")
                is_4 = len(address) == 8
                words = [bytes.fromhex(address[at : at + 8])[::-1] for at in range(0, len(address), 8)]
                name = socket.inet_ntop(socket.AF_INET if is_4 else socket.AF_INET6, b"".join(words))
                addresses.append((name, int(port, 16)))
    return addresses


def answer(port: int, text: bytes) -> bytes:
    """First line that comes back; empty: the connection is closed."""
    with suppress(ConnectionResetError), socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(text)
        return connection.makefile("rb").readline()
    return b""


def speak_tls(port: int, certificate: Path | None) -> None:
    """Shake hands, and read what comes."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if certificate is not None:
        context.load_cert_chain(certificate)
    with socket.create_connection(("127.0.0.1", port), timeout=60) as plain, context.wrap_socket(plain) as connection:
        if not connection.recv(1):
            raise ConnectionResetError


@pytest.mark.slow
def test_a_study_listens_on_127_0_0_1_alone_and_refuses_strangers(tmp_path: Path):
    stranger = distributed.Security.temporary()
    certificate = tmp_path / "stranger.pem"
    certificate.write_text(stranger.tls_client_key + stranger.tls_client_cert)
    with running_study(tmp_path) as study:
        addresses = listeners(study)
        assert {address for address, _ in addresses} == {"127.0.0.1"}
        ports = [port for _, port in addresses]
        http = [port for port in ports if answer(port, b"GET /status HTTP/1.0\r\n\r\n").startswith(b"HTTP")]
        assert len(http) == 2  # the scheduler's, and the worker's
        assert len(ports) == 4
        for port in http:
            for page in ("status", "info/main/workers.html", "json/identity.json", "metrics", "health"):
                assert b" 404 " in answer(port, f"GET /{page} HTTP/1.0\r\n\r\n".encode()), page
        for port in set(ports).difference(http):
            for own in (None, certificate):
                with pytest.raises((ssl.SSLError, ConnectionError)):
                    speak_tls(port, own)
            for protocol, security in (("tcp", None), ("tls", stranger)):
                with pytest.raises(OSError):  # a closed connection, or a certificate that does not match
                    distributed.Client(
                        f"{protocol}://127.0.0.1:{port}", security=security, timeout=1, set_as_default=False
                    )
        for process in (psutil.Process(study.pid), *psutil.Process(study.pid).children(recursive=True)):
            assert "PRIVATE KEY" not in "".join([*process.cmdline(), *process.environ().values()])
        files = [path for path in (tmp_path / "temporary").rglob("*") if path.is_file()]
        assert not any(b"PRIVATE KEY" in path.read_bytes() for path in files)


@pytest.mark.slow
def test_a_dashboard_that_is_asked_for_is_on_127_0_0_1(tmp_path: Path):
    with running_study(tmp_path, "--dashboard") as study:
        addresses = listeners(study)
        assert {address for address, _ in addresses} == {"127.0.0.1"}
        assert study.stdout is not None
        told = study.stdout.readline()
        assert told.startswith("smpy: Dask's dashboard is at http://127.0.0.1:")
        port = int(told.rpartition(":")[2].partition("/")[0])
        assert b" 200 " in answer(port, b"GET /status HTTP/1.0\r\n\r\n")


def test_a_dashboard_that_cannot_be_shown_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "distributed.dashboard.scheduler", None)
    with pytest.raises(UsageError, match="pip install bokeh"):
        dask_cluster._check_dashboard()
    study = smpy.Study(study_table(tmp_path), tmp_path / "results")
    with pytest.raises(UsageError, match="leave --dashboard out"):
        study.run(scheduler="tcp://127.0.0.1:1", show_dashboard=print)


# ---- a scheduler that others use, too ----

TELLS = """
import json, os
from mpi4py import MPI

if MPI.COMM_WORLD.rank == 0:
    read = [os.environ.get("SMPY_TEST_READ"), os.environ.get("SMPY_TEST_ABSENT")]
    print(json.dumps([read, os.environ.copy()]))
"""


@contextmanager
def tls_cluster(certificate: Path, key: Path, environment: dict[str, str]) -> Iterator[str]:
    """Dask's own scheduler and a worker, as docs/studies.md has them start."""
    folder = certificate.parent
    file = folder / "scheduler.json"
    log = open(folder / "dask.log", "ab")  # noqa: SIM115
    tell = {"stdout": log, "stderr": log, "env": environment}
    local = ["--host", "127.0.0.1", "--no-dashboard", "--protocol", "tls"]
    own = ["--tls-ca-file", str(certificate), "--tls-cert", str(certificate), "--tls-key", str(key)]
    scheduler = [DASK, "scheduler", "--port", "0", "--scheduler-file", str(file), *local, *own]
    worker = [DASK, "worker", "--nthreads", "1", "--no-nanny", "--scheduler-file", str(file), *local, *own]
    processes = [subprocess.Popen(line, **tell) for line in (scheduler, worker)]
    try:
        while not file.exists() or not file.read_text():
            assert processes[0].poll() is None, (folder / "dask.log").read_text()
            with pytest.raises(subprocess.TimeoutExpired):
                processes[0].wait(0.1)
        yield json.loads(file.read_text())["address"]
    finally:
        for process in processes:
            process.kill()
            process.wait()
        log.close()


def run(line: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(line, check=False, capture_output=True, encoding="utf-8", env=environment, timeout=120)


@pytest.mark.slow
def test_points_go_over_tls_and_carry_the_variables_that_they_need(tmp_path: Path):
    security = distributed.Security.temporary()
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    certificate.write_text(security.tls_client_cert)
    key.write_text(security.tls_client_key)
    tls = {
        "DASK_DISTRIBUTED__COMM__TLS__CA_FILE": str(certificate),
        "DASK_DISTRIBUTED__COMM__TLS__CLIENT__CERT": str(certificate),
        "DASK_DISTRIBUTED__COMM__TLS__CLIENT__KEY": str(key),
    }
    theirs = {"SMPY_TEST_READ": "theirs", "SMPY_TEST_ABSENT": "theirs", "OMP_NUM_THREADS": "7"}
    ours = {"SMPY_TEST_READ": "ours", "SMPY_TEST_NAMED": "named", "SMPY_TEST_SECRET": "secret"}
    shell = {name: value for name, value in os.environ.items() if not name.startswith(("SMPY_TEST_", "OMP_"))}
    path = write_study(
        tmp_path, TELLS, "environment = ['SMPY_TEST_NAMED']\n[results]\nread = '\"(ours)\", null'\nnumber = '(zzz)'\n"
    )
    with tls_cluster(certificate, key, {**shell, **theirs}) as address:
        assert address.startswith("tls://")
        line = [SMPY, "study", "run", str(path), "--scheduler", address]
        refused = run(line, {**shell, **ours})
        assert refused.returncode == 2
        assert refused.stderr.startswith(
            f"smpy: there is no certificate for the Dask scheduler at {address}: set DASK_"
        )
        assert len(refused.stderr.splitlines()) == 1
        ended = run(line, {**shell, **tls, **ours})
        assert ended.returncode == 0, ended.stderr
    study = smpy.Study(path)
    (entry,) = study.state().entries.values()
    read, environment = json.loads(entry.output)
    assert read == ["ours", None]
    assert environment["SMPY_TEST_NAMED"] == "named"
    assert "SMPY_TEST_SECRET" not in environment
    assert "OMP_NUM_THREADS" not in environment


def test_a_variable_is_carried_from_the_first_run_on_that_has_read_another_value():
    variables = CarriedVariables({"READ": "ours", "SECRET": "secret", "PYTHONPATH": "/ours"}, ["NAMED"])
    first = variables.current()
    assert first == {"PYTHONPATH": "/ours", "NAMED": None}
    own = {"READ": "theirs", "NAMED": "theirs", "OMP_NUM_THREADS": "1", "PATH": "/bin"}
    assert variables_of_a_run(first, own) == {"READ": "theirs", "PYTHONPATH": "/ours", "PATH": "/bin"}
    reads = RunInputs(variables=hashes_of(["READ", "UNSET"], own))
    assert variables.has_missed(first, reads)
    assert variables.has_missed(first, reads)  # another point had begun with the first variables
    second = variables.current()
    assert second == {**first, "READ": "ours"}
    assert not variables.has_missed(second, reads)
