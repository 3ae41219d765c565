"""Selection of algorithms by a machine and a run: a table, a file of the user, forced algorithms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from smpy.collectives.algorithm_names import choosable
from smpy.collectives.selection import DEFAULT, Selection, selection_with
from smpy.collectives.world_schedules import Algorithms
from smpy.errors import UsageError, meant

if TYPE_CHECKING:
    from smpy.platforms.models.machine_models import CollectiveChoice, Models

TABLE_KEY: Final = "smpy_collectives"
ALGORITHM_KEY: Final = "smpy_algorithm_"
_OURS: Final = "smpy_"


def selection_of(choice: CollectiveChoice, more: Iterable[tuple[str, str]] = ()) -> Selection:
    """Return the selection of a machine, with some algorithms forced.

    Parameters
    ----------
    choice : CollectiveChoice
        The machine's choice.
    more : iterable of (str, str)
        Operation and algorithm, as in `selection_with`; these override those of the machine.

    Raises
    ------
    UsageError
        Under the conditions of `selection_with`, or if the machine's file is no table.
    """
    selection = selection_with((*choice.algorithms, *more), choice.table)
    if not choice.file:
        return selection
    from smpy.collectives.table_files import with_file  # few runs have a file

    return with_file(selection, choice.file, choice.content)


def selection_on(models: Models, more: Iterable[tuple[str, str]] = ()) -> Selection:
    """Return the selection of a machine whose network may time whole collectives; see `selection_of`."""
    return selection_of(models.collectives, more)._replace(network_model=models.network.times_collectives_by)


def choice_of_hints(hints: Mapping[str, str]) -> CollectiveChoice | None:
    """Return the choice in a communicator's hints; None without such hints. An empty table means that of the run.

    Parameters
    ----------
    hints : mapping of str to str
        All hints; those that begin with "smpy_" are ours.

    Raises
    ------
    UsageError
        If there is no such key, table or algorithm, or a file is no table.
    """
    ours = {key: value for key, value in hints.items() if key.startswith(_OURS)}
    if not ours:
        return None
    from smpy.platforms.models.collective_tables import with_table
    from smpy.platforms.models.machine_models import CollectiveChoice

    algorithms = []
    for key, value in sorted(ours.items()):
        if key.startswith(ALGORITHM_KEY):
            algorithms.append((key.removeprefix(ALGORITHM_KEY), value))
        elif key != TABLE_KEY:
            names_operation = key.count("_") >= ALGORITHM_KEY.count("_")
            known = [f"{ALGORITHM_KEY}{each}" for each in choosable()] if names_operation else [TABLE_KEY]
            raise UsageError(
                f"no key is called {key!r}: there are {TABLE_KEY} and {ALGORITHM_KEY}OPERATION, such as "
                f"{ALGORITHM_KEY}alltoall{meant(key, known)}"
            )
    choice = CollectiveChoice("", tuple(algorithms))
    if TABLE_KEY in ours:
        choice = with_table(choice, ours[TABLE_KEY])
    _check(choice)
    return choice


def hints_text(choice: CollectiveChoice | None) -> str:
    """The hints behind a choice, as shown in errors."""
    if choice is None:
        return f"no {_OURS}... hints"
    named = choice.file or choice.table
    table = [f"{TABLE_KEY}={named}"] if named else []
    return ", ".join([*table, *(f"{ALGORITHM_KEY}{operation}={name}" for operation, name in choice.algorithms)])


@cache
def _check(choice: CollectiveChoice) -> None:
    _selection_under(DEFAULT, choice)


def _selection_under(run: Selection, choice: CollectiveChoice) -> Selection:
    """The selection of a communicator, whose own choice takes precedence over that of the run."""
    checked = selection_of(replace(choice, table=choice.table or run.table))
    default = {operation for operation, name in choice.algorithms if name == "default"}
    kept = {operation: name for operation, name in run.forced.items() if operation not in default}
    forced = MappingProxyType({**kept, **checked.forced})
    is_own_table = bool(choice.file or choice.table)
    own = checked.own if is_own_table else run.own
    return Selection(checked.table, forced, own, "" if is_own_table else run.network_model)


def algorithms_under(run: Algorithms, choice: CollectiveChoice | None) -> Algorithms:
    """The algorithms of communicators with a choice of their own, in the world of `run`; those of `run` for None."""
    if choice is None:
        return run
    return run.part(choice, lambda: _selection_under(run.selection, choice))
