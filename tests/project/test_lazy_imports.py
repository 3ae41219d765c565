"""Modules that a machine's reader does not need are not imported: a run starts without them."""

from __future__ import annotations

import pkgutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from smpy.platforms import topologies

CODE = """
import sys
from smpy.emulate.run import run
from smpy.platforms.machine import read_machine
read_machine(sys.argv[1], 1).build()
print(*sys.modules)
"""
OF_EVERY_RUN = {"smpy.platforms.topologies.fat_tree"}  # the default cluster
FLAT_XML = (
    "<platform version='4.1'><cluster id='c' prefix='n' suffix='' radical='0-3' speed='1Gf' bw='1GBps' lat='1us'/>"
    "</platform>"
)


def imported(machine: str) -> set[str]:
    """The formats and topologies that reading and building a machine has imported."""
    done = subprocess.run([sys.executable, "-c", CODE, machine], check=True, capture_output=True, text=True)
    formats = ("smpy.platforms.own_format.", "smpy.platforms.simgrid.reader", "smpy.platforms.topologies.", "tomllib")
    return {name for name in done.stdout.split() if name.startswith(formats)} - OF_EVERY_RUN


@pytest.fixture
def flat_xml(tmp_path: Path) -> Path:
    file = tmp_path / "flat.xml"
    file.write_text(FLAT_XML)
    return file


def test_a_machine_in_xml_imports_its_reader_and_its_topology_alone(flat_xml: Path):
    assert imported(str(flat_xml)) == {"smpy.platforms.simgrid.reader", "smpy.platforms.topologies.flat_cluster"}


def test_a_machine_in_one_line_imports_no_reader_of_xml_and_no_other_topology():
    found = imported("torus 2x2")
    assert "smpy.platforms.own_format.one_line" in found
    assert not found & {"smpy.platforms.simgrid.reader", "smpy.platforms.own_format.changes"}
    assert {name for name in found if ".topologies." in name} == {"smpy.platforms.topologies.torus"}


def test_a_run_starts_without_modules_of_python_that_few_runs_need():
    code = """
import sys
import click, json, pathlib, pickle, random, traceback
before = set(sys.modules)
import smpy.cli.run
from smpy.emulate.run import run
print(*set(sys.modules) - before)
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert not {"difflib", "shutil", "tempfile"} & {*done.stdout.split()}


def test_a_run_of_an_empty_program_imports_no_module_of_an_option_that_it_lacks(tmp_path: Path):
    (tmp_path / "empty.py").write_text("")
    code = """
import sys
from smpy.emulate.run.run import run
from smpy.options import RunConfig
run(RunConfig(1, sys.argv[1]))
print(*sys.modules)
"""
    command = [sys.executable, "-c", code, str(tmp_path / "empty.py")]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert not {
        "decimal",
        "hashlib",
        "smpy.compute.clock.sampling",
        "smpy.compute.clock.skipped_loops",
        "smpy.platforms.models.storage",
        "smpy.platforms.models.thread_efficiency",
        "smpy.platforms.part_changes",
        "smpy.platforms.parts_list",
        "smpy.platforms.simgrid.options",
        "smpy.records.call_stacks",
        "smpy.records.energy",
        "smpy.records.skipped_iterations",
        "smpy.records.uncertainty",
    } & {*done.stdout.split()}


@pytest.mark.parametrize("tag", ["cluster", "zone", "machine"])
def test_every_topology_of_smpy_is_found_by_each_of_its_names(tag: str):
    for module in pkgutil.iter_modules(topologies.__path__, f"{topologies.__name__}."):
        import_module(module.name)
    registered = {
        name: known.kind.__module__
        for (of, name), known in topologies._topologies.items()
        if of == tag and known.kind.__module__.startswith(f"{topologies.__name__}.")
    }
    assert {name: f"{topologies.__name__}.{home}" for name, home in topologies._MODULES[tag].items()} == registered
