"""The result of an analysis: as text, as JSON, as a figure."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from html import escape
from importlib import import_module
from typing import TYPE_CHECKING, Any

from smpy.errors import UsageError

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


class Result(ABC):
    """Result of an analysis."""

    __slots__ = ()

    @abstractmethod
    def table(self) -> str:
        """Result as text: tables, the most important rows first."""

    @abstractmethod
    def to_record(self) -> dict[str, Any]:
        """JSON-serialisable dict of the whole result: numbers in SI units, units in the names."""

    @abstractmethod
    def plot(self) -> Figure:
        """Result as a plotly figure.

        Raises
        ------
        UsageError
            Without plotly.
        """

    def to_json(self) -> str:
        """`to_record` as text."""
        return json.dumps(self.to_record(), indent=1)


def plotly_text(text: object) -> str:
    """Text for a plotly figure, which interprets tags and entities in every label.

    Examples
    --------
    >>> plotly_text("<b> & c")
    '&lt;b&gt; &amp; c'
    """
    return escape(str(text), quote=False)


def import_optional(module: str, extra: str = "analysis") -> Any:
    """Import a module that only analyses need, or that belongs to another of our extras.

    Raises
    ------
    UsageError
        If it is not installed.
    """
    try:
        return import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        raise UsageError(f"this needs {package}: pip install '.[{extra}]'") from None
