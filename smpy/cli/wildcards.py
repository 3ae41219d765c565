"""`smpy run --check-wildcards`: further runs, in each of which a receive from any source takes another message."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from smpy.cli.results import error_line
from smpy.errors import DeadlockError, Interrupted
from smpy.option_texts import chosen_message_text
from smpy.options import RunConfig
from smpy.records.remark import Remark

if TYPE_CHECKING:
    from smpy.runs.run import Run, RunError

_RUNS_MAX: Final = 16
_TOPIC: Final = "other message"
_RACES: Final = ("any source", "arrival order")  # topics of --check, mistakes first
_LIMIT_S, _LIMIT_FACTOR = 10.0, 20.0  # real time: a run may not end with the other message


class _Choice(NamedTuple):
    """Another message for a receive: the value of --choose-message, and its words."""

    chosen: tuple[int, int, int, int]
    words: str


def remark_on_other_messages(config: RunConfig, directory: str) -> Remark | None:
    """Run again without measured computing, then once for each race of that run; None: no races.

    These runs show no output and get no input.

    Parameters
    ----------
    config : RunConfig
        The first run.
    directory : str
        Directory in which it ran.

    Raises
    ------
    Interrupted
        If the user interrupts one of them.
    """
    from smpy.runs.run import RunError

    is_timed = config.measures_computing and config.replay is None
    plain = replace(
        config.without_records(),
        checks=True,
        check_wildcards=False,
        strict=False,
        compute="none" if is_timed else config.compute,
    )
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    began_s = perf_counter()
    try:
        usual = _ended(plain, directory, None)
        if isinstance(usual, RunError):
            text = f"not looked for: without measured computing the run fails as it is: {error_line(str(usual))}"
            return Remark(_TOPIC, (text,), {"runs": []})
        limit_s = _LIMIT_S + _LIMIT_FACTOR * (perf_counter() - began_s)
        choices = list(_choices(usual))
        runs = [
            (each, _ending(usual, _ended(replace(plain, chosen_message=each.chosen), directory, limit_s)))
            for each in choices[:_RUNS_MAX]
        ]
    except KeyboardInterrupt:
        raise Interrupted("interrupted in a run with another message") from None
    return _remark(runs, len(choices)) if runs else None


def _ended(config: RunConfig, directory: str, limit_s: float | None) -> Run | RunError:
    from smpy.runs.run import RunError
    from smpy.runs.simulate import perform_run

    try:
        return perform_run(config, timeout_s=limit_s, directory=directory)
    except RunError as error:
        return error


def _choices(run: Run) -> Iterator[_Choice]:
    """Other messages in the races of a run, mistakes first."""
    for topic in _RACES:
        for remark in run.summary.remarks:
            for race in remark.facts["first"] if remark.topic == topic else ():
                if "other_message" in race:
                    yield _Choice(tuple(race["other_message"]), _words(race["sides"]))


def _words(sides: list[dict[str, Any]]) -> str:
    receive, _, other = sides
    return f"rank {receive['rank']} at {receive['line']} takes what rank {other['rank']} sends at {other['line']}"


class _Ending(NamedTuple):
    """End of a run, compared with that of the usual run, and its error in a line."""

    words: str
    error: str = ""
    is_failure: bool = False


def _ending(usual: Run, other: Run | RunError) -> _Ending:
    from smpy.runs.run import Run, TimeLimitError

    if isinstance(other, Run):
        is_same = (other.stdout, other.stderr) == (usual.stdout, usual.stderr)
        return _Ending("ends the same" if is_same else "ends well, and prints something else")
    if isinstance(other, TimeLimitError):
        return _Ending("does not end in twenty times the time", "", True)
    return _Ending("deadlock" if isinstance(other.failure, DeadlockError) else "fails", error_line(str(other)), True)


def _remark(runs: list[tuple[_Choice, _Ending]], n_choices: int) -> Remark:
    n_failed = sum(ending.is_failure for _, ending in runs)
    n = f"{len(runs)} run{'s'[: len(runs) > 1]}"
    head = f"of {n} with another message {n_failed or 'none'} {'fails' if n_failed < 2 else 'fail'}"
    lines = [head + (f"; {n_choices - len(runs)} more were not made" if n_choices > len(runs) else "")]
    facts = []
    for choice, ending in sorted(runs, key=lambda run: not run[1].is_failure):
        option = chosen_message_text(choice.chosen)
        lines += [f"  {choice.words}: {ending.words}", f"    {ending.error}", f"    --choose-message {option}"]
        facts.append({"choose_message": option, "race": choice.words, "ending": ending.words, "error": ending.error})
    lines = [line for line in lines if line.strip()]
    return Remark(_TOPIC, tuple(lines), {"runs": facts, "left_out": n_choices - len(runs)}, is_fault=n_failed > 0)
