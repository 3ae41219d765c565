"""Compiles the kernels with CMake: for hatchling, which makes the wheel, and as a command in the source tree.

`python kernels/build.py` compiles what has changed. It needs the build requirements of pyproject.toml (cmake, ninja,
...). Everything made on the way is in `build/`; `SMPY_CHECK=1` in the environment makes the debug kernel.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / f"{sysconfig.get_platform()}-{sys.implementation.cache_tag}"


class CompiledKernels(BuildHookInterface[Any]):
    """Adds the compiled modules to a wheel; those of an editable install go into the source tree."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        build_data.update(pure_python=False, infer_tag=True)
        if version == "editable":
            install_kernels(ROOT)
        else:
            install_kernels(BUILD / "wheel")
            header = ROOT / "kernels" / "event" / "networks" / "network_kind.h"  # for network models of other packages
            build_data["force_include"] |= {
                str(BUILD / "wheel" / "smpy"): "smpy",
                str(header): f"smpy/engine/{header.name}",
            }


def install_kernels(prefix: Path) -> None:
    """Compiles what has changed, and puts the compiled modules in their places below `prefix`."""
    cache = BUILD / "CMakeCache.txt"
    if cache.exists() and f"={ROOT / 'kernels'}\n" not in cache.read_text(encoding="utf-8"):
        shutil.rmtree(BUILD)  # the tree has moved: CMake's paths are absolute
    check = os.environ.get("SMPY_CHECK", "0") not in ("", "0")
    settings = {"CMAKE_MAKE_PROGRAM": shutil.which("ninja"), "Python_EXECUTABLE": sys.executable, "SMPY_CHECK": check}
    defined = [f"-D{name}={value}" for name, value in settings.items()]
    for args in (
        ["-S", ROOT / "kernels", "-B", BUILD, "-G", "Ninja", "--log-level=WARNING", *defined],
        ["--build", BUILD],
        ["--install", BUILD, "--prefix", prefix],
    ):
        subprocess.run(["cmake", *args], check=True)


if __name__ == "__main__":
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    install_kernels(ROOT)
