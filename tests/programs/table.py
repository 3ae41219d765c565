"""The programs: what each needs, and how it is started."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

JOBS: Final = Path(__file__).with_name("jobs")
RECORDED: Final = Path(__file__).with_name("recorded.json")
DEMOS: Final = "{demos}"
"""Among the arguments: the folder of mpi4py's demonstrations."""


@dataclass(frozen=True, slots=True)
class Job:
    """A program and how to start it.

    Attributes
    ----------
    name : str
        Name in the records.
    script : str
        File in `jobs`.
    packages : tuple of str
        Distributions to install, beside mpi4py and numpy.
    modules : tuple of str
        Modules that it imports from them.
    args : tuple of str
        Its arguments.
    stdin : str
        Text of its standard input.
    ranks : tuple of int
        Numbers of ranks it runs on.
    """

    name: str
    script: str
    packages: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    stdin: str = ""
    ranks: tuple[int, ...] = (2, 3, 4)

    @property
    def needs_demos(self) -> bool:
        return DEMOS in self.args

    def command(self, demos: Path | None) -> list[str]:
        """Script and arguments, where mpi4py's demonstrations are in folder `demos`."""
        args = [str(demos) if arg == DEMOS else arg for arg in self.args]
        return [str(JOBS / self.script), *args]


def _of(package: str, script: str, *modules: str, ranks: tuple[int, ...] = (2, 3, 4)) -> Job:
    names = modules or (package.replace("-", "_"),)
    return Job(package, f"{script}.py", (package,), names, ranks=ranks)


def _demo(name: str, pattern: str, stdin: str = "", ranks: tuple[int, ...] = (2, 3, 4)) -> Job:
    return Job(f"demo {name}", "demo.py", args=(DEMOS, pattern), stdin=stdin, ranks=ranks)


ALL: Final = (
    _of("schwimmbad", "schwimmbad_pool"),
    _of("pymgrit", "pymgrit_heat"),
    _of("mpi-list", "mpi_list_words"),
    _of("simplempi", "simplempi_scatter"),
    _of("mpi-master-slave", "mpi_master_slave_queue"),
    _of("pyske", "pyske_lists"),
    _of("mpiarray", "mpiarray_halo"),
    _of("mpipartition", "mpipartition_particles", ranks=(4,)),
    _of("zeus-mcmc", "zeus_chains", "zeus"),
    Job("ezmpi", "ezmpi_pool.py", ("ezmpi", "dill"), ("ezmpi", "dill")),
    Job("emcee", "emcee_sampler.py", ("emcee", "schwimmbad"), ("emcee", "schwimmbad")),
    _of("dlp-mpi", "dlp_mpi_loop"),
    _of("mpi4pytools", "mpi4pytools_decorators", "mpitools"),
    _of("mpiutils", "mpiutils_dispatcher"),
    _of("distwq", "distwq_calls"),
    _of("pympiutils", "pympiutils_norms"),
    _of("mpiparticles", "mpiparticles_migration"),
    Job("bigmpi4py", "bigmpi4py_frames.py", ("bigmpi4py", "pandas", "psutil"), ("bigmpi4py", "pandas", "psutil")),
    _of("lossy-mpi", "lossy_mpi_pool"),
    _of("shift-fft", "shift_fft", "shift"),
    Job("pylops-mpi", "pylops_mpi_operators.py", ("pylops-mpi", "pylops"), ("pylops_mpi", "pylops", "pyproximal")),
    _demo("helloworld", "helloworld.py"),
    _demo("mandelbrot", "mandelbrot/mandelbrot.py"),
    _demo("compute-pi", "compute-pi/cpi-cco.py", stdin="100\n2000\n0\n"),
    _demo("mpi-ref-v1", "mpi-ref-v1/ex-*.py", ranks=(2, 3)),
    _demo("sequential", "sequential/test_seq.py"),
    Job("demo osu", "demo_osu.py", args=(DEMOS,), ranks=(2, 4)),  # pairs of ranks
)
