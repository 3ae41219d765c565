"""Names of the models by which Dimemas times a collective, and that of none: the messages of its schedule."""

from __future__ import annotations

from typing import Final

from smpy.errors import meant

COLLECTIVE_MODELS: Final = ("none", "const", "linear", "log", "schedules")
"""Names, each at the number that Dimemas and the kernel have for it."""
SCHEDULES: Final = COLLECTIVE_MODELS.index("schedules")


def parse_collective_model(text: str) -> float:
    """Number of a model.

    Raises
    ------
    ValueError
        If there is none of that name.

    Examples
    --------
    >>> parse_collective_model("log")
    3.0
    """
    name = text.strip().lower()
    if name not in COLLECTIVE_MODELS:
        raise ValueError(
            f"{text!r} is no model of collectives: {', '.join(COLLECTIVE_MODELS)} are{meant(name, COLLECTIVE_MODELS)}"
        )
    return float(COLLECTIVE_MODELS.index(name))


def collective_model_name(number: float) -> str:
    """Name of the model with a number."""
    return COLLECTIVE_MODELS[int(number)]
