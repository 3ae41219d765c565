"""The page on keys of a machine names each key that a machine's reader knows, and no other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from smpy.platforms import read_machine
from smpy.platforms.own_format.settings import TomlTable

PAGE = (Path(__file__).parents[2] / "docs" / "machine-keys.md").read_text(encoding="utf-8")
NAMED = set(re.findall(r"`([a-z_]+(?:\.\w+)*)`", PAGE))
MACHINE = """
[kernels]
reference_speed = "1Gf"

[kernels.dgemm]
sizes = ["m", "n", "k"]
seconds = { "m*n*k" = 1e-11 }
"""
TOPOLOGIES = {
    "fat-tree": "",
    "fat-tree ": "children = [4, 2]\nparents = [1, 2]",
    "flat": "backbone_bandwidth = '1GB/s'",
    "torus": "dimensions = '2x2'",
    "dragonfly": "groups = 2\nrouters_per_chassis = 2\nhosts_per_router = 2",
    "hyperx": "dimensions = '2x2'\nhosts_per_switch = 1",
    "graph": "edges = [{a = 'h0', b = 's'}, {a = 'h1', b = 's'}]",
}


@pytest.fixture
def known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    keys: set[str] = set()
    check = TomlTable.check_keys

    def note(self: TomlTable) -> None:
        keys.update(table._path(key) for table in self._all() for key in table._known)
        check(self)

    monkeypatch.setattr(TomlTable, "check_keys", note)
    for kind, more in TOPOLOGIES.items():
        file = tmp_path / "machine.toml"
        file.write_text(f"[topology]\nkind = '{kind.strip()}'\n{more}\n{MACHINE}")
        read_machine(str(file), n_ranks=2)
    return keys


def test_the_page_names_every_key_that_is_known(known: set[str]) -> None:
    tables = {key.rpartition(".")[0] for key in known} | {"group", "mpi.algorithms"}
    keys = {key.replace("dgemm", "NAME") for key in known - tables}
    keys = {re.sub(r"level\d", "level2", re.sub(r"dimension\d", "dimension0", key)) for key in keys}
    keys = {key for key in keys if not key.startswith(("kernels.NAME.noise.", "kernels.NAME.seconds."))}
    keys |= {"kernels.NAME.noise", "kernels.NAME.seconds"}
    assert keys - NAMED == set()
    assert {key for key in NAMED if "." in key} - keys == {"group.NAME", "mpi.algorithms.OPERATION"}
