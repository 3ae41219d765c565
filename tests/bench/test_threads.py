"""Cost of a thread of a rank: its memory."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

pytestmark = pytest.mark.bench

THREADS = """
import threading
def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096
stop, n = threading.Event(), 2000
threads = [threading.Thread(target=stop.wait) for _ in range(n)]
before = resident_bytes()
for thread in threads:
    thread.start()
print((resident_bytes() - before) / n)
stop.set()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_thread_weighs_at_most_30_kilobytes(smpy_run: Callable):
    ran = smpy_run(THREADS, 1, "--quiet", "--compute", "none")
    assert ran.code == 0, ran.err
    assert float(ran.out) < 30_000
