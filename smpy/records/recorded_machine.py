"""Reader of the machine of a trace's run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from smpy.errors import PlatformError, UsageError
from smpy.platforms.machine_json import machine_from_json
from smpy.records.trace_layout import MACHINE, damaged

if TYPE_CHECKING:
    from smpy.platforms.description import Description
    from smpy.records.trace import Trace


def names_machine(trace: Trace) -> bool:
    """Whether a trace says on what machine to replay it; an imported one need not."""
    traced = trace.info["trace"]
    return "imported" not in traced or MACHINE in traced["files"]


def recorded_machine(trace: Trace) -> Description:
    """Return the machine on which the run of a trace took place.

    Raises
    ------
    UsageError
        If the trace was imported without a machine.
    DamagedFileError
        If the trace's machine is missing, or is not that of the run.
    """
    if not names_machine(trace):
        raise UsageError(
            f"{trace.folder} was imported, and names no machine: say --platform to smpy import, or to smpy replay"
        )
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
