"""What is changed of a machine, or of what ranks did, before a trace is performed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from smpy.engine.kernel import lib
from smpy.errors import UsageError, meant

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from smpy.platforms.description import Description
    from smpy.platforms.models import Overhead
    from smpy.platforms.platform import Platform

Better = tuple[str, float] | tuple[str, str, float]
"""What is so many times better: ("latency", 1.1), ("kernel", "dgemm", 2.0), ...: `replay`."""

KINDS: Final = ("latency", "bandwidth", "overhead", "computing", "kernel", "link", "host")
_NAMED: Final = ("kernel", "link", "host")
ALL: Final = -1


def checked(better: Iterable[Better]) -> list[tuple[str, str, float]]:
    """Each as kind, name (or nothing) and factor.

    Raises
    ------
    UsageError
        If there is no such kind, or a factor is not above 0.
    """
    found = []
    for what, *names, factor in better:
        if what not in KINDS or len(names) != (what in _NAMED):
            raise UsageError(f"nothing is better of {what!r}{meant(what, KINDS)}: {', '.join(KINDS)} may be")
        if not 0 < factor < float("inf"):
            raise UsageError(f"{what} cannot be {factor} times better: give a number above 0")
        found.append((str(what), str(names[0]) if names else "", float(factor)))
    return found


def with_less_overhead(machine: Description, factor: float) -> Description:
    """A machine whose calls and polls cost so many times less."""

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
    )
    polling = replace(models.polling, test_s=models.polling.test_s / factor, iprobe_s=models.polling.iprobe_s / factor)
    return replace(machine, models=replace(models, calls=calls, polling=polling))


def improve_links(platform: Platform, better: Sequence[tuple[str, str, float]]) -> None:
    """Make the links of a platform better, before a world is on it.

    Raises
    ------
    UsageError
        If there is no such link.
    """
    for what, name, factor in better:
        if what == "latency":
            lib.platform_scale_link(platform.handle, ALL, 1.0, 1 / factor)
        elif what == "bandwidth":
            lib.platform_scale_link(platform.handle, ALL, factor, 1.0)
        elif what == "link":
            lib.platform_scale_link(platform.handle, _link(platform, name), factor, 1.0)


def _link(platform: Platform, name: str) -> int:
    for link in range(platform.n_links):
        if platform.link_name(link) == name:
            return link
    raise UsageError(f"the machine has no link {name!r}")


def faster(
    better: Sequence[tuple[str, str, float]],
    cpu: float,
    *,
    host_of_rank: Sequence[str],
    kernel_of_site: Sequence[str],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """By what the work of each rank, and of each site (0 is none), is divided.

    Raises
    ------
    UsageError
        If there is no such kernel in the trace, or no rank on such a host.
    """
    import numpy as np

    of_rank, of_site = np.full(len(host_of_rank), float(cpu)), np.ones(len(kernel_of_site))
    for what, name, factor in better:
        if what == "computing":
            of_rank *= factor
        elif what == "kernel":
            of_site[_where(kernel_of_site, name, "kernel")] *= factor
        elif what == "host":
            of_rank[_where(host_of_rank, name, "host with ranks")] *= factor
    return of_rank, of_site


def _where(names: Sequence[str], name: str, what: str) -> NDArray[Any]:
    import numpy as np

    found = np.flatnonzero(np.asarray(names, dtype=object) == name)
    if not len(found):
        known = sorted({each for each in names if each})
        raise UsageError(f"the trace has no {what} {name!r}{meant(name, known)}")
    return found
