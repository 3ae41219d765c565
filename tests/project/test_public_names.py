"""Public names are listed without importing what they name, and stay what they are whatever is imported later."""

from __future__ import annotations

import json
import pkgutil
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import smpy
import smpy.experimental

DOCS = Path(__file__).parents[2] / "docs"
ANALYSES = ["bounds", "compare", "critical_path", "lost", "phases", "pop", "pop_from_factors", "stability", "waits"]
MODULES = [module.name for module in pkgutil.iter_modules(smpy.analysis.__path__)]


def printed(code: str, *args: str) -> Any:
    """JSON that a fresh interpreter prints."""
    done = subprocess.run([sys.executable, "-c", code, *args], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def test_dir_lists_the_public_names_and_imports_nothing():
    code = """
import sys, json, smpy
before = set(sys.modules)
names = dir(smpy)
print(json.dumps([names, sorted(set(sys.modules) - before)]))
"""
    names, imported = printed(code)
    assert imported == []
    assert [name for name in names if not name.startswith("__")] == sorted(set(smpy.__all__) - {"__version__"})
    assert {"__version__", "__doc__", "__name__", "__file__"} <= set(names)


@pytest.mark.parametrize("name", smpy.experimental.__all__)
def test_the_page_on_thousands_of_ranks_has_each_experimental_name(name: str):
    assert re.search(rf"^\* `{name}\b", (DOCS / "thousands-of-ranks.md").read_text(encoding="utf-8"), re.MULTILINE)


def test_dir_lists_no_module_that_something_has_imported():
    code = "import json, smpy.errors, smpy.units; print(json.dumps(dir(smpy)))"
    assert {"errors", "units"}.isdisjoint(printed(code))


def test_every_public_name_is_there():
    assert all(getattr(smpy, name) is not None for name in smpy.__all__)


def test_no_module_has_the_name_of_an_analysis():
    assert set(ANALYSES).isdisjoint(MODULES)


def test_an_analysis_is_a_function_whatever_is_imported_first():
    code = """
import importlib, json, os, pkgutil, sys
import numpy, pandas, pyarrow.parquet  # once for all
def in_a_child(first):
    reader, writer = os.pipe()
    if not os.fork():
        importlib.import_module(first)
        import smpy
        for module in pkgutil.iter_modules(smpy.analysis.__path__, "smpy.analysis."):
            importlib.import_module(module.name)
        kinds = {name: type(getattr(smpy.analysis, name)).__name__ for name in smpy.analysis.__all__}
        os.write(writer, json.dumps(kinds).encode())
        os._exit(0)
    os.close(writer)
    with open(reader) as said:
        return json.load(said)
print(json.dumps({first: in_a_child(first) for first in sys.argv[1:]}))
"""
    firsts = ["smpy", "smpy.cli.analyze", "smpy.analysis", *(f"smpy.analysis.{name}" for name in MODULES)]
    assert printed(code, *firsts) == dict.fromkeys(firsts, dict.fromkeys(ANALYSES, "function"))
