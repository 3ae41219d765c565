"""Parts that installed packages add to smpy: entry points, whose modules register something as they are imported.

The groups are `smpy.networks`, `smpy.topologies` and `smpy.algorithms`.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

from smpy.errors import UsageError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["import_installed", "import_part", "installed_parts"]

_KINDS: Final = {"smpy.networks": "network model", "smpy.topologies": "topology", "smpy.algorithms": "algorithm"}


def installed_parts(group: str) -> dict[str, EntryPoint]:
    """Entry points of a group by name."""
    from importlib.metadata import entry_points

    return {point.name: point for point in entry_points(group=group)}


def import_part(point: EntryPoint) -> str:
    """Import the module of an entry point.

    Returns
    -------
    str
        The entry point in words, for messages.

    Raises
    ------
    UsageError
        If it cannot be imported.
    """
    kind = {"smpy.networks": "network model", "smpy.topologies": "topology", "smpy.algorithms": "algorithm"}[
        point.group
    ]
    origin = f"the {kind} {point.name!r} of {point.dist.name if point.dist else point.value}"
    try:
        point.load()
    except Exception as error:
        raise UsageError(f"{origin} cannot be imported: {type(error).__name__}: {error}") from error
    return f"{origin}: {point.value}"


@cache
def import_installed(group: str) -> None:
    """Import all parts of a group, once.

    Raises
    ------
    UsageError
        If one cannot be imported.
    """
    for point in installed_parts(group).values():
        import_part(point)
