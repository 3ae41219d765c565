"""Checks of the peer, the tag and the message that a program passes; errors name the call."""

from __future__ import annotations

from typing import Any, Final, NoReturn

from smpy.mpi.data.message_specifications import Part, part_of
from smpy.mpi.state.arguments import integer
from smpy.mpi.state.constants import ANY_SOURCE, ANY_TAG, PROC_NULL
from smpy.mpi.state.exceptions import fail
from smpy.mpi.state.world import world

__all__ = ["LARGEST_TAG", "blame", "check_dest", "check_source", "to_fill", "to_send"]

LARGEST_TAG: Final = 2**31 - 1
"""The kernel's tags have 32 bits."""


def check_dest(number: int, dest: Any, tag: Any, call: str) -> tuple[int, int]:
    """`dest` and `tag` as integers; raises unless a message can be sent there."""
    dest, tag = integer(call, "dest", dest), integer(call, "tag", tag)
    if not 0 <= dest < world().communicator(number).remote.size:
        _fail_rank(number, "dest", dest, tag, call)
    if not 0 <= tag <= LARGEST_TAG:
        _fail_tag("dest", dest, tag, call)
    return dest, tag


def check_source(number: int, source: Any, tag: Any, call: str) -> tuple[int, int]:
    """`source` and `tag` as integers; raises unless a message can come from there."""
    source, tag = integer(call, "source", source), integer(call, "tag", tag)
    if not 0 <= source < world().communicator(number).remote.size and source not in (ANY_SOURCE, PROC_NULL):
        _fail_rank(number, "source", source, tag, call)
    if not 0 <= tag <= LARGEST_TAG and tag != ANY_TAG:
        _fail_tag("source", source, tag, call)
    return source, tag


def to_send(spec: Any, call: str) -> Part:
    """The entries that a message specification names, to be sent."""
    try:
        return part_of(spec, is_written=False)
    except (TypeError, ValueError, LookupError, BufferError) as error:
        blame(error, call, "the message to send")


def to_fill(spec: Any, call: str) -> Part:
    """The entries that a message specification names, to be overwritten."""
    try:
        return part_of(spec, is_written=True)
    except (TypeError, ValueError, LookupError, BufferError) as error:
        blame(error, call, "the buffer to receive into")


def blame(error: Exception, call: str, what: str) -> NoReturn:
    """Raise an error again that says which argument of which call it is about."""
    error.add_note(f"in {call}: {what}")
    raise error


def _fail_rank(number: int, end: str, rank: int, tag: int, call: str) -> NoReturn:
    communicator = world().communicator(number)
    whose = "the other group" if communicator.is_inter else "the communicator"
    fail("ERR_RANK", f"{call}({end}={rank}, tag={tag}): {whose} has ranks 0 to {communicator.remote.size - 1}")


def _fail_tag(end: str, rank: int, tag: int, call: str) -> NoReturn:
    fail("ERR_TAG", f"{call}({end}={rank}, tag={tag}): a tag is between 0 and {LARGEST_TAG}")
