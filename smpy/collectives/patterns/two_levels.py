"""Parts of a call on two levels, the ranks of each host and the first ranks of hosts, as a row of a table names them.

A row may have the parts "local" and "leaders", each an algorithm or a table that chooses one. A missing part takes
the default of the algorithm, or else the run's choice.
"""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.schedule import Schedule, Value


def on_hosts(
    steps: Schedule, call: Call, operation: str, nbytes: int, root: Value = 0, default: str | None = None
) -> None:
    """Add an operation among the ranks of each host; `root` is a number among them."""
    call.add_chosen(steps, operation, nbytes, ranks=call.local, root=root, table=call.parts.get("local", default))


def among_leaders(
    steps: Schedule, call: Call, operation: str, nbytes: int, root: Value = 0, default: str | None = None
) -> None:
    """Add an operation among the first ranks of hosts; `root` is the number of a host."""
    by = call.parts.get("leaders", default)
    with steps.when(call.local.index == 0):
        call.add_chosen(steps, operation, nbytes, ranks=call.leaders, root=root, table=by)
