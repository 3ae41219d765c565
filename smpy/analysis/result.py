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
        """The result for people: tables of plain text, the most important rows first."""

    @abstractmethod
    def to_record(self) -> dict[str, Any]:
        """JSON-serialisable dict of the whole result: numbers in SI units, units in the names."""

    @abstractmethod
    def plot(self) -> Figure:
        """The result as a figure of plotly's.

        Raises
        ------
        UsageError
            Without plotly.
        """

    def to_json(self) -> str:
        """`to_record` as text."""
        return json.dumps(self.to_record(), indent=1)


def escaped(text: object) -> str:
    """Text for a figure of plotly's, which takes tags and entities of any label as markup.

    Examples
    --------
    >>> escaped("<b> & c")
    '&lt;b&gt; &amp; c'
    """
    return escape(str(text), quote=False)


def needed(module: str, extra: str = "analysis") -> Any:
    """A module that only analyses need, or one of another extra of ours.

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
