"""Names from strangers' files are text on a page, whatever they look like: no figure takes them as markup."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from smpy.analysis.comparison import compare
from smpy.analysis.path_analysis import critical_path
from smpy.analysis.wait_analysis import waits
from smpy.records.trace import Trace
from smpy.report.page import write_report
from smpy.report.study_page import write_study_report
from smpy.study.sensitivity import ParameterEffect, Sensitivity
from tests.records.synthetic_trace import SyntheticTrace
from tests.report.browser import needs_chromium, seen
from tests.study.tables import table_of

BOLD = "<b>bold</b>"
NAME = f"{BOLD}<img src=x onerror=document.body.dataset.hurt=1><a href='https://example.com/'>link</a>&lt;i"
SHOWN = """
const shown = [...document.querySelectorAll("svg text")];
found.markup = shown.flatMap((text) => [...text.querySelectorAll("a, [style*=bold]")]).map((it) => it.outerHTML);
found.images = document.querySelectorAll("img, [onerror]").length;
found.isHurt = document.body.dataset.hurt ?? null;
found.nLiteral = shown.filter((text) => text.textContent.includes("<b>bold</b><img src=x onerror=")).length;
"""


def hostile_trace(folder: Path) -> Path:
    trace = SyntheticTrace([NAME, "b"])
    send, receive = trace.site(0, NAME, 7, f"{NAME}.py"), trace.site(1, NAME, 9)
    number = trace.message(0, 1, 1000, send_posted_s=3.0, receive_posted_s=1.0, started_s=3.0, ended_s=4.0,
                           send_site=send, receive_site=receive)  # fmt: skip
    trace.spend(0, "compute", 3.0, trace.site(0, NAME, 5, is_kernel=True))
    trace.spend(0, "transfer", 1.0, send, 1, number)
    trace.spend(1, "compute", 1.0, trace.site(1, NAME, 5, is_kernel=True))
    trace.spend(1, "late_sender", 2.0, receive, 0, number)
    trace.spend(1, "transfer", 1.0, receive, 0, number)
    site = {"call": NAME, "line": NAME, "count": 1, "spent_s": [1.0, 2.0], "sent_bytes": 0, "slowest": 1}
    links = {"link": [NAME], "most_flows": [1], "bytes": [5.0], "busy_s": [0.1], "saturated_s": [0.1]}
    profile = {"kinds": ["compute", NAME], "sites": [site], "links": links}
    return trace.write(folder, program=NAME, platform=NAME, profile=profile)


def strings(value: Any) -> Iterator[str]:
    """All text in JSON."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from strings(one)
    elif isinstance(value, list):
        for one in value:
            yield from strings(one)


@pytest.mark.parametrize("analysis", ["waits", "critical path", "compare", "sensitivity"])
def test_figures_of_analyses_show_names_as_text(tmp_path: Path, analysis: str):
    trace = Trace(hostile_trace(tmp_path / "trace"))
    if analysis == "waits":
        result: Any = waits(trace)
    elif analysis == "critical path":
        result = critical_path(trace)
    elif analysis == "compare":
        other = SyntheticTrace(["a", "b"])
        other.spend(0, "compute", 1.0, other.site(0, "other", 5))
        result = compare(trace, Trace(other.write(tmp_path / "other")))
    else:
        effects = [ParameterEffect(NAME, NAME, NAME, "4", 1.0, 2.0, None, None)]
        result = Sensitivity(1.5, effects, n_samples=0, is_logarithmic=False, remarks=())
    labels = [text for text in strings(json.loads(result.plot().to_json())["data"]) if "bold" in text]
    assert labels
    assert all("<" not in text for text in labels)
    assert any("&lt;b&gt;bold&lt;/b&gt;" in text for text in labels)


@needs_chromium
def test_a_browser_shows_names_of_a_trace_as_text(tmp_path: Path):
    folder = hostile_trace(tmp_path / "trace")
    write_report(Trace(folder), tmp_path / "report.html", {"Waits": waits(Trace(folder))})
    shown, console = seen(tmp_path / "report.html", SHOWN)
    assert console == ""
    assert (shown["markup"], shown["images"], shown["isHurt"]) == ([], 0, None)
    assert shown["nLiteral"] >= 3  # the bars of a site, of a link and of a wait


@needs_chromium
def test_a_browser_shows_names_of_a_study_as_text(tmp_path: Path):
    axes = {NAME: [NAME, "other"], "ranks": [1, 2]}
    table = table_of(tmp_path, axes, lambda name, ranks, _: {"makespan_s": len(name) / ranks}, name=NAME)
    write_study_report(table, tmp_path / "report.html")
    choose = """
    await until(() => document.body.dataset.isReady);
    const controls = figure("compared").parentElement.querySelector(".controls");
    const choose = async (label, value) => {
      const one = [...controls.querySelectorAll("label")].find((it) => it.textContent.startsWith(label));
      one.querySelector("select").value = value;
      one.querySelector("select").dispatchEvent(new Event("change"));
      await later(100);
    };
    """
    shown, console = seen(tmp_path / "report.html", choose + f"await choose('x', {json.dumps(NAME)});" + SHOWN)
    assert console == ""
    assert (shown["markup"], shown["images"], shown["isHurt"]) == ([], 0, None)
    assert shown["nLiteral"] >= 2  # the axis's title and a value of it
