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
from importlib import import_module
from typing import Any

from smpy.cli.main import main

CPU_SECONDS_MAX, SECONDS_MAX = 20, 200
BYTES_MAX = 3 << 30
IMPORTED_ONCE = (  # for all commands
    "pandas", "plotly.graph_objects", "plotly.graph_objs.layout", "plotly.io", "plotly.offline", "pyarrow.csv",
    "pyarrow.pandas_compat", "pyarrow.parquet", "smpy.analysis.run_bounds", "smpy.analysis.comparison",
    "smpy.analysis.path_analysis", "smpy.analysis.pop_metrics", "smpy.analysis.wait_analysis",
    "smpy.cli.analyze", "smpy.cli.export", "smpy.cli.platform", "smpy.cli.replay", "smpy.cli.report", "smpy.cli.run",
    "smpy.cli.study", "smpy.emulate.run.run",
    "smpy.mpi.MPI", "smpy.platforms.machine", "smpy.platforms.own_format.describe", "smpy.export.csv",
    "smpy.export.perfetto", "smpy.replay", "smpy.report.page", "smpy.report.study_page", "smpy.study.export",
    "smpy.study.findings", "smpy.study.study",
)  # fmt: skip


def perform(words: list[str]) -> dict[str, Any]:
    """Exit code and text of a command."""
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
    except BaseException:  # noqa: BLE001  # its traceback is the answer
        traceback.print_exc()
        code = 70
    else:
        code = 0
    sys.stdout.flush()
    sys.stderr.flush()
    return code


if __name__ == "__main__":
    for module in IMPORTED_ONCE:
        import_module(module)
    for line in sys.stdin:
        print(json.dumps(perform(json.loads(line))), flush=True)
