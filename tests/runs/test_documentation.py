"""Examples of runs in Python on the pages are correct."""

import doctest
import re
from pathlib import Path

import pytest

from smpy.options import KEYWORDS, OPTION_GROUPS, OPTIONS
from smpy.runs import run, simulate

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_the_example_on_the_first_page_gives_what_it_shows(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(ROOT)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    section = re.search(r"## As a library\n(.*?)\n## ", text, re.DOTALL)
    assert section is not None
    code = re.match(r"\n((?:    .*\n)+)", section[1])
    assert code is not None
    example = doctest.DocTestParser().get_doctest(code[1], {}, "README", None, None)
    assert len(example.examples) == 3
    assert doctest.DocTestRunner().run(example).failed == 0


def test_the_page_names_what_there_is():
    page = (ROOT / "docs" / "runs-in-python.md").read_text(encoding="utf-8")
    assert {"TimeLimitError", "MemoryLimitError"} <= vars(run).keys()
    documented = set(re.findall(r"`(\w+)=", page))
    own = set(simulate.simulate.__annotations__)
    assert documented <= own | KEYWORDS.keys()


def test_the_page_on_options_lists_all_of_them():
    page = (ROOT / "docs" / "options.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\w+) \| (.*) \| `(\w+)` \|$", page, re.MULTILINE)
    assert rows == [
        (group, ", ".join(f"`{flag}`" for flag in option.flags), option.keyword)
        for group in OPTION_GROUPS
        for option in OPTIONS.values()
        if option.group == group
    ]
