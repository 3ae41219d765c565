"""Changes of a machine or of the ranks' work, made before a replay."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from smpy.errors import UsageError, meant
from smpy.platforms.models.machine_models import DATA_COSTS, SHORTEST_POLL_S

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from smpy.engine.platform import Platform
    from smpy.platforms.description import Description
    from smpy.platforms.models.machine_models import Overhead

Better = tuple[str, float] | tuple[str, str, float] | tuple[str, str, str, float]
"""A part and the factor by which it is better, such as ("latency", 1.1) or ("kernel", "dgemm", "node-3", 2.0)."""

MEMORY_PARTS: Final = ("memory", "core_memory")
"""Limits of memory bandwidth, in the order in which an analysis removes them: of a host, of a core."""
DEVICE_PARTS: Final = ("device", "device_link")
"""Devices of hosts: their computing, and their links to the host and to each other."""
_N_NAMES: Final = {
    **dict.fromkeys(("latency", "bandwidth", "overhead", "computing", "cores", *MEMORY_PARTS, *DEVICE_PARTS), (0,)),
    "kernel": (1, 2),
    "link": (1,),
    "host": (1,),
}
KINDS: Final = tuple(_N_NAMES)


class PartImprovement(NamedTuple):
    """A part with the factor by which it is better.

    Attributes
    ----------
    what : str
        Part, of `KINDS`.
    name : str
        Name of the kernel, link or host; empty for a kernel: work outside of kernels.
    host : str
        Host to which a change of a kernel is limited; empty: all hosts.
    factor : float
        Factor by which the part is better.
    """

    what: str
    name: str
    host: str
    factor: float


class Divisors(NamedTuple):
    """Divisors of work: of each rank's flop, of each rank's bytes, and of both at each site (site 0 is none)."""

    flop_of_rank: NDArray[np.float64]
    bytes_of_rank: NDArray[np.float64]
    of_site: NDArray[np.float64]


def checked(better: Iterable[Better]) -> list[PartImprovement]:
    """Check changes and name their fields.

    Raises
    ------
    UsageError
        If there is no such kind, or a factor is not above 0.
    """
    changes = []
    for what, *names, factor in better:
        if len(names) not in _N_NAMES.get(what, ()):
            raise UsageError(f"no part {what!r} can be better{meant(what, KINDS)}: {', '.join(KINDS)} can")
        if not 0 < factor < float("inf"):
            raise UsageError(f"{what} cannot be {factor} times better: give a number above 0")
        name, host = ([str(name) for name in names] + ["", ""])[:2]
        changes.append(PartImprovement(str(what), name, host, float(factor)))
    return changes


def memory_factors(ideal: Iterable[str], better: Sequence[PartImprovement]) -> tuple[float, float]:
    """Factors on the memory bandwidth of each host and of each core; 0: no limit."""
    factors = dict.fromkeys(MEMORY_PARTS, 1.0)
    for change in better:
        if change.what in factors:
            factors[change.what] *= change.factor
    factors.update((part, 0.0) for part in ideal if part in factors)
    return factors["memory"], factors["core_memory"]


def with_less_overhead(machine: Description, factor: float) -> Description:
    """Return a machine whose calls and polls cost less by a factor."""

    def less(table: tuple[Overhead, ...]) -> tuple[Overhead, ...]:
        return tuple(
            row._replace(constant_s=row.constant_s / factor, per_byte_s=row.per_byte_s / factor) for row in table
        )

    models = machine.models
    calls = replace(
        models.calls,
        send_overhead=less(models.calls.send_overhead),
        isend_overhead=less(models.calls.isend_overhead),
        recv_overhead=less(models.calls.recv_overhead),
        **{name: getattr(models.calls, name) / factor for name in DATA_COSTS},
    )
    polls = models.polling
    polls = replace(polls, test_s=_shorter(polls.test_s, factor), iprobe_s=_shorter(polls.iprobe_s, factor))
    return replace(machine, models=replace(models, calls=calls, polling=polls))


def _shorter(poll_s: float, factor: float) -> float:
    """Cost of a poll divided by a factor, but not below the shortest poll."""
    return max(poll_s / factor, min(poll_s, SHORTEST_POLL_S))


def improve_parts(platform: Platform, better: Sequence[PartImprovement]) -> None:
    """Improve the links and the devices of a platform, before a world uses it.

    Raises
    ------
    UsageError
        If there is no such link.
    """
    for what, name, _, factor in better:
        if what == "latency":
            platform.scale_links(latency=1 / factor)
        elif what == "bandwidth":
            platform.scale_links(bandwidth=factor)
        elif what == "link":
            platform.scale_links(bandwidth=factor, link=_link(platform, name))
        elif what == "device":
            platform.scale_devices(compute=factor)
        elif what == "device_link":
            platform.scale_devices(link=factor)


def _link(platform: Platform, name: str) -> int:
    for link in range(platform.n_links):
        if platform.link_name(link) == name:
            return link
    raise UsageError(f"the machine has no link {name!r}")


def faster(
    better: Sequence[PartImprovement],
    cpu: float,
    *,
    host_of_rank: Sequence[str],
    kernel_of_site: Sequence[str],
    rank_of_site: Sequence[int] | NDArray[np.int32],
) -> Divisors:
    """Divisors of work for these changes: faster cores divide only flop; better computing divides bytes, too.

    Raises
    ------
    UsageError
        If there is no such kernel in the trace, or no rank on such a host.
    """
    import numpy as np

    n_ranks = len(host_of_rank)
    divisors = Divisors(np.full(n_ranks, float(cpu)), np.ones(n_ranks), np.ones(len(kernel_of_site)))
    for what, name, host, factor in better:
        if what == "cores":
            divisors.flop_of_rank[:] *= factor
        elif what == "computing":
            divisors.flop_of_rank[:] *= factor
            divisors.bytes_of_rank[:] *= factor
        elif what == "host":
            ranks = _where(host_of_rank, name, "host with ranks")
            divisors.flop_of_rank[ranks] *= factor
            divisors.bytes_of_rank[ranks] *= factor
        elif what == "kernel":
            sites = _where(kernel_of_site, name, "kernel")
            if host:
                is_there = np.zeros(n_ranks + 1, np.bool_)  # the last entry stands for no rank
                is_there[_where(host_of_rank, host, "host with ranks")] = True
                sites = sites[is_there[np.asarray(rank_of_site)[sites]]]
            divisors.of_site[sites] *= factor
    return divisors


def _where(names: Sequence[str], name: str, what: str) -> NDArray[Any]:
    import numpy as np

    places = np.flatnonzero(np.asarray(names, dtype=object) == name)
    if not len(places):
        known = sorted({each for each in names if each})
        raise UsageError(f"the trace has no {what} {name!r}{meant(name, known)}")
    return places
