"""Machines that ship with smpy, a TOML file each, which says where its numbers are from."""

from __future__ import annotations

from pathlib import Path
from typing import Final

_FOLDER: Final = Path(__file__).parent


def preset_names() -> list[str]:
    """The names of all presets."""
    return sorted(path.stem for path in _FOLDER.glob("*.toml"))


def preset_file(name: str) -> Path | None:
    """The file of the preset of that name; None if there is none."""
    return _FOLDER / f"{name}.toml" if name in preset_names() else None
