"""Files and environment variables that a run has read: when one differs, the run is a different one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class RunInputs:
    """Files and environment variables that a run has read.

    Attributes
    ----------
    files : mapping of str to str
        Files, by path, and hashes (`smpy.runs.files_read`).
    variables : mapping of str to str
        Environment variables, by name, and hashes (`smpy.runs.variables_read`).
    """

    files: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
