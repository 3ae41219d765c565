"""Compiles the code that the standard library generates for dataclasses and named tuples once for all ranks.

Every rank creates the classes of its private modules anew. Most of the cost of a dataclass, half a millisecond and
more, is compilation of the same text each time. These short functions run seldom, so ranks share their code, unlike
the rank's own code, which is copied for the interpreter to specialise.
"""

from __future__ import annotations

import collections
import dataclasses
from functools import lru_cache
from types import CodeType
from typing import Any, Final

from smpy.emulate.patches import Patches

_TEXTS_MAX: Final = 4096


@lru_cache(_TEXTS_MAX)
def _compiled(text: str, mode: str) -> CodeType:
    return compile(text, "<string>", mode, dont_inherit=True)


def _exec(text: str, globals_: dict[str, Any], locals_: dict[str, Any]) -> None:
    exec(_compiled(text, "exec"), globals_, locals_)  # noqa: S102  # in place of the builtin


def _eval(text: str, globals_: dict[str, Any]) -> Any:
    return eval(_compiled(text, "eval"), globals_)  # noqa: S307  # in place of the builtin


def install_generated(patches: Patches) -> None:
    """Compile generated code only once, until the patches are undone."""
    patches.attribute(dataclasses, "exec", _exec)
    patches.attribute(collections, "eval", _eval)
    patches.later(_compiled.cache_clear)
