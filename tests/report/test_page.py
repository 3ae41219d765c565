"""A report is one page that needs nothing else, and that a browser shows without complaint."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from smpy.cli.main import main
from smpy.errors import UsageError
from smpy.records.profile import INTERVAL_KINDS
from smpy.records.trace import Trace
from smpy.report import tiled_timeline
from smpy.report.page import write_report
from tests.records.large_trace import write_ring
from tests.records.synthetic_trace import SyntheticTrace, late_sender, seal
from tests.report.browser import CHROMIUM, needs_chromium, seen
from tests.report.unpacking import data_of, unpacked

PROFILE = {
    "kinds": ["compute", "late_sender"],
    "sites": [
        {"call": "Recv", "line": "prog.py:9", "count": 1, "spent_s": [0.0, 2.0], "sent_bytes": 0, "slowest": 1},
        {"call": None, "line": "prog.py:5", "count": 2, "spent_s": [4.0, 0.0], "sent_bytes": 0, "slowest": 0},
    ],
    "links": {"link": ["cool", "hot"], "most_flows": [1, 2], "bytes": [5.0, 1000.0], "busy_s": [0.1, 1.0],
              "saturated_s": [0.0, 0.5]},
}  # fmt: skip

STACKS = {
    "window_s": 0.5,
    "ranks_per_cell": 1,
    "calls": {
        "caller": [-1, 0, 1, 0], "function": ["<module>", "sweep", "sweep", "<module>"], "file": ["heat.py"] * 4,
        "line": [0, 0, 9, 20],
    },
    "times": {"ranks": [0, 1, 0], "window": [0, 0, 3], "call": [2, 2, 3], "seconds": [0.25, 0.5, 0.125]},
}  # fmt: skip


class Efficiency:
    """Stand-in for the result of an analysis."""

    def table(self) -> str:
        return "load balance <80 %>"

    def plot(self) -> Any:
        from plotly import graph_objects

        return graph_objects.Figure(graph_objects.Bar(x=["load balance"], y=[0.8]))


def report(folder: Path, **analyses: Any) -> Path:
    path = folder.parent / "report.html"
    write_report(Trace(folder), path, analyses)
    return path


def test_the_command_writes_a_page_that_loads_nothing(tmp_path: Path):
    folder = late_sender().write(tmp_path / "trace", profile=PROFILE)
    done = CliRunner().invoke(main, ["report", str(folder), "-o", str(tmp_path / "page.html")])
    assert (done.exit_code, done.output) == (0, f"{tmp_path / 'page.html'} is written\n")
    text = (tmp_path / "page.html").read_text()
    own = re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL)  # plotly's has addresses of maps
    assert not re.search(r"""(src|(?<!<a )href)\s*=\s*["']?(https?:)?//""", own)
    for said in ("prog.py: 4 s on 2 ranks, two hosts", "Recv", "prog.py:9", "33.3%", "1 message:", "hot"):
        assert said in own, said


def test_links_stand_by_how_long_they_were_saturated(tmp_path: Path):
    data = data_of(report(late_sender().write(tmp_path / "trace", profile=PROFILE)))
    assert data["links"] == {"link": ["hot", "cool"], "busy": [0.25, 0.025], "saturated": [0.125, 0.0]}


def test_computing_stands_by_stack_rank_and_window(tmp_path: Path):
    page = report(late_sender().write(tmp_path / "trace", profile={**PROFILE, "call_stacks": STACKS}))
    assert "<h2>User code by function</h2>" in page.read_text()
    stacks = data_of(page)["call_stacks"]
    assert stacks["names"] == ["module", "sweep()", "line 9", "line 20"]
    assert stacks["callers"] == [-1, 0, 1, 0]
    assert (stacks["n_windows"], stacks["n_cells"], stacks["depth"]) == (4, 2, 3)
    assert {name: unpacked(column).tolist() for name, column in stacks["times"].items()} == STACKS["times"]


def test_without_samples_no_section_shows_stacks(tmp_path: Path):
    empty = {**STACKS, "times": {name: [] for name in STACKS["times"]}}
    for number, stacks in enumerate((None, empty)):
        page = report(late_sender().write(tmp_path / f"trace{number}", profile={**PROFILE, "call_stacks": stacks}))
        assert "User code by function" not in page.read_text()


def test_analyses_have_sections_of_their_own(tmp_path: Path):
    page = report(late_sender().write(tmp_path / "trace"), Efficiencies=Efficiency(), Bounds="no <replay>")
    text = page.read_text()
    assert "<pre>load balance &lt;80 %&gt;</pre>" in text
    assert '<p class="note">no &lt;replay&gt;</p>' in text
    assert list(data_of(page)["figures"]) == ["Efficiencies"]


def test_the_page_has_efficiencies_bounds_and_causes_of_waits_if_the_trace_can_be_replayed(tmp_path: Path):
    pytest.importorskip("smpy.replay", reason="there are no replays")
    pytest.importorskip("smpy.analysis", reason="there are no analyses")
    program = tmp_path / "program.py"
    program.write_text("import smpy\nfrom mpi4py.MPI import COMM_WORLD\nsmpy.execute(1e6)\nCOMM_WORLD.Barrier()\n")
    folder = tmp_path / "trace"
    options = ["-np", "2", "--compute", "models", "--quiet", "--trace", str(folder), str(program)]
    for arguments in (["run", *options], ["report", str(folder), "-o", str(tmp_path / "whole.html")],
                      ["report", str(folder), "--no-replay", "-o", str(tmp_path / "less.html")]):  # fmt: skip
        done = CliRunner().invoke(main, arguments)
        assert done.exit_code == 0, done.output
    sections = ["Efficiencies", "What bounds the run", "Causes of waits"]
    assert list(data_of(tmp_path / "whole.html")["figures"]) == sections
    assert "load balance" in (tmp_path / "whole.html").read_text()
    assert data_of(tmp_path / "less.html")["figures"] == {}
    late_sender().write(tmp_path / "part")  # this trace says that it cannot be replayed
    done = CliRunner().invoke(main, ["report", str(tmp_path / "part"), "-o", str(tmp_path / "part.html")])
    assert done.exit_code == 0, done.output
    assert "cannot be replayed" in (tmp_path / "part.html").read_text()
    text = (folder / "run.json").read_text()
    (folder / "run.json").write_text(text.replace('"ranks": null', '"ranks": [1]'))
    seal(folder)
    done = CliRunner().invoke(main, ["report", str(folder), "-o", str(tmp_path / "some.html")])
    assert done.exit_code == 0, done.output
    assert data_of(tmp_path / "some.html")["figures"] == {}  # not efficiencies of one rank in two


def test_names_cannot_end_the_script_or_make_elements(tmp_path: Path):
    trace = SyntheticTrace(["a"])
    trace.spend(0, "compute", 1.0, trace.site(0, "</script><b>", 3, "<i>.py"))
    page = report(trace.write(tmp_path / "trace", program="<u>.py"))
    assert data_of(page)["labels"][1] == "</script><b> <i>.py:3"
    assert "<u>" not in page.read_text()


def test_a_run_that_was_cut_short_says_so(tmp_path: Path):
    assert "stopped before its end" in report(late_sender().write(tmp_path / "trace", is_complete=False)).read_text()


def test_what_is_no_trace_or_cannot_be_written_is_told(tmp_path: Path):
    folder = late_sender().write(tmp_path / "trace")
    for arguments, told in (
        ([str(tmp_path)], "is not a trace"),
        ([str(tmp_path / "no")], "does not exist"),
        ([str(folder), "-o", str(tmp_path / "no" / "page.html")], "cannot write"),
    ):
        done = CliRunner().invoke(main, ["report", *arguments])
        assert done.exit_code == 2
        assert told in done.output


@pytest.mark.slow
@needs_chromium
@pytest.mark.parametrize("is_exact", [True, False])
def test_a_browser_draws_all_and_zooms_without_complaint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_exact: bool
):
    if not is_exact:
        monkeypatch.setattr(tiled_timeline, "EXACT_MAX", 0)
    page = report(late_sender().write(tmp_path / "trace", profile=PROFILE), Efficiencies=Efficiency())
    compute, overhead, transfer, late, idle = map(
        INTERVAL_KINDS.index, ("compute", "overhead", "transfer", "late_sender", "idle")
    )
    found, console = seen(
        page,
        """
        found.drawn = [...document.querySelectorAll("[data-figure]")].map((it) => it.dataset.figure);
        const timeline = figure("timeline");
        await later(1000); // tiles take the place of bins
        const kinds = (row) => [...new Set(timeline.data[0].z[row])];
        found.all = [kinds(0), kinds(1)];
        found.lines = timeline.data[1].x;
        timeline.emit("plotly_hover", { points: [{ x: 2, y: 1, z: LATE }] });
        const told = () => timeline.parentElement.querySelector(".told").textContent;
        found.told = told();
        timeline.emit("plotly_hover", { points: [{ x: 3, y: 0, text: timeline.data[1].text[0] }] });
        found.message = told();
        await Plotly.relayout(timeline, { "xaxis.range": [1.5, 2.5], "yaxis.range": [1.5, 0.5] });
        await later(300);
        found.part = [timeline.data[0].z.length, kinds(0), timeline.data[0].x0];
        figure("matrix").emit("plotly_hover", { points: [{ x: 1, y: 0 }] });
        found.matrix = figure("matrix").parentElement.querySelector(".told").textContent;
        document.getElementById("shows-messages").click();
        await later(300);
        found.without = timeline.data.length;
        """.replace("LATE", str(late)),
    )
    assert console == ""
    assert found["drawn"] == ["sites", "ranks", "Efficiencies", "matrix", "links", "timeline"]
    assert found["all"] == [[compute, overhead, idle], [compute, late, transfer]]
    assert found["lines"] == [3.0, 4.0, None]
    assert found["told"] == "2 s: rank 1: late sender, for rank 0, Recv prog.py:9, 2 s from 1 s on"
    assert found["message"].startswith("message from rank 0 to rank 1, 1 kB, Send prog.py:7, Recv prog.py:9, ")
    assert found["part"][:2] == [1, [late]]
    assert found["part"][2] == pytest.approx(1.5, abs=0.01)
    assert found["matrix"] == "rank 0 to rank 1: 1 kB"
    assert found["without"] == 1


def test_a_page_that_fails_leaves_the_last_one_its_tiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    class Broken(Efficiency):
        def plot(self) -> Any:
            raise UsageError("no figure")

    monkeypatch.setattr(tiled_timeline, "EXACT_MAX", 0)
    folder = late_sender().write(tmp_path / "trace")
    page = report(folder)
    (tile,) = (tmp_path / "report.tiles").iterdir()
    whole = page.read_text(), tile.read_text()
    with pytest.raises(UsageError, match="no figure"):
        report(folder, Efficiencies=Broken())
    assert (page.read_text(), tile.read_text()) == whole


def test_tiles_that_cannot_be_written_are_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tiled_timeline, "EXACT_MAX", 0)
    folder = late_sender().write(tmp_path / "trace")
    (tmp_path / "report.tiles").write_text("a file of somebody else")
    with pytest.raises(UsageError, match=r"cannot write .*report\.html: File exists"):
        report(folder)


def test_a_page_may_have_any_name_that_a_file_may_have(tmp_path: Path):
    path = tmp_path / "caf\udce9.html"
    write_report(Trace(late_sender().write(tmp_path / "trace")), path)
    assert data_of(path)["timeline"]["folder"] == "caf%E9.tiles"


@pytest.mark.slow
@needs_chromium
@pytest.mark.parametrize("is_of_another_page", [False, True])
def test_a_browser_without_the_tiles_shows_bins_with_calls_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_of_another_page: bool
):
    monkeypatch.setattr(tiled_timeline, "EXACT_MAX", 0)
    page = report(late_sender().write(tmp_path / "trace"))
    (tile,) = (tmp_path / "report.tiles").iterdir()
    if is_of_another_page:
        tile.write_text(tile.read_text().replace('addTile("', 'addTile("x'))
    else:
        tile.unlink()
    found, console = seen(
        page,
        """
        await later(1000);
        const told = figure("timeline").parentElement.querySelector(".told");
        found.why = told.textContent;
        figure("timeline").emit("plotly_hover", { points: [{ x: 2, y: 1, z: 0 }] });
        found.told = told.textContent;
        """,
    )
    assert found["told"] == "2 s: rank 1: mostly late sender, Recv prog.py:9"
    why = "belongs to another page" if is_of_another_page else "is not beside this page"
    assert found["why"] == f"Tile 0-0 of the folder report.tiles {why}: the picture is coarse."
    assert console == ""


@pytest.mark.slow
@needs_chromium
def test_a_browser_shows_the_stacks_of_a_rank_and_a_time(tmp_path: Path):
    page = report(late_sender().write(tmp_path / "trace", profile={**PROFILE, "call_stacks": STACKS}))
    found, console = seen(
        page,
        """
        const rank = document.getElementById("stack-rank");
        const read = () => {
          const { labels, parents, values } = figure("stacks").data[0];
          const told = figure("stacks").parentElement.querySelector(".told").textContent;
          return { labels, parents, values, told, bars: figure("stack_times").data[0].y };
        };
        const choose = async (text) => {
          rank.value = text;
          rank.dispatchEvent(new Event("change"));
          await later(100);
        };
        found.all = read();
        await choose("1");
        found.rank = read();
        await choose("");
        await Plotly.relayout(figure("stack_times"), { "xaxis.range": [1.6, 1.9] });
        await later(100);
        found.late = read();
        """,
    )
    assert console == ""
    assert found["all"] == {
        "labels": ["user code", "module", "sweep()", "line 9", "line 20"],
        "parents": ["", "all", "0", "1", "0"],
        "values": [0.875, 0.875, 0.75, 0.75, 0.125],
        "bars": [0.75, 0, 0, 0.125],
        "told": "all ranks, from 0 s to 2 s",
    }
    assert found["rank"]["values"] == [0.5, 0.5, 0.5, 0.5]
    assert (found["rank"]["told"], found["rank"]["bars"]) == ("rank 1, from 0 s to 2 s", [0.5, 0, 0, 0])
    assert found["late"]["labels"] == ["user code", "module", "line 20"]
    assert (found["late"]["told"], found["late"]["values"]) == ("all ranks, from 1.5 s to 2 s", [0.125] * 3)


@pytest.mark.slow
def test_ten_million_intervals_of_1024_ranks_are_15_megabytes_made_in_bounded_memory(tmp_path: Path):
    folder = write_ring(tmp_path / "trace", 1024, 2650)
    assert Trace(folder).n_rows("intervals") > 10_000_000
    script = (
        "from smpy.__main__ import main\n"  # of this process alone: ru_maxrss would count what forked it
        "try:\n    main()\nfinally:\n"
        "    print(*(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))\n"
    )
    arguments = ["report", str(folder), "--no-replay", "-o", str(tmp_path / "report.html")]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], check=True, capture_output=True, text=True, env=environment
    )
    assert (tmp_path / "report.html").stat().st_size < 15e6
    assert int(done.stdout.split()[-1]) < 700_000  # kB: 340 to 505 MB measured; all at once it would be above 1 GB
    if CHROMIUM is not None:
        found, console = seen(tmp_path / "report.html", "found.rows = figure('timeline').data[0].z.length;")
        assert (found, console) == ({"rows": 1024}, "")
