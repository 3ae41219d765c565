"""Every error smpy raises on purpose; each message says what, who, and what to do."""

from __future__ import annotations


class SmpyError(Exception):
    """Base of all errors raised on purpose; `str(error)` is the whole message for the user."""


class UsageError(SmpyError):
    """An argument or a file of the user's that cannot work."""


class PlatformError(UsageError):
    """A platform or host file that does not describe a machine."""


class DeadlockError(SmpyError):
    """Ranks wait for messages that nobody will send."""


class RankFailure(SmpyError):
    """A rank's program raised, or called Abort."""


class Interrupted(SmpyError):
    """The user stopped the run."""


class PlatformWarning(UserWarning):
    """Something in a platform file that is not taken as its author may expect."""
