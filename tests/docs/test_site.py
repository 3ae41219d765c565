"""The site is built without a warning, works without a network, and opens without an error."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.report.browser import needs_chromium, seen

pytest.importorskip("sphinx_click", reason="the site needs pip install '.[docs]'")
pytest.importorskip("furo", reason="the site needs pip install '.[docs]'")

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    gathered = [sys.executable, DOCS / "gather.py", folder / "pages"]
    built = [sys.executable, "-m", "sphinx", "-qW", "--keep-going", "-c", DOCS, folder / "pages", folder / "site"]
    for command in gathered, built:
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
    return folder / "site"


def test_a_page_of_the_site_loads_nothing_from_elsewhere(site: Path) -> None:
    pages = list(site.glob("*.html"))
    assert len(pages) > 35
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert re.findall(r"<(?:script|img|iframe)[^>]* src=\"(?:https?:)?//[^\"]*", text) == [], page.name
        assert re.findall(r"<link[^>]* rel=\"(?:stylesheet|preload|icon)\"[^>]* href=\"(?:https?:)?//", text) == []
    styles = "".join(path.read_text(encoding="utf-8") for path in site.rglob("*.css"))
    assert re.findall(r"url\(['\"]?(?:https?:)?//|@import", styles) == []


def test_each_page_of_the_list_and_each_command_is_in_the_site(site: Path) -> None:
    commands = (site / "commands.html").read_text(encoding="utf-8")
    names = (site / "python.html").read_text(encoding="utf-8")
    for option in "smpy-run-platform", "smpy-study-run-workers", "smpy-analyze-bounds-json":
        assert f'id="cmdoption-{option}"' in commands
    for name in "smpy.simulate", "smpy.folded", "smpy.analysis.bounds", "smpy.errors.DeadlockError":
        assert f'id="{name}"' in names
    assert {"index", "tutorial", "kernels", "costs", "contributing"} <= {page.stem for page in site.glob("*.html")}


@needs_chromium
@pytest.mark.parametrize("page", ["index", "tutorial", "commands", "python", "costs"])
def test_a_page_of_the_site_opens_without_an_error(site: Path, page: str) -> None:
    found, console = seen(site / f"{page}.html", "found.heading = document.querySelector('h1').textContent;")
    assert found["heading"]
    assert console == ""


@pytest.fixture
def gather(monkeypatch: pytest.MonkeyPatch) -> dict[str, Callable]:
    monkeypatch.syspath_prepend(DOCS)
    return runpy.run_path(str(DOCS / "gather.py"))


def test_a_link_that_leads_to_nothing_stops_the_build(gather: dict[str, Callable]) -> None:
    page = DOCS / "limits.md"
    assert gather["target_of"]("../kernels/README.md#one-message", page) == ROOT / "kernels" / "README.md"
    assert gather["target_of"]("https://simgrid.org", page) is None
    for link in "nowhere.md", "https://github.com/smpy-mpi/smpy/blob/main/nowhere.py":
        with pytest.raises(SystemExit, match="leads to nothing"):
            gather["target_of"](link, page)


def test_pages_have_names_of_their_own_in_the_site(gather: dict[str, Callable]) -> None:
    files = gather["listed_pages"](gather["LIST"].read_text(encoding="utf-8"))
    names = [gather["site_name"](file) for file in files]
    assert len(set(names)) == len(files)
