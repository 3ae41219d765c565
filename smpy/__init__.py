"""Runs an mpi4py program on a simulated cluster and predicts how long it would take there.

Names that a program may import; under a real MPI all of them work, and modelled computing takes no time:

* `execute`: compute so many operations; `inject_seconds`: compute so long
* `kernel`: a function that does so many operations; `KernelModels`: BLAS kernels that take their time
* `copy_to_device`, `copy_from_device`, `synchronize`: copies of the rank's device, and waiting for its kernels
* `sample`: a loop or function that runs until its time is known
* `folded`: an array without backing; `shared_array`, `partial_shared_array`: arrays that share their memory
* `region`: a part of the program, for its trace
* `blas`: scipy's BLAS, which takes modelled time
* `set_host_pstate`, `host_pstate`: the state (DVFS) of the rank's host; `host_energy_j`, `host_power_w`: what it draws
* `is_simulated`: whether the program runs under `smpy run`

Functions that run programs: `simulate`, which returns a `Run` or raises a `RunError`; in a notebook `%load_ext smpy`,
`%%smpy`; `Study`: many runs, compared. `compare_collective`: algorithms of a collective, compared. `analysis`: why a
run took as long as it did, from its trace. `import_trace`: the trace of a real run, which another tool wrote.
"""

from __future__ import annotations

TYPE_CHECKING = False  # not from `typing`: until this module is imported, Ctrl-C is not answered (see `__main__`)

if TYPE_CHECKING:
    from typing import Any, Final

    from smpy import analysis, blas, experimental
    from smpy.compute.clock.iterations import iterations
    from smpy.compute.clock.sampling import sample
    from smpy.compute.folded import folded
    from smpy.compute.folded.shared_arrays import partial_shared_array, shared_array
    from smpy.compute.models.device import copy_from_device, copy_to_device, synchronize
    from smpy.compute.models.execute import execute, inject_seconds, is_simulated
    from smpy.compute.models.host_power import host_energy_j, host_power_w, host_pstate, set_host_pstate
    from smpy.compute.models.kernel import kernel
    from smpy.compute.models.kernel_models import KernelModels
    from smpy.engine.regions import region
    from smpy.importers import import_trace
    from smpy.runs.run import Run, RunError
    from smpy.runs.simulate import simulate
    from smpy.study.collective_comparison import compare_collective
    from smpy.study.study import Study

__all__ = [
    "KernelModels",
    "Run",
    "RunError",
    "Study",
    "__version__",
    "analysis",
    "blas",
    "compare_collective",
    "copy_from_device",
    "copy_to_device",
    "execute",
    "experimental",
    "folded",
    "host_energy_j",
    "host_power_w",
    "host_pstate",
    "import_trace",
    "inject_seconds",
    "is_simulated",
    "iterations",
    "kernel",
    "partial_shared_array",
    "region",
    "sample",
    "set_host_pstate",
    "shared_array",
    "simulate",
    "synchronize",
]

__version__ = "0.1.0"

_HOMES: Final = {
    "KernelModels": "smpy.compute.models.kernel_models",
    "Run": "smpy.runs.run",
    "RunError": "smpy.runs.run",
    "Study": "smpy.study.study",
    "compare_collective": "smpy.study.collective_comparison",
    "copy_from_device": "smpy.compute.models.device",
    "copy_to_device": "smpy.compute.models.device",
    "execute": "smpy.compute.models.execute",
    "folded": "smpy.compute.folded",
    "host_energy_j": "smpy.compute.models.host_power",
    "host_power_w": "smpy.compute.models.host_power",
    "host_pstate": "smpy.compute.models.host_power",
    "import_trace": "smpy.importers",
    "inject_seconds": "smpy.compute.models.execute",
    "is_simulated": "smpy.compute.models.execute",
    "iterations": "smpy.compute.clock.iterations",
    "kernel": "smpy.compute.models.kernel",
    "load_ipython_extension": "smpy.cli.notebook",
    "partial_shared_array": "smpy.compute.folded.shared_arrays",
    "region": "smpy.engine.regions",
    "sample": "smpy.compute.clock.sampling",
    "set_host_pstate": "smpy.compute.models.host_power",
    "shared_array": "smpy.compute.folded.shared_arrays",
    "simulate": "smpy.runs.simulate",
    "synchronize": "smpy.compute.models.device",
}


def __getattr__(name: str) -> Any:  # numpy is imported by the programs that fold, not by every run
    from importlib import import_module

    if name in ("analysis", "blas", "experimental"):
        return import_module(f"smpy.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'smpy' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
