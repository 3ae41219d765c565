"""Reads an XML file into elements that know their line, and that report their errors."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from smpy.errors import PlatformError, PlatformWarning, meant
from smpy.units import has_unit

_DEPTH_MAX: Final = 200


@dataclass(slots=True)
class Element:
    """One element of the file, with its attributes as written."""

    file: str
    line: int
    tag: str
    attributes: dict[str, str]
    children: list[Element] = field(default_factory=list)
    content: str = ""  # text of a <trace>, the only element with text of its own

    def __str__(self) -> str:
        names = "".join(f" {key}={self.attributes[key]!r}" for key in ("id", "src", "dst") if key in self.attributes)
        return f"<{self.tag}{names}>"

    @property
    def origin(self) -> str:
        """File, line and element, for messages."""
        return f"{self.file}:{self.line}: {self}"

    def error(self, message: str) -> PlatformError:
        """Error to raise, with file, line and element."""
        error = PlatformError(f"{self.origin}: {message}")
        error.is_located = True
        return error

    def warn(self, message: str) -> None:
        """Warn at the element's own line."""
        warnings.warn_explicit(f"{self}: {message}", PlatformWarning, self.file, self.line)

    def has(self, name: str) -> bool:
        return name in self.attributes

    def text(self, name: str, default: str | None = None) -> str:
        """Text of an attribute.

        Raises
        ------
        PlatformError
            If it is missing and has no default.
        """
        value = self.attributes.get(name, default)
        if value is None:
            raise self.error(f"attribute {name!r} is missing: add {name}='...'")
        return value

    def quantity(self, name: str, parse: Callable[[str], float], default: str | None = None) -> float:
        """Attribute with a unit; without one it is read in base units, with a warning."""
        return self.parsed(name, self.text(name, default), parse)

    def parsed(self, name: str, text: str, parse: Callable[[str], float]) -> float:
        """Value of `text`, which is part of attribute `name`."""
        try:
            value, says_unit = _read(text, parse)
        except ValueError as wrong:
            raise self.error(f"attribute {name!r}: {wrong}") from None
        if not says_unit:
            self.warn(f"attribute {name!r}: {text!r} has no unit, and is read in bytes, s or flop: add one")
        return value

    def integer(self, name: str, default: str | None = None) -> int:
        text = self.text(name, default)
        if re.fullmatch(r"\s*[+-]?\d{1,18}\s*", text, re.ASCII) is None:
            raise self.error(f"attribute {name!r}: {text!r} is not a whole number")
        return int(text)

    def choice(self, name: str, known: Sequence[str], default: str | None = None) -> str:
        """One of the choices, which are upper case; the file may use any case."""
        text = self.text(name, default)
        if text.upper() not in known:
            raise self.error(f"attribute {name!r}: {text!r} is none of {', '.join(known)}{meant(text.upper(), known)}")
        return text.upper()

    def check_attributes(self, known: Sequence[str]) -> None:
        """Refuse attributes that are not among the known ones."""
        for name in self.attributes:
            if name not in known:
                raise self.error(f"unknown attribute {name!r}{meant(name, known) or ': it takes ' + ', '.join(known)}")

    def properties(self) -> tuple[tuple[str, str], ...]:
        """Names and values of the <prop> elements inside."""
        props = [child for child in self.children if child.tag == "prop"]
        for prop in props:
            prop.check_attributes(("id", "value"))
        return tuple((prop.text("id"), prop.text("value")) for prop in props)

    def inner(self) -> Iterator[Element]:
        """The elements inside, once: each is forgotten when the next one is asked for, as there may be many."""
        left, self.children = self.children[::-1], []
        while left:
            yield left.pop()


@lru_cache(maxsize=1024)
def _read(text: str, parse: Callable[[str], float]) -> tuple[float, bool]:
    """A quantity, and whether it states its unit; cached, as hosts and links often repeat."""
    return parse(text), has_unit(text)


class _ElementCollector:
    """The target of the XML parser: collects elements with their lines."""

    def __init__(self, file: str) -> None:
        self.parser: Any = None  # set as soon as the parser that calls this exists
        self.root: Element | None = None
        self._file: Final = file
        self._open: Final[list[Element]] = []

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        element = Element(self._file, self.parser.CurrentLineNumber, tag, attributes)
        if len(self._open) == _DEPTH_MAX:
            raise element.error(f"elements are nested more than {_DEPTH_MAX} deep: this is no platform")
        if self._open:
            self._open[-1].children.append(element)
        else:
            self.root = element
        self._open.append(element)

    def data(self, text: str) -> None:
        if self._open and self._open[-1].tag == "trace":
            self._open[-1].content += text

    def end(self, tag: str) -> None:
        self._open.pop()

    def close(self) -> None:
        """Do nothing at the end of the document."""


def read_elements(path: str | Path, data: bytes) -> Element:
    """Outermost element of an XML file. Entities and references to other files are refused.

    Raises
    ------
    PlatformError
        If it is not well-formed XML.
    """
    from xml.etree.ElementTree import ParseError

    from defusedxml.common import DefusedXmlException
    from defusedxml.ElementTree import DefusedXMLParser

    reader = _ElementCollector(str(path))
    parser = DefusedXMLParser(target=reader)
    reader.parser = parser.parser
    try:
        parser.feed(data)
        parser.close()
    except ParseError as wrong:
        line, column = wrong.position
        reason = str(wrong).partition(":")[0]
        raise PlatformError(f"{path}:{line}: not well-formed XML, at column {column + 1}: {reason}") from None
    except DefusedXmlException as wrong:
        line = reader.parser.CurrentLineNumber
        raise PlatformError(f"{path}:{line}: entities are refused, write out what they stand for: {wrong}") from None
    except (LookupError, ValueError) as wrong:  # from Python's own codecs
        raise PlatformError(f"{path}:1: cannot read its encoding: {wrong}; write encoding='UTF-8'") from None
    assert reader.root is not None  # a document without elements is not well-formed
    return reader.root
