"""Package mpi4py on a rank: `mpi4py.MPI` is smpy's, the rest is mpi4py's own."""

from __future__ import annotations

import importlib
import os
import sys
from functools import partial
from types import ModuleType
from typing import Any, Final

from smpy.emulate.modules.imports import Importer
from smpy.emulate.patches import Patches
from smpy.emulate.ranks import RankState, running

_OPTIONS: Final = "MPI4PY_RC_"
"""Prefix of environment variables that set options of ``mpi4py.rc``."""


def install_mpi4py(importer: Importer, patches: Patches) -> None:
    """Give the ranks smpy's `mpi4py.MPI` until the patches are undone."""
    has_options = any(name.startswith(_OPTIONS) for name in os.environ)
    needs_package = partial(_has_options, has_options)
    importer.substitute("mpi4py.MPI", partial(_load_mpi, patches), _check_options, needs_package)
    importer.amend("mpi4py", partial(_have_mpi, importer))
    importer.when_imported("mpi4py._mpiabi", partial(_refuse_library, patches))


def _load_mpi(patches: Patches) -> ModuleType:
    module = importlib.import_module("smpy.mpi.MPI")
    patches.attribute(module, "_set_abort_status", _set_abort_status)
    return module


def _set_abort_status(status: int) -> None:
    """Have the run aborted when the running rank ends: `mpi4py.run` asks for it when a program has failed."""
    state = running()
    if state is not None:
        state.abort_status = status


def _has_options(has_common: bool, state: RankState) -> bool:  # bound when the run begins
    """Whether environment variables, all ranks' or the rank's own, set options of ``mpi4py.rc``."""
    return has_common or any(name.startswith(os.fsencode(_OPTIONS)) for name in state.environment or ())


def _check_options() -> None:
    sys.modules["smpy.mpi.state.environment"].imported()


def finish_mpi(state: RankState) -> None:
    """Finalize MPI for a rank whose program is over, if the program has not done so itself."""
    environment = sys.modules.get("smpy.mpi.state.environment")
    if environment is not None and not state.is_child:
        environment.finish()


def _have_mpi(importer: Importer, package: ModuleType) -> None:
    """Import MPI when a rank looks for it in the package: another module may have imported it before."""

    def find(name: str) -> Any:
        if name != "MPI":
            raise AttributeError(f"module 'mpi4py' has no attribute {name!r}")
        return importer.get("mpi4py.MPI")

    vars(package)["__getattr__"] = find


def _refuse_library(patches: Patches) -> None:
    """Make mpi4py's finder of extension modules refuse to load `mpi4py.MPI` as a library, with the reason."""
    finder: Any = sys.modules["mpi4py._mpiabi"]
    load = finder._dlopen_libmpi

    def load_library(libmpi: str | None = None) -> Any:
        ours = sys.modules.get("smpy.mpi.MPI")
        if ours is not None and libmpi == ours.__file__:
            raise RuntimeError(f"cannot load MPI library: {libmpi} is no library in C: smpy's mpi4py.MPI is Python")
        return load(libmpi)

    patches.attribute(finder, "_dlopen_libmpi", load_library)
