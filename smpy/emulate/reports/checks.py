"""Remarks on the mistakes that checks found: one remark per kind, with its lines by rank."""

from __future__ import annotations

from collections.abc import Iterable
from math import isnan
from typing import TYPE_CHECKING, Any, Final

from smpy.emulate.reports.ranks_in_text import lines_by_rank, place_of
from smpy.mpi.checks.calls import CallChecks
from smpy.mpi.checks.mistakes import Kind, Mistake
from smpy.records.remark import Remark

if TYPE_CHECKING:
    from smpy.engine.engine import Engine

_LINES_MAX: Final = 24  # in the summary
_MISTAKES_MAX: Final = 1000  # in its JSON


def remarks_on_checks(engine: Engine, home: str) -> Iterable[Remark]:
    """Remarks on a run that was checked.

    Parameters
    ----------
    engine : Engine
        The world, which is over.
    home : str
        The program's directory: file names are given from there.
    """
    checks = engine.world_storage.get(CallChecks)
    if checks is None:
        return
    mistakes = checks.report(is_whole=not any(map(isnan, engine.finish_s())))
    for kind in Kind:
        mistake_counts = list(mistakes.of_kind(kind))
        if mistake_counts:
            yield _remark(kind, mistake_counts, home)


def _remark(kind: Kind, mistake_counts: list[tuple[Mistake, int]], home: str) -> Remark:
    alone = [(*_lines_of(mistake, home)[0], n) for mistake, n in mistake_counts if len(mistake.sides) == 1]
    lines = lines_by_rank([(rank, what + _times(n), place) for rank, what, place, n in alone])
    for mistake, n in mistake_counts:
        if len(mistake.sides) > 1:
            lines += _side_by_side(_lines_of(mistake, home), n)
    if len(lines) > _LINES_MAX:
        lines = [*lines[:_LINES_MAX], f"  and so on: {len(lines)} lines in all"]
    head = kind.told(sum(n for _, n in mistake_counts)) + (" (--strict: an error)" if kind.is_mistake else "")
    facts = {
        "n": sum(n for _, n in mistake_counts),
        "first": [_facts(*each, home) for each in mistake_counts[:_MISTAKES_MAX]],
    }
    return Remark(kind.topic, (head, *lines), facts, is_fault=kind.is_mistake)


def _side_by_side(sides: list[tuple[int, str, str]], n: int) -> list[str]:
    """A line for each side, even if both say the same."""
    heads = [f"rank {rank}: {what}" for rank, what, _ in sides]
    heads[-1] += _times(n)
    width = max(map(len, heads))
    return [f"  {head:<{width}}   {place}".rstrip() for head, (_, _, place) in zip(heads, sides, strict=True)]


def _lines_of(mistake: Mistake, home: str) -> list[tuple[int, str, str]]:
    return [(rank, what, place_of(*line, home)) for rank, what, line in mistake.sides]


def _times(n: int) -> str:
    return f", {n:,} times" if n > 1 else ""


def _facts(mistake: Mistake, n: int, home: str) -> dict[str, Any]:
    sides = [{"rank": rank, "what": what, "line": place} for rank, what, place in _lines_of(mistake, home)]
    facts: dict[str, Any] = {"n": n, "sides": sides}
    return facts if mistake.chosen is None else facts | {"other_message": list(mistake.chosen)}
