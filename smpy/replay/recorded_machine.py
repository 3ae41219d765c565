"""The machine of a trace, as the run had it.

It is pickled data of `smpy.platforms`; nothing else is loaded from the file.
"""

from __future__ import annotations

import io
import pickle
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, cast

from smpy.errors import UsageError
from smpy.platforms.description import Description
from smpy.records.trace_layout import MACHINE

if TYPE_CHECKING:
    from smpy.records.trace import Trace

_PARTS: Final = "smpy.platforms."
_BUILT_IN: Final = {("builtins", "range"), ("builtins", "frozenset"), ("types", "MappingProxyType")}


class _Unpickler(pickle.Unpickler):
    """Makes values of classes of machines, and of no others."""

    def find_class(self, module: str, name: str) -> Any:
        if "." not in name and (module.startswith(_PARTS) or (module, name) in _BUILT_IN):
            found = super().find_class(module, name)
            if isinstance(found, type):
                return found
        raise pickle.UnpicklingError(f"{module}.{name} is no part of a machine")


def recorded_machine(trace: Trace) -> Description:
    """The machine that the run of a trace was on.

    Raises
    ------
    UsageError
        If the trace does not have it, or as another version of smpy wrote it.
    """
    path = trace.folder / MACHINE
    try:
        machine = _Unpickler(io.BytesIO(path.read_bytes())).load()
        is_machine = isinstance(machine, Description)
        # a copy asks for every part, and an earlier version's machine may lack one
        is_same = not is_machine or replace(machine).fingerprint == trace.info["platform_fingerprint"]
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}; record the run again") from error
    except Exception as error:  # a damaged pickle raises anything
        raise UsageError(f"{path} is not a machine of this version of smpy: record the run again") from error
    if not is_machine:
        raise UsageError(f"{path} is not a machine: record the run again")
    if not is_same:
        raise UsageError(f"{path} was recorded by another version of smpy: record the run again")
    return cast("Description", machine)
