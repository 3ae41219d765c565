"""A demonstration of mpi4py's, as it is: `demo.py FOLDER PATTERN`, every script that matches in its turn."""

import os
import runpy
import sys
from pathlib import Path

from mpi4py import MPI
from ordered import in_order_of_ranks

FOLDER, PATTERN = sys.argv[1:]
REPLACED = (
    (MPI.Get_processor_name(), "HOST"),
    (r"[\d.]+ seconds", "some seconds"),
    (r"(\.\d{12})\d+", r"\1"),  # sums are rounded in the order in which a reduction adds
)

sys.modules["matplotlib"] = None  # no pictures, wherever it is installed
for script in sorted(Path(FOLDER).glob(PATTERN)):
    sys.path[0] = str(script.parent)
    os.chdir(script.parent)
    with in_order_of_ranks(*REPLACED):
        print("script", script.name)
        try:
            names = runpy.run_path(str(script), run_name="__main__")
        except SystemExit as exit_:
            print("exit", exit_.code)
            continue
        if "M" in names:
            print("picture", names["M"].shape, int(names["M"].sum()))
