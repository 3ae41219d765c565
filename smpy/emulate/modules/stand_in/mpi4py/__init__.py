"""Package mpi4py where none is installed; `mpi4py.MPI` is smpy's."""

from pathlib import Path as _Path
from sys import modules as _modules
from typing import Any as _Any

__version__ = "4.1.0"  # whose names and behaviour `smpy.mpi` follows
__all__ = ["MPI"]  # importing the submodule imports this module


class Rc:
    """Options read when MPI is imported; assign them before, or call `rc` with them."""

    initialize = True
    threads = True
    thread_level = "multiple"
    finalize: bool | None = None
    fast_reduce = True
    recv_mprobe = True
    irecv_bufsz = 32768
    errors = "exception"

    def __call__(self, **options: _Any) -> None:
        for name in options:
            if not hasattr(self, name):
                raise TypeError(f"unexpected argument {name!r}")
        for name, value in options.items():
            setattr(self, name, value)

    def __setattr__(self, name: str, value: _Any) -> None:
        if not hasattr(self, name):
            raise TypeError(f"object has no attribute {name!r}")
        super().__setattr__(name, value)


rc = Rc()
_modules[f"{__name__}.rc"] = rc  # type: ignore[assignment]  # as mpi4py does


def get_include() -> str:
    """Directory of the C headers; it is empty here."""
    return str(_Path(__file__).with_name("include"))


def get_config() -> dict[str, str]:
    """Build configuration of mpi4py: empty, it was not built."""
    return {}


def profile(name: str, *, path: _Any = None) -> None:
    """Load a profiler's library: there is no C library whose calls it could see."""
