"""The page of a study: findings, figures to choose, and a table of its points with a profile of each."""

from __future__ import annotations

import os
from collections.abc import Mapping
from html import escape
from math import inf
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from smpy.records.files import check_writable, write_whole
from smpy.report.document import document, figure, plotly_script, rows_table
from smpy.report.study_columns import page_columns, words
from smpy.report.study_profiles import page_profiles
from smpy.study.definition import PROGRAM
from smpy.study.findings import Finding, by_program, effects, findings, has_failed, with_results
from smpy.study.levels import levels_of, short_text
from smpy.study.pairs import PairedEffect, paired_effects
from smpy.study.table import StudyTable
from smpy.units import format_time

_FILES: Final = ("study.css", "study_points.js", "study_figures.js", "study_table.js", "study.js")
_LABELS_MAX: Final = 8
_ERROR_MAX: Final = 2000  # letters of an error in the page
_POINTS_MAX: Final = 20  # points that are named beside an error


def write_study_report(table: StudyTable, path: Path) -> None:
    """Write the page.

    Parameters
    ----------
    table : StudyTable
        Table to show.
    path : Path
        File to write; an existing one is replaced.

    Raises
    ------
    UsageError
        If the file cannot be written, or plotly is not installed.
    """
    check_writable(path)
    plotly_js = plotly_script("study")
    profiles = page_profiles(table.folder, table.frame["profile"])
    data = {
        "columns": page_columns(table),
        "errors": words(_errors(table)),
        "asked": ["makespan_s", *table.results],
        "profiles": profiles,
        "files": {name: words(table.frame[name]) for name in ("profile", "trace")},
        "folder": quote(os.path.relpath(table.folder.resolve(), path.resolve().parent), errors="surrogateescape"),
    }
    write_whole(path, document(_title(table), "", _sections(table, profiles["left"]), data, plotly_js, _FILES))


def _sections(table: StudyTable, n_without_profile: int) -> dict[str, str]:
    """Sections by title, without empty ones."""
    frame = with_results(table)
    sections = {"What the numbers say": _sentences(findings(table))}
    if table.axes and len(table.frame):
        sections["What was varied"] = _varied(table)
    pairs = {name: paired_effects(with_results(one), one.axes) for name, one in by_program(table)}
    if any(pairs.values()):
        sections["Compared in pairs"] = _pairs(pairs)
    if len(frame) > 1:
        sections["Compared"] = _COMPARED
        for title, column in (("Price and time", "price_eur"), ("Energy and time", "energy_kwh")):
            if column in frame and frame[column].notna().any():
                sections[title] = _FRONT
                break
    if has_failed(table.frame).any():
        sections["Failed points"] = _failed(table)
    if len(table.frame):
        sections["All points"] = _POINTS + _left(n_without_profile)
    return sections


_PAIRS: Final = (
    '<p class="note">Pairs of settings that differ in one axis only, for the two values that differ most: '
    "the geometric mean, the least and the largest of their ratios.</p>\n"
)
_COMPARED: Final = f'<div class="controls"></div>\n{figure("compared")}<p class="told" aria-live="polite"></p>'
_FRONT: Final = (
    '<p class="note">Each mark is a setting, the median of its repetitions. '
    "On the line: nothing else is better in both.</p>\n"
    f'<div class="controls"></div>\n{figure("front")}<p class="told" aria-live="polite"></p><div class="front"></div>'
)
_POINTS: Final = (
    '<div class="controls"><label>Find <input id="find" type="search" size="50" '
    'placeholder="torus ranks&gt;=64 makespan_s&lt;0.1" spellcheck="false"></label> '
    '<button id="show-all" type="button" hidden>Show all points again</button></div>\n'
    '<p class="told" aria-live="polite"></p>\n'
    '<div id="points" tabindex="0" role="region" aria-label="All points"></div>\n'
    '<dialog id="point" aria-labelledby="point-title"><form method="dialog"><button>Close</button></form>'
    "<div></div></dialog>"
)


def _left(n: int) -> str:
    if not n:
        return ""
    who = "1 point has" if n == 1 else f"{n:,} points have"
    return (
        f'<p class="note">{who} a profile that is not in this page, which would be too long: there is a link to it.</p>'
    )


def _title(table: StudyTable) -> str:
    n = len(table.frame)
    return f"{table.name}: {'1 point' if n == 1 else f'{n:,} points'}"


def _errors(table: StudyTable) -> Any:
    return table.frame["error"].fillna("").astype(str).str.slice(stop=_ERROR_MAX)


def _sentences(findings: list[Finding]) -> str:
    return f"<ul>{''.join(f'<li>{escape(finding.text)}{_link(finding.point)}</li>' for finding in findings)}</ul>"


def _link(point: int | None) -> str:
    return "" if point is None else f' <a href="#point-{point}">point {point}</a>'


def _varied(table: StudyTable) -> str:
    by_axis = {} if PROGRAM in table.axes else {effect.axis: effect for effect in effects(table)}
    rows = []
    for levels in (levels_of(axis, table.frame[axis]) for axis in table.axes):
        effect = by_axis.get(levels.axis)
        shown = [short_text(label) for label in levels.labels]
        if len(shown) > _LABELS_MAX:
            shown = [*shown[: _LABELS_MAX - 2], "...", shown[-1]]
        cells = (
            ["", "", ""]
            if effect is None
            else [
                f"{format_time(effect.best_s)} at {short_text(effect.best)}",
                f"{format_time(effect.worst_s)} at {short_text(effect.worst)}",
                f"{effect.ratio:.4g}" if effect.ratio < inf else "",
            ]
        )
        rows.append([levels.axis, ", ".join(shown), f"{len(levels.labels):,}", *cells])
    return rows_table(("axis", "its values", "values", "best median", "worst median", "worst / best"), rows, 2)


def _pairs(effects: Mapping[str, list[PairedEffect]]) -> str:
    """Table of the effects of each program."""
    rows = [
        [
            f"{program}: {effect.axis}" if program else effect.axis,
            effect.slow,
            effect.fast,
            effect.interaction.where if effect.interaction else "",
            *(f"{ratio:.4g}" for ratio in (effect.ratio, effect.least, effect.most)),
            f"{effect.n_pairs:,}",
        ]
        for program, of_one in effects.items()
        for effect in of_one
    ]
    head = ("axis", "slow", "fast", "depends on", "slow / fast", "least", "most", "pairs")
    return _PAIRS + rows_table(head, rows, 4)


def _failed(table: StudyTable) -> str:
    frame = table.frame
    errors = _errors(table)
    return "\n".join(
        _error(str(error), its["point"].tolist()) for error, its in frame.groupby(errors, sort=False) if error
    )


def _error(error: str, points: list[int]) -> str:
    n = len(points)
    links = ",".join(_link(point) for point in points[:_POINTS_MAX])
    more = f" and {n - _POINTS_MAX:,} more" if n > _POINTS_MAX else ""
    return f"<p>{'1 point' if n == 1 else f'{n:,} points'}:{links}{more}</p><pre>{escape(error)}</pre>"
