"""Words of a collective's program (kernels/event/mpi/schedule.h): its instructions, and the terms of expressions."""

from __future__ import annotations

from enum import IntEnum

from smpy.engine.kernel import lib


class Instruction(IntEnum):
    """Code of an instruction; its operands follow."""

    HALT = lib.CALL_HALT
    SEND = lib.CALL_SEND
    RECV = lib.CALL_RECV
    ISEND = lib.CALL_ISEND
    IRECV = lib.CALL_IRECV
    EXCHANGE = lib.CALL_EXCHANGE
    WAIT_ALL = lib.CALL_WAIT_ALL
    IF = lib.CALL_IF
    LOOP = lib.CALL_LOOP
    AGAIN = lib.CALL_AGAIN
    WAIT_OLDEST = lib.CALL_WAIT_OLDEST
    WAIT_FOR = lib.CALL_WAIT_FOR


class Term(IntEnum):
    """Term of an expression, in postfix order."""

    END = lib.TERM_END
    CONSTANT = lib.TERM_CONSTANT
    RANK = lib.TERM_RANK
    SIZE = lib.TERM_SIZE
    ROOT = lib.TERM_ROOT
    BYTES = lib.TERM_BYTES
    LOOP = lib.TERM_LOOP
    ADD = lib.TERM_ADD
    SUB = lib.TERM_SUB
    MUL = lib.TERM_MUL
    DIV = lib.TERM_DIV
    MOD = lib.TERM_MOD
    AND = lib.TERM_AND
    OR = lib.TERM_OR
    XOR = lib.TERM_XOR
    SHL = lib.TERM_SHL
    SHR = lib.TERM_SHR
    LT = lib.TERM_LT
    LE = lib.TERM_LE
    EQ = lib.TERM_EQ
    NE = lib.TERM_NE
    MIN = lib.TERM_MIN
    MAX = lib.TERM_MAX
    TABLE = lib.TERM_TABLE
