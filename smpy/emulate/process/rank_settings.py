"""Settings of a process that each rank has for itself: working directory, umask, recursion limit, warnings."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

from smpy.emulate.modules.imports import Importer
from smpy.emulate.modules.per_rank_attributes import install_assigned
from smpy.emulate.patches import Patches
from smpy.emulate.process_state import Change, PerRankProcessState, ProcessSetting, Value


def install_process(patches: Patches, settings: PerRankProcessState, importer: Importer) -> None:
    """Give every rank its own process state until the patches are undone."""

    def changed_by(setting: ProcessSetting, owner: ModuleType, *names: str) -> Change:
        change = settings.add(setting)
        for name in names:
            patches.attribute(owner, name, _changing(change, getattr(owner, name)))
        return change

    changed_by(Value(partial(_directory, os.getcwd), partial(_enter, os.chdir)), os, "chdir", "fchdir")
    changed_by(Value(partial(_umask, os.umask), os.umask), os, "umask")
    changed_by(Value(sys.getrecursionlimit, sys.setrecursionlimit), sys, "setrecursionlimit")
    patches.attribute(warnings, "filters", list(warnings.filters))
    filters = Value(lambda: tuple(warnings.filters), _set_filters)
    change_filters = changed_by(filters, warnings, "simplefilter", "filterwarnings", "resetwarnings")
    install_assigned(patches, settings, importer, {("warnings", "filters"): change_filters})
    capture = settings.add(Value(_shower_before_capture, _set_shower_before_capture))
    importer.when_imported("logging", lambda: _install_capture(patches, capture))


def _changing(change: Change, real: Callable[..., Any]) -> Callable[..., Any]:
    def function(*args: Any, **kwargs: Any) -> Any:
        return change(real, *args, **kwargs)

    return function


def _install_capture(patches: Patches, change: Change) -> None:
    logging: Any = sys.modules["logging"]
    patches.attribute(logging, "captureWarnings", _changing(change, logging.captureWarnings))


def _shower_before_capture() -> Any:
    """Function that showed warnings before `logging` captured them; None while `logging` does not capture them."""
    return getattr(sys.modules.get("logging"), "_warnings_showwarning", None)


def _set_shower_before_capture(shower: Any) -> None:
    if "logging" in sys.modules:
        vars(sys.modules["logging"])["_warnings_showwarning"] = shower


def _directory(real: Callable[[], str]) -> str:
    """Path of the working directory; "" if it no longer exists."""
    try:
        return real()
    except OSError:
        return ""


def _enter(real: Callable[[str], None], directory: str) -> None:
    """Change to a directory, or to a deleted one if the rank's directory was deleted."""
    try:
        real(directory)
    except OSError:
        from tempfile import mkdtemp

        removed = mkdtemp(dir="/tmp")  # a rank may have assigned tempfile.tempdir
        real(removed)
        os.rmdir(removed)


def _umask(real: Callable[[int], int]) -> int:
    mask = real(0o077)
    real(mask)
    return mask


def _set_filters(filters: tuple[Any, ...]) -> None:
    vars(warnings)["filters"] = list(filters)
    tell: Callable[[], None] | None = vars(warnings).get("_filters_mutated")
    if tell is not None:
        tell()  # makes the interpreter read the filters again
        return
    with vars(warnings)["_lock"]:  # from Python 3.14
        vars(warnings)["_filters_mutated_lock_held"]()
