"""Installed modules that use MPI are every rank's own."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from smpy.emulate.modules.import_statements import imports_of

RANK = "from mpi4py import MPI\nRANK = MPI.COMM_WORLD.Get_rank()\n"
EXCHANGE = """
from mpi4py import MPI
def exchange():
    comm = MPI.COMM_WORLD
    return comm.sendrecv(comm.rank, (comm.rank + 1) % comm.size)
"""


@pytest.fixture
def on_path(emulated: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable:
    """Runs a program with modules in a folder of PYTHONPATH, two ranks; its lines in order."""
    folder = tmp_path / "lib"
    folder.mkdir()
    monkeypatch.setattr(sys, "path", [*sys.path, str(folder)])

    def run(source: str, files: dict[str, str], n_ranks: int = 2, **options: object) -> list[str]:
        files = {f"lib/{name}": text for name, text in files.items()}
        before = set(sys.modules)
        ran = emulated(source, n_ranks, files={"exchange.py": EXCHANGE, **files}, **options)
        for name in sys.modules.keys() - before:  # the next run has modules of these names elsewhere
            del sys.modules[name]
        assert ran.error == ""
        return sorted(ran.out.splitlines())

    return run


@pytest.mark.parametrize(
    "text",
    [
        RANK,
        f"try:\n    {RANK.splitlines()[0]}\nexcept ImportError:\n    MPI = None\n{RANK.splitlines()[1]}",
        "import mpi4py.MPI as MPI\nRANK = MPI.COMM_WORLD.rank\n",
        "def find():\n    from mpi4py import MPI\n    return MPI.COMM_WORLD.rank\nRANK = find()\n",
        "import importlib\nRANK = importlib.import_module('mpi4py.MPI').COMM_WORLD.rank\n",
    ],
    ids=["at the top", "in try", "as a module", "in a function", "by import_module"],
)
@pytest.mark.parametrize("where", ["used.py", "used/__init__.py", "space/used.py"])
def test_a_module_that_imports_mpi4py_is_each_ranks_own(on_path: Callable, text: str, where: str):
    name = "space import used" if where.startswith("space") else "exchange import exchange\nimport used"
    program = f"from {name}\nfrom exchange import exchange\nexchange()\nprint(used.RANK)"
    assert on_path(program, {where: text}) == ["0", "1"]


def test_what_imports_a_module_that_uses_mpi_is_each_ranks_own(on_path: Callable):
    files = {
        "comm.py": RANK,
        "first/__init__.py": "",
        "first/part.py": "import comm\nRANK = comm.RANK\n",
        "second.py": "from first import (  # both\n    part,\n)\nRANK = part.RANK\n",
    }
    assert on_path("import second\nfrom exchange import exchange\nexchange()\nprint(second.RANK)", files) == ["0", "1"]


def test_a_package_that_uses_mpi_goes_as_a_whole(on_path: Callable):
    files = {
        "package/__init__.py": "",
        "package/settings.py": "rank = None\n",
        "package/start.py": f"{RANK}from package import settings\nsettings.rank = RANK\n",
    }
    program = """
        from package import settings
        import package.start
        from exchange import exchange
        exchange()
        print(settings.rank)
        """
    assert on_path(program, files) == ["0", "1"]


def test_each_module_of_a_large_package_is_judged_by_itself(on_path: Callable):
    files = {f"large/module{number}.py": "" for number in range(257)}
    files |= {
        "large/__init__.py": "print('executed')\n",
        "large/comm.py": RANK,
        "large/uses/__init__.py": "",
        "large/uses/it.py": "from .. import comm\ndef rank():\n    from ..comm import RANK\n    return RANK\n",
        "large/late.py": "_rank = None\ndef rank():\n    global _rank\n    from .comm import RANK\n"
        "    _rank = RANK if _rank is None else _rank\n    return _rank\n",
        "large/tests/__init__.py": "",
        "large/tests/test_it.py": "from large.comm import RANK\n",
        "large/plain.py": "seen = []\n",
    }
    program = """
        import large.plain
        from large import comm, late
        from large.uses import it
        from large.tests import test_it
        from exchange import exchange
        exchange()
        large.plain.seen.append(1)
        print(comm.RANK, large.comm.RANK, it.comm.RANK, it.rank(), late.rank(), test_it.RANK)
        exchange()
        assert len(large.plain.seen) == 2
        """
    assert on_path(program, files) == ["0 0 0 0 0 0", "1 1 1 1 1 1", "executed"]


def test_a_large_package_is_shared_if_a_function_of_it_imports_what_keeps_the_program(on_path: Callable):
    files = {f"large/module{number}.py": "" for number in range(257)}
    files |= {
        "large/__init__.py": "print('executed')\ndef check():\n    from .testing import program\n    return program\n",
        "large/testing.py": "import __main__ as program\n",
    }
    program = """
        import large
        from exchange import exchange
        name = exchange()
        print(large.check().name)
        """
    assert on_path(program, files) == ["0", "1", "executed"]


def test_a_module_that_imports_the_program_is_private_and_its_importers_are_shared(on_path: Callable):
    files = {
        "shell.py": "import __main__\nprint('a shell')\n",
        "drawing.py": "import shell\nprint('executed')\n",
    }
    program = """
        import drawing
        from exchange import exchange
        name = exchange()
        exchange()
        print(drawing.shell.__main__.name)
        """
    assert on_path(program, files) == ["0", "1", "a shell", "a shell", "executed"]


@pytest.mark.parametrize("text", ["import comm\n", "import importlib\ncomm = importlib.import_module('co' + 'mm')\n"])
def test_a_shared_module_meets_each_ranks_own_copy(on_path: Callable, text: str):
    program = """
        import user
        from exchange import exchange
        exchange()
        print(user.rank(), user.comm.RANK)
        user.comm.RANK = exchange()
        exchange()
        print("left", user.comm.RANK)
        """
    files = {"user.py": f"{text}def rank():\n    return comm.RANK\n", "comm.py": RANK}
    assert on_path(program, files, shared=("user",)) == ["0 0", "1 1", "left 0", "left 1"]


def test_a_module_that_only_tells_of_mpi4py_is_shared(on_path: Callable):
    text = '"""With mpi4py:\n\n    from mpi4py import MPI\n"""\nprint("executed")\n'
    unused = "def start():\n    import mpi4py.MPI\nprint('executed too')\n"
    assert on_path("import told, unused", {"told.py": text, "unused.py": unused}) == ["executed", "executed too"]


def test_an_installed_module_that_only_tells_of_one_beside_the_program_is_shared(on_path: Callable):
    files = {
        "teller.py": '"""Say\n\n    from helper import x\n"""\nprint("executed")\n',
        "caller.py": "from helper import x\nprint('executed for each')\n",
        "../helper.py": "x = 1\n",
    }
    assert on_path("import caller, teller", files) == ["executed", "executed for each", "executed for each"]


def test_numpy_is_shared_whatever_lies_beside_the_program(smpy_run: Callable):
    program = "import hypothesis, numpy\nprint(numpy.ones(2).sum())\n"
    ran = smpy_run(program, 2, "--quiet", files={"hypothesis.py": "", "pytest.py": "", "mypy.py": ""})
    assert (ran.out, ran.err) == ("2.0\n2.0\n", "")


def test_the_user_and_the_module_have_the_last_word(on_path: Callable):
    files = {"named.py": f"{RANK}print('one')\n", "says.py": f"__smpy_shared__ = True\n{RANK}print('two')\n"}
    assert on_path("import named, says", files, shared=("named",)) == ["one", "two"]


def test_a_finder_of_an_editable_install_is_asked(on_path: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from importlib.util import spec_from_file_location

    class Finder:
        @staticmethod
        def find_spec(name: str, path: object = None, target: object = None) -> object:
            place = tmp_path / "elsewhere" / "edited.py"
            return spec_from_file_location(name, place) if name == "edited" else None

    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder])
    program = "import edited\nfrom exchange import exchange\nexchange()\nprint(edited.RANK)"
    assert on_path(program, {"../elsewhere/edited.py": RANK}) == ["0", "1"]


# ---- the cache ----


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "smpy" / "imports"


def test_what_a_package_imports_is_kept_and_found_anew_when_it_changes(on_path: Callable, cache: Path):
    program = "import package.part\nfrom exchange import exchange\nexchange()\nprint(package.part.RANK)"
    plain = {"package/__init__.py": "", "package/part.py": "RANK = None\n"}
    assert on_path(program, plain) == ["None", "None"]
    kept = {path: path.stat().st_mtime_ns for path in cache.iterdir()}
    assert on_path(program, plain | {"package/part.py": RANK}) == ["0", "1"]
    assert {path: path.stat().st_mtime_ns for path in cache.iterdir()} != kept


@pytest.mark.parametrize("content", [b"", b"nonsense", bytes(200)])
def test_a_damaged_cache_is_no_cache(on_path: Callable, cache: Path, content: bytes):
    program = "import package\nfrom exchange import exchange\nexchange()\nprint(package.RANK)"
    for _ in range(2):
        assert on_path(program, {"package/__init__.py": RANK}) == ["0", "1"]
        for path in cache.iterdir():
            path.write_bytes(content)


def test_a_cache_that_cannot_be_written_is_no_cache(on_path: Callable, cache: Path):
    cache.parent.parent.write_text("a file where the folder should be")
    program = "import package\nfrom exchange import exchange\nexchange()\nprint(package.RANK)"
    assert on_path(program, {"package/__init__.py": RANK}) == ["0", "1"]


def test_the_cache_is_read_instead_of_the_sources(on_path: Callable, cache: Path, monkeypatch: pytest.MonkeyPatch):
    import smpy.emulate.modules.package_imports as package_imports

    program = "import package\nprint(package.RANK)"
    files = {"package/__init__.py": RANK}
    assert on_path(program, files) == ["0", "1"]
    monkeypatch.setattr(package_imports, "imports_of", lambda *_: pytest.fail("searched again"))
    assert on_path(program, {}) == ["0", "1"]


# ---- sources ----


@pytest.mark.parametrize(
    ("source", "at_once", "later"),
    [
        ("import a, b.c as d; import e", {"a", "b.c", "e"}, set()),
        ("from a import b, c as d", {"a.b", "a.c"}, set()),
        ("from a import (\n    b,  # why, not\n    c,\n)", {"a.b", "a.c"}, set()),
        ("from a import b, \\\n    c", {"a.b", "a.c"}, set()),
        ("from . import a\nfrom .b import c\nfrom ..d import *", {"p.q.a", "p.q.b.c", "p.d"}, set()),
        ("try:\n    import a\nexcept ImportError:\n    a = None", {"a"}, set()),
        ("class A:\n    import a", {"a"}, set()),
        ("try: import a\nfinally: pass", {"a"}, set()),
        ("def f(\n    x,\n):\n    if x:\n        import a\nimport b", {"b"}, {"a"}),
        ("class A:\n    async def f(self):\n        # why\n\n        from a import b", set(), {"a.b"}),
        ("if TYPE_CHECKING:\n    import a\nelse:\n    import b", {"b"}, set()),
        ("import importlib\nimportlib.import_module('a.b')", {"importlib", "a.b"}, set()),
        ("important = 1\nreimport(a)\n# import b\nx = 'import c'", set(), set()),
    ],
)
def test_imports_are_found_by_searching_and_by_parsing_alike(source: str, at_once: set[str], later: set[str]):
    for text in (source, f"{source}\n# mpi4py", source.replace("\n", "\r\n")):
        found = imports_of(text.encode(), "p.q")
        assert (found.at_once, found.later, found.uses_mpi) == (at_once, later, False)


def test_sources_that_python_cannot_read_import_nothing():
    for text in (b"def (", b"\xff\xfe mpi4py", b"mpi4py = \x00", b"(" * 1000 + b"mpi4py"):
        assert not imports_of(text, "").uses_mpi


@pytest.mark.slow
def test_every_source_of_the_standard_library_is_searched_as_it_is_parsed():
    folder = Path(os.__file__).parent
    for name in ("asyncio", "concurrent", "email", "json", "logging", "unittest", "xml"):
        for path in folder.joinpath(name).rglob("*.py"):
            source = path.read_bytes()
            searched = imports_of(source, name)
            parsed = imports_of(source + b"\n# mpi4py", name)
            assert parsed.at_once <= searched.at_once
            assert parsed.later <= searched.later | searched.at_once
