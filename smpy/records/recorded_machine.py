"""Reader of the machine of a trace's run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from smpy.errors import PlatformError
from smpy.platforms.machine_json import machine_from_json
from smpy.records.trace_layout import MACHINE, damaged

if TYPE_CHECKING:
    from smpy.platforms.description import Description
    from smpy.records.trace import Trace


def recorded_machine(trace: Trace) -> Description:
    """Return the machine on which the run of a trace took place.

    Raises
    ------
    DamagedFileError
        If the trace's machine is missing, or is not that of the run.
    """
    path = trace.folder / MACHINE
    try:
        machine = machine_from_json(trace.file_bytes(MACHINE))
    except OSError as error:
        raise damaged(f"{path}: {error.strerror}") from error
    except PlatformError as error:
        raise damaged(f"{path} is not a machine of this version of smpy: {error}") from error
    if machine.fingerprint != trace.info["platform_fingerprint"]:
        raise damaged(f"{path} is not the machine of the run")
    return machine
