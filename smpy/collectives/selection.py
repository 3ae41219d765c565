"""The choice of a collective's algorithm: by a table, unless the run forces one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from smpy.collectives.algorithm_names import choosable, has_choice, named_algorithm, suggestion
from smpy.collectives.network_timed import OF_MESSAGES, TIMED
from smpy.collectives.register import GROUP, OPERATIONS, algorithms_of, find_algorithm
from smpy.collectives.tables import Rules, only_use, table, table_names
from smpy.errors import UsageError
from smpy.installed_parts import import_installed


class Selection(NamedTuple):
    """A table, with the algorithms that override it.

    Attributes
    ----------
    table : str
        Name of the table.
    forced : mapping of str to str
        Algorithm of each operation that does not use the table.
    own : mapping of str to Rules
        Rules of a user's file, for operations that do not use the table.
    network_model : str
        Name of the model by which the network times whole operations that are not forced; "" where it has none.
    """

    table: str = "smpi"
    forced: Mapping[str, str] = MappingProxyType({})
    own: Mapping[str, Rules] = MappingProxyType({})
    network_model: str = ""

    def is_timed(self, operation: str) -> bool:
        """Whether the network times the whole operation."""
        return bool(self.network_model) and operation in TIMED and operation not in self.forced

    def rules(self, operation: str) -> Rules:
        """The rules for an operation; if the table has no rows for it, they use its first algorithm."""
        name = self.forced.get(operation)
        if name is not None:
            return only_use(operation, name)
        if self.network_model and operation in OF_MESSAGES:
            return only_use(operation, OF_MESSAGES[operation])
        return (
            self.own.get(operation)
            or table(self.table).get(operation)
            or only_use(operation, next(iter(algorithms_of(operation))))
        )


DEFAULT: Final = Selection()


def selection_with(choices: Iterable[tuple[str, str]], table: str = DEFAULT.table) -> Selection:
    """Return a table's selection with some algorithms forced.

    Parameters
    ----------
    choices : iterable of (str, str)
        Operation and algorithm, under our names or SimGrid's; the last one of an operation holds. "default" leaves the
        choice to the table.
    table : str
        Name of the table.

    Raises
    ------
    UsageError
        If there is no such table, operation or algorithm, also in installed packages; the message lists what there is.
    """
    if table not in table_names():
        raise UsageError(
            f"there is no table of collectives {table!r}: there are {', '.join(table_names())}; "
            f"a file's name has a dot or a slash{suggestion(table, table_names())}"
        )
    forced: dict[str, str] = {}
    for operation, name in choices:
        if operation in OPERATIONS and name != "default" and find_algorithm(operation, name) is None:
            import_installed(GROUP)
        if not has_choice(operation):
            known = ", ".join(choosable())
            raise UsageError(
                f"there is no choice of algorithms for {operation!r}: there is for {known}"
                f"{suggestion(operation, choosable())}"
            )
        if name == "default":
            forced.pop(operation, None)
            continue
        forced[operation] = named_algorithm(operation, name).name
    if "reduce_scatter" in forced:
        forced["reduce_scatter_block"] = forced["reduce_scatter"]
    return Selection(table, MappingProxyType(forced))
