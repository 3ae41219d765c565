"""Runs an mpi4py program on a simulated cluster and tells how long it would have taken.

What a program may import; under a real MPI all of it works, and computing that is told takes no time:

* `execute`: compute so many operations; `inject_seconds`: compute so long
* `kernel`: a function that does so many operations; `KernelModels`: BLAS kernels that take their time
* `sample`: a loop or function that runs until its time is known
* `folded`: an array without backing; `shared_array`, `partial_shared_array`: arrays that share their memory
* `region`: a part of the program, for its trace
* `poll_until`: a loop of polls; `MessageSequence` and `Arrival`: many messages in one call
* `blas`: scipy's BLAS, which takes modelled time
* `is_simulated`: whether the program runs under `smpy run`

What runs programs: `simulate`, which returns a `Run` or raises a `RunError`; in a notebook `%load_ext smpy`, `%%smpy`;
`Study`: many runs, compared. `analysis`: why a run took as long as it did, from its trace.
"""

from __future__ import annotations

TYPE_CHECKING = False  # not from `typing`: until this module is imported, Ctrl-C is not answered (see `__main__`)

if TYPE_CHECKING:
    from typing import Any, Final

    from smpy import analysis, blas
    from smpy.compute.execute import execute, inject_seconds, is_simulated
    from smpy.compute.folded import folded
    from smpy.compute.kernel import kernel
    from smpy.compute.kernel_models import KernelModels
    from smpy.compute.sampling import sample
    from smpy.compute.shared_arrays import partial_shared_array, shared_array
    from smpy.engine.polling import poll_until
    from smpy.engine.regions import region
    from smpy.engine.sequences import Arrival, MessageSequence
    from smpy.runs.run import Run, RunError
    from smpy.runs.simulate import simulate
    from smpy.study.study import Study

__all__ = [
    "Arrival",
    "KernelModels",
    "MessageSequence",
    "Run",
    "RunError",
    "Study",
    "__version__",
    "analysis",
    "blas",
    "execute",
    "folded",
    "inject_seconds",
    "is_simulated",
    "kernel",
    "partial_shared_array",
    "poll_until",
    "region",
    "sample",
    "shared_array",
    "simulate",
]

__version__ = "0.1.0"

_HOMES: Final = {
    "Arrival": "smpy.engine.sequences",
    "KernelModels": "smpy.compute.kernel_models",
    "MessageSequence": "smpy.engine.sequences",
    "Run": "smpy.runs.run",
    "RunError": "smpy.runs.run",
    "Study": "smpy.study.study",
    "execute": "smpy.compute.execute",
    "folded": "smpy.compute.folded",
    "inject_seconds": "smpy.compute.execute",
    "is_simulated": "smpy.compute.execute",
    "kernel": "smpy.compute.kernel",
    "load_ipython_extension": "smpy.runs.notebook",
    "partial_shared_array": "smpy.compute.shared_arrays",
    "poll_until": "smpy.engine.polling",
    "region": "smpy.engine.regions",
    "sample": "smpy.compute.sampling",
    "shared_array": "smpy.compute.shared_arrays",
    "simulate": "smpy.runs.simulate",
}


def __getattr__(name: str) -> Any:  # numpy is imported by the programs that fold, not by every run
    from importlib import import_module

    if name in ("analysis", "blas"):
        return import_module(f"smpy.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'smpy' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
