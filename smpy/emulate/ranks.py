"""The state of each rank, and which rank runs.

Shared objects that differ by rank (`sys.argv`, `random`, the clock, a private module) ask `running()`. The answer
travels in the context of the rank's greenlet and of the threads that the rank starts: it is right whoever switches, and
None in the hub. In an empty context that a program has made (each `greenlet` of its own begins with one), the answer is
the rank whose turn it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final
from weakref import ReferenceType

from smpy.engine.running import current, is_running
from smpy.engine.thread_ranks import belong_to

if TYPE_CHECKING:
    from smpy.engine.engine import Engine


class RankState:
    """One rank's own state.

    A value is stored when it first differs: until then the default of the class stands.

    Attributes
    ----------
    rank : int
        World rank.
    engine : Engine
        The engine of its run.
    modules : dict of str to object
        The rank's own copies of private modules, by name.
    system : dict of str to object
        Attributes of `sys` that the rank has looked at or assigned.
    unfinished : dict of int to list of str
        The line that the rank has begun to print, by file descriptor.
    generators : object
        The rank's sources of randomness.
    loggers : object
        The rank's loggers.
    local_values : object
        What its `threading.local` objects keep for each thread.
    settings : object
        Process-wide state that the rank has changed.
    environment : dict or None
        Environment variables that the rank has changed; None as a value: deleted.
    running_loop : object
        The event loop of `asyncio` that the rank runs.
    event_loops : dict or None
        Attributes that event loop policies keep for the rank.
    at_exit : list
        Functions to call when the rank ends, with their arguments, in order of registration.
    executors : list of references
        The executors of `concurrent.futures` that its program has made.
    thread_numbers : dict or None
        Numbers of the next thread and the next pool, by the place that counts them.
    last_uuid_time : int or None
        Time in the last number of `uuid.uuid1`; the next one is later.
    n_threads : int
        Number of its living threads that have a timeline.
    waits_for_threads : bool
        Whether it ends only after its threads.
    exit_functions : list
        Functions to call before its threads are joined, as `threading._register_atexit` takes them.
    is_child : bool
        Whether this is a child process that the rank has forked.
    abort_status : int
        Code to abort the run with when the rank ends; 0: it is not aborted.
    """

    __slots__ = ("__dict__", "engine", "modules", "rank")

    system: dict[str, Any] | None = None
    unfinished: dict[int, list[str]] | None = None
    generators: object = None
    loggers: object = None
    local_values: Any = None
    settings: object = None
    environment: dict[bytes, bytes | None] | None = None
    running_loop: object = None
    event_loops: dict[Any, dict[Any, Any]] | None = None
    at_exit: list[tuple[Callable[..., object], tuple[Any, ...], dict[str, Any]]] | None = None
    executors: list[ReferenceType[Any]] | None = None
    thread_numbers: dict[str, Iterator[int]] | None = None
    last_uuid_time: int | None = None
    n_threads: int = 0
    waits_for_threads: bool = True
    exit_functions: list[Callable[[], object]] | None = None
    is_child: bool = False
    abort_status: int = 0

    def __init__(self, rank: int, engine: Engine) -> None:
        self.rank = rank
        self.engine = engine
        self.modules: dict[str, ModuleType] = {}


_RUNNING: Final[ContextVar[RankState | None]] = ContextVar("running rank", default=None)
_living: Final[dict[int, RankState]] = {}


def running() -> RankState | None:
    """The state of the rank that runs, or None: in the hub, in a thread that no rank has started, outside a run."""
    return _RUNNING.get() or _without_context()


def _without_context() -> RankState | None:
    if not is_running() or not (engine := current()).is_here() or engine.is_in_hub():
        return None
    return _living.get(engine.rank)


_FOR_ALL: Final[ContextVar[bool]] = ContextVar("for all", default=False)

is_for_all: Final[Callable[[], bool]] = _FOR_ALL.get
"""Whether what executes now is the code of a shared module being imported: what it does, it does for all ranks."""


@contextmanager
def doing_for_all(*, whether: bool = True) -> Iterator[None]:
    """Declare that the code inside executes for all ranks, or for the running one."""
    before = _FOR_ALL.set(whether)
    try:
        yield
    finally:
        _FOR_ALL.reset(before)


def begin(state: RankState) -> None:
    """Say, on a rank's own greenlet, that it is the rank's."""
    _RUNNING.set(state)
    _living[state.rank] = state


def enter_thread(state: RankState) -> None:
    """Say, on the greenlet of a rank's thread, that it is the rank's."""
    _RUNNING.set(state)


def rank_here() -> RankState | None:
    """The state of the rank that runs, in the thread of the ranks: in another thread, waits are real."""
    state = running()
    return state if state is not None and state.engine.is_here() else None


def join(state: RankState) -> None:
    """Say, in a thread that a rank has started, that it is the rank's."""
    _RUNNING.set(state)
    belong_to(state.rank)


def end(state: RankState) -> None:
    """The rank has ended."""
    del _living[state.rank]
