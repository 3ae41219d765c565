"""The build: what cffi is told, and what is compiled again."""

import os
from pathlib import Path

import pytest

from kernels import build_backend


def test_headers_follow_those_they_include(tmp_path: Path):
    for name, text in {"a.h": '#include "c.h"\n', "b.h": "", "c.h": '#include <stdint.h>\n#include "b.h"\n'}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    ordered = build_backend._by_dependency([tmp_path / name for name in ("a.h", "b.h", "c.h")])
    assert [header.name for header in ordered] == ["b.h", "c.h", "a.h"]


def test_cffi_sees_the_marked_text_of_every_block_alone(tmp_path: Path):
    header, emitted = tmp_path / "a.h", tmp_path / "a.c"
    header.write_text(
        "#define NOT_C11 __attribute__((x))\n/* cdef */\nint one(void);\n/* end cdef */\nint hidden(void) NOT_C11;\n"
        "/* cdef */\nint two(int n);\n/* end cdef */\n",
        encoding="utf-8",
    )
    assert build_backend._emit_cffi_module("package._a", [header], emitted)
    text = emitted.read_text(encoding="utf-8")
    assert '#include "a.h"' in text
    assert "_cffi_f_one" in text
    assert "_cffi_f_two" in text
    assert "hidden" not in text


def test_headers_without_marked_text_make_no_cffi_module(tmp_path: Path):
    header = tmp_path / "a.h"
    header.write_text("int one(void);\n", encoding="utf-8")
    assert not build_backend._emit_cffi_module("package._a", [header], tmp_path / "a.c")


@pytest.mark.parametrize(
    ("change", "is_stale"), [("nothing", False), ("source", True), ("command", True), ("target", True), ("gone", True)]
)
def test_a_file_is_made_again_when_what_it_is_made_of_has_changed(tmp_path: Path, change: str, is_stale: bool):
    source, target, record = tmp_path / "source", tmp_path / "target", tmp_path / "record"
    source.touch()
    os.utime(source, ns=(1, 1))

    def make(*command: str) -> bool:
        with build_backend._made_by(target, list(command), record, lambda: [source]) as is_stale:
            if is_stale:
                target.touch()
        return is_stale

    assert make("gcc", "-O3")
    match change:
        case "source":
            source.write_text("changed", encoding="utf-8")
        case "target":
            target.unlink()
        case "gone":
            source.unlink()
    assert make("gcc", "-O2" if change == "command" else "-O3") is is_stale


def test_a_failed_build_is_not_taken_for_a_finished_one(tmp_path: Path):
    target, record = tmp_path / "target", tmp_path / "record"
    with pytest.raises(RuntimeError, match="compiler"), build_backend._made_by(target, ["gcc"], record, list):
        target.touch()
        raise RuntimeError("compiler")
    with build_backend._made_by(target, ["gcc"], record, list) as is_stale:
        assert is_stale
        target.touch()
