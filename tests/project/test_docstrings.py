"""The examples in docstrings are true."""

import doctest
import importlib
import pkgutil

import pytest

import smpy

MODULES = [
    module.name
    for module in pkgutil.walk_packages(smpy.__path__, "smpy.")
    if not module.name.rpartition(".")[2].startswith("_")  # compiled ones
    and module.name
    not in (
        "smpy.emulate.modules.stand_in.mpi4py.futures",  # cannot be imported, and says why
        "smpy.calibrate.network.measure",  # a program for an interpreter that has mpi4py
    )
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_give_what_they_show(name: str):
    module = importlib.import_module(name)
    result = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    assert result.failed == 0
