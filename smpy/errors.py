"""Every error smpy raises on purpose; each message says what, who, and what to do."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice
from typing import Final

_WORD_MAX: Final = 300
_MESSAGE_MAX: Final = 2000
_KNOWN_MAX: Final = 10_000


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 60]}...{text[-40:]}"


class SmpyError(Exception):
    """Base of all errors raised on purpose; `str(error)` is the whole message for the user."""


class UsageError(SmpyError):
    """An argument or a file of the user's that cannot work; the message cuts names that no screen has room for."""

    def __init__(self, message: str) -> None:
        words = re.sub(rf"\S{{{_WORD_MAX},}}", lambda word: _cut(word[0], _WORD_MAX), message)
        super().__init__(_cut(words, _MESSAGE_MAX))


class DamagedFileError(UsageError):
    """A file written by smpy is missing, or has content that smpy never writes."""


class ArgumentTypeError(UsageError, TypeError):
    """An argument has a type that its function does not take."""


class ArgumentValueError(UsageError, ValueError):
    """An argument has a value that its function does not take."""


class PlatformError(UsageError):
    """A platform or host file that does not describe a machine.

    Attributes
    ----------
    is_located : bool
        Whether the message begins with file, line and element.
    """

    is_located = False


class MissingHardwareError(UsageError):
    """A rank's program asks for a device or cores that its rank does not have."""


class DeadlockError(SmpyError):
    """Ranks wait for messages that nobody will send."""


class MachineFailure(SmpyError):
    """A host or link was off that the run needed."""


class RankFailure(SmpyError):
    """A rank's program raised, or called Abort."""


class NoRoomError(SmpyError):
    """A file that a run writes is not whole: the disk is full, for instance."""


class Interrupted(SmpyError):
    """The user stopped the run."""


def meant(name: str, known: Iterable[str]) -> str:
    """`: did you mean 'x'?`, or nothing when no known name is close; of very many, the first ones are looked at.

    Examples
    --------
    >>> meant("hosst", ["host", "nic"])
    ": did you mean 'host'?"
    """
    close = closest(name, known)
    return "" if close is None else f": did you mean {close!r}?"


def closest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is most like this one; None when none is close; of very many, the first are looked at."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(name, list(islice(known, _KNOWN_MAX)), n=1)), None)


class PlatformWarning(UserWarning):
    """Something in a platform file that is not taken as its author may expect."""


class JournalWarning(UserWarning):
    """A part of a study's journal, or a profile of a study, cannot be read."""
