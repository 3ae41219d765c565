"""Reads traces, returns numbers, tables and figures; never runs a program.

An analysis is a function from traces to a result (`smpy.analysis.result.Result`): `critical_path`, `waits`, `pop`,
`bounds` and `compare`, each from the module of its name. Analyses of changed runs are given the function that
replays.
"""

# Import modules before functions of the same names are bound: a module imported later would replace its function.
from smpy.analysis.bounds import bounds
from smpy.analysis.compare import compare
from smpy.analysis.critical_path import critical_path
from smpy.analysis.pop import pop
from smpy.analysis.waits import waits

__all__ = ["bounds", "compare", "critical_path", "pop", "waits"]
