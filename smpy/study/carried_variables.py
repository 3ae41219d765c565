"""Environment variables that points need, and carry to their workers.

A shell's variables may hold secrets, and a scheduler may serve many users. So a point carries

* variables that an interpreter or a library reads at its start (`PYTHONPATH`, `OMP_NUM_THREADS`);
* variables that the study names (`environment = [...]`);
* variables that programs of the study have read by their names, absent ones included.

A run reports a hash of each variable that it has read. If the study's own value has another hash, the point runs again
and carries that variable.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from smpy.runs.request import RunInputs
from smpy.runs.variables_read import changed_variables
from smpy.runs.warm_server import is_read_once


class CarriedVariables:
    """Variables for the points of a study.

    Parameters
    ----------
    environment : mapping of str to str
        All variables of the study's process.
    names : iterable of str
        Variables that points are known to need.
    """

    def __init__(self, environment: Mapping[str, str], names: Iterable[str]) -> None:
        self._environment = dict(environment)
        self._names = {name for name in environment if is_read_once(name)}.union(names)

    def current(self) -> dict[str, str | None]:
        """Values for a point that begins now; None: the variable is absent."""
        return {name: self._environment.get(name) for name in self._names}

    def has_missed(self, carried: Mapping[str, str | None], reads: RunInputs) -> bool:
        """Whether a run read variables that it did not carry, and whose values in the study differ.

        Later points carry these variables.
        """
        missed = set(changed_variables(reads.variables, self._environment)).difference(carried)
        self._names |= missed
        return bool(missed)


def variables_of_a_run(carried: Mapping[str, str | None], own: Mapping[str, str]) -> dict[str, str]:
    """Variables of a run: the point's, and the worker's own except those that are read only at start."""
    variables = {name: value for name, value in own.items() if not is_read_once(name) and name not in carried}
    return variables | {name: value for name, value in carried.items() if value is not None}
