"""Runs commands of smpy, each in a fork with limits of time and memory: `python -m tests.records.command_server`.

A line of standard input is JSON: the words of a command. The answer is one, too: its exit code (below 0: the signal
that ended it) and the text that it printed.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import tempfile
import traceback
from typing import Any

import numpy as np  # noqa: F401  # once for all commands
import pyarrow.parquet  # noqa: F401

import smpy.analysis.bounds
import smpy.analysis.pop
import smpy.replay
import smpy.report.page
import smpy.report.study_page
import smpy.study.study  # noqa: F401
from smpy.cli.main import main

CPU_SECONDS_MAX, SECONDS_MAX = 20, 200
BYTES_MAX = 3 << 30


def perform(words: list[str]) -> dict[str, Any]:
    """What comes of a command."""
    with tempfile.TemporaryFile() as told:
        child = os.fork()
        if not child:
            os.dup2(told.fileno(), 1)
            os.dup2(told.fileno(), 2)
            os._exit(_in_child(words))
        _, status = os.waitpid(child, 0)
        told.seek(0)
        said = told.read().decode(errors="replace")
    return {"code": os.waitstatus_to_exitcode(status), "said": said}


def _in_child(words: list[str]) -> int:
    signal.alarm(SECONDS_MAX)
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS_MAX, CPU_SECONDS_MAX))
    resource.setrlimit(resource.RLIMIT_AS, (BYTES_MAX, BYTES_MAX))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        main(words, prog_name="smpy")
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
    except BaseException:  # noqa: BLE001  # what this is about
        traceback.print_exc()
        code = 70
    else:
        code = 0
    sys.stdout.flush()
    sys.stderr.flush()
    return code


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(perform(json.loads(line))), flush=True)
