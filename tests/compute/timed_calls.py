"""Times of a program's calls, many in one run."""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Callable, Iterable
from typing import Any

PROGRAM = """
from mpi4py import MPI
from smpy.compute.models.modelling import Modelling
from smpy.engine.running import per_world

{preparation}

WTIME_S = 1e-8  # that a call of MPI.Wtime takes
for call in {calls}:
    before = {{name: use.n_calls for name, use in per_world(Modelling).uses.items()}}
    before_s = MPI.Wtime()
    eval(call)
    took_s = MPI.Wtime() - before_s - WTIME_S
    used = [name for name, use in per_world(Modelling).uses.items() if use.n_calls > before.get(name, 0)]
    print(repr((call, took_s, ", ".join(sorted(used)))))
"""


def timed_calls(
    emulated: Callable[..., Any], calls: Iterable[str], preparation: str, **config: Any
) -> dict[str, tuple[float, str]]:
    """Seconds that each call takes on rank 0 of one, and the kernels it uses."""
    ran = emulated(PROGRAM.format(preparation=preparation, calls=list(calls)), 1, **config)
    assert ran.error == ""
    told = [literal_eval(line) for line in ran.out.splitlines()]
    return {call: (took_s, kernels) for call, took_s, kernels in told}
