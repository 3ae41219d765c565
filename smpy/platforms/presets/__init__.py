"""Machines that ship with smpy: one TOML file each, with the sources of its numbers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

_FOLDER: Final = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Preset:
    """Name, summary and sources of a preset.

    Attributes
    ----------
    name : str
        Its name for `--platform`.
    about : str
        The machine in a line.
    sources : tuple of str
        Sources of its numbers.
    """

    name: str
    about: str
    sources: tuple[str, ...]


def preset_names() -> list[str]:
    """The names of all presets."""
    return sorted(path.stem for path in _FOLDER.glob("*.toml"))


def preset_file(name: str) -> Path | None:
    """File of the preset of this name; None if there is none."""
    return _FOLDER / f"{name}.toml" if name in preset_names() else None


def presets() -> list[Preset]:
    """All presets, by name; the sources of an including preset come before those of the included one.

    Examples
    --------
    >>> presets()[0].name
    'default'
    """
    return [_preset(name) for name in preset_names()]


def _preset(name: str) -> Preset:
    import tomllib  # a run that reads XML needs only the names

    content: dict[str, Any] = tomllib.loads((_FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    sources = tuple(content.get("sources", ()))
    if "include" in content:
        sources += tuple(source for source in _preset(content["include"]).sources if source not in sources)
    return Preset(name, content["about"], sources)
