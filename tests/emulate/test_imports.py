"""Importing on a rank."""

import atexit
import builtins
import importlib
import logging
import os
import random
import sys
import time
import warnings
from collections.abc import Callable

import pytest

RANK = "from mpi4py import MPI\nRANK = MPI.COMM_WORLD.Get_rank()\n"
STEP = """
from mpi4py import MPI
def step():
    comm = MPI.COMM_WORLD
    return comm.sendrecv(comm.rank, (comm.rank + 1) % comm.size)
"""


def lines(ran) -> list[str]:
    assert ran.error == ""
    return sorted(ran.out.splitlines())


def test_a_module_beside_the_program_is_each_ranks_own(emulated: Callable):
    ran = emulated(
        """
        import settings
        from step import step
        settings.value = settings.RANK * 10
        step()
        print(settings.RANK, settings.value)
        """,
        files={"settings.py": RANK, "step.py": STEP},
    )
    assert lines(ran) == ["0 0", "1 10"]


def test_a_module_is_executed_once_for_each_rank_that_imports_it(emulated: Callable):
    ran = emulated(
        """
        from mpi4py import MPI
        if MPI.COMM_WORLD.rank != 1:
            import noisy
            import noisy
            from noisy import RANK
        """,
        3,
        files={"noisy.py": RANK + "print('executed by', RANK)\n"},
    )
    assert lines(ran) == ["executed by 0", "executed by 2"]


def test_an_import_inside_a_function_gives_the_ranks_own_module(emulated: Callable):
    ran = emulated(
        """
        from step import step
        def late():
            import settings
            from settings import RANK
            assert settings.RANK == RANK
            return RANK
        step()
        first = late()
        step()
        print(first, late())
        """,
        files={"settings.py": RANK, "step.py": STEP},
    )
    assert lines(ran) == ["0 0", "1 1"]


def test_relative_imports_stay_within_the_ranks_own_package(emulated: Callable):
    ran = emulated(
        """
        import package.deep.leaf as leaf
        from package import first, deep
        print(leaf.RANKS, first.RANK, deep.leaf is leaf)
        """,
        files={
            "package/__init__.py": "from . import first\nfrom .first import RANK\n",
            "package/first.py": RANK,
            "package/deep/__init__.py": "",
            "package/deep/leaf.py": "from . import twig\nfrom .. import first, RANK as again\n"
            "from ..first import RANK\n"
            "RANKS = RANK, first.RANK, again, twig.RANK\n",
            "package/deep/twig.py": RANK,
        },
    )
    assert lines(ran) == ["(0, 0, 0, 0) 0 True", "(1, 1, 1, 1) 1 True"]


def test_circular_imports_resolve_as_in_python(emulated: Callable):
    ran = emulated(
        """
        import ring.one
        print(ring.one.RANK, ring.two.one.RANK, ring.two.rank())
        """,
        files={
            "ring/__init__.py": "",
            "ring/one.py": RANK + "import ring.two as two\nfrom ring import two as again\nassert two is again\n",
            "ring/two.py": "from . import one\nimport ring.one as same\ndef rank():\n    return same.RANK\n",
        },
    )
    assert lines(ran) == ["0 0 0", "1 1 1"]


def test_a_circular_import_that_cannot_work_says_so(emulated: Callable):
    ran = emulated("import one\n", files={"one.py": "import two\nx = 1\n", "two.py": "from one import x\n"})
    assert "partially initialized module 'one' (most likely due to a circular import)" in ran.error


def test_submodules_are_attributes_of_the_ranks_own_package(emulated: Callable):
    ran = emulated(
        """
        import package.part
        import package.other as other
        assert package.part.RANK == other.RANK == package.other.RANK
        assert package.__path__ and package.part.__package__ == "package"
        print(package.part.RANK)
        """,
        files={"package/__init__.py": "", "package/part.py": RANK, "package/other.py": RANK},
    )
    assert lines(ran) == ["0", "1"]


def test_a_namespace_package_is_private_too(emulated: Callable):
    ran = emulated(
        "import space.part\nfrom space import other\nprint(space.part.RANK, other.RANK)\n",
        files={"space/part.py": RANK, "space/other.py": RANK},
    )
    assert lines(ran) == ["0 0", "1 1"]


def test_a_module_may_make_its_attributes_when_asked(emulated: Callable):
    ran = emulated(
        """
        import lazy, sys
        from lazy import made
        print(made, lazy.other, sys.modules["lazy"].third)
        """,
        files={"lazy.py": RANK + "def __getattr__(name):\n    return f'{name}{RANK}'\n"},
    )
    assert lines(ran) == ["made0 other0 third0", "made1 other1 third1"]


def test_a_star_import_takes_what_the_package_names(emulated: Callable):
    ran = emulated(
        "from package import *\nprint(part.RANK, x)\n",
        files={"package/__init__.py": "__all__ = ['part', 'x']\nx = 1\n", "package/part.py": RANK},
    )
    assert lines(ran) == ["0 1", "1 1"]


def test_main_runs_under_its_own_name(emulated: Callable):
    ran = emulated(
        """
        import sys, __main__
        if __name__ == "__main__":
            mark = []
            assert __main__.mark is mark and sys.modules["__main__"].mark is mark
            assert __spec__ is None and __package__ is None and __file__.endswith("program.py")
            print("main")
        """
    )
    assert lines(ran) == ["main", "main"]


def test_import_module_gives_the_ranks_own_copy(emulated: Callable):
    ran = emulated(
        """
        import importlib, importlib.util
        from importlib import import_module
        from step import step
        settings = import_module("package.settings")
        step()
        assert import_module(".settings", "package") is settings
        import package.settings
        assert package.settings is settings
        assert importlib.util.find_spec("package.settings").name == "package.settings"
        assert importlib.util.find_spec("package.absent") is None
        print(settings.RANK)
        """,
        files={"package/__init__.py": "", "package/settings.py": RANK, "step.py": STEP},
    )
    assert lines(ran) == ["0", "1"]


def test_an_import_module_bound_before_the_run_gives_the_ranks_own_copy(emulated: Callable):
    ran = emulated(
        """
        import importlib._bootstrap as bootstrap
        from step import step
        module = bootstrap._gcd_import("settings")
        step()
        print(module.RANK, bootstrap._gcd_import("settings").RANK)
        """,
        files={"settings.py": RANK, "step.py": STEP},
    )
    assert lines(ran) == ["0 0", "1 1"]


def test_reload_executes_the_ranks_own_module_again(emulated: Callable):
    ran = emulated(
        """
        import importlib, sys
        from step import step
        import settings
        settings.extra = settings.RANK
        settings.count = 5
        step()
        again = importlib.reload(settings)
        assert again is settings and settings.count == 1
        assert importlib.reload(sys.modules["settings"]) is settings
        print(settings.RANK, settings.extra)
        """,
        files={"settings.py": RANK + "count = 1\n", "step.py": STEP},
    )
    assert lines(ran) == ["0 0", "1 1"]


def test_reload_reads_a_changed_file(emulated: Callable):
    ran = emulated(
        """
        import importlib, pathlib, sys
        sys.dont_write_bytecode = True
        import settings
        from mpi4py import MPI
        MPI.COMM_WORLD.Barrier()
        if MPI.COMM_WORLD.rank == 0:
            pathlib.Path("settings.py").write_text("value = 'changed'")
        MPI.COMM_WORLD.Barrier()
        importlib.reload(settings)
        print(settings.value)
        """,
        files={"settings.py": "value = 1\n"},
    )
    assert lines(ran) == ["changed", "changed"]


def test_a_module_deleted_from_sys_modules_is_imported_anew(emulated: Callable):
    ran = emulated(
        """
        import sys
        import noisy
        if noisy.RANK == 1:
            del sys.modules["noisy"]
            import noisy
        """,
        files={"noisy.py": RANK + "print('executed by', RANK)\n"},
    )
    assert lines(ran) == ["executed by 0", "executed by 1", "executed by 1"]


def test_a_module_may_put_another_object_in_its_place(emulated: Callable):
    ran = emulated(
        """
        import sys, settings
        from step import step
        step()
        print(type(settings).__name__, settings.RANK, sys.modules["settings"].RANK)
        """,
        files={
            "settings.py": RANK
            + "import sys\nclass Settings:\n    pass\nme = Settings()\nme.RANK = RANK\nsys.modules[__name__] = me\n",
            "step.py": STEP,
        },
    )
    assert lines(ran) == ["Settings 0 0", "Settings 1 1"]


def test_a_module_may_change_its_class(emulated: Callable):
    ran = emulated(
        "import settings\nprint(settings.answer)\n",
        files={
            "settings.py": RANK + "import sys, types\nclass Settings(types.ModuleType):\n"
            "    answer = property(lambda self: self.RANK + 40)\n"
            "sys.modules[__name__].__class__ = Settings\n"
        },
    )
    assert lines(ran) == ["40", "41"]


def test_a_module_whose_import_fails_can_be_imported_again(emulated: Callable):
    ran = emulated(
        """
        import builtins
        try:
            import settings
        except ZeroDivisionError:
            builtins.ready = True
        import settings
        print(settings.RANK)
        """,
        1,
        files={"settings.py": RANK + "import builtins\nif not hasattr(builtins, 'ready'):\n    1 / 0\n"},
    )
    assert lines(ran) == ["0"]


def test_a_module_that_does_not_exist_is_missed_as_in_python(emulated: Callable):
    ran = emulated(
        """
        for what in ("import absent", "import package.absent", "from package import absent", "import plain.absent"):
            try:
                exec(what)
            except ImportError as error:
                print(type(error).__name__, error)
        """,
        1,
        files={"package/__init__.py": "", "plain.py": ""},
    )
    assert ran.error == ""
    out = ran.out.splitlines()
    assert out[0] == "ModuleNotFoundError No module named 'absent'"
    assert out[1] == "ModuleNotFoundError No module named 'package.absent'"
    assert out[2].startswith("ImportError cannot import name 'absent' from 'package'")
    assert out[3] == "ModuleNotFoundError No module named 'plain.absent'; 'plain' is not a package"


def test_mpi_calls_may_be_made_while_a_module_is_imported(emulated: Callable):
    ran = emulated(
        "import exchange\nprint(exchange.other)\n",
        files={"exchange.py": RANK + "other = MPI.COMM_WORLD.sendrecv(RANK, 1 - RANK)\n"},
    )
    assert lines(ran) == ["0", "1"]


def test_installed_packages_are_shared(emulated: Callable):
    ran = emulated(
        """
        from step import step
        import json, colorsys
        if step() == 0:
            colorsys.mark = 1
        step()
        step()
        print(hasattr(colorsys, "mark"))
        del step
        """,
        files={"step.py": STEP},
    )
    import colorsys

    del colorsys.mark
    assert lines(ran) == ["True", "True"]


def test_a_named_package_is_private(emulated: Callable):
    ran = emulated(
        """
        import colorsys
        from step import step
        colorsys.mark = step()
        step()
        print(colorsys.mark)
        """,
        files={"step.py": STEP},
        private=("colorsys",),
    )
    assert lines(ran) == ["0", "1"]


def test_a_package_named_as_shared_is_shared(emulated: Callable):
    ran = emulated(
        "import common, sys\nprint(type(sys.modules['common']).__name__)\n",
        files={"common.py": "print('executed')\n"},
        shared=("common",),
    )
    assert lines(ran) == ["executed", "module", "module"]


@pytest.mark.parametrize(
    "declaration",
    [
        "__smpy_shared__ = True  # why",
        "__smpy_shared__=True",
        "from typing import Final\n__smpy_shared__: Final = True",
    ],
)
@pytest.mark.parametrize("where", ["common.py", "common/__init__.py", "package/common.py"])
def test_a_module_can_say_itself_that_it_is_shared(emulated: Callable, declaration: str, where: str):
    files = {
        where: f"'A docstring'\n{declaration}\nseen = []\n",
        "own.py": "seen = []",
        "package/__init__.py": "seen = []",
    }
    imported = "from package import common" if where.startswith("package") else "import common"
    program = f"""
        {imported}
        import own, package
        from mpi4py import MPI
        for module in (common, own, package):
            module.seen.append(MPI.COMM_WORLD.rank)
        MPI.COMM_WORLD.Barrier()
        assert own.seen == package.seen == [MPI.COMM_WORLD.rank]
        assert sorted(common.seen) == [0, 1, 2]
        """
    assert emulated(program, 3, files=files).error == ""


@pytest.mark.parametrize(
    "text",
    [
        '"""\n__smpy_shared__ = True\n"""',
        "__smpy_shared__ = False",
        "__smpy_shared__ = 2 > 1",
        "def f():\n    __smpy_shared__ = True",
    ],
)
def test_what_only_mentions_the_declaration_is_private(emulated: Callable, text: str):
    program = "import own\nown.seen.append(1)\nassert own.seen == [1]"
    assert emulated(program, 2, files={"own.py": f"{text}\nseen = []\n"}).error == ""


@pytest.mark.parametrize("first", ["common.part.deep", "common.part", "common"])
@pytest.mark.parametrize("below", ["", "package."])
def test_all_that_lies_in_a_shared_package_is_shared_whatever_is_imported_first(
    emulated: Callable, first: str, below: str
):
    folder = below.replace(".", "/")
    files = {
        f"{folder}common/__init__.py": "__smpy_shared__ = True\nseen = []",
        f"{folder}common/part/__init__.py": "seen = []",
        f"{folder}common/part/deep.py": "seen = []",
        "package/__init__.py": "seen = []",
    }
    program = f"""
        import {below}{first}, {below}common.part.deep
        from {below}common.part import deep
        from {below}common import part
        from {below.rstrip(".") or "common"} import *
        import sys
        from mpi4py import MPI
        common = sys.modules["{below}common"]
        for module in (common, part, deep):
            module.seen.append(MPI.COMM_WORLD.rank)
        MPI.COMM_WORLD.Barrier()
        assert sorted(common.seen) == sorted(part.seen) == sorted(deep.seen) == [0, 1, 2]
        """
    assert emulated(program, 3, files=files).error == ""


@pytest.mark.parametrize("private", ["common", "common.part"])
def test_the_user_has_the_last_word_about_what_is_shared(emulated: Callable, private: str):
    files = {"common/__init__.py": "__smpy_shared__ = True", "common/part.py": "__smpy_shared__ = True\nseen = []"}
    program = "from common import part\npart.seen.append(1)\nassert part.seen == [1]"
    assert emulated(program, 2, files=files, private=(private,)).error == ""


def test_programs_in_one_process_do_not_see_each_others_shared_modules(emulated: Callable):
    for value in (1, 22):  # Python knows a compiled source again by its date, in seconds, and its length
        files = {"common.py": f"__smpy_shared__ = True\nvalue = {value}"}
        assert emulated(f"import common, numpy\nassert common.value == {value}", 2, files=files).error == ""


def test_a_part_of_a_shared_package_can_be_private(emulated: Callable):
    ran = emulated(
        """
        import json.decoder, json
        from json import decoder
        from step import step
        decoder.mark = step()
        step()
        print(decoder.mark, json.decoder.mark)
        """,
        files={"step.py": STEP},
        private=("json.decoder",),
    )
    assert lines(ran) == ["0 0", "1 1"]


def test_modules_in_a_directory_that_the_program_adds_are_private(emulated: Callable):
    ran = emulated(
        """
        import sys, os
        sys.path.insert(0, os.path.join(os.path.dirname(__file__), "lib"))
        import settings
        from step import step
        step()
        print(settings.RANK, len(sys.path))
        """,
        files={"lib/settings.py": RANK, "step.py": STEP},
    )
    first, second = lines(ran)
    assert (first[0], second[0]) == ("0", "1")
    assert first[2:] == second[2:]


def test_what_the_run_replaced_is_put_back(emulated: Callable):
    before, modules = replaced(), set(sys.modules)
    emulated("import settings, mpi4py\nfrom mpi4py import MPI\n", files={"settings.py": ""})
    assert replaced() == before
    assert not {"settings", "mpi4py", "mpi4py.MPI"} & (set(sys.modules) - modules)


def replaced() -> tuple[object, ...]:
    modules = time, random, os, logging, warnings, atexit, importlib
    tables = [dict(vars(module)) for module in (builtins, *modules)]
    return tables, list(sys.meta_path), list(sys.path), type(sys), sys.modules["__main__"], sys.stdout, sys.argv


def test_a_private_module_of_the_standard_library_makes_nobody_private_who_imports_it(smpy_run: Callable):
    program = """
        import unittest
        import numpy.testing
        from mpi4py import MPI
        print(len(set(MPI.COMM_WORLD.allgather(id(numpy.testing.assert_equal)))), numpy.zeros(1).sum())
        """
    assert smpy_run(program, 2, "--quiet", "--private", "unittest").out == "1 0.0\n" * 2
