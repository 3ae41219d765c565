"""Records how long LogGOPSim says that its own example takes, and programs of ours.

``python tests/oracle/loggopsim_programs.py FOLDER`` writes loggopsim_programs.json, and the programs to goal/; FOLDER
is that of `tests/oracle/loggopsim.py`. LogGOPSim tells the date of each rank of up to 16 only: the limit in its line
``if(p <= 16 && ...)`` is raised to 64. No network is needed afterwards.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tests.oracle.loggopsim import COMMAND, REVISION, judged

RECORDED: Final = Path(__file__).with_suffix(".json")
PROGRAMS: Final = Path(__file__).parent / "goal"
PARAMETERS: Final = (
    {"L": 2500, "o": 1500, "g": 1000, "G": 6, "O": 0, "S": 65535},
    {"L": 5000, "o": 500, "g": 100, "G": 2, "O": 1, "S": 10_000_000},
    {"L": 100, "o": 2000, "g": 3000, "G": 1, "O": 0, "S": 10_000_000},
)
EMPTY: Final = re.compile(r"(send|recv) 0b")
"""Messages without bytes: LogGOPSim has them take G less than those of one byte, which nothing can."""
OURS: Final = ("ring", "jacobi", "fft2d", "split", "jacobi3d", "cg", "pipeline", "shift", "halo", "ring one")


def binomial_tree(n_ranks: int) -> str:
    """A broadcast of a byte; of 32 ranks, what the example `binary_tree_32.goal` of LogGOPSim does."""
    lines = [f"num_ranks {n_ranks}"]
    for rank in range(n_ranks):
        lines.append(f"rank {rank} {{")
        if rank:
            lines.append(f"l1: recv 1b from {rank - (1 << rank.bit_length() - 1)} tag 0")
        children = [
            rank + (1 << k) for k in range(rank.bit_length(), n_ranks.bit_length()) if rank + (1 << k) < n_ranks
        ]
        for number, child in enumerate(children, start=2):
            lines.append(f"l{number}: send 1b to {child} tag 0")
            lines += [f"l{number} requires l1"] if rank else []
        lines.append("}")
    return "\n".join([*lines, ""])


def main() -> None:
    from smpy.export import export
    from smpy.records.trace import Trace
    from tests.export.programs import ALL

    folder = Path(sys.argv[1]).resolve()
    PROGRAMS.mkdir(exist_ok=True)
    texts = {"binomial_tree": binomial_tree(32)}
    for name in OURS:
        with TemporaryDirectory() as scratch:
            trace = Trace(ALL[name].trace(Path(scratch, "run")))
            export(trace, "goal", Path(scratch, "x.goal"))
            path = PROGRAMS / f"{name.replace(' ', '_')}.goal"
            path.write_text(EMPTY.sub(r"\1 1b", Path(scratch, "x.goal").read_text()))
            texts[path.stem] = path.read_text()
    cases = [
        {"program": name, "parameters": parameters, "finish_ns": judged(folder, text, parameters)}
        for name, text in texts.items()
        for parameters in PARAMETERS
    ]
    lines = ",\n".join(json.dumps(case) for case in cases)
    head = json.dumps({"revision": REVISION, "command": COMMAND})[1:-1]
    RECORDED.write_text(f'{{{head}, "cases": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
