"""Machine of a run, as exporters of programs need it: hosts of ranks, and speeds of their computing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from smpy.records.recorded_machine import recorded_machine
from smpy.records.trace_layout import MACHINE, damaged

if TYPE_CHECKING:
    from smpy.platforms.models.machine_models import CollectiveChoice
    from smpy.records.trace import Trace

_NS: Final = 1e9


@dataclass(frozen=True, slots=True)
class RunMachine:
    """Machine of a run.

    Attributes
    ----------
    host_of_rank : list of int
        Number of each rank's host.
    amounts_per_s : list of float
        Amount of a `compute` that each rank's core does in a second: its speed, or 1e9 if amounts are nanoseconds.
    operations_per_amount : list of float
        Operations of each rank's core in such an amount: 1, or those of a nanosecond.
    reduction_byte_s : float
        Time that a reduction computes for a byte.
    choice : CollectiveChoice
        Choice of algorithms.
    """

    host_of_rank: list[int]
    amounts_per_s: list[float]
    operations_per_amount: list[float]
    reduction_byte_s: float
    choice: CollectiveChoice


def machine_of_run(trace: Trace) -> RunMachine:
    """Read the machine of a trace.

    Raises
    ------
    DamagedFileError
        If it is not that of the run.
    """
    described = recorded_machine(trace)
    machine = described.build()
    hosts = [host for host, n_ranks in trace.info["trace"]["hosts_of_ranks"] for _ in range(n_ranks)]
    if max(hosts) >= machine.n_hosts:
        raise damaged(f"{trace.folder / MACHINE} has {machine.n_hosts} hosts, and the run was on {max(hosts) + 1}")
    speed_of = {host: machine.speed_flop_per_s(host) for host in set(hosts)}
    speeds = [speed_of[host] for host in hosts]
    amounts = [_NS] * len(speeds) if trace.keeps_seconds else speeds
    operations = [speed / amount for speed, amount in zip(speeds, amounts, strict=True)]
    models = described.models
    return RunMachine(hosts, amounts, operations, models.paid_calls.reduction_byte_s, models.collectives)
