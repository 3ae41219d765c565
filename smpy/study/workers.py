"""Dask workers of this machine: processes that are started again when they die, and that end with their study.

Dask's nannies give up when a worker dies while it starts, as it may when memory is short.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from smpy.errors import SmpyError

HOST: Final = "127.0.0.1"
"""Address on which all processes of a local study listen."""

HTTP_ADDRESS: Final = f"{HOST}:0"
"""Address of the HTTP servers, on any port."""

_LOOK_S: Final = 0.1
_SOON_S: Final = 5.0
_STARTS_MAX: Final = 20  # starts of one worker that dies soon each time
_LEAVE_S: Final = 5.0
_WORDS_MAX: Final = 1000
_BOOT: Final = """
import sys
if sys.path[:1] == [""]:
    del sys.path[0]  # what lies in the working directory is not for a worker
sys.path.insert(0, sys.argv.pop(1))
import smpy
del sys.path[0]
from smpy.study.workers import main
main()
"""


@dataclass(frozen=True, slots=True)
class Credentials:
    """A certificate and its key, both PEM, which all processes of a study present, and expect of each other.

    Attributes
    ----------
    certificate : str
        Signed by its own key.
    key : str
        The private key.
    """

    certificate: str
    key: str


class Workers:
    """Worker processes, each with one thread.

    Parameters
    ----------
    address : str
        Address of the scheduler.
    n : int
        Number of processes.
    credentials : Credentials
        Credentials of the study.
    """

    def __init__(self, address: str, n: int, credentials: Credentials) -> None:
        self._address = address
        self._first_line = json.dumps(asdict(credentials)).encode() + b"\n"
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  # as long as the workers
        self._is_over = threading.Event()
        self._trouble = ""
        self._processes = [self._start() for _ in range(n)]
        self._watch = threading.Thread(target=self._keep, daemon=True)
        self._watch.start()

    def check(self) -> None:
        """Raise an error if a worker dies whenever it starts.

        Raises
        ------
        SmpyError
            If a worker does not start.
        """
        if self._trouble:
            raise SmpyError(f"a worker of the study dies as soon as it starts:\n{self._trouble}")

    def close(self) -> None:
        """End the workers, with the runs on them."""
        self._is_over.set()
        self._watch.join()
        for process in self._processes:
            if process.stdin is not None:
                process.stdin.close()
        for process in self._processes:
            try:
                process.wait(_LEAVE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._log.close()

    def _start(self) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(  # noqa: S603  # this interpreter
            [sys.executable, "-c", _BOOT, str(Path(__file__).parents[2]), self._address],
            stdin=subprocess.PIPE,
            stdout=self._log,
            stderr=self._log,
            start_new_session=True,  # Ctrl-C comes to the study alone
            bufsize=0,
        )
        assert process.stdin is not None
        with suppress(BrokenPipeError):  # the worker has died already
            process.stdin.write(self._first_line)  # fits into an empty pipe: does not wait for the worker
        return process

    def _keep(self) -> None:
        began_s = [time.monotonic()] * len(self._processes)
        n_soon = [0] * len(self._processes)
        while not self._is_over.wait(_LOOK_S):
            for i, process in enumerate(self._processes):
                if process.poll() is None:
                    continue
                n_soon[i] = n_soon[i] + 1 if time.monotonic() < began_s[i] + _SOON_S else 0
                if n_soon[i] > _STARTS_MAX:
                    self._trouble = self._last_words()
                    return
                if process.stdin is not None:
                    process.stdin.close()
                self._processes[i], began_s[i] = self._start(), time.monotonic()

    def _last_words(self) -> str:
        size = os.fstat(self._log.fileno()).st_size
        return os.pread(self._log.fileno(), _WORDS_MAX, max(0, size - _WORDS_MAX)).decode(errors="replace").strip()


@contextmanager
def workers(address: str, n: int, credentials: Credentials) -> Iterator[Workers]:
    """Workers while the body runs."""
    here = Workers(address, n, credentials)
    try:
        yield here
    finally:
        here.close()


def main() -> None:
    """Work until the study ends, which closes standard input."""
    import asyncio

    with open(sys.stdin.fileno(), "rb", closefd=False) as stdin:
        first_line = stdin.readline()
    if not first_line:  # the study has ended
        return
    threading.Thread(target=_leave_with_the_study, daemon=True).start()
    asyncio.run(_work(sys.argv[1], Credentials(**json.loads(first_line))))


def _leave_with_the_study() -> None:
    while os.read(sys.stdin.fileno(), 4096):  # unlike `sys.stdin`, takes no lock that Python's end waits for
        pass
    os._exit(0)


async def _work(address: str, credentials: Credentials) -> None:
    import dask
    from distributed import Security, Worker

    security = Security(
        require_encryption=True,
        tls_ca_file=credentials.certificate,
        tls_worker_cert=credentials.certificate,
        tls_worker_key=credentials.key,
    )
    with dask.config.set({"distributed.worker.http.routes": []}):
        worker: Any = await Worker(
            address,
            nthreads=1,
            memory_limit=0,
            host=HOST,
            security=security,
            dashboard=False,
            dashboard_address=HTTP_ADDRESS,
        )
    await worker.finished()
