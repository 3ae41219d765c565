"""The build: declarations for cffi, sources that are compiled again, and the files of an installation."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from kernels import build, emit_cffi

ROOT = Path(__file__).resolve().parents[2]


def _write(folder: Path, texts: dict[str, str]) -> None:
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def test_headers_follow_those_they_include_from_beside_them_or_from_the_top(tmp_path: Path):
    _write(tmp_path, {"a.h": '#include "x/c.h"\n', "b.h": "", "x/c.h": '#include "d.h"\n', "x/d.h": '#include "b.h"\n'})
    ordered = emit_cffi.in_order_of_inclusion(tmp_path)
    assert [str(header.relative_to(tmp_path)) for header in ordered] == ["b.h", "x/d.h", "x/c.h", "a.h"]


def test_cffi_sees_the_marked_text_of_every_block_alone(tmp_path: Path):
    text = (
        "#define NOT_C11 __attribute__((x))\n/* cdef */\nint one(void);\n/* end cdef */\nint hidden(void) NOT_C11;\n"
        "/* cdef */\nint two(int n);\n/* end cdef */\n"
    )
    _write(tmp_path, {"x/a.h": text, "b.h": "int none(void);\n"})
    emit_cffi.emit("package._a", tmp_path / "a.c", tmp_path)
    emitted = (tmp_path / "a.c").read_text(encoding="utf-8")
    assert '#include "x/a.h"' in emitted
    assert '#include "b.h"' not in emitted
    assert "_cffi_f_one" in emitted
    assert "_cffi_f_two" in emitted
    assert "hidden" not in emitted


@pytest.fixture
def small_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of ours with two small files in the place of each kernel."""
    for name in ("kernels/CMakeLists.txt", "kernels/emit_cffi.py", "kernels/build.py", "pyproject.toml", "LICENSE"):
        _write(tmp_path, {name: (ROOT / name).read_text(encoding="utf-8")})
    module = '#include <Python.h>\n#include <greenlet.h>\n#include "part/a.h"\nPyMODINIT_FUNC PyInit__surface(void);\n'
    module += "PyMODINIT_FUNC PyInit__surface(void) { return PyLong_FromLong(0); }\n"
    _write(
        tmp_path,
        {
            "README.md": "",
            "smpy/__init__.py": '__version__ = "9.8"\n',
            "smpy/engine/__init__.py": "",
            "smpy/table.json": "{}",
            "smpy/notes.md": "",
            "kernels/event/part/a.h": "/* cdef */\nint one(void);\n/* end cdef */\n",
            "kernels/event/part/a.c": '#include "a.h"\nint one(void) { return 1; }\n',
            "kernels/event/networks/network_kind.h": "",
            "kernels/event/b.c": "int two(void);\nint two(void) { return 2; }\n",
            "kernels/surface/module.c": module,
        },
    )
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    return tmp_path


def _built(tree: Path, **environment: str) -> set[str]:
    """Names of the sources that `python kernels/build.py` compiles."""
    done = subprocess.run(
        [sys.executable, "kernels/build.py"],
        cwd=tree, env={**os.environ, **environment}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    lines = [line for line in done.stdout.splitlines() if "Building C object" in line]
    return {Path(line).name.removesuffix(".o") for line in lines}


@pytest.mark.slow
def test_a_source_is_compiled_again_when_it_or_a_header_or_the_flags_have_changed(small_tree: Path):
    everything = {"a.c", "b.c", "_event.c", "module.c"}
    assert _built(small_tree) == everything
    assert _built(small_tree) == set()
    (small_tree / "kernels/event/b.c").write_text("int two(void);\nint two(void) { return 3; }\n", encoding="utf-8")
    assert _built(small_tree) == {"b.c"}
    (small_tree / "kernels/event/part/a.h").write_text("/* cdef */ int one(void), new(void); /* end cdef */\n")
    assert _built(small_tree) == everything - {"b.c"}
    (emitted,) = small_tree.glob("build/*/_event.c")
    assert "_cffi_f_new" in emitted.read_text(encoding="utf-8")
    assert _built(small_tree, SMPY_CHECK="1") == everything


@pytest.mark.slow
def test_a_tree_that_has_moved_is_compiled_anew(small_tree: Path, tmp_path_factory: pytest.TempPathFactory):
    _built(small_tree)
    moved = tmp_path_factory.mktemp("moved") / "tree"
    shutil.copytree(small_tree, moved)
    assert "module.c" in _built(moved)


def _wheel(tree: Path, hook: str) -> zipfile.ZipFile:
    code = f"import hatchling.build as b; print(b.{hook}({str(tree / 'dist')!r}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=tree, capture_output=True, text=True, check=True)
    return zipfile.ZipFile(tree / "dist" / done.stdout.splitlines()[-1])


def test_a_wheel_holds_the_package_its_data_and_the_compiled_modules(small_tree: Path):
    _write(small_tree, {"smpy/engine/_surface.of-another-python.so": ""})
    shutil.copy(ROOT / ".gitignore", small_tree)
    with _wheel(small_tree, "build_wheel") as wheel:
        names = {name for name in wheel.namelist() if name.startswith("smpy/")}
    modules = {name for name in names if name.endswith(".so")}
    files = {"smpy/__init__.py", "smpy/engine/__init__.py", "smpy/engine/network_kind.h", "smpy/table.json"}
    assert names - modules == files
    assert {name.split(".")[0] for name in modules} == {"smpy/engine/_event", "smpy/engine/_surface"}
    assert "smpy/engine/_event.abi3.so" in modules
    assert any(sys.implementation.cache_tag in name for name in modules)
    assert wheel.filename is not None
    assert "-9.8-" in wheel.filename


def test_an_editable_install_is_a_line_of_a_path_file_with_the_modules_in_the_source_tree(small_tree: Path):
    with _wheel(small_tree, "build_editable") as wheel:
        (path_file,) = (name for name in wheel.namelist() if ".dist-info" not in name)
        assert wheel.read(path_file).decode().strip() == str(small_tree)
    assert (small_tree / "smpy/engine/_event.abi3.so").exists()
    assert build.ROOT == ROOT
