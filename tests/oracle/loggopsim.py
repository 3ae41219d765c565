"""Draws programs in GOAL, and records how long LogGOPSim says that they take.

``python tests/oracle/loggopsim.py FOLDER`` writes loggopsim.json; FOLDER has `txt2bin` and `LogGOPSim`, built from
``src/LogGOPSim`` of github.com/spcl/LogGOPSim at REVISION. No network is needed afterwards.
"""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

REVISION = "76451de"
COMMAND = "txt2bin -i x.goal -o x.bin; LogGOPSim -f x.bin -L ... -o ... -g ... -G ... -O ... -S ..."
RECORDED = Path(__file__).with_suffix(".json")


def program(seed: int) -> tuple[str, dict[str, int]]:
    """Draw a sequence of operations for each rank, and parameters: dates are whole tens of nanoseconds.

    Above S the drawn programs are of two ranks: with more, LogGOPSim's result depends on which of two things of one
    date it takes first.
    """
    draw = random.Random(seed)
    is_eager = seed % 4 != 0
    n_ranks = draw.randint(2, 8) if is_eager else 2
    operations: list[list[str]] = [[] for _ in range(n_ranks)]
    for _ in range(draw.randint(4, 30)):
        if draw.random() < 0.3:
            operations[draw.randrange(n_ranks)].append(f"calc {10 * draw.randint(0, 2000)}")
            continue
        source, target = draw.sample(range(n_ranks), 2)
        n_bytes, tag = 10 * draw.choice((0, 1, 10, 100, 500)) + 1, draw.randint(0, 2)
        operations[source].append(f"send {n_bytes}b to {target} tag {tag}")
        operations[target].append(f"recv {n_bytes}b from {source} tag {tag}")
    lines = [f"num_ranks {n_ranks}"]
    for rank, own in enumerate(operations):
        lines.append(f"rank {rank} {{")
        for number, operation in enumerate(own):
            lines.append(f"l{number}: {operation}")
            lines += [f"l{number} requires l{number - 1}"] if number else []
        lines.append("}")
    parameters = {
        "L": 10 * draw.randint(0, 500),
        "o": 10 * draw.randint(1, 300),
        "g": 10 * draw.choice((0, draw.randint(1, 900))),
        "G": draw.choice((0, 1, 6)),
        "O": draw.choice((0, 0, 1, 7)),
        "S": 65535 if is_eager else draw.choice((1, 500)),
    }
    return "\n".join([*lines, ""]), parameters


def judged(folder: Path, text: str, parameters: dict[str, int]) -> list[int]:
    """The finish of each rank in nanoseconds, as LogGOPSim has it."""
    with TemporaryDirectory() as scratch:
        goal, binary = Path(scratch, "x.goal"), Path(scratch, "x.bin")
        goal.write_text(text)
        subprocess.run([folder / "txt2bin", "-i", goal, "-o", binary], check=True, capture_output=True)
        options = [word for name, value in parameters.items() for word in (f"-{name}", str(value))]
        line = [folder / "LogGOPSim", "-f", binary, *options]
        out = subprocess.run(line, check=True, capture_output=True, text=True).stdout
    return [int(each) for each in re.findall(r"Host \d+: (\d+)", out)]


def main() -> None:
    folder = Path(sys.argv[1]).resolve()
    cases = []
    for seed in range(120):
        text, parameters = program(seed)
        cases.append({"seed": seed, "finish_ns": judged(folder, text, parameters)})
    lines = ",\n".join(json.dumps(case) for case in cases)
    head = json.dumps({"revision": REVISION, "command": COMMAND})[1:-1]
    RECORDED.write_text(f'{{{head}, "cases": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
