"""The files of the kernel form layers: no circle of calls, no circle of includes; each header compiles alone.

``make test-c`` runs it: ``check_layers.py CC OBJECTS`` reads the symbols of the object files in the folder OBJECTS.
Files that extend the kernel from outside (tests/extending) include the headers that are for them, and no line of C is
longer than 132 characters.
"""

import graphlib
import itertools
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
KERNEL = ROOT / "kernels" / "event"
FOR_EXTENDERS = {"sim.h", "action.h", "network.h", "transfer.h", "clock.h", "heap.h"}
LINE_MAX = 132

Edges = dict[str, dict[str, str]]
"""Reasons, by a file and another one that it needs."""


def _calls(objects: Path) -> Edges:
    """Other object files whose symbols each object file takes, with one of these symbols."""
    defined: dict[str, str] = {}
    taken: dict[str, set[str]] = {}
    for source in sorted(KERNEL.glob("*.c")):
        path = objects / f"{source.stem}.o"
        listing = subprocess.run(
            ["nm", "--extern-only", "--format=posix", path], capture_output=True, text=True, check=True
        )
        for symbol, kind in (line.split()[:2] for line in listing.stdout.splitlines()):
            if kind == "U":
                taken.setdefault(path.name, set()).add(symbol)
            elif not symbol.startswith("__"):  # such symbols are the compiler's own
                defined[symbol] = path.name
    return {
        name: {defined[symbol]: symbol for symbol in sorted(symbols) if defined.get(symbol, name) != name}
        for name, symbols in taken.items()
    }


def _included(path: Path) -> list[str]:
    return re.findall(r'^#include "([^"]+)"', path.read_text(encoding="utf-8"), flags=re.MULTILINE)


def _includes() -> Edges:
    return {path.name: dict.fromkeys(_included(path), "#include") for path in sorted(KERNEL.glob("*.h"))}


def _circle(edges: Edges, what: str) -> list[str]:
    try:
        graphlib.TopologicalSorter(edges).prepare()
    except graphlib.CycleError as error:
        names = error.args[1][::-1]
        steps = [f"{name} -> {other} ({edges[name][other]})" for name, other in itertools.pairwise(names)]
        return [f"a circle of {what}: {', '.join(steps)}"]
    return []


def _headers_that_do_not_compile(compiler: str) -> list[str]:
    options = ["-std=c11", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-DSMPY_CHECK", f"-I{KERNEL}"]
    failed = []
    for path in sorted(KERNEL.glob("*.h")):
        command = [compiler, *options, "-fsyntax-only", "-x", "c", "-"]
        run = subprocess.run(command, input=f'#include "{path.name}"\n', capture_output=True, text=True, check=False)
        if run.returncode:
            failed.append(f"{path.name} does not compile alone:\n{run.stderr}")
    return failed


def _private_includes() -> list[str]:
    return [
        f"{path.name} includes {name}, which is not for files outside the kernel's folder"
        for path in sorted((ROOT / "tests" / "extending").glob("*.c"))
        for name in _included(path)
        if name not in FOR_EXTENDERS
    ]


def _long_lines() -> list[str]:
    sources = [
        path
        for folder in ("kernels/event", "kernels/surface", "tests/c", "tests/extending")
        for path in sorted((ROOT / folder).glob("*.[ch]"))
    ]
    return [
        f"{path.relative_to(ROOT)}:{number}: {len(line)} characters"
        for path in sources
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if len(line) > LINE_MAX
    ]


def main(compiler: str, objects: str) -> int:
    """0 when the layers are sound; else says what is wrong."""
    faults = [
        *_circle(_calls(Path(objects)), "calls"),
        *_circle(_includes(), "includes"),
        *_headers_that_do_not_compile(compiler),
        *_private_includes(),
        *_long_lines(),
    ]
    print("\n".join(faults) if faults else "layers: all well")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
