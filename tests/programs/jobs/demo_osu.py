"""mpi4py's versions of the OSU benchmarks, with few and small messages: `demo_osu.py FOLDER`; times are left out."""

import inspect
import runpy
import sys
from pathlib import Path

from ordered import in_order_of_ranks

FEW = {"skip": 2, "loop": 5, "skip_large": 1, "loop_large": 2, "MAX_MSG_SIZE": 1 << 14, "window_size": 8}
FEW |= {"skip_small": 2, "loop_small": 5, "window_size_large": 4}

for script in sorted(Path(sys.argv[1]).glob("osu_*.py")):
    benchmark = runpy.run_path(str(script))[script.stem]
    options = {name: value for name, value in FEW.items() if name in inspect.signature(benchmark).parameters}
    with in_order_of_ranks((r"(?m) +\d+\.\d+", " ...")):
        print("script", script.name)
        try:
            benchmark(**options)
        except SystemExit as exit_:
            print("exit", exit_.code)
