"""A remark on a run: a fact that its user should know before trusting the figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class Remark(NamedTuple):
    """A remark, for people and for programs.

    Attributes
    ----------
    topic : str
        Topic, in at most 14 characters.
    lines : tuple of str
        Text of the remark; where an option cures it, the first line names it.
    facts : mapping
        The same as a JSON-serialisable mapping.
    is_fault : bool
        Whether a run with `--strict` fails because of it.
    """

    topic: str
    lines: tuple[str, ...]
    facts: Mapping[str, Any]
    is_fault: bool = False

    def to_record(self) -> dict[str, Any]:
        """JSON-serialisable dict of the topic and the facts."""
        return {"topic": self.topic, **self.facts}
