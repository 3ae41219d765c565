"""`sys.modules`, `sys.meta_path` and `sys.path` on a rank."""

from collections.abc import Callable

import pytest

RANK = "from mpi4py import MPI\nRANK = MPI.COMM_WORLD.Get_rank()\n"
BARRIER = "from mpi4py import MPI\ncomm = MPI.COMM_WORLD\nrank = comm.rank\n"


@pytest.fixture
def passes(emulated: Callable) -> Callable:
    def run(program: str, n_ranks: int = 2, **options: object) -> None:
        assert emulated(BARRIER + program, n_ranks, **options).error == ""

    return run


def test_modules_that_another_rank_has_imported_are_not_in_sys_modules(passes: Callable):
    program = """
import sys
if rank == 0:
    import settings
    assert sys.modules["settings"] is settings
comm.Barrier()
assert ("settings" in sys.modules) == ("settings" in list(sys.modules)) == (rank == 0)
assert (sys.modules.get("settings") is None) == (rank == 1)
assert sys.modules["__main__"].rank == rank and "sys" in sys.modules and 5 not in sys.modules
assert len(sys.modules) == len(sys.modules.copy()) == len(dict(sys.modules))
"""
    passes(program, files={"settings.py": RANK})


@pytest.mark.parametrize("name", ["made", "colorsys", "json", "settings", "package.part"])
def test_what_a_rank_puts_into_sys_modules_is_its_own(passes: Callable, name: str):
    program = f"""
import importlib, sys, types
import json
def late():
    import {name} as module
    return module
if rank == 1:
    mine = sys.modules["{name}"] = types.ModuleType("mine")
comm.Barrier()
if rank == 0 and "{name}" == "made":
    try:
        late()
    except ModuleNotFoundError:
        pass
    else:
        raise AssertionError
    assert "made" not in sys.modules
elif rank == 0:
    assert late().__name__ == "{name}" and sys.modules["{name}"].__name__ == "{name}"
else:
    assert importlib.import_module("{name}") is sys.modules["{name}"] is mine
    assert "." in "{name}" or late() is mine
comm.Barrier()
"""
    passes(program, files={"settings.py": "", "package/__init__.py": "", "package/part.py": ""})


@pytest.mark.parametrize("name", ["colorsys", "settings"])
def test_none_in_sys_modules_halts_the_import_on_this_rank_alone(passes: Callable, name: str):
    program = f"""
import sys
if rank == 0:
    sys.modules["{name}"] = None
comm.Barrier()
try:
    import {name}
except ModuleNotFoundError as error:
    assert rank == 0 and "halted" in str(error)
else:
    assert rank == 1
assert (sys.modules["{name}"] is None) == (rank == 0)
if rank == 0:
    del sys.modules["{name}"]
    import {name}
    assert {name}.__name__ == "{name}"
"""
    passes(program, files={"settings.py": ""})


def test_a_module_that_one_rank_forgets_stays_with_the_others(passes: Callable):
    program = """
import sys, settings
first = settings
if rank == 1:
    del sys.modules["settings"]
comm.Barrier()
import settings
assert (settings is first) == (rank == 0)
comm.Barrier()
if rank == 0:
    sys.modules.clear()
comm.Barrier()
if rank == 1:
    assert sys.modules["settings"] is settings
"""
    passes(program, files={"settings.py": RANK})


def test_a_patched_sys_modules_is_as_before_afterwards(passes: Callable):
    program = """
import sys, settings
from unittest import mock
with mock.patch.dict(sys.modules, {"settings": 5, "extra": 6 + rank}):
    comm.Barrier()
    import settings as other, extra
    assert (other, extra) == (5, 6 + rank)
assert sys.modules["settings"] is settings and "extra" not in sys.modules
import settings as again
assert again is settings and sys.modules["__main__"].rank == rank
"""
    passes(program, files={"settings.py": RANK})


def test_a_finder_that_a_rank_adds_serves_this_rank(passes: Callable):
    program = """
import sys
from importlib.machinery import ModuleSpec
class Finder:
    def find_spec(self, name, path=None, target=None):
        return ModuleSpec(name, self) if name == f"made_by_{rank}" else None
    def create_module(self, spec):
        return None
    def exec_module(self, module):
        module.rank = rank
sys.meta_path.insert(0, Finder())
comm.Barrier()
assert sum(type(finder).__name__ == "Finder" for finder in sys.meta_path) == 1
assert __import__(f"made_by_{rank}").rank == rank
"""
    passes(program)


def test_a_finder_may_ask_all_others(passes: Callable):
    program = """
import sys
class Finder:
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        for finder in sys.meta_path:
            if finder is not cls and (spec := finder.find_spec(name, path, target)) is not None:
                return spec
sys.meta_path.insert(0, Finder)
import settings, colorsys, package.part
comm.Barrier()
assert settings.RANK == package.part.RANK == rank
"""
    passes(program, files={"settings.py": RANK, "package/__init__.py": "", "package/part.py": RANK})


def test_what_a_shared_module_adds_to_the_search_path_all_ranks_find(passes: Callable):
    files = {
        "common.py": "__smpy_shared__ = True\nimport sys\n"
        "sys.path.insert(0, __file__.replace('common.py', 'vendor'))\nsys.path.append('last')\nimport early\n",
        "vendor/early.py": "",
        "vendor/late.py": RANK,
    }
    program = """
import sys
sys.path.append(f"own{rank}")
comm.Barrier()
import common
comm.Barrier()
import late
assert late.RANK == rank and sys.path[0].endswith("vendor") and sys.path.count("last") == 1
assert f"own{rank}" in sys.path and f"own{1 - rank}" not in sys.path
"""
    passes(program, files=files)


def test_a_static_lookup_finds_the_ranks_own(passes: Callable):
    program = """
import inspect, user
comm.Barrier()
assert inspect.getattr_static(user.settings, "RANK") == rank
assert inspect.getmodule(user.settings.f).RANK == rank
"""
    files = {"user.py": "__smpy_shared__ = True\nimport settings\n", "settings.py": f"{RANK}def f(): pass\n"}
    passes(program, files=files)
