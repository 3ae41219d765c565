"""One name, one class."""

import ast
from collections import defaultdict
from functools import cache
from pathlib import Path

PROJECT = Path(__file__).parents[2]
PRIVATE_MAX = 3
"""Classes of one private name: a helper of one module may be called as one of another."""


@cache
def places() -> dict[str, list[str]]:
    """Places of the classes of each name."""
    found = defaultdict(list)
    for path in sorted((PROJECT / "smpy").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(f"{path.relative_to(PROJECT)}:{node.lineno}")
    return found


def test_public_classes_have_distinct_names():
    repeated = [f"{name}: {', '.join(at)}" for name, at in places().items() if name[0] != "_" and len(at) > 1]
    assert not repeated, "\n".join(repeated)


def test_private_classes_seldom_share_a_name():
    repeated = [f"{name}: {', '.join(at)}" for name, at in places().items() if len(at) > PRIVATE_MAX]
    assert not repeated, "\n".join(repeated)
