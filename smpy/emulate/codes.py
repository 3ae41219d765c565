"""Code objects of a rank's own."""

from __future__ import annotations

from types import CodeType


def own_copy(code: CodeType) -> CodeType:
    """A copy of a code object and of those within it: names and constants are shared, inline caches are not.

    The interpreter specialises each instruction for the objects it meets and keeps what it learnt in the code object.
    Ranks have classes and module dictionaries of their own: with one code object for all they would keep undoing what
    another rank's last turn taught it.
    """
    consts = tuple([own_copy(const) if type(const) is CodeType else const for const in code.co_consts])
    return code.replace(co_consts=consts)


def count(code: CodeType) -> int:
    """How many code objects a copy makes."""
    return 1 + sum(count(const) for const in code.co_consts if type(const) is CodeType)
