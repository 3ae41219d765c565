"""Words of tables and pages for kinds of time; `docs/glossary.md` explains each.

The words are Scalasca's [1]_ where it has one, except that its *wait at N x N* is *wait at all-to-all* here.

References
----------
.. [1] Geimer, Wolf, Wylie, Ábrahám, Becker, Mohr: "The Scalasca performance toolset architecture", Concurrency and
   Computation 22 (6), 2010.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

KIND_WORDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "compute": "compute",
        "sleep": "sleep",
        "overhead": "overhead",
        "polling": "polling",
        "probing": "probing",
        "io": "file I/O",
        "device": "wait for device",
        "transfer": "transfer",
        "late_sender": "late sender",
        "late_receiver": "late receiver",
        "late_members": "wait at collective",
        "idle": "idle",
        "skipped": "skipped",
    }
)
"""Words by kind of time, for any call."""

BARRIER: Final = "wait at barrier"
ALL_TO_ALL: Final = "wait at all-to-all"
USER_CODE: Final = "user code"
MODELLED: Final = "modelled computing"

_EACH_NEEDS_ALL: Final = ("alltoall", "allreduce", "allgather", "reduce_scatter")  # and their variants


def kind_words(kind: str, call: str) -> str:
    """Words for a kind of time in a call.

    Examples
    --------
    >>> kind_words("late_sender", "Recv"), kind_words("late_members", "Wait")
    ('late sender', 'wait at collective')
    >>> kind_words("late_members", "Barrier"), kind_words("late_members", "Alltoallv")
    ('wait at barrier', 'wait at all-to-all')
    """
    if kind == "late_members":
        name = call.lower()
        if name == "barrier":
            return BARRIER
        if name.startswith(_EACH_NEEDS_ALL):
            return ALL_TO_ALL
    return KIND_WORDS[kind]
