"""Settings of a machine in our own formats: values with their position in the file, read by key.

A key that is read becomes known; keys that nobody read are refused at the end, with the known key that may have been
meant.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, NoReturn

from smpy.errors import PlatformError, closest, meant
from smpy.units import LARGEST, SMALLEST, has_unit, parse_number

INTEGER_MAX: Final = 2**53  # largest integer that a float represents exactly

# Keys that are often written in a wrong table or in another tool's words: the right key in a one-line machine, in TOML.
_OTHER_WORDS: Final = {
    "hosts": ("hosts", "host.count"),
    "nodes": ("hosts", "host.count"),
    "bandwidth": ("nic", "nic.bandwidth"),
    "latency": ("latency", "nic.latency"),
}


@dataclass(frozen=True, slots=True)
class TomlValue:
    """Value as written in the file.

    Parameters
    ----------
    value : object
        Value as TOML has it, or a text; None: only the factor is given.
    origin : str
        Place of the value: file and line, or the option.
    key : str
        Key as it is written there.
    folder : Path
        Folder that file names in the value are relative to.
    factor : float
        Multiplies the value, or the default of a key that has none.
    """

    value: object
    origin: str
    key: str
    folder: Path = Path()
    factor: float = 1.0

    def error(self, message: str) -> PlatformError:
        """Error to raise, with the position and the key."""
        error = PlatformError(f"{self.origin}: {self.key}: {message}")
        error.is_located = True
        return error


Tree = dict[str, "TomlValue | Tree"]


class TomlTable:
    """A table of settings, read key by key.

    Each method takes a key and a default; without a default, a key that is missing is refused.

    Parameters
    ----------
    name : str
        Name of the table: "host"; empty for the whole machine.
    tree : dict
        Its settings, and the tables in it, by key.
    origin : str
        Place of the machine's description, for errors about missing keys.
    aliases : tuple of str
        Keys of other tables that may stand where these do, for suggestions.
    """

    def __init__(self, name: str, tree: Tree, origin: str, aliases: tuple[str, ...] = ()) -> None:
        self.name: Final = name
        self._tree: Final = tree
        self._origin: Final = origin
        self._aliases: Final = aliases
        self._tables: Final[dict[str, TomlTable]] = {}
        self._known: Final[dict[str, None]] = {}

    def table(self, key: str, aliases: tuple[str, ...] = ()) -> TomlTable:
        """Table of this name in this one; it may be empty."""
        if key not in self._tables:
            self._known[key] = None
            inner = self._tree.get(key, {})
            if isinstance(inner, TomlValue):
                raise inner.error(f"it is a table of settings: write [{self._path(key)}]")
            self._tables[key] = TomlTable(self._path(key), inner, self._origin, aliases)
        return self._tables[key]

    def list_of_tables(self, key: str) -> list[TomlTable] | None:
        """The tables [[key]] in this one, or its one table [key]; None if there are none."""
        self._known[key] = None
        setting = self._tree.get(key)
        if isinstance(setting, dict):
            return [self.table(key)]
        if setting is None:
            return None
        rows = setting.value
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise setting.error(f"it is a list of tables: write [[{self._path(key)}]]")
        listed = []
        for number, row in enumerate(rows):
            name = f"{setting.key}[{number}]"
            values: Tree = {each: replace(setting, key=f"{name}.{each}", value=value) for each, value in row.items()}
            listed.append(self._tables.setdefault(f"{key}[{number}]", TomlTable(name, values, setting.origin)))
        return listed

    def tables(self) -> Iterator[tuple[str, TomlTable]]:
        """Each table in a table that allows any key."""
        for key, inner in self._tree.items():
            if isinstance(inner, dict):
                yield key, self.table(key)

    def values(self) -> Iterator[tuple[str, TomlValue]]:
        """Each key of a table that allows any key, with its setting."""
        for key, inner in self._tree.items():
            if isinstance(inner, dict):
                self._refuse_table(key, inner)
            self._known[key] = None
            yield key, inner

    def notes(self, known: Iterable[str]) -> dict[str, float | str]:
        """Numbers and texts of all keys except the known ones: notes for people."""
        noted = {}
        for key, inner in self._tree.items():
            value = inner.value if isinstance(inner, TomlValue) else None
            if key not in known and isinstance(value, int | float | str):
                self._known[key] = None
                noted[key] = value
        return noted

    def unchecked_content(self) -> dict[str, object]:
        """Unchecked content of a table and of the tables inside it."""
        self._known.update(dict.fromkeys(self._tree))
        return {
            key: self.table(key).unchecked_content() if isinstance(inner, dict) else inner.value
            for key, inner in self._tree.items()
        }

    def texts(self) -> tuple[tuple[str, str], ...]:
        """Each key of a table that allows any key, with its text."""
        return tuple((key, self.text(key)) for key in self._tree)

    def is_written(self, key: str) -> bool:
        """Whether a value is written for the key; the key need not be known."""
        setting = self._tree.get(key)
        return setting is not None and not (isinstance(setting, TomlValue) and setting.value is None)

    def mentions(self, key: str) -> bool:
        """Whether a value or a factor is written for the key."""
        self._known[key] = None
        return key in self._tree

    def text(self, key: str, default: str | None = None) -> str:
        """A text."""
        setting = self._value(key, default, "text", '"like this"')
        if setting is None:
            return default or ""
        if not isinstance(setting.value, str):
            raise setting.error(f'{value_text(setting)} is no text: write it in quotes, key = "text"')
        return setting.value

    def text_list(self, key: str) -> tuple[str, ...]:
        """Texts: one, or a list; empty if the key is missing."""
        setting = self._value(key, "", "text", '"like this"')
        if setting is None:
            return ()
        texts = setting.value if isinstance(setting.value, list) else [setting.value]
        if not all(isinstance(text, str) for text in texts):
            raise setting.error(f'{value_text(setting)} is neither a text nor a list of texts: write ["one", "two"]')
        return tuple(texts)

    def choice(self, key: str, known: Iterable[str], default: str | None = None) -> str:
        """One of the known words."""
        words = list(known)
        text = self.text(key, default)
        if text not in words:
            raise self.error(key, f"{text!r} is none of {', '.join(words)}{meant(text, words)}")
        return text

    def flag(self, key: str, default: bool) -> bool:
        """True or false."""
        setting = self._value(key, default, "true or false", "true")
        if setting is None:
            return default
        word = str(setting.value).lower()
        if word not in ("true", "false", "yes", "no"):
            raise setting.error(f"{value_text(setting)} is neither true nor false")
        return word in ("true", "yes")

    def integer(
        self,
        key: str,
        default: int | None = None,
        *,
        least: int = 1,
        most: int = INTEGER_MAX,
        unit: str = "",
        example: int = 4,
    ) -> int:
        """Whole number, optionally with its unit: `64` or "64 cores".

        Parameters
        ----------
        key : str
            Its key.
        default : int, optional
            If it is not written.
        least, most : int
            The smallest and the largest that make sense.
        unit : str
            A plural that may follow the number: "cores".
        example : int
            Value that the error about a missing key proposes.
        """
        setting = self._value(key, default, "number", str(example), can_be_scaled=True)
        number = integer_of(setting, unit) if setting is not None else default
        assert number is not None
        if (factor := self._factor(key)) != 1:
            if not (number * factor).is_integer():
                raise self.error(key, f"{number} times {factor:g} is no whole number")
            number = int(number * factor)
        if not least <= number <= most:
            raise self.error(key, f"it is {number}, and must be at least {least} and at most {most:,}")
        return number

    def integers(self, key: str, default: Sequence[int] | None = None) -> tuple[int, ...]:
        """Whole numbers above 0: `[8, 8, 4]`, "8x8x4" or "8,8,4"."""
        setting = self._value(key, default, "list of numbers", '"8x8x4" or [8, 8, 4]')
        if setting is None:
            return tuple(default or ())
        parts = setting.value if isinstance(setting.value, list) else re.split(r"[x,]", str(setting.value))
        numbers = tuple(integer_of(replace(setting, value=part), "") for part in parts)
        if not numbers or min(numbers) < 1 or max(numbers) > INTEGER_MAX:
            raise setting.error(f"{value_text(setting)} is no list of numbers from 1 upwards, such as 8x8x4")
        return numbers

    def number(self, key: str, default: float | None = None, *, is_positive: bool = False) -> float:
        """Number without a unit; at least 0, or above 0."""
        return self._numeric(key, number_of, default, "1.5", is_positive)

    def quantity(
        self,
        key: str,
        parse: Callable[[str], float],
        example: str,
        default: float | None = None,
        *,
        is_positive: bool = False,
    ) -> float:
        """Number with its unit; at least 0, or above 0.

        Parameters
        ----------
        key : str
            Its key.
        parse : callable
            Parser of the quantity, from `smpy.units`.
        example : str
            For messages: "200Gb/s".
        default : float, optional
            In SI base units, if it is not written.
        is_positive : bool
            Whether 0 is refused.
        """

        def read(setting: TomlValue) -> float:
            return quantity_of(setting, parse, example)

        return self._numeric(key, read, default, f'"{example}"', is_positive)

    def says(self, key: str, word: str) -> bool:
        """Whether the key has this word as its value, or no value."""
        self._known[key] = None
        setting = self._tree.get(key)
        return setting is None or (isinstance(setting, TomlValue) and setting.value == word and setting.factor == 1)

    def value(self, key: str) -> TomlValue | None:
        """Setting of a key whose value has its own syntax; None if the key is missing."""
        return self._value(key, "", "value", "")

    def by_size(self, key: str) -> list[tuple[TomlValue, TomlValue]] | None:
        """The sizes and values of a table such as `{"0" = 1, "8KiB" = 3}`, or of "0:1;8KiB:3"; None if not written.

        One value alone holds from size 0 on; in a text, several values after a size make up a list.
        """
        inner = self._tree.get(key)
        if isinstance(inner, dict):
            self._known[key] = None
            return [(replace(value, value=size), value) for size, value in self._rows(key, inner)]
        setting = self.value(key)
        if setting is None:
            return None
        if not isinstance(setting.value, str) or ":" not in setting.value:
            return [(replace(setting, value="0"), setting)]
        rows = [chunk.split(":") for chunk in setting.value.split(";")]
        return [
            (replace(setting, value=size), replace(setting, value=values if len(values) != 1 else values[0]))
            for size, *values in rows
        ]

    def file(self, key: str) -> Path:
        """The path of a file; a relative one begins at the folder of the file that names it."""
        name = self.text(key)
        setting = self._tree[key]
        assert isinstance(setting, TomlValue)
        return setting.folder / name

    def folder_of(self, key: str) -> Path:
        """The folder that a file's name in a key's value is relative to."""
        setting = self._tree.get(key)
        return setting.folder if isinstance(setting, TomlValue) else Path()

    def origin_of(self, key: str) -> str:
        """Position and name of the key, as the beginning of an error."""
        setting = self._tree.get(key)
        return (
            f"{setting.origin}: {setting.key}"
            if isinstance(setting, TomlValue)
            else f"{self._origin}: {self._path(key)}"
        )

    def error(self, key: str, message: str) -> PlatformError:
        """Error about a key, at its position."""
        setting = self._tree.get(key)
        if isinstance(setting, dict) and setting:
            setting = replace(first_setting(setting, self._origin), key=self._path(key))
        if isinstance(setting, TomlValue):
            return setting.error(message)
        error = PlatformError(f"{self._origin}: {self._path(key)}: {message}")
        error.is_located = True
        return error

    def check_keys(self) -> None:
        """Refuse keys that were not read, here and in nested tables.

        Raises
        ------
        PlatformError
            With the key that may have been meant.
        """
        homes: dict[str, list[str]] = {}
        for inside in self._all():
            for key in inside._known:
                if key not in inside._tables:
                    homes.setdefault(key, []).append(inside.name)
        for inside in self._all():
            for key in inside._tree:
                if key not in inside._known:
                    raise inside._unknown(key, homes)

    # ---- shared by the methods ----

    def _rows(self, key: str, table: Tree) -> Iterator[tuple[str, TomlValue]]:
        for size, value in table.items():
            if isinstance(value, dict):
                self._refuse_table(key, value)
            if value.factor != 1:
                raise value.error("it cannot be multiplied: give its value")
            yield size, value

    def _all(self) -> list[TomlTable]:
        return [self, *(inside for table in self._tables.values() for inside in table._all())]

    def _path(self, key: str) -> str:
        return f"{self.name}.{key}" if self.name else key

    def _value(
        self, key: str, default: object, what: str, example: str, *, can_be_scaled: bool = False
    ) -> TomlValue | None:
        """Setting of a key; None if the default holds."""
        self._known[key] = None
        setting = self._tree.get(key)
        if isinstance(setting, dict):
            self._refuse_table(key, setting)
        if setting is not None and setting.factor != 1 and not can_be_scaled:
            raise setting.error("it cannot be multiplied: give its value")
        if setting is not None and setting.value is not None:
            return setting
        if default is None:
            written = [name for name in self._tree if name not in self._known]
            instead = meant(key, written).replace(": did you mean", "; did you mean it by")
            raise self.error(key, f"it is missing: add {key} = {example}{instead}")
        return None

    def _numeric(
        self, key: str, read: Callable[[TomlValue], float], default: float | None, example: str, is_positive: bool
    ) -> float:
        setting = self._value(key, default, "number", example, can_be_scaled=True)
        number = default if setting is None else read(setting)
        assert number is not None
        if setting is None and number == 0 and self._factor(key) != 1:
            raise self.error(key, "the machine does not say it, and nothing times a factor is nothing: give its value")
        number *= self._factor(key)
        if not 0 <= number < math.inf or (is_positive and number == 0):
            limit = "above 0" if is_positive else "at least 0"
            raise self.error(key, f"it is {number:g}, and must be {limit} and finite")
        if number and not SMALLEST <= number <= LARGEST:
            raise self.error(key, f"it is {number:g}, and must be from {SMALLEST:g} to {LARGEST:g}")
        return number

    def _factor(self, key: str) -> float:
        setting = self._tree.get(key)
        return setting.factor if isinstance(setting, TomlValue) else 1.0

    def _refuse_table(self, key: str, inner: Tree) -> NoReturn:
        raise first_setting(inner, self._origin).error(f"{self._path(key)} is one value, not a table")

    def _unknown(self, key: str, homes: dict[str, list[str]]) -> PlatformError:
        where = f"[{self.name}]" if self.name else "a machine"
        content = self._tree[key]
        written = content.key if isinstance(content, TomlValue) else self._path(key)
        setting = (
            content if isinstance(content, TomlValue) else replace(first_setting(content, self._origin), key=written)
        )
        known = [*self._known, *self._aliases]
        close = closest(key, [*known, *_OTHER_WORDS])
        if close is not None and close not in known:
            option, written_out = _OTHER_WORDS[close]
            close = option if option in known else written_out
        advice = "" if close is None else f": did you mean {close!r}?"
        if not advice and key in homes:
            advice = f": it stands in {' or '.join(f'[{home}]' if home else 'no table' for home in homes[key])}"
        return setting.error(f"unknown key{advice or f': {where} takes ' + ', '.join(known)}")


def first_setting(tree: Tree, origin: str) -> TomlValue:
    """First setting in a table, whose position stands for the table's."""
    for inside in tree.values():
        return first_setting(inside, origin) if isinstance(inside, dict) else inside
    return TomlValue("", origin, "a table")


def quantity_of(setting: TomlValue, parse: Callable[[str], float], example: str) -> float:
    """Number of a setting with a unit; only 0 needs none."""
    value = setting.value
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise setting.error(f'{value_text(setting)} is no number with a unit: write it such as "{example}"')
    text = re.sub(r"(?<=[\d.])\s+(?=\D)", "", str(value).strip())
    try:
        number = parse(text)
    except ValueError as wrong:
        raise setting.error(str(wrong)) from None
    if not has_unit(text):
        raise setting.error(f'{value_text(setting)} has no unit: write it such as "{example}"')
    return number


def number_of(setting: TomlValue) -> float:
    """Number of a setting without a unit."""
    value: Any = setting.value
    try:
        return parse_number(value) if isinstance(value, str) else math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        ratio = re.fullmatch(r"([\d.]+) *: *1", value) if isinstance(value, str) else None
        raise setting.error(f"{value_text(setting)} is no number{f': write {ratio[1]}' if ratio else ''}") from None


def integer_of(setting: TomlValue, unit: str) -> int:
    """Whole number of a setting, which a text may follow with its unit, such as "cores"."""
    value: Any = setting.value
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str):
        singular = unit.removesuffix("s") or "?"
        match = re.fullmatch(rf"\s*([+-]?\d{{1,18}})\s*(?:{re.escape(singular)}s?)?\s*", value, re.ASCII)
        if match:
            return int(match[1])
        if re.fullmatch(r"\d{1,3}([,'_ ]\d{3})+", value, re.ASCII):
            raise setting.error(f"{value_text(setting)} is no whole number: write {re.sub('[^0-9]', '', value)}")
    raise setting.error(f"{value_text(setting)} is no whole number")


def value_text(setting: TomlValue) -> str:
    """The value of a setting, for messages."""
    return repr(setting.value) if isinstance(setting.value, str) else str(setting.value)


def put(tree: Tree, path: str, setting: TomlValue) -> None:
    """Set the value of a dotted key, also of one that the tree does not have.

    Raises
    ------
    PlatformError
        If the key is that of a table, or leads through a value.
    """
    *tables, key = path.split(".")
    for name in tables:
        inner = tree.setdefault(name, {})
        if isinstance(inner, TomlValue):
            raise setting.error(f"{name} is a value, not a table")
        tree = inner
    if not all((*tables, key)):
        raise setting.error("a part of this key is empty")
    table = tree.get(key)
    if isinstance(table, dict):
        raise setting.error(f"it is a table: set one of its keys, such as {path}.{next(iter(table), 'key')}")
    tree[key] = setting
