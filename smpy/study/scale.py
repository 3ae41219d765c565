"""The everyday study: a program on more and more ranks, and the efficiencies from their traces."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from hashlib import sha256
from math import isfinite, nan
from pathlib import Path
from statistics import median
from typing import Any, Final
from warnings import warn

from smpy.analysis.pop_metrics import Efficiencies, pop, scaling_of
from smpy.errors import JournalWarning, SmpyError, UsageError
from smpy.input_files import read_plain_file
from smpy.records.files import write_whole
from smpy.records.held_trace import HeldTrace
from smpy.replay import replay
from smpy.study.points import Point
from smpy.study.scaling import COMPUTING_PARTS, ProgramScaling, ScalingRow
from smpy.study.state import StudyProgress
from smpy.study.study import Study
from smpy.study.table import kept_path

RANKS_MAX: Final = 10_000_000
_DOUBLED: Final = 2
_GROWTH: Final = re.compile(r"(-[^\s:=]+)(?::(\d+(?:/[1-9]\d*|\.\d+)?))?")
_NO_TIME: Final = "it takes no time, and does not scale"
_HERE: Final = "the run"  # in place of the folder of its trace
_FACTORS: Final = ("load_balance", "serialisation", "transfer", "contention", "bandwidth", "latency", "overhead")


def read_ranks(text: str, fewest: int = 1) -> list[int]:
    """Numbers of ranks, the fewest first.

    Parameters
    ----------
    text : str
        FIRST:LAST, each number twice the one before; FIRST:LAST:TIMES, each TIMES the one before; or a list such as
        1,3,9. LAST is always included.
    fewest : int
        Least allowed number of ranks.

    Raises
    ------
    UsageError
        If it is none of these.

    Examples
    --------
    >>> read_ranks("1:20"), read_ranks("2:128:4"), read_ranks("9,1,3")
    ([1, 2, 4, 8, 16, 20], [2, 8, 32, 128], [1, 3, 9])
    """
    words = [word.strip() for word in re.split("[:,]", text)]
    is_range = ":" in text
    numbers = [int(word) for word in words if word.isdecimal() and len(word) <= len(str(RANKS_MAX))]
    if len(numbers) < len(words) or (is_range and ("," in text or len(words) > 3)):
        raise UsageError(
            f"{text!r} is not numbers of ranks: write FIRST:LAST, such as 1:1024, or a list, such as 1,3,9"
        )
    if not is_range:
        ranks = sorted(set(numbers))
    else:
        first, last, times = (*numbers, _DOUBLED)[:3]
        if first > last or times < _DOUBLED:
            raise UsageError(f"{text!r}: write the fewest ranks first, and times 2 or more: 1:1024, or 1:1024:4")
        ranks = [first] if first else []
        while ranks and ranks[-1] * times < last:
            ranks.append(ranks[-1] * times)
        ranks += [last] if ranks and ranks[-1] < last else []
    if not ranks or not fewest <= ranks[0] <= ranks[-1] <= RANKS_MAX:
        raise UsageError(f"{text!r}: say {fewest} to {RANKS_MAX:,} ranks")
    return ranks


@dataclass(frozen=True, slots=True)
class Growth:
    """Growth of an argument of the program with the ranks.

    Attributes
    ----------
    argument : str
        Its name: `--n`.
    exponent : Fraction
        Power of the number of ranks by which the argument is multiplied.
    """

    argument: str
    exponent: Fraction

    def values(self, args: Sequence[str], ranks: Sequence[int]) -> list[int | float]:
        """Values of the argument on each number of ranks, from its value on one rank; whole numbers stay whole.

        Raises
        ------
        UsageError
            If the program's arguments do not have it, or it is no number.
        """
        text = argument_value(args, self.argument, "on one rank")
        if re.fullmatch(r"\d+", text, re.ASCII):
            return [round(int(text) * n ** float(self.exponent)) for n in ranks]
        try:
            number = float(text)
        except ValueError:
            number = nan
        if not isfinite(number):
            raise UsageError(f"{self.argument} {text} cannot grow with the ranks: it is no number")
        return [number * n ** float(self.exponent) for n in ranks]


def argument_value(args: Sequence[str], argument: str, when: str) -> str:
    """Value of an option among a program's arguments; `when` says in messages of which run it is.

    Raises
    ------
    UsageError
        If it is not there.
    """
    for at, arg in enumerate(args):
        if arg.startswith(f"{argument}="):
            return arg.partition("=")[2]
        if arg == argument and at + 1 < len(args):
            return args[at + 1]
    raise UsageError(f"what is {argument} {when}? Write it among the program's arguments, as in -- {argument} 512")


def read_growth(text: str) -> Growth:
    """Read a growing argument from the text of `--weak`.

    Parameters
    ----------
    text : str
        ARG or ARG:EXPONENT, such as `--n` or `--n:1/2`.

    Raises
    ------
    UsageError
        If it is neither.

    Examples
    --------
    >>> read_growth("--n:1/2").values(["--n", "512"], [1, 2, 4])
    [512, 724, 1024]
    """
    growth = _GROWTH.fullmatch(text)
    if growth is None:
        raise UsageError(f"{text!r} is not ARG or ARG:EXPONENT, such as --n or --n:1/2 (of an option of the program's)")
    return Growth(growth[1], Fraction(growth[2] or 1))


def is_measured(options: Mapping[str, Any]) -> bool:
    """Whether runs with these options measure computing, so that other processes disturb them."""
    return str(options.get("compute") or "measured").partition(":")[0] in ("measured", "mixed", "record")


def scale(
    program: str,
    args: Sequence[str],
    ranks: Sequence[int],
    *,
    options: Mapping[str, Any] | None = None,
    weak: Growth | None = None,
    folder: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    repetitions: int = 1,
    progress: Callable[[StudyProgress], None] | None = None,
    replay_progress: Callable[[str], None] | None = None,
) -> ProgramScaling:
    """Run a program on several numbers of ranks, and find how it scales.

    Points that have run before in the same folder, with the same sources and options, do not run again. Traces are
    kept until their factors are known.

    Parameters
    ----------
    program : str
        A file, or with `options={"module": True}` a module.
    args : sequence of str
        Its arguments.
    ranks : sequence of int
        Numbers of ranks, the fewest first.
    options : mapping, optional
        Options of `smpy run`, as `smpy.simulate` takes them.
    weak : Growth, optional
        Argument that grows with the ranks, so that each has as much work; without it, all together have the same.
    folder : path, optional
        Folder of the study; by default `PROGRAM-scale.study`.
    workers : int, optional
        Number of points that run at a time; by default one if computing is measured, else one per core, less one.
    repetitions : int
        Runs on each number of ranks, with seeds of their own; times are their medians.
    progress : callable, optional
        Called with the study's `StudyProgress`.
    replay_progress : callable, optional
        Called with a text on the replay that starts.

    Raises
    ------
    UsageError
        If the program cannot run with these options.
    SmpyError
        If no point came to its end.
    """
    run_options = dict(options or {})
    axes: dict[str, list[int | float]] = {"ranks": list(ranks)}
    if weak is not None:
        axes[f"args.{weak.argument}"] = weak.values(args, ranks)
    definition: dict[str, object] = {
        "name": f"{Path(program).stem}-scale",
        "module" if run_options.pop("module", None) else "program": program,
        "args": list(args),
        "options": run_options,
        "axes": axes,
        "combine": "zip",
        "repetitions": repetitions,
        "keep": ["trace"],
    }
    study = Study(definition, folder)
    known = study.state().entries
    missing = [point for point in study.points if point.key not in known or _factors(study, point) is None]
    for point in missing:
        if point.key not in known:
            _factors_file(study, point).unlink(missing_ok=True)
        elif _factors_file(study, point).exists():
            told_of = f"{_factors_file(study, point)} is damaged, or another version of smpy has written it"
            warn(f"{told_of}: its point runs again", JournalWarning, stacklevel=2)
    study.run(workers=workers or (1 if is_measured(run_options) else None), only=missing, progress=progress)
    for point in study.points:
        _keep_factors(study, point, replay_progress)
    shutil.rmtree(study.folder / "traces", ignore_errors=True)  # left by killed workers
    return _scaling(study, weak)


def _factors_file(study: Study, point: Point) -> Path:
    return study.folder / "factors" / f"{point.key}.json"


def _factors(study: Study, point: Point) -> dict[str, Any] | None:
    """Factors and remarks of a point; None: missing or damaged."""
    try:
        record: dict[str, Any] = json.loads(read_plain_file(_factors_file(study, point), "study"))
        is_whole = record.pop("sha256", "") == _checksum(record)
    except (OSError, ValueError, AttributeError, TypeError, RecursionError):
        return None
    return record if is_whole else None


def _checksum(record: Mapping[str, Any]) -> str:
    return sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()


def _keep_factors(study: Study, point: Point, progress: Callable[[str], None] | None) -> None:
    """Replace the trace of a point by its factors and remarks."""
    folder = kept_path("trace", point.key, study.folder)
    if not folder.exists():
        return
    try:
        analysis = pop([HeldTrace(folder)], replay, progress=progress)
        factors, remarks = asdict(analysis.runs[0]), list(analysis.remarks)
    except SmpyError as error:
        factors, remarks = None, [str(error)]
    remarks = [remark.replace(str(folder), _HERE) for remark in remarks]
    path = _factors_file(study, point)
    path.parent.mkdir(exist_ok=True)
    record = {"factors": factors, "remarks": remarks}
    write_whole(path, json.dumps({**record, "sha256": _checksum(record)}))
    shutil.rmtree(folder)


def _scaling(study: Study, weak: Growth | None) -> ProgramScaling:
    rows: list[ScalingRow] = []
    remarks: dict[str, list[int]] = {}
    reference: Efficiencies | None = None
    runs_on: dict[int, list[dict[Hashable, Any]]] = {}
    for line in study.table().frame.to_dict("records"):
        ranks = study.points[line["point"]].ranks
        if error := f"it failed: {line['error']}" if line["error"] else "" if line["makespan_s"] > 0 else _NO_TIME:
            if ranks not in remarks.setdefault(error, []):
                remarks[error].append(ranks)
        else:
            runs_on.setdefault(ranks, []).append(line)
    for runs in runs_on.values():
        runs.sort(key=lambda run: run["makespan_s"])
        times_s = [run["makespan_s"] for run in runs]
        line = runs[(len(runs) - 1) // 2]  # factors are those of the run in the middle
        point = study.points[line["point"]]
        record = _factors(study, point)
        if record is None:  # removed since it was written
            raise SmpyError(f"{_factors_file(study, point)} cannot be read: run the study again")
        for remark in record["remarks"]:
            remarks.setdefault(remark, []).append(point.ranks)
        factors: dict[str, float | None] = {}
        n_hosts = ranks_on_a_host = 0
        if record["factors"] is not None:
            run = Efficiencies(**record["factors"])
            reference = reference or run
            factors = {name: getattr(run, name) for name in _FACTORS}
            scaling = scaling_of(run, reference, is_weak=weak is not None)
            factors |= {name: getattr(scaling, name) for name in ("computing", *COMPUTING_PARTS)}
            n_hosts, ranks_on_a_host = run.n_hosts, run.ranks_on_a_host
        rows.append(
            ScalingRow(
                n_ranks=point.ranks,
                time_s=median(times_s),
                half_width_s=line["half_width_s"],
                work="" if weak is None else f"{weak.argument} {line[f'args.{weak.argument}']:.6g}",
                **factors,
                n_hosts=n_hosts,
                ranks_on_a_host=ranks_on_a_host,
                n_runs=len(runs),
                lowest_s=times_s[0] if len(runs) > 1 else nan,
                highest_s=times_s[-1] if len(runs) > 1 else nan,
            )
        )
    sentences = [remark if remark.startswith("On ") else f"{_on(at)} {remark}" for remark, at in remarks.items()]
    if not rows:
        raise SmpyError("\n".join(["nothing scales that does not run", *sentences]))
    return ProgramScaling(rows, weak is not None, sentences)


def _on(numbers: Sequence[int]) -> str:
    return f"On {', '.join(f'{n:,}' for n in numbers)} rank{'' if list(numbers) == [1] else 's'}"
