"""Copies code objects per rank, while memory allows.

The interpreter specialises each instruction for the objects it meets, and stores the result in the code object. Ranks
have their own classes and module dictionaries: with one shared code object, each rank would undo the specialisation
of the previous one. A loop of calls on a user's class, with all ranks taking turns (ns a call, CPython 3.11):

    ranks   work between two turns   own   shared
       64                    15 us   187      409
       64                   150 us   138      140
    4,096                    15 us   185      319
    4,096                   150 us   152      162

A copy takes 1.5 us and 210 to 430 bytes: names and constants stay shared.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any, Final

# All ranks together: about 0.4 GB and 1.5 s. 244 functions on 4,096 ranks, 15 on 65,536, none on 1,048,576.
OWN_CODES_MAX: Final = 1_000_000


class CodeSupply:
    """Gives each rank the code it executes.

    Parameters
    ----------
    n_ranks : int
        Number of ranks that may ask for each code.

    Attributes
    ----------
    files : dict of str to None
        Source files of the code, in order of their first use.
    when_new : callable
        Called with each further file, from when on it is set.
    """

    def __init__(self, n_ranks: int) -> None:
        self._n_ranks = n_ranks
        self.files: Final[dict[str, None]] = {}
        self.when_new: Callable[[str], object] = str
        self._left = OWN_CODES_MAX if n_ranks > 1 else 0

    def of(self, code: CodeType) -> Callable[[], CodeType]:
        """Function that returns the code of a module: a copy per rank, or one for all ranks if there are too many."""
        if code.co_filename not in self.files:
            self.files[code.co_filename] = None
            self.when_new(code.co_filename)
        n_copies = _count(code) * self._n_ranks
        if n_copies > self._left:
            return lambda: code
        self._left -= n_copies
        return lambda: own_copy(code)


def body_of(code: CodeType, globals_: dict[str, Any]) -> Callable[[], None]:
    """Function that runs a module's code as `exec` does.

    A call from Python to Python needs no C frame, while `exec` takes three: they would lie below all frames of a
    rank, and be copied with its stack at every switch.
    """
    globals_.setdefault("__builtins__", builtins.__dict__)
    return FunctionType(code, globals_)


def own_copy(code: CodeType) -> CodeType:
    """Copy of a code object and of those nested in it, so that the interpreter specialises the copy."""
    consts = tuple([own_copy(const) if type(const) is CodeType else const for const in code.co_consts])
    return code.replace(co_consts=consts)


def _count(code: CodeType) -> int:
    return 1 + sum(_count(const) for const in code.co_consts if type(const) is CodeType)
