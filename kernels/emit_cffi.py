"""Writes the C of a cffi module from the marked text of its headers: `emit_cffi.py MODULE TARGET.c FOLDER`.

The text between `/* cdef */` and `/* end cdef */` in the headers of FOLDER is the module's only declaration.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from cffi import FFI

MARKED = re.compile(r"/\* cdef \*/(.*?)/\* end cdef \*/", re.DOTALL)
INCLUDED = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def in_order_of_inclusion(folder: Path) -> dict[Path, str]:
    """Text of each header of the folder, after those that it includes."""
    texts: dict[Path, str] = {}

    def add(header: Path) -> None:
        text = header.read_text(encoding="utf-8")
        for name in INCLUDED.findall(text):
            included = header.parent / name if (header.parent / name).exists() else folder / name
            if included.exists() and included.resolve() not in texts:
                add(included.resolve())
        texts.setdefault(header, text)

    for header in sorted(folder.rglob("*.h")):
        add(header.resolve())
    return texts


def emit(module: str, target: Path, folder: Path) -> None:
    ffi = FFI()
    names = []
    for header, text in in_order_of_inclusion(folder.resolve()).items():
        if marked := MARKED.findall(text):
            ffi.cdef("\n".join(marked))
            names.append(header.relative_to(folder.resolve()))
    ffi.set_source(module, "".join(f'#include "{name}"\n' for name in names))
    ffi.emit_c_code(str(target))  # leaves the file alone when its text has not changed


if __name__ == "__main__":
    emit(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
