"""Body of a further timeline of a rank."""

from __future__ import annotations

from typing import Protocol


class ThreadBody(Protocol):
    """Function that a further timeline of a rank executes, with the name of its thread for reports."""

    @property
    def name(self) -> str:
        """Name of the thread."""

    def __call__(self) -> None:
        """Execute the code of the timeline, and catch all its exceptions."""
