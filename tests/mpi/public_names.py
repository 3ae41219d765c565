"""The public names of mpi4py's MPI module, read from its stub: `python -m tests.mpi.public_names MPI.pyi VERSION`."""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

STORED: Final = Path(__file__).with_name("public_names.json")


def read_stub(stub: Path) -> dict[str, set[str]]:
    """Public names of the module, under "", and of each class, its bases' included."""
    tree = ast.parse(stub.read_text(encoding="utf-8"))
    names = {"": _bound(tree.body)}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            inherited = [names[base.id] for base in node.bases if isinstance(base, ast.Name) and base.id in names]
            names[node.name] = _bound(node.body).union(*inherited)
    names[""] -= {"Aint", "Count", "Offset"} & names.keys()  # types for checkers alone
    return {owner: bound for owner, bound in names.items() if not owner.startswith("_")}


def stored() -> dict[str, set[str]]:
    """The same, as it was read once."""
    return {owner: set(bound.split()) for owner, bound in json.loads(STORED.read_text())["names"].items()}


def _bound(body: Iterable[ast.stmt]) -> set[str]:
    names: set[str] = set()
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
        elif isinstance(node, ast.Assign):
            names.update(target.id for target in node.targets if isinstance(target, ast.Name))
    return {name for name in names if not name.startswith("_")}


if __name__ == "__main__":
    stub, version = sys.argv[1:]
    source = {"what": "public names of the module, under '', and of its classes", "tool": "mpi4py's MPI.pyi"}
    names = {owner: " ".join(sorted(bound)) for owner, bound in sorted(read_stub(Path(stub)).items())}
    command = "python -m tests.mpi.public_names MPI.pyi VERSION"
    STORED.write_text(
        json.dumps({"source": {**source, "version": version, "command": command}, "names": names}, indent=1) + "\n"
    )
