"""Names of algorithms as users write them: the operations with a choice, and the algorithm behind a name."""

from __future__ import annotations

from collections.abc import Iterable

from smpy.collectives.register import GROUP, OPERATIONS, SPLIT, Algorithm, algorithms_of, find_algorithm
from smpy.errors import UsageError, closest
from smpy.installed_parts import import_installed


def choosable() -> tuple[str, ...]:
    """The operations that have several algorithms."""
    return tuple(filter(has_choice, OPERATIONS))


def has_choice(operation: str) -> bool:
    """Whether users can choose the algorithm of an operation by name."""
    follows = operation in ("reduce_scatter_block", SPLIT)  # it uses the choice of reduce_scatter, or that of the table
    return operation in OPERATIONS and not follows and len(algorithms_of(operation)) > 1


def named_algorithm(operation: str, name: str) -> Algorithm:
    """Return the algorithm of this name, ours or SimGrid's.

    Raises
    ------
    UsageError
        If there is none, also in installed packages; the message lists what there is.
    """
    named = find_algorithm(operation, name)
    if named is None:
        import_installed(GROUP)
        named = find_algorithm(operation, name)
    if named is None:
        known = algorithms_of(operation)
        names = [*known, *(theirs for each in known.values() for theirs in each.simgrid_names)]
        shown = [_shown(each) for _, each in sorted(known.items())]
        raise UsageError(f"{operation} has no algorithm {name!r}: it has {', '.join(shown)}{suggestion(name, names)}")
    return named


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return the end of an error message about an unknown name: the closest known name, if one is close."""
    near = closest(name, known)
    return "" if near is None else f"; did you mean {near!r}?"


def _shown(algorithm: Algorithm) -> str:
    theirs = [name for name in algorithm.simgrid_names if name != algorithm.name]
    return algorithm.name + (f" ({', '.join(theirs)})" if theirs else "")
