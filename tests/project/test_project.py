"""The project's own files agree with each other."""

import re
import tomllib
from pathlib import Path

import pytest

import smpy

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PAGES = sorted(
    path.relative_to(ROOT) for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("[!.]*/**/README.md")]
)


TOP_LEVEL = {
    *("CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "LICENSE", "Makefile", "README.md", "pyproject.toml"),
    *("apps", "calibration", "docs", "kernels", "smpy", "tests"),
    *("build", "dist"),  # made, not kept
}


def links(page: Path) -> list[str]:
    text = re.sub(r"`[^`]*`", "", (ROOT / page).read_text(encoding="utf-8"))
    return re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r"^\[[^\]]+\]: (\S+)", text, re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_every_link_into_the_project_leads_to_something(page: Path):
    for link in links(page):
        inside = re.match(re.escape(PROJECT["urls"]["Repository"]) + r"/(?:blob|tree)/main/([^#]*)", link)
        if inside or not re.match(r"https?:|#", link):
            target = ROOT / inside[1] if inside else (ROOT / page).parent / link.partition("#")[0]
            assert target.exists(), link


def test_nothing_else_lies_beside_the_projects_files():
    assert {path.name for path in ROOT.iterdir() if not path.name.startswith(".")} <= TOP_LEVEL


def test_links_of_the_page_that_pypi_shows_are_absolute_or_within_it():
    assert all(re.match(r"https?://|#", link) for link in links(Path("README.md")))


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_a_link_to_a_part_of_a_page_names_one_of_its_headings(page: Path):
    for link in links(page):
        link = re.sub(re.escape(PROJECT["urls"]["Repository"]) + "/blob/main", str(ROOT), link)
        path, _, anchor = link.partition("#")
        target = (ROOT / page).parent / path if path else ROOT / page
        if anchor and target.suffix == ".md" and not path.startswith("http"):
            headings = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.MULTILINE)
            anchors = {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings}
            assert anchor in anchors, link


def test_the_first_page_has_at_most_120_lines_of_at_most_120_characters():
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 120
    assert [line for line in lines if len(line) > 120] == []


@pytest.mark.parametrize("page", [page for page in PAGES if page.parts[0] == "docs"], ids=str)
def test_lines_of_text_and_tables_have_at_most_120_characters(page: Path):
    text = (ROOT / page).read_text(encoding="utf-8")
    text = re.sub(r"^```.*?^```|^    .*?$", "", text, flags=re.MULTILINE | re.DOTALL)  # commands and their output
    assert [line for line in text.splitlines() if len(line) > 120] == []


def test_the_list_of_pages_names_all_pages():
    listed = set(links(Path("docs/README.md")))
    assert {path.name for path in ROOT.glob("docs/*.md")} - {"README.md"} <= listed


def test_version_and_licence_are_the_same_everywhere():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {smpy.__version__}\n" in citation
    assert f"\nlicense: {PROJECT['license']}\n" in citation
    assert f"\n## {smpy.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert "BSD 3-Clause License" in (ROOT / "LICENSE").read_text(encoding="utf-8")


def test_nobody_is_sent_to_the_other_project_of_our_name():
    pages = [
        *PAGES,
        *(path.relative_to(ROOT) for folder in ("smpy", "apps", "tests") for path in ROOT.glob(f"{folder}/**/*.py")),
    ]
    for page in pages:
        text = (ROOT / page).read_text(encoding="utf-8")
        assert not re.search(r"""pip install (?:-\S+ )*['"]?smpy(?!-mpi)\b""", text), page


def test_every_text_installs_from_the_checkout_until_there_is_a_release_on_pypi():
    pages = [page for page in PAGES if page.name != "releasing.md"]
    sources = [path.relative_to(ROOT) for path in (ROOT / "smpy").rglob("*.py")]
    for page in [*pages, *sources]:
        text = (ROOT / page).read_text(encoding="utf-8")
        assert not re.search(r"""pip install (?:-\S+ )*['"]?smpy-mpi""", text), page
