"""Files with bits flipped, parts lost or exchanged, numbers out of this world: a line, and never another answer.

A file with a checksum (trace, journal, bursts) gives the answer of the undamaged one, or a line says that it is
damaged; of a trace, the line names the file, and there is no other answer. Texts of people (studies, calibrations),
profiles that a study keeps, and traces that are sealed anew may say something else: the command ends, in bounded memory
and without a traceback.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import smpy
from smpy.runs.request import RunInputs
from smpy.study.journal import Entry, Journal
from tests.platforms.mutations import mutate
from tests.records.synthetic_trace import seal

ROOT = Path(__file__).parents[2]
DATA = Path(__file__).parent / "data"
FEW, MANY = range(4), range(4, 204)  # seeds of each kind
NUMBERS = (
    0,
    1,
    -1,
    7,
    2**31 - 1,
    2**31,
    2**53,
    2**63 - 1,
    -(2**31),
    1e300,
    -1e300,
    0.5,
    float("nan"),
    float("inf"),
    None,
)
TOLD = re.compile(
    "damaged|has changed|missing|shorter|longer|no plain file|no part of|is not|cannot|cut short|another version|"
    "no file of bursts"
)
VALUES = (None, True, "", "x:1", 0, -1, 3.5, 1e300, 10**400, [], {}, [[]], ["x"], [1e300], {"x": 1}, "\udcff")
COMPUTING_LINES = [
    {"ended_by": line, "function": "work", "line": "program.py:11", "seconds": 1e-5, "samples": 3}
    for line in ("program.py:20", None)
]
CALL_STACKS = {
    "window_s": 0.001,
    "ranks_per_cell": 1,
    "calls": {"caller": [-1, 0], "function": ["work", "work"], "file": ["program.py"] * 2, "line": [0, 11]},
    "times": {"ranks": [0, 1], "window": [0, 3], "call": [1, 1], "seconds": [1e-5, 2e-5]},
}
STUDY = """
program = "program.py"
args = ["--n", "{n}"]
options = { compute = "none", platform = "flat hosts=8 cores=1" }
results = { rate = "rate (.*)" }
keep = ["profile"]
axes = { ranks = [1, 2, 4], "args.n" = [10, 20] }
[limits]
time = "10s"
"""


Answer = tuple[int, str, dict[str, bytes]]  # exit code, lines, files


class Commands:
    """The server of commands."""

    def __init__(self, folder: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.records.command_server"], cwd=ROOT, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ | {"PYTHONWARNINGS": "ignore"},
        )  # fmt: skip
        self.folder = folder / "out"
        self.folder.mkdir()
        self.place = folder / "place"
        self.answers: dict[str, Answer] = {}  # answers for undamaged files
        self.n = 0

    def __call__(self, line: str) -> tuple[int, str]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self.n += 1
        words = [word.replace("OUT", str(self.folder / "out")) for word in line.split()]
        self._process.stdin.write(json.dumps(words) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        return answer["code"], answer["said"]

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Commands]:
    with closing(Commands(tmp_path_factory.mktemp("commands"))) as server:
        yield server


# ---- what is mutated ----


def _trace(folder: Path) -> Path:
    """A trace of all kinds of rows, whose computing has samples."""
    path = Path(shutil.copytree(DATA / "trace_7", folder / "trace"))
    info = json.loads((path / "run.json").read_text())
    info["profile"]["computing_lines"] = COMPUTING_LINES
    info["profile"]["call_stacks"] = CALL_STACKS
    (path / "run.json").write_text(json.dumps(info))
    return seal(path)


def _study(folder: Path) -> Path:
    (folder / "program.py").write_text("from mpi4py import MPI\nprint('rate 3')\n")
    (folder / "study.toml").write_text(STUDY)
    return folder / "study.toml"


def _journal(folder: Path) -> Path:
    study = smpy.Study(_study(folder), folder / "a.study")
    study.folder.mkdir()
    (study.folder / "study.json").write_text(study._text())
    row = {"messages": 3, "bytes": 80, "wall_s": 0.25, "peak_rss_bytes": 1 << 26, "parts": None, "compute_share": 0.5}
    with closing(Journal(study.folder / "journal.sqlite")) as journal:
        for point in study.points:
            entry = Entry({**row, "ranks": point.ranks, "makespan_s": 1.0 + point.number}, output="rate 3\n")
            journal.add([(point.key, study.origin(point, RunInputs()), entry)])
    return study.folder


def _kept(folder: Path) -> Path:
    """The profiles of a study whose points have ended."""
    study = smpy.Study(_journal(folder))
    (study.folder / "profiles").mkdir()
    for point in study.points:
        shutil.copy(DATA / "trace_7" / "run.json", study.folder / "profiles" / f"{point.key}.json")
    return study.folder / "profiles"


def _bursts(folder: Path) -> Path:
    (folder / "program.py").write_text(
        "from mpi4py import MPI\nfor i in range(9):\n    sum(range(30000)); MPI.COMM_WORLD.Barrier()\n"
    )
    return folder / "bursts"


def _calibration(folder: Path) -> Path:
    (folder / "program.py").write_text("import smpy\nsmpy.execute(1e6)\n")
    return Path(shutil.copy(ROOT / "calibration/study-2017/laptop.toml", folder / "host.toml"))


MAKE: dict[str, Callable[[Path], Path]] = {
    "trace": _trace, "forged": _trace, "journal": _journal, "kept": _kept, "study": _study, "bursts": _bursts,
    "calibration": _calibration,
}  # fmt: skip
LINES = {
    "trace": ["replay IT", "analyze pop IT", "analyze bounds IT", "analyze waits IT", "analyze critical-path IT",
              "analyze compare IT IT", "export IT --to perfetto -o OUT", "export IT --to csv -o OUT.csv",
              "report IT -o OUT.html",
              "replay IT --platform flat"],
    "journal": ["study status IT", "study export IT --to csv -o OUT", "study report IT -o OUT.html",
                "report IT -o OUT.html"],
    "kept": ["report IT/.. -o OUT.html"],
    "study": ["study status IT"],
    "bursts": ["run -np 2 --compute replay:IT PROGRAM"],
    "calibration": ["platform show IT", "run -np 1 --compute none --platform IT PROGRAM",
                    "run -np 1 --compute none --host IT PROGRAM"],
}  # fmt: skip
LINES["forged"] = LINES["trace"]
WRITTEN = ("study", "calibration")  # by people
MAY_DIFFER = (*WRITTEN, "kept", "forged")  # without a checksum, or with a new one


def _flip(data: bytes, draw: random.Random) -> bytes:
    at = draw.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << draw.randrange(8)]) + data[at + 1 :]


def _cut(data: bytes, draw: random.Random) -> bytes:
    first = draw.randrange(len(data))
    return data[:first] + data[first + draw.choice((1, 8, 4096, len(data))) :]


def _zeros(data: bytes, draw: random.Random) -> bytes:
    first = draw.randrange(len(data))
    n = min(draw.choice((4, 512)), len(data) - first)
    return data[:first] + bytes(n) + data[first + n :]


def _number(data: bytes, draw: random.Random) -> bytes:
    matches = list(re.finditer(rb"-?\d+\.?\d*", data))
    if not matches:
        return _flip(data, draw)
    number = draw.choice(matches)
    return (
        data[: number.start()]
        + draw.choice((b"1e999", b"NaN", b"-1", b"9" * 400, b"2147483648", b"0", b'"x"'))
        + data[number.end() :]
    )


def damage(path: Path, draw: random.Random) -> str:
    """Damage a file, or one in a folder: how, and which."""
    files = (
        sorted(each for each in path.iterdir() if each.is_file() and each.name != "study.json")
        if path.is_dir()
        else [path]
    )
    file = draw.choice(files)
    how = draw.choice(("flip", "flip", "flip", "cut", "cut", "zeros", "number", "delete", "swap", "fifo", "append"))
    data = file.read_bytes()
    if how in ("flip", "cut", "zeros", "number"):
        file.write_bytes({"flip": _flip, "cut": _cut, "zeros": _zeros, "number": _number}[how](data, draw))
    elif how == "delete":
        file.unlink()
    elif how == "swap":
        other = draw.choice(files)
        file.write_bytes(other.read_bytes())
        other.write_bytes(data)
        return f"swap {file.name} {other.name}"
    elif how == "fifo":
        file.unlink()
        os.mkfifo(file)
    else:
        file.write_bytes(data + bytes(draw.randrange(1, 9)))
    return f"{how} {file.name}"


def _change_value(content: Any, draw: random.Random) -> str:
    """Put another value in the place of one of JSON's, however deep it is: where."""
    where = ""
    while True:
        key = draw.choice(list(content) if isinstance(content, dict) else range(len(content)))
        where += f".{key}"
        if not content[key] or not isinstance(content[key], dict | list) or draw.random() < 0.2:
            content[key] = draw.choice(VALUES)
            return f"{where} -> {content[key]!r}"[:200]
        content = content[key]


def forge(path: Path, draw: random.Random) -> str:
    """Change numbers of a trace, or values of its summary, and seal it as if a run had written them."""
    if draw.random() < 0.3:
        info = json.loads((path / "run.json").read_text())
        where = _change_value(info, draw)
        (path / "run.json").write_text(json.dumps(info))
        try:
            seal(path)
        except (ValueError, TypeError, KeyError, AttributeError):
            return f"run.json {where}, unsealed"
        return f"run.json {where}"
    if draw.random() < 0.3:
        name = draw.choice(("run.json", "machine.json"))
        text = _number((path / name).read_bytes(), draw)
        (path / name).write_bytes(text)
        try:
            seal(path)
        except (ValueError, TypeError, KeyError, AttributeError):
            return f"number {name}, unsealed"
        return f"number {name}"
    table = draw.choice(sorted(path.glob("*.parquet")))
    rows = pq.read_table(table)
    content = rows.to_pylist()
    told = []
    for _ in range(draw.choice((1, 1, 3))):
        row, column = draw.choice(content), draw.choice(rows.column_names)
        value: Any = (
            draw.choice(NUMBERS) if not isinstance(row[column], str) else draw.choice(("", "x" * 10_000, "send", "\0"))
        )
        told.append(f"{table.name} {column}: {row[column]!r} -> {value!r}"[:200])
        row[column] = value
    try:
        pq.write_table(pa.Table.from_pylist(content, schema=rows.schema), table)
    except (pa.ArrowException, OverflowError, TypeError):
        return damage(path, draw)
    seal(path)
    return "; ".join(told)


# ---- what must come of it ----


def normal(said: str) -> str:
    """Output of a command, but for what differs between equal runs."""
    return "\n".join(line for line in said.splitlines() if not re.match(r"\s+(wall time|peak memory) ", line))


def outputs(folder: Path) -> dict[str, bytes]:
    """Files that a command has left, which go."""
    texts = {}
    for path in folder.iterdir():
        texts |= {each.name: each.read_bytes() for each in (path, *path.rglob("*")) if each.is_file()}
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    return texts


def wrong_answers(kind: str, seeds: range, commands: Commands, folder: Path) -> Iterator[str]:
    """Commands on files with mutations of these seeds that do not end as they should."""
    whole = folder / "whole"
    whole.mkdir()
    whole_file = MAKE[kind](whole)
    if kind == "bursts":
        code, said = commands(f"run -np 2 --quiet --compute record:{whole_file} {whole / 'program.py'}")
        assert code == 0, said
    place = commands.place
    file = place / whole_file.relative_to(whole)

    def answer(line: str) -> Answer:
        code, said = commands(line.replace("IT", str(file)).replace("PROGRAM", str(place / "program.py")))
        return code, normal(said), outputs(commands.folder)

    def renew() -> None:
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(whole, place)

    renew()
    name = whole_file.name
    for line in LINES[kind]:
        if f"{name} {line}" not in commands.answers:
            commands.answers[f"{name} {line}"] = before = answer(line)
            assert not before[0], (line, *before[:2])
    for seed in seeds:
        renew()
        draw = random.Random(f"{kind} {seed}")
        if kind in WRITTEN and draw.random() < 0.8:
            file.write_bytes(mutate(file.read_bytes(), seed))
            how = "text"
        else:
            how = (forge if kind == "forged" else damage)(file, draw)
        for line in draw.sample(LINES[kind], min(2, len(LINES[kind]))):
            code, said, left = answer(line)
            undamaged = commands.answers[f"{name} {line}"]
            new = [each for each in said.splitlines() if each not in undamaged[1].splitlines()]
            is_told = any(map(TOLD.search, new)) and len(new) <= 12
            if kind == "trace":
                is_told &= code == 2 and len(new) == 1 and any(word in new[0] for word in how.split()[1:])
            is_clean = code in (0, 1, 2) and "Traceback" not in said
            if not is_clean or not ((code, said, left) == undamaged or is_told or kind in MAY_DIFFER):
                yield f"{kind} {seed}: {how}: smpy {line}: {code}: {said[-1500:]}"


@pytest.mark.parametrize("kind", MAKE)
@pytest.mark.parametrize("seeds", [FEW, pytest.param(MANY, marks=pytest.mark.campaign)], ids=["few", "many"])
@pytest.mark.timeout(7200)
def test_a_damaged_file_gives_the_undamaged_answer_or_a_line_of_error(
    kind: str, seeds: range, commands: Commands, tmp_path: Path
):
    wrong = list(wrong_answers(kind, seeds, commands, tmp_path))
    assert not wrong, f"{len(wrong)} of {commands.n}\n" + "\n".join(wrong)
