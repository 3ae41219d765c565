"""BLAS routines on folded arrays: they take modelled time; results have scipy's shapes and types."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import update_wrapper
from typing import Any

import numpy as np

from smpy.compute.folded import without_backing
from smpy.compute.folded.blas_arguments import BadArgument, BlasArguments
from smpy.compute.folded.blas_routines import ROUTINES, ArrayResult, BlasRoutine, bind
from smpy.compute.folded.charges import charge, is_folded
from smpy.compute.folded.on_device import bits_on_device
from smpy.compute.models.kernel_models import Unmeasured, takes_time
from smpy.engine.running import current, named_call

__all__ = ["call_on_folded", "has_folded", "model_too"]


@named_call("")
def call_on_folded(
    name: str, error: Callable[[], type[Exception]], args: tuple[Any, ...], kwargs: Any, threads: int | None = None
) -> Any:
    """Results of a routine with some folded arguments; real memory is left unchanged.

    Parameters
    ----------
    name : str
        Name of the routine.
    error : callable
        Gives the class of f2py's errors.
    args, kwargs
        Arguments of the call.
    threads : int, optional
        Number of threads, as of `charge_kernel`.
    """
    routine = ROUTINES[name]
    arguments = bind(routine, args, kwargs)
    try:
        done = routine.rule(BlasArguments(arguments))
    except BadArgument as bad:
        raise error()(f"{bad}: {name}") from None
    device_bits = bits_on_device((args, kwargs))
    charge((routine.charge_of(done),), threads=threads, device_bits=device_bits)
    is_on_device = device_bits is not None
    if is_on_device and not all(isinstance(result, ArrayResult) for result in done.results):
        current().synchronize(0)  # a number is read once it is known
    results = tuple(_result(routine, arguments, result, is_on_device) for result in done.results)
    return results[0] if len(results) == 1 else results


def model_too(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Routine that also takes modelled time, wherever a program's computing does.

    Parameters
    ----------
    name : str
        Name of the routine.
    function : callable
        Scipy's.
    """
    routine = ROUTINES[name]

    def call(threads: int | None, *args: Any, **kwargs: Any) -> Any:
        if not takes_time(is_folded=False):
            return function(*args, **kwargs)
        with Unmeasured():
            arguments = bind(routine, args, kwargs)
            done = function(*args, **kwargs)
            charge((routine.charge_of(routine.rule(BlasArguments(arguments))),), is_folded=False, threads=threads)
            return done

    return update_wrapper(call, function, assigned=("__name__", "__doc__"), updated=())


def has_folded(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    """Whether an argument is folded."""
    return any(map(is_folded, args)) or any(map(is_folded, kwargs.values()))


def _result(
    routine: BlasRoutine, arguments: Mapping[str, Any], result: ArrayResult | complex, is_on_device: bool
) -> Any:
    if not isinstance(result, ArrayResult):
        return result
    storage = arguments.get(result.storage)
    if result.is_in_place and isinstance(storage, np.ndarray) and storage.dtype == routine.dtype:
        return storage
    return without_backing(result.shape, routine.dtype, is_on_device=is_on_device)
