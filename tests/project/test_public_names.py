"""Public names are listed without importing what they name, and stay what they are whatever is imported later."""

from __future__ import annotations

import json
import pkgutil
import subprocess
import sys
from typing import Any

import pytest

import smpy

ANALYSES = ["bounds", "compare", "critical_path", "pop", "waits"]
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


def test_dir_lists_no_module_that_something_has_imported():
    code = "import json, smpy.errors, smpy.units; print(json.dumps(dir(smpy)))"
    assert {"errors", "units"}.isdisjoint(printed(code))


def test_every_public_name_is_there():
    assert all(getattr(smpy, name) is not None for name in smpy.__all__)


def test_no_module_has_the_name_of_an_analysis():
    assert set(ANALYSES).isdisjoint(MODULES)


@pytest.mark.parametrize(
    "first",
    [
        "smpy",
        "smpy.analysis",
        "smpy.analysis.result",
        "smpy.cli.analyze",
        *(f"smpy.analysis.{name}" for name in MODULES),
    ],
)
def test_an_analysis_is_a_function_whatever_is_imported_first(first: str):
    code = """
import importlib, json, pkgutil, sys
importlib.import_module(sys.argv[1])
import smpy
for module in pkgutil.iter_modules(smpy.analysis.__path__, "smpy.analysis."):
    importlib.import_module(module.name)
print(json.dumps({name: type(getattr(smpy.analysis, name)).__name__ for name in smpy.analysis.__all__}))
"""
    assert printed(code, first) == dict.fromkeys(ANALYSES, "function")
