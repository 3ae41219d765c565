"""Random numbers of the ranks: each rank has generators of its own, seeded with its number at their first use.

Under mpiexec the operating system seeds each process differently in every run. Here the seed is the rank's number:
ranks differ, and runs repeat. This holds for every source that would ask the operating system: `random`,
`numpy.random`, generators made without a seed, `secrets`, `uuid.uuid4`.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable
from typing import Any, Final

from smpy.emulate.patches import LastingPatches, Patches
from smpy.emulate.ranks import RankState, running
from smpy.emulate.replacement import Replacement

SEED: Final = "smpy"


class _Generators:
    """A rank's sources of randomness; each has its own seed, so that using one does not change another."""

    __slots__ = ("numpy", "python", "system")

    def __init__(self, rank: int) -> None:
        self.system = random.Random(f"{SEED} system {rank}")
        self.python: random.Random | None = None
        self.numpy: Any = None


def _generators(state: RankState) -> _Generators:
    if state.generators is None:
        state.generators = _Generators(state.rank)
    return state.generators  # type: ignore[return-value]  # an object to `ranks`, which knows no randomness


def _python(state: RankState) -> random.Random:
    generators = _generators(state)
    if generators.python is None:
        generators.python = random.Random(f"{SEED} python {state.rank}")
    return generators.python


def _numpy(state: RankState) -> Any:
    generators = _generators(state)
    if generators.numpy is None:
        seed = random.Random(f"{SEED} numpy {state.rank}").getrandbits(32)
        generators.numpy = sys.modules["numpy.random.mtrand"].RandomState(seed)
    return generators.numpy


def install_random(patches: Patches) -> None:
    """Give every rank its own `random` until the patches are undone."""
    _RANDOM.apply(patches)
    patches.attribute(os, "urandom", _urandom(os.urandom))
    patches.attribute(random, "_urandom", os.urandom)
    patches.attribute(random.Random, "seed", _seed(random.Random.seed))


def _install_random(patches: Patches) -> None:
    shared = vars(random)["_inst"]
    for name, method in list(vars(random).items()):
        if getattr(method, "__self__", None) is shared:
            patches.attribute(random, name, _of_rank(method, _python))


def install_numpy_random(patches: Patches) -> None:
    """Give every rank its own `numpy.random`, which has been imported, until the patches are undone."""
    _NUMPY_RANDOM.apply(patches)


def _install_numpy_random(patches: Patches) -> None:
    import numpy as np

    mtrand: Any = sys.modules["numpy.random.mtrand"]
    shared = mtrand._rand  # the global generator for scipy and others

    class RankRandomState(np.random.RandomState):
        """The global generator of the running rank."""

        def __getattribute__(self, name: str) -> Any:
            state = running()
            return getattr(shared if state is None else _numpy(state), name)

    of_ranks = RankRandomState(0)
    for module in (np.random, mtrand):
        for name, method in list(vars(module).items()):
            if getattr(method, "__self__", None) is shared:
                patches.attribute(module, name, _of_rank(method, _numpy, of_ranks))
    patches.attribute(mtrand, "_rand", of_ranks)


class _MethodOf(Replacement):
    """Stands for a method of a generator; pickled together with the generator, both load as one."""

    def __init__(self, function: Callable[..., Any], original: Callable[[], Any], generator: Any) -> None:
        super().__init__(function, original)
        self.__self__ = generator

    def __reduce__(self) -> Any:
        return getattr, (self.__self__, self.__name__)


def _of_rank(method: Any, generator: Callable[[RankState], Any], of_ranks: Any = None) -> Replacement:
    name = method.__name__

    def own() -> Any:
        state = running()
        return method if state is None else getattr(generator(state), name)

    def function(*args: Any, **kwargs: Any) -> Any:
        return own()(*args, **kwargs)

    return Replacement(function, own) if of_ranks is None else _MethodOf(function, own, of_ranks)


def _urandom(real: Callable[[int], bytes]) -> Callable[[int], bytes]:
    def urandom(size: int, /) -> bytes:
        state = running()
        return real(size) if state is None else _generators(state).system.randbytes(size)

    return urandom


def _seed(real: Callable[..., None]) -> Callable[..., None]:
    def seed(self: random.Random, a: Any = None, version: int = 2) -> None:
        if a is None and running() is not None:
            a = int.from_bytes(os.urandom(32))
        real(self, a, version)

    return seed


_RANDOM: Final = LastingPatches(_install_random)
_NUMPY_RANDOM: Final = LastingPatches(_install_numpy_random)
