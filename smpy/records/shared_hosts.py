"""Kernels that took longer than alone on their hosts, from the remarks on a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from smpy.units import format_time

_CAUSE: Final = "memory of a host, or its cores: smpy analyze bounds shows the share of each"


def shared_hosts(remarks: Iterable[Mapping[str, Any]]) -> str:
    """Words for kernels that ranks of a host slowed down by sharing it, with the cause; empty if there are none.

    Parameters
    ----------
    remarks : iterable of mapping
        Remarks on the run, as its JSON has them.
    """
    lines = [
        f"  {name} took {format_time(kernel['seconds'])}, alone {format_time(kernel['alone_s'])}"
        for remark in remarks
        if remark["topic"] == "shared hosts"
        for name, kernel in remark["kernels"].items()
    ]
    return "\n".join(["Shared hosts", *lines, f"  {_CAUSE}"]) if lines else ""
