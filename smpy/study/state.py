"""State of the points of a study."""

from __future__ import annotations

from dataclasses import dataclass, field

from smpy.study.journal import Entry


@dataclass(slots=True)
class StudyState:
    """State of the points of a study.

    Attributes
    ----------
    entries : dict of str to Entry
        Entries of points that have ended, by key.
    stale : dict of str to str
        Reason why a point is stale (changed sources, inputs or versions), by its key.
    """

    entries: dict[str, Entry] = field(default_factory=dict)
    stale: dict[str, str] = field(default_factory=dict)

    def current(self, key: str) -> Entry | None:
        """Entry of a point; None: it has not ended, or is stale."""
        return None if key in self.stale else self.entries.get(key)
