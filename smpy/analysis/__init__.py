"""Reads traces, returns numbers, tables and figures; never runs a program.

An analysis is a function from traces to a result (`smpy.analysis.result.Result`): `critical_path`, `waits`, `lost`,
`pop`, `bounds`, `phases`, `compare` and `stability`; `pop_from_factors` takes a table in place of traces. No module has
the name of one: importing it would replace the function. Analyses of changed runs take the function that replays.
"""

from smpy.analysis.call_stability import stability
from smpy.analysis.comparison import compare
from smpy.analysis.lost_time import lost
from smpy.analysis.path_analysis import critical_path
from smpy.analysis.phase_analysis import phases
from smpy.analysis.pop_factors import pop_from_factors
from smpy.analysis.pop_metrics import pop
from smpy.analysis.run_bounds import bounds
from smpy.analysis.wait_analysis import waits

__all__ = ["bounds", "compare", "critical_path", "lost", "phases", "pop", "pop_from_factors", "stability", "waits"]
