"""`%%smpy`, and functions of a notebook."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import write_files

SESSION = """
    import json, sys
    from IPython.core.interactiveshell import InteractiveShell
    if sys.argv[2:] == ["with MPI"]:
        from mpi4py import MPI
        assert MPI.COMM_WORLD.size == 1
    shell = InteractiveShell.instance()
    for cell in json.load(open(sys.argv[1])):
        print("----", flush=True)
        shell.run_cell(cell, store_history=True)
"""


def session(folder: Path, *cells: str, with_mpi: bool = False) -> list[str]:
    """Output of IPython for each cell."""
    write_files(folder, {"session.py": SESSION, "cells.json": json.dumps(cells)})
    done = subprocess.run(
        [sys.executable, "session.py", "cells.json", *(["with MPI"] if with_mpi else [])],
        cwd=folder,
        env=os.environ | {"IPYTHONDIR": str(folder), "NO_COLOR": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout.split("----\n")[1:]


PROGRAM = """\
%%smpy -np {n} --compute none -- --its "two words"
import sys
from mpi4py import MPI
import beside
print(MPI.COMM_WORLD.rank, beside.name, sys.argv[1:])
if {n} > 2:
    raise ValueError("as asked")
"""


@pytest.mark.slow
@pytest.mark.parametrize("with_mpi", [False, pytest.param(True, id="a real mpi4py imported")])
def test_cells_and_functions_of_a_notebook_are_programs(tmp_path: Path, with_mpi: bool):
    pytest.importorskip("IPython")
    if with_mpi:
        pytest.importorskip("mpi4py")
    write_files(tmp_path, {"beside.py": "name = 'beside'"})
    told = session(
        tmp_path,
        "%load_ext smpy",
        PROGRAM.format(n=2),
        "print(_, _.stdout.count('beside'))",
        PROGRAM.format(n=3),
        "%%smpy -np 2 --compute some\npass",
        "import smpy, numpy as np\nclass Point:\n    x = 3\ndef double(n):\n    return 2 * n",
        "def main(point):\n    from mpi4py import MPI\n    print(MPI.COMM_WORLD.size, double(point.x))\n    1 / 0",
        "try:\n    smpy.simulate(main, Point(), ranks=1)\nexcept smpy.RunError as error: print(error.stdout, error)",
        with_mpi=with_mpi,
    )
    assert "0 beside ['--its', 'two words']\n1 beside ['--its', 'two words']\n" in told[1]
    assert "<Run of cell 2 on 2 ranks, the default cluster: " in told[1]
    assert told[2].endswith(" simulated> 2\n")
    assert told[3].count("as asked") == 2
    assert 'cell_4.py", line 7, in <module>\n    raise ValueError("as asked")' in told[3]
    assert "perform_run" not in told[3]
    assert told[4].strip().startswith("UsageError: Invalid value for '--compute': 'some' is none of")
    assert told[7].startswith("1 6\n")
    assert 'Cell_In_7.py", line 4, in main\n    1 / 0\n' in told[7]
