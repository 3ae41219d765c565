"""Words of a collective's program (kernels/event/mpi/schedule.h): its instructions, and the terms of expressions."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Final, NamedTuple

from smpy.engine.kernel import ffi, lib
from smpy.engine.loop import check


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
    MEET = lib.CALL_MEET
    FORK = lib.CALL_FORK
    JOIN = lib.CALL_JOIN
    COMBINE = lib.CALL_COMBINE


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


_ROOM: Final = 1 << 10


class ScheduleCall(NamedTuple):
    """A call that a rank makes as it performs a schedule; ranks are those of the communicator.

    The calls of a strand follow its FORK, and end with a HALT.
    """

    code: Instruction
    to: int
    source: int
    number: int
    bytes_out: int
    bytes_in: int


def calls_of(
    words: Sequence[int], rank: int, n_ranks: int, root: int, nbytes: int, tables: Mapping[int, Sequence[int]]
) -> list[ScheduleCall]:
    """The calls by which a rank performs a schedule.

    Parameters
    ----------
    words : sequence of int
        The schedule's program.
    rank, n_ranks, root, nbytes : int
        The rank, those of its communicator, the root and the bytes of the message.
    tables : mapping of int to sequence of int
        Numbers that the rank brings along, by the number of their table.

    Raises
    ------
    SmpyError
        If the schedule is none, or has a number that is out of range.
    """
    code = array("q", words)
    rank_tables = ffi.new("rank_tables *", {"n": max(tables, default=-1) + 1})
    kept = [ffi.new("int64_t[]", list(tables.get(number, ()))) for number in range(rank_tables.n)]
    for number, entries in enumerate(kept):
        rank_tables.table[number], rank_tables.n_entries[number] = entries, len(entries)
    room = _ROOM
    while True:
        calls = ffi.new("schedule_call[]", room)
        n_calls = lib.schedule_list(
            len(code), ffi.from_buffer("int64_t[]", code), rank, n_ranks, root, nbytes, rank_tables, room, calls
        )
        check(n_calls)
        if n_calls <= room:
            break
        room = n_calls
    return [
        ScheduleCall(Instruction(each.code), each.to, getattr(each, "from"), each.number, each.bytes_out, each.bytes_in)
        for each in calls[0:n_calls]
    ]
