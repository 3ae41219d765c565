"""Start and end of MPI, its clock, versions and properties."""

from __future__ import annotations

import os
import sys
import warnings
from typing import Any, Final, NoReturn

from smpy import __version__
from smpy.engine.outcomes import Aborted
from smpy.engine.running import current, is_running, mpi_call
from smpy.mpi.state import constants
from smpy.mpi.state.exceptions import fail
from smpy.mpi.state.guard import ask_before_calls, watch_calls
from smpy.mpi.state.info import Info
from smpy.mpi.state.world import world

__all__ = [
    "Finalize",
    "Get_abi_fortran_info",
    "Get_abi_info",
    "Get_abi_version",
    "Get_hw_resource_info",
    "Get_library_version",
    "Get_processor_name",
    "Get_version",
    "Init",
    "Init_thread",
    "Is_finalized",
    "Is_initialized",
    "Is_thread_main",
    "Pcontrol",
    "Query_thread",
    "Wtick",
    "Wtime",
    "abort",
    "check_under_way",
    "get_vendor",
    "imported",
    "option",
]


_SWITCH: Final = {True: True, "yes": True, False: False, "no": False}
_WORDS: Final = {
    **dict.fromkeys(("true", "yes", "on", "y", "1"), True),
    **dict.fromkeys(("false", "no", "off", "n", "0"), False),
}
_OPTIONS: Final[dict[str, dict[Any, Any]]] = {
    "initialize": _SWITCH,
    "threads": _SWITCH,
    "thread_level": {level: level for level in ("single", "funneled", "serialized", "multiple")},
    "finalize": {None: None, **_SWITCH},
    "fast_reduce": _SWITCH,
    "recv_mprobe": _SWITCH,
    "errors": {how: how for how in ("exception", "default", "abort", "fatal")},
}


def option(name: str, default: Any) -> Any:
    """The program's value of an option of ``mpi4py.rc``; `default` if it is not set or not a valid value."""
    options = getattr(sys.modules.get("mpi4py"), "rc", None)
    value = getattr(options, name, default)
    if name == "irecv_bufsz":
        return value if isinstance(value, int) and value >= 0 else default
    try:
        return _OPTIONS[name].get(value, default)
    except TypeError:  # no key of a dictionary
        return default


def _take_variables() -> None:
    """Set options that the rank's environment variables name, as mpi4py does when MPI is imported."""
    options = getattr(sys.modules.get("mpi4py"), "rc", None)
    for name in (*_OPTIONS, "irecv_bufsz"):
        text = os.environ.get(f"MPI4PY_RC_{name.upper()}")
        if text is not None:
            is_number = name == "irecv_bufsz" and text.isdecimal()
            setattr(options, name, int(text) if is_number else _WORDS.get(text.lower(), text.lower()))


def _warn_of_options() -> None:
    """Warn the rank of values that `option` passes over, as mpi4py does."""
    unset = object()
    options = getattr(sys.modules.get("mpi4py"), "rc", None)
    for name in (*_OPTIONS, "irecv_bufsz"):
        if hasattr(options, name) and option(name, unset) is unset:
            message = f"mpi4py.rc.{name}: unexpected value {getattr(options, name)!r}"
            warnings.warn_explicit(message, RuntimeWarning, "mpi4py.MPI", 0)


def Init() -> None:
    """Start MPI, when ``mpi4py.rc.initialize`` is false; otherwise it has started with the program."""
    _start()


def Init_thread(required: int = constants.THREAD_MULTIPLE) -> int:
    """Start MPI, as `Init` does.

    Parameters
    ----------
    required : int
        Wanted level of thread support.

    Returns
    -------
    int
        Level there is: the wanted one.
    """
    _start()
    if is_running():
        world().thread_levels[current().rank] = min(max(int(required), 0), constants.THREAD_MULTIPLE)
    return Query_thread()


def _start() -> None:
    if Is_initialized():
        fail("ERR_OTHER", "Init: MPI has been started already; set mpi4py.rc.initialize = False to do it yourself")
    world().initialized.add(current().rank)


def Finalize() -> None:
    """End MPI for this rank."""
    known, rank = world(), current().rank
    if not Is_initialized() or rank in known.finalized:
        fail("ERR_OTHER", "Finalize: MPI has not been started, or has ended already")
    finish()
    known.finalized.add(rank)
    watch_calls()


def finish() -> None:
    """End MPI for the running rank, unless it has ended or never started: on some machines with a barrier."""
    if current().ends_with_barrier and Is_initialized() and not Is_finalized():
        sys.modules["smpy.mpi.MPI"].COMM_WORLD.Barrier()


def imported() -> None:
    """Prepare a rank that imports `mpi4py.MPI`: if ``mpi4py.rc.initialize`` is false, calls before `Init` fail."""
    _take_variables()
    _warn_of_options()
    if not option("initialize", True):
        watch_calls()


def check_under_way(call: str) -> None:
    """Raise ``ERR_OTHER`` unless the running rank is between the start and the end of MPI, or has an open session."""
    if any(rank == current().rank for rank, _ in world().open_sessions):
        return
    if Is_finalized():
        fail("ERR_OTHER", f"{call}: rank {current().rank} has called Finalize and can make no further calls")
    if not Is_initialized():
        fail("ERR_OTHER", f"{call}: MPI has not been started: mpi4py.rc.initialize is False, so call Init() first")


ask_before_calls(check_under_way)


def abort(errorcode: int) -> NoReturn:
    """End the run with this exit code, when simulated time reaches the running rank's tail."""
    engine = current()
    engine.stop(Aborted(engine.rank, errorcode))
    while True:
        engine.block("Abort")


def Is_initialized() -> bool:
    """Whether MPI has been started; it need not go on."""
    return is_running() and (bool(option("initialize", True)) or current().rank in world().initialized)


def Is_finalized() -> bool:
    """Whether MPI has ended for this rank."""
    return is_running() and current().rank in world().finalized


def Query_thread() -> int:
    """Level of thread support: the one that was asked for, by `Init_thread` or ``mpi4py.rc``."""
    requested = option("thread_level", "multiple") if option("threads", True) else "single"
    level: int = getattr(constants, f"THREAD_{requested.upper()}")
    return world().thread_levels.get(current().rank, level) if is_running() else level


def Is_thread_main() -> bool:
    """Whether the caller is the thread that started MPI: the one in which the rank's program runs."""
    if not is_running():
        return True
    engine = current()
    return engine.is_here() and engine.running_timeline == engine.first_timeline(engine.rank)


def Get_version() -> tuple[int, int]:
    """Version and subversion of the MPI standard; without one-sided communication and files."""
    return constants.VERSION, constants.SUBVERSION


def Get_abi_version() -> tuple[int, int]:
    """Version of the binary interface that compiled programs could use: none, (-1, -1)."""
    return -1, -1


def Get_abi_info() -> Info:
    """Sizes of the integers that stand for addresses, counts and file offsets, in bytes."""
    return Info.Create({f"mpi_{name}_size": "8" for name in ("aint", "count", "offset")})


def Get_abi_fortran_info() -> Info:
    """Sizes of Fortran's types: null, there is no Fortran."""
    return Info()


def Get_library_version() -> str:
    """Name and version of the library that implements MPI."""
    return f"smpy {__version__}, an MPI on a simulated machine"


def get_vendor() -> tuple[str, tuple[int, int, int]]:
    """Name and version of the MPI implementation."""
    numbers = [int(part) for part in __version__.split(".")[:3] if part.isdigit()]
    major, minor, micro = [*numbers, 0, 0, 0][:3]
    return "smpy", (major, minor, micro)


@mpi_call
def Get_processor_name() -> str:
    """Name of the simulated host that the rank runs on."""
    engine = current()
    return engine.host_name(engine.rank)


def Get_hw_resource_info() -> Info:
    """Resources to split ranks by, and whether the running rank is bound to one: always its host."""
    return Info.Create({"mpi_shared_memory": "true"})


@mpi_call
def Wtime() -> float:
    """Simulated time since the start of the run, in seconds."""
    return current().wtime()


def Wtick() -> float:
    """Resolution of `Wtime`, in seconds: events closer than that are one date."""
    return 1e-9


def Pcontrol(level: int) -> None:
    """Do nothing: there is no profiler to control.

    Parameters
    ----------
    level : int
        Ignored.
    """
