"""The words of tables are in `docs/glossary.md`."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from smpy.analysis.messages import CONTENTION
from smpy.analysis.pop_metrics import COMPUTING_SHARES, FACTOR_TREE, SCALING_TREE
from smpy.records.time_words import ALL_TO_ALL, BARRIER, KIND_WORDS, MODELLED, USER_CODE

PROJECT = Path(__file__).parents[2]
GLOSSARY = (PROJECT / "docs/glossary.md").read_text(encoding="utf-8")
OF_PROFILES = ("smpy/records/profile_text.py", "smpy/analysis/wait_analysis.py", "smpy/analysis/path_analysis.py")


WORDS = [
    word
    for entry in re.findall(r"^\* (\*\*.*?):", GLOSSARY, re.MULTILINE)
    for word in re.findall(r"\*\*(.*?)\*\*", entry)
]


def test_a_word_has_one_meaning():
    assert sorted(word for word in set(WORDS) if WORDS.count(word) > 1) == []
    assert len(WORDS) > 60


def explained() -> set[str]:
    return set(re.findall(r"\*\*([^*]+)\*\*", GLOSSARY))


def columns(path: str) -> Iterator[str]:
    """Titles of the columns of a module's tables: the first argument of `text_table`, by name or written there."""
    tree = ast.parse((PROJECT / path).read_text(encoding="utf-8"))
    heads = [
        node.args[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "text_table"
    ]
    names = {head.id for head in heads if isinstance(head, ast.Name)}
    heads += [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id in names
    ]
    for head in heads:
        yield from (str(each.value) for each in getattr(head, "elts", []) if isinstance(each, ast.Constant))


def test_kinds_of_time_are_in_the_glossary():
    assert {*KIND_WORDS.values(), BARRIER, ALL_TO_ALL, MODELLED, USER_CODE} <= explained()


def test_efficiencies_are_in_the_glossary():
    factors = {name for _, name, _ in (*FACTOR_TREE, *SCALING_TREE)}
    shares = {name for name, _ in COMPUTING_SHARES}
    assert {*factors, *shares, CONTENTION} - explained() == set()


def test_columns_of_tables_are_in_the_glossary():
    titles = {title for path in OF_PROFILES for title in columns(path)}
    assert {"waits due to", "share", "messages at once"} <= titles
    assert titles - explained() == set()
