"""Kernels that took longer than alone on their hosts, as the run noted them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from smpy.units import format_time

if TYPE_CHECKING:
    from smpy.records.trace import Trace

_CAUSE: Final = "memory of a host, or its cores: smpy analyze bounds tells the share of each"


def shared_hosts(trace: Trace) -> str:
    """Kernels that ranks of a host slowed down by sharing it, and the cause, in words; empty: there are none.

    Parameters
    ----------
    trace : Trace
        Trace of a run.
    """
    lines = [
        f"  {name} took {format_time(kernel['seconds'])}, alone {format_time(kernel['alone_s'])}"
        for remark in trace.info.get("remarks") or []
        if remark["topic"] == "shared hosts"
        for name, kernel in remark["kernels"].items()
    ]
    return "\n".join(["Shared hosts", *lines, f"  {_CAUSE}"]) if lines else ""
