"""Charges simulated computing time without computing."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final, Literal

from smpy.compute.clock.measured_clock import THRESHOLD_S
from smpy.compute.models.device import bits_of, checked_device, refuse_host_arguments
from smpy.compute.models.modelling import Modelling
from smpy.compute.models.roofline import (
    cache_bandwidth_bytes_per_s,
    main_memory_bytes_per_s,
    random_access_bytes_per_s,
)
from smpy.engine.running import current, is_running, mpi_call, named_call, per_world
from smpy.engine.surface import surface

if TYPE_CHECKING:
    from smpy.engine.engine import Engine
    from smpy.platforms.models.memory import Memory

__all__ = ["execute", "inject_seconds", "is_simulated"]

WORDS_OF_A_LINE: Final = 8
"""Words of 8 bytes that the memory moves for one at a random address: a cache line of 64 bytes."""


def execute(
    flop: float,
    bytes: float = 0,  # noqa: A002  # the field's word
    working_set_bytes: float = 0,
    *,
    random_bytes: float = 0,
    threads: int | None = None,
    device: Literal["cpu", "gpu"] | None = None,
    dtype: Any = "float64",
    stream: int = 0,
) -> None:
    """Let the running rank compute on cores of its simulated host; nothing outside a simulated run.

    It takes until the cores have done all operations and the memory has moved all bytes, both at once (a roofline).
    Bytes that stay in a core's caches are moved at their speed. The others are moved by the host's memory, which its
    cores share fairly, each up to the bandwidth of one core.

    Words at random addresses take their time after those bytes, at the core's rate for the working set
    (`host.random_access`). Beyond the caches each loads a line of 64 bytes, which is a part of what cores share.

    Threads have equal parts of operations, bytes and working set, and a core each. The time of the operations is that
    of one thread over their number and parallel efficiency, which the machine's `[threads]` says of `execute` or
    `other`; it is 1 if the machine says none.

    Parameters
    ----------
    flop : float
        Floating-point operations.
    bytes : float, optional
        Bytes read and written one after the other.
    working_set_bytes : float, optional
        Size of that memory, each byte counted once: it decides whether caches hold it. 0: it is in main memory.
    random_bytes : float, optional
        Bytes of words of 8 bytes that are read or written at random addresses.
    threads : int, optional
        Number of threads; without it, one on each of the rank's cores (``--cpus-per-task``).
    device : {"cpu", "gpu"}, optional
        "gpu": start a kernel on the rank's device, and go on at once; `smpy.synchronize` waits for it. It takes as long
        as its operations at the speed of their type or its bytes at the bandwidth of the device's memory, whichever is
        more; n kernels of ranks or streams at once each take n times as long.
    dtype : data-type, optional
        Type of the numbers that a device computes with: its speed is that of float64, float32 or float16.
    stream : int, optional
        Stream of the rank, from 0 to 15, in which the kernel follows the work that was started before.

    Raises
    ------
    ValueError
        If a number is negative, infinite or NaN, or a kernel of a device has threads or random bytes.
    TypeError
        If one is no number at all.
    UsageError
        If there are more threads than cores of the rank, its host has no device, or that no speed for the type.
    """
    if device is not None and checked_device(device):
        refuse_host_arguments(threads, random_bytes)
        _execute_on_device(flop, bytes, working_set_bytes, dtype, stream)
        return
    is_plain = not bytes and not working_set_bytes and not random_bytes and threads is None
    if not is_plain or surface is None or not surface.compute(flop):
        _execute(flop, bytes, working_set_bytes, random_bytes, threads)


@mpi_call
def _execute(
    flop: float, moved_bytes: float, working_set_bytes: float, random_bytes: float, threads: int | None
) -> None:
    check_work(flop, moved_bytes, working_set_bytes, random_bytes)
    if is_running():
        engine = current()
        n_threads = engine.threads_of(threads)
        thread_flop = flop / per_world(Modelling).n_times_faster("execute", n_threads)
        core_flop, shared_bytes = core_and_memory(
            engine, thread_flop, moved_bytes, working_set_bytes, n_threads, random_bytes
        )
        engine.compute(core_flop, shared_bytes, n_threads=n_threads)


@named_call("execute")
def _execute_on_device(flop: float, moved_bytes: float, working_set_bytes: float, dtype: Any, stream: int) -> None:
    check_work(flop, moved_bytes, working_set_bytes)
    bits = bits_of(dtype)
    if is_running():
        current().start_kernel(flop, moved_bytes, bits, stream)


def check_work(flop: float, moved_bytes: float, working_set_bytes: float, random_bytes: float = 0) -> None:
    """Refuse numbers that describe no work.

    Raises
    ------
    ValueError
        If one is negative, infinite or NaN.
    """
    if not 0 <= flop <= sys.float_info.max:
        raise ValueError(f"cannot compute {flop} operations: give a finite number of at least 0")
    if not 0 <= moved_bytes <= sys.float_info.max:
        raise ValueError(f"cannot move {moved_bytes} bytes of memory: give a finite number of at least 0")
    if not 0 <= working_set_bytes <= sys.float_info.max:
        raise ValueError(f"a working set has no {working_set_bytes} bytes: give a finite number of at least 0")
    if not 0 <= random_bytes <= sys.float_info.max:
        raise ValueError(f"cannot access {random_bytes} bytes at random: give a finite number of at least 0")


def core_and_memory(
    engine: Engine,
    flop: float,
    moved_bytes: float,
    working_set_bytes: float,
    n_threads: int = 1,
    random_bytes: float = 0,
) -> tuple[float, float]:
    """Split work on the running rank's host into operations of each core and bytes of the memory that cores share.

    The operations are those of each thread; of bytes and working set each has an equal part.
    """
    if not moved_bytes and not random_bytes:
        return flop, 0.0
    memory, speed_flop_per_s = engine.memory(), engine.speed_flop_per_s()
    core_bytes = memory.crowded_bytes(working_set_bytes / n_threads, engine.n_busy_cores())
    cache_bytes_per_s = cache_bandwidth_bytes_per_s(memory, core_bytes)
    random_s = _random_access_s(memory, random_bytes, core_bytes, n_threads)
    if cache_bytes_per_s:
        return max(flop, (moved_bytes / n_threads / cache_bytes_per_s + random_s) * speed_flop_per_s), 0.0
    if not memory.is_known:
        per_world(Modelling).bytes_without_bandwidth += moved_bytes
    if not random_s:
        return flop, moved_bytes
    bytes_per_s = main_memory_bytes_per_s(memory, n_threads)
    if not bytes_per_s:
        return max(flop, random_s * speed_flop_per_s), moved_bytes
    alone_s = moved_bytes / bytes_per_s + random_s  # the bytes fit into it: they prolong it where other cores want more
    shared_bytes = min(moved_bytes + WORDS_OF_A_LINE * random_bytes, alone_s * bytes_per_s)
    return max(flop, alone_s * speed_flop_per_s), shared_bytes


def _random_access_s(memory: Memory, random_bytes: float, core_bytes: float, n_threads: int) -> float:
    """Time in which each thread accesses its part of the words at random; 0 if the rate is not known."""
    if not random_bytes:
        return 0.0
    bytes_per_s = random_access_bytes_per_s(memory, core_bytes)
    if not bytes_per_s:
        per_world(Modelling).random_bytes_without_rate += random_bytes
        return 0.0
    return random_bytes / n_threads / bytes_per_s


@mpi_call
def inject_seconds(seconds: float) -> None:
    """Let the running rank compute as if this time had been measured here; nothing outside a simulated run.

    It is scaled by the speed of this machine (``--host-speed``) over that of the simulated core, and dropped below a
    microsecond, as measured computing is. With ``--compute none``, too, it takes time.

    Parameters
    ----------
    seconds : float
        Processor time on this machine.

    Raises
    ------
    ValueError
        If it is negative, infinite or NaN.
    TypeError
        If it is no number at all.
    """
    if not 0 <= seconds <= sys.float_info.max:
        raise ValueError(f"cannot compute for {seconds} seconds: give a finite number of at least 0")
    if is_running() and seconds >= THRESHOLD_S:
        engine = current()
        engine.compute(seconds * (per_world(Modelling).host_speed_flop_per_s or engine.speed_flop_per_s()))


def is_simulated() -> bool:
    """Whether the program runs under `smpy run`, and not under a real MPI."""
    return is_running()
