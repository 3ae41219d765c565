"""Tells whether the value that is being made will be an operand, as the sum of a and b is in `a + b + c`.

numpy may write the result of an operator into an operand that nobody else refers to.
"""

from __future__ import annotations

import sys
from functools import lru_cache
from types import CodeType, FrameType

_LAST_NEW_VALUE = 12  # argument of BINARY_OP: operators up to this one make a value, others change one or take a part
_PUSHES = ("LOAD_", "PUSH_", "COPY", "NOP", "RESUME", "CACHE", "PRECALL", "KW_NAMES", "EXTENDED_ARG", "MAKE_CELL")
_POPS_AND_PUSHES = ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER")
_POPS = ("STORE_", "POP_", "RETURN_", "DELETE_")


def becomes_operand() -> bool:
    """Whether the value that the caller's present instruction makes is an operand of an operator that makes another."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        consumer, argument = _consumer(frame.f_code, frame.f_lasti)
        if not consumer.startswith("RETURN_"):
            return consumer == "BINARY_OP" and argument <= _LAST_NEW_VALUE
        frame = frame.f_back
    return False


@lru_cache(maxsize=1000)
def _consumer(code: CodeType, offset: int) -> tuple[str, int]:
    """Name and argument of the instruction that takes the value made at this offset off the stack, jumps left out."""
    import dis  # imported late: few programs need it

    height = 1  # of the stack, from the value on
    for instruction in dis.get_instructions(code):
        if instruction.offset <= offset:
            continue
        name = instruction.opname
        effect = dis.stack_effect(instruction.opcode, instruction.arg, jump=False)
        if name.startswith(_PUSHES) and not name.startswith(_POPS_AND_PUSHES):
            n_popped = 0
        elif name.startswith(_POPS):
            n_popped = max(1, -effect)
        else:
            n_popped = max(1, 1 - effect)
        if n_popped >= height:
            return name, instruction.arg or 0
        height += effect
    return "", 0
