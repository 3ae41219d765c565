"""What has come of the points of a study."""

from __future__ import annotations

from dataclasses import dataclass, field

from smpy.study.journal import Entry


@dataclass(slots=True)
class State:
    """What has come of the points of a study.

    Attributes
    ----------
    entries : dict of str to Entry
        Of each point that has ended, by its key.
    stale : dict of str to str
        Of those that ran with other sources, inputs or versions than there are now: which.
    """

    entries: dict[str, Entry] = field(default_factory=dict)
    stale: dict[str, str] = field(default_factory=dict)

    def current(self, key: str) -> Entry | None:
        """What has come of a point; None: nothing yet, or it is stale."""
        return None if key in self.stale else self.entries.get(key)
