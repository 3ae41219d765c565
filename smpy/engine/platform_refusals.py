"""Refusals of a platform's parts as errors: the kernel's answers, unknown names, and the part's place in its file."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from smpy.engine.kernel import ffi, lib
from smpy.errors import PlatformError, meant
from smpy.platforms.part_checks import COUNT_MAX


def located(wrong: PlatformError, origin: str) -> PlatformError:
    """Error with the origin of the refused part, unless it has the origin of a part inside."""
    if wrong.is_located or not origin:
        return wrong
    error = PlatformError(f"{origin}: {wrong}")
    error.is_located = True
    return error


def unknown(what: str, name: str, known: Iterable[str]) -> PlatformError:
    """Error for a name that is declared nowhere, of a part of kind `what`."""
    return PlatformError(f"unknown {what} {name!r}{meant(name, known) or ': it is declared nowhere before'}")


def checked_pointer(pointer: Any) -> Any:
    """The kernel's pointer, which is none without memory."""
    if pointer == ffi.NULL:
        raise MemoryError("no memory for a platform")
    return pointer


def checked_number(answer: int, what: str) -> int:
    """The kernel's answer, which is a number unless it is an error."""
    if answer == lib.PLATFORM_NO_MEMORY:
        raise MemoryError(f"no memory for {what}")
    if answer == lib.PLATFORM_TOO_LARGE:
        raise PlatformError(f"{what} is too large: there can be {COUNT_MAX:,} hosts, switches and links of each")
    if answer == lib.PLATFORM_TOO_DEEP:
        raise PlatformError(f"{what} is too deep: there can be {lib.PLATFORM_DEPTH} zones within one another")
    if answer < 0:
        raise PlatformError(f"{what} cannot be part of the platform: one of its numbers is out of range")
    return answer
