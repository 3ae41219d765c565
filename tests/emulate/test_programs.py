"""Programs that can be run, and the environment that they find."""

import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from smpy.errors import UsageError

RANK = "from mpi4py import MPI\nRANK = MPI.COMM_WORLD.Get_rank()\n"
WHOAMI = """
import sys, os, helper
print(__name__, __package__, __spec__ and __spec__.name, os.path.basename(__file__),
      [os.path.basename(sys.argv[0]), *sys.argv[1:]], helper.RANK)
"""


def lines(ran) -> list[str]:
    assert ran.error == ""
    return sorted(ran.out.splitlines())


def test_a_file_is_run_as_python_runs_it(emulated: Callable):
    ran = emulated(WHOAMI, 1, files={"helper.py": RANK}, args=("a",))
    assert lines(ran) == ["__main__ None None program.py ['program.py', 'a'] 0"]


def test_modules_are_found_beside_a_file_in_another_directory(emulated: Callable, tmp_path: Path):
    ran = emulated(None, files={"code/main.py": WHOAMI, "code/helper.py": RANK}, program="code/main.py")
    assert lines(ran) == [f"__main__ None None main.py ['main.py'] {rank}" for rank in range(2)]


def test_a_linked_file_finds_modules_beside_its_target(emulated: Callable, tmp_path: Path):
    (tmp_path / "link.py").symlink_to("code/main.py")
    ran = emulated(None, 1, files={"code/main.py": WHOAMI, "code/helper.py": RANK}, program="link.py")
    assert lines(ran) == ["__main__ None None link.py ['link.py'] 0"]


def test_a_module_is_run_as_python_m_runs_it(emulated: Callable):
    files = {"package/__init__.py": RANK + "print('package', RANK)\n", "package/tool.py": WHOAMI, "helper.py": RANK}
    ran = emulated(None, files=files, program="package.tool", is_module=True, args=("x",))
    assert lines(ran) == [
        *[f"__main__ package package.tool tool.py ['tool.py', 'x'] {rank}" for rank in range(2)],
        *[f"package {rank}" for rank in range(2)],
    ]


def test_a_package_is_run_by_its_main(emulated: Callable):
    files = {"package/__init__.py": "", "package/__main__.py": "from . import part\n" + WHOAMI + "print(part.RANK)\n"}
    files |= {"package/part.py": RANK, "helper.py": RANK}
    ran = emulated(None, files=files, program="package", is_module=True)
    assert lines(ran) == [
        "0",
        "1",
        *[f"__main__ package package.__main__ __main__.py ['__main__.py'] {rank}" for rank in range(2)],
    ]


def test_a_module_of_the_standard_library_can_be_run(emulated: Callable):
    ran = emulated(None, 1, program="json.tool", is_module=True, args=("in.json",), files={"in.json": '{"a":1}'})
    assert ran.out.split() == ["{", '"a":', "1", "}"]


@pytest.mark.parametrize(
    ("module", "message"),
    [
        ("package", "cannot run module 'package': there is no 'package.__main__'"),
        ("package.absent", "cannot run module 'package.absent': there is no 'package.absent'"),
        ("package.leaf.more", "__path__ attribute not found on 'package.leaf'"),
    ],
)
def test_a_module_that_cannot_be_run_says_why(emulated: Callable, module: str, message: str):
    files = {"package/__init__.py": "", "package/leaf.py": ""}
    ran = emulated(None, files=files, program=module, is_module=True)
    assert message in ran.error
    assert "Traceback" not in ran.error


def test_an_error_in_a_package_of_the_module_is_the_programs(emulated: Callable):
    ran = emulated(None, files={"package/__init__.py": "import absent"}, program="package.tool", is_module=True)
    assert "No module named 'absent'" in ran.error
    assert "Traceback" in ran.error


def test_a_directory_is_run_by_its_main(emulated: Callable):
    ran = emulated(None, files={"folder/__main__.py": WHOAMI, "folder/helper.py": RANK}, program="folder")
    assert lines(ran) == [f"__main__  __main__ __main__.py ['folder'] {rank}" for rank in range(2)]


def test_an_archive_is_run_by_its_main(emulated: Callable, tmp_path: Path):
    with zipfile.ZipFile(tmp_path / "archive.zip", "w") as archive:
        archive.writestr("__main__.py", WHOAMI)
        archive.writestr("helper.py", RANK)
    ran = emulated(None, program="archive.zip")
    assert lines(ran) == [f"__main__  __main__ __main__.py ['archive.zip'] {rank}" for rank in range(2)]


def test_a_directory_without_main_is_refused(emulated: Callable, tmp_path: Path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(UsageError, match=r"directory without __main__\.py"):
        emulated(None, program="folder")


def test_a_program_declares_its_encoding(emulated: Callable, tmp_path: Path):
    (tmp_path / "latin.py").write_bytes(b"# -*- coding: latin-1 -*-\nprint(ascii('\xe9'))\n")
    assert emulated(None, 1, program="latin.py").out == "'\\xe9'\n"


# ---- mpi4py ----


@pytest.fixture(params=["mpi4py is installed", "mpi4py is not installed"])
def installation(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "mpi4py is installed":
        pytest.importorskip("mpi4py")
    else:
        monkeypatch.setattr(sys, "path", [entry for entry in sys.path if not entry.endswith("site-packages")])
    return str(request.param)


def test_mpi_is_smpys(emulated: Callable, installation: str):
    ran = emulated(
        """
        from mpi4py import MPI
        import mpi4py.MPI, sys, importlib
        assert mpi4py.MPI is MPI is sys.modules["mpi4py.MPI"] is importlib.import_module("mpi4py.MPI")
        from mpi4py.MPI import COMM_WORLD
        from mpi4py import rc, get_include, __version__
        assert MPI.get_vendor()[0] == "smpy"
        print(COMM_WORLD.rank, "mpi4py" in sys.modules)
        """
    )
    assert lines(ran) == ["0 True", "1 True"]


def test_options_of_mpi4py_are_each_ranks_own(emulated: Callable, installation: str):
    ran = emulated(
        """
        import mpi4py
        mpi4py.rc.initialize = False
        mpi4py.rc(threads=False)
        from mpi4py import MPI
        first = MPI.Is_initialized()
        MPI.Init()
        rank = MPI.COMM_WORLD.rank
        mpi4py.rc.irecv_bufsz = rank
        MPI.COMM_WORLD.Barrier()
        print(first, MPI.Is_initialized(), mpi4py.rc.irecv_bufsz)
        try:
            mpi4py.rc.no_such_option = 1
        except TypeError:
            MPI.Finalize()
        """
    )
    assert lines(ran) == ["False True 0", "False True 1"]


def test_a_program_is_run_by_mpi4py(emulated: Callable, installation: str):
    files = {"code/main.py": RANK + "import sys, helper, pickle\nclass Point:\n    pass\n"
             "MPI.COMM_WORLD.Barrier()\nassert type(pickle.loads(pickle.dumps(Point()))) is Point\n"
             "print(sys.argv, __name__, helper.RANK)\n", "code/helper.py": RANK}  # fmt: skip
    ran = emulated(None, files=files, program="mpi4py", is_module=True, args=("code/main.py", "x"))
    assert lines(ran) == [f"['code/main.py', 'x'] __main__ {rank}" for rank in range(2)]


def test_pure_python_parts_of_an_installed_mpi4py_are_each_ranks_own(emulated: Callable):
    pytest.importorskip("mpi4py")
    ran = emulated(
        """
        from mpi4py import MPI
        from mpi4py.util import dtlib
        import mpi4py.util
        dtlib.mark = MPI.COMM_WORLD.rank
        MPI.COMM_WORLD.Barrier()
        print(dtlib.mark, dtlib.MPI is MPI, os.path.basename(os.path.dirname(mpi4py.__file__)))
        """.replace("from mpi4py.util", "import os\n        from mpi4py.util", 1)
    )
    assert lines(ran) == ["0 True mpi4py", "1 True mpi4py"]


def test_a_program_without_mpi_loads_neither_mpi_nor_numpy(smpy_run: Callable):
    ran = smpy_run("import sys\nprint('smpy.mpi' in sys.modules, 'numpy' in sys.modules)\n", 1, "--quiet")
    assert ran.out == "False False\n"
