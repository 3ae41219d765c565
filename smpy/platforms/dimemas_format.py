"""Reads Dimemas' machine files, such as its `cfgs/ideal.cfg`: records of numbers and texts, as SDDF writes them.

    #DIMEMAS_CONFIGURATION
    "environment information" {"", 0, "", 16, 100.0, 0, 1};;
    "multi node information" {0, 16, "", 4, 1.0, 0.0, 0.0, 0, 1, 0, 5e-6, 1, 1, 0.0};;

A machine of ours comes from one: hosts on a flat network, timed by the network model `dimemas`. Megabytes are of 2^20
bytes; a speed of 1 is that of the default cluster's cores. Records that would make it another machine are refused.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, NamedTuple, NoReturn

from smpy.errors import PlatformError, meant
from smpy.platforms.default_cluster import CORE_SPEED_FLOP_PER_S
from smpy.platforms.models.collective_models import COLLECTIVE_MODELS, SCHEDULES
from smpy.platforms.own_format.settings import TomlValue, Tree
from smpy.units import LARGEST, exact_bandwidth, exact_speed, exact_time

_HEADER: Final = b"#DIMEMAS_CONFIGURATION"
_MIB: Final = float(1 << 20)
_SPACE: Final = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_NAME: Final = re.compile(r'"([^"\n]*)"')
_VALUE: Final = re.compile(r'"(?P<text>[^"\n]*)"|\[\s*(?P<count>\d{1,9})\s*\]\s*\{|(?P<number>[-+.\w]+)')
_WHOLE: Final = re.compile(r"[-+]?\d{1,18}", re.ASCII)
_REAL: Final = re.compile(r"[-+]?(?:\d{1,300}\.?\d{0,300}|\.\d{1,300})(?:[eE][-+]?\d{1,9})?", re.ASCII)
_TEXT, _INTEGER, _DOUBLE, _INTEGERS = "text", "whole number", "number", "array"
_RATIO: Final = "processor speed"

_OF_NODE: Final = {
    "architecture": _TEXT,
    "processors": _INTEGER,
    _RATIO: _DOUBLE,
    "intra-node latency": _DOUBLE,
    "intra-node bandwidth": _DOUBLE,
    "intra-node buses": _INTEGER,
    "intra-node input links": _INTEGER,
    "intra-node output links": _INTEGER,
    "inter-node latency": _DOUBLE,
    "inter-node input links": _INTEGER,
    "inter-node output links": _INTEGER,
    "latency between machines": _DOUBLE,
}
_NETWORK, _MACHINE, _NODE, _NODES, _MAP, _MAPPING, _FILES, _FILE_SYSTEM = (
    "wide area network information",
    "environment information",
    "node information",
    "multi node information",
    "mapping information",
    "predefined mapping information",
    "configuration files",
    "file system parameters",
)
_RECORDS: Final = {
    _NETWORK: {
        "name": _TEXT,
        "machines": _INTEGER,
        "dedicated connections": _INTEGER,
        "function of traffic": _INTEGER,
        "maximal traffic": _DOUBLE,
        "bandwidth between machines": _DOUBLE,
        "collective model": _INTEGER,
    },
    _MACHINE: {
        "name": _TEXT,
        "machine": _INTEGER,
        "instrumented architecture": _TEXT,
        "nodes": _INTEGER,
        "inter-node bandwidth": _DOUBLE,
        "inter-node buses": _INTEGER,
        "collective model": _INTEGER,
    },
    _NODE: {"machine": _INTEGER, **_OF_NODE},
    _NODES: {"machine": _INTEGER, "nodes": _INTEGER, **_OF_NODE},
    _MAP: {"tracefile": _TEXT, "tasks": _INTEGER, "nodes of tasks": _INTEGERS},
    _MAPPING: {"map": _TEXT},
    _FILES: {"scheduler": _TEXT, "file system": _TEXT, "communications": _TEXT, "sensitivity": _TEXT},
    _FILE_SYSTEM: {
        "disk latency": _DOUBLE,
        "disk bandwidth": _DOUBLE,
        "block size": _DOUBLE,
        "concurrent requests": _INTEGER,
        "hit ratio": _DOUBLE,
    },
}
_REFUSED: Final = {
    "modules information": "computing is not scaled by modules: remove it, or change their speed in the program",
    "dedicated connection information": "a machine has no dedicated connections to others: remove it",
    "accelerator node information": "a host has no accelerators: remove it",
}
_SEVERAL: Final = (_NODE, _NODES)
_PLACED: Final = "place ranks by --hostfile, --ranks-per-host or --map-by, and remove the record"
_SHARED: Final = {
    "latency": "inter-node latency",
    "input_links": "inter-node input links",
    "output_links": "inter-node output links",
    "local_latency": "intra-node latency",
    "local_bandwidth": "intra-node bandwidth",
    "local_buses": "intra-node buses",
    "local_input_links": "intra-node input links",
    "local_output_links": "intra-node output links",
}


class _Record(NamedTuple):
    """A record: its name, its line, and its values by the names of `_RECORDS`."""

    name: str
    origin: str
    values: dict[str, TomlValue]

    def number(self, name: str) -> float:
        """Value that is a number."""
        value = self.values[name].value
        assert isinstance(value, int | float)
        return value

    def whole(self, name: str) -> int:
        """Value that is a whole number."""
        return int(self.number(name))

    def text(self, name: str) -> str:
        """Value that is a text."""
        return str(self.values[name].value).strip()

    def error(self, message: str) -> PlatformError:
        """Error about the whole record, to be raised."""
        return TomlValue(None, self.origin, f"{self.name!r}").error(message)


def read_dimemas(path: Path, data: bytes) -> Tree:
    """Settings of the machine of ours that corresponds to a Dimemas machine.

    Parameters
    ----------
    path : Path
        The file, for errors.
    data : bytes
        Its content.

    Raises
    ------
    PlatformError
        If it is no such file, or a machine that ours cannot be: file, line and why.
    """
    if not data.startswith(_HEADER):
        raise PlatformError(f"{path}:1: a machine file of Dimemas' begins with {_HEADER.decode()}")
    try:
        text = data.decode()
    except UnicodeDecodeError as wrong:
        line = data.count(b"\n", 0, wrong.start) + 1
        raise PlatformError(f"{path}:{line}: it is not a text file in UTF-8") from None
    return _settings(path, _Reader(path, text).records())


class _Reader:
    """Reads the records of a file."""

    def __init__(self, path: Path, text: str) -> None:
        self._path: Final = path
        self._text: Final = text
        self._at = len(_HEADER)
        self._line, self._counted = 1, 0

    def records(self) -> list[_Record]:
        records: list[_Record] = []
        while self._skipped() < len(self._text):
            record = self._record()
            if record.name not in _SEVERAL and any(each.name == record.name for each in records):
                raise record.error("there is one before it already: keep one of both")
            records.append(record)
        return records

    def _record(self) -> _Record:
        origin = self._origin()
        name = self._match(_NAME, 'a record is expected: "name" {...};;')[1]
        if name in _REFUSED:
            raise TomlValue(None, origin, f"{name!r}").error(_REFUSED[name])
        if name not in _RECORDS:
            self._fail(f"{name!r} is no record of Dimemas': {', '.join(_RECORDS)} are{meant(name, _RECORDS)}", origin)
        self._take("{")
        values = [self._value()]
        while self._is_next(","):
            self._take(",")
            values.append(self._value())
        self._take("}")
        self._take(";;")
        return _Record(name, origin, _named(name, origin, values))

    def _value(self) -> TomlValue:
        self._skipped()
        origin = self._origin()
        match = self._match(_VALUE, "a value is expected: a number, a text in quotes, or [n] {...}")
        if match["text"] is not None:
            return TomlValue(match["text"], origin, "")
        if match["number"] is not None:
            return TomlValue(_number(match["number"], origin), origin, "")
        items: list[object] = []
        while not self._is_next("}"):
            if items:
                self._take(",")
            items.append(self._value().value)
        self._take("}")
        if len(items) != int(match["count"]):
            self._fail(f"an array of {len(items)} values says that it has {int(match['count'])}", origin)
        return TomlValue(items, origin, "")

    def _skipped(self) -> int:
        """Position after spaces and comments."""
        match = _SPACE.match(self._text, self._at)
        assert match is not None
        self._at = match.end()
        return self._at

    def _is_next(self, token: str) -> bool:
        return self._text.startswith(token, self._skipped())

    def _take(self, token: str) -> None:
        if not self._is_next(token):
            self._fail(f"{token!r} is expected{self._instead()}")
        self._at += len(token)

    def _match(self, pattern: re.Pattern[str], expected: str) -> re.Match[str]:
        match = pattern.match(self._text, self._skipped())
        if match is None:
            self._fail(f"{expected}{self._instead()}")
        self._at = match.end()
        return match

    def _instead(self) -> str:
        rest = self._text[self._at : self._at + 20].partition("\n")[0]
        return f", and {rest!r} is there" if rest else ", and the file ends"

    def _origin(self) -> str:
        self._line += self._text.count("\n", self._counted, self._at)
        self._counted = self._at
        return f"{self._path}:{self._line}"

    def _fail(self, message: str, origin: str = "") -> NoReturn:
        raise PlatformError(f"{origin or self._origin()}: {message}")


def _number(text: str, origin: str) -> int | float:
    if _WHOLE.fullmatch(text):
        return int(text)
    if not _REAL.fullmatch(text):
        raise PlatformError(f"{origin}: {text!r} is no number")
    return float(text)


def _named(record: str, origin: str, values: list[TomlValue]) -> dict[str, TomlValue]:
    """The values of a record by their names, checked."""
    fields = _RECORDS[record]
    if record == _NODE and len(values) == len(fields) + 1:  # older files number their nodes; the numbers mean nothing
        del values[1]
    if record == _MAPPING and len(values) == len(fields) + 1:  # the trace for which the file was written
        del values[0]
    if len(values) != len(fields):
        raise PlatformError(f"{origin}: {record!r} has {len(values)} values, and takes {', '.join(fields)}")
    named = {}
    for (name, kind), value in zip(fields.items(), values, strict=True):
        setting = TomlValue(value.value, value.origin, f"{name} in {record!r}")
        _check(setting, kind)
        named[name] = setting
    return named


def _check(setting: TomlValue, kind: str) -> None:
    types = {_TEXT: str, _INTEGER: int, _DOUBLE: (int, float), _INTEGERS: list}[kind]
    if not isinstance(setting.value, types):  # type: ignore[arg-type]  # a type, or several
        raise setting.error(f"{setting.value!r} is there, and must be a {kind}")
    numbers = setting.value if isinstance(setting.value, list) else [setting.value] if kind != _TEXT else []
    for number in numbers:
        if not isinstance(number, int | float) or (kind != _DOUBLE and not isinstance(number, int)):
            raise setting.error(f"{number!r} is in an array of whole numbers")
        if number < 0:
            is_ratio = setting.key.startswith(_RATIO)
            reason = "a fixed time is not supported: write a factor" if is_ratio else "it cannot be negative"
            raise setting.error(f"it is {number:g}: {reason}")
        if number > LARGEST:
            raise setting.error(f"it is {number:g}, and can be {LARGEST:g}")


# ---- a machine of ours ----


def _settings(path: Path, records: list[_Record]) -> Tree:
    machine = next((record for record in records if record.name == _MACHINE), None)
    nodes = [record for record in records if record.name in _SEVERAL]
    if machine is None or not nodes:
        missing = repr(_MACHINE) if machine is None else f"{_NODES!r} or {_NODE!r}"
        raise PlatformError(f"{path}: it has no record {missing}")
    fills_hosts = TomlValue(True, str(path), "fills_hosts")
    for record in records:
        _check_record(record)
        if record.name == _MAPPING:
            fills_hosts = _fills_hosts(record, len(nodes) == 1 or machine.whole("nodes") <= 10)
    n_nodes = sum(_n_nodes(node) for node in nodes)
    if n_nodes != machine.whole("nodes"):
        raise machine.values["nodes"].error(f"it is {machine.whole('nodes')}, and the file describes {n_nodes} nodes")
    for node in nodes:
        if node.whole("machine") != machine.whole("machine"):
            raise node.values["machine"].error(
                f"it is {node.whole('machine')}, and the only machine is {machine.whole('machine')}"
            )
    plain = {key: _shared(nodes, name) for key, name in _SHARED.items()}
    plain["bandwidth"], plain["buses"] = machine.values["inter-node bandwidth"], machine.values["inter-node buses"]
    tree: Tree = {
        "topology": {"kind": TomlValue("flat", machine.origin, "topology")},
        "network": {"model": TomlValue("dimemas", machine.origin, "network")},
        "dimemas": {key: _with_unit(key, setting) for key, setting in plain.items()},
        "nic": {
            "latency": _time(plain["latency"], 0.5),  # a route has two cables
            "bandwidth": _some_bandwidth(plain["bandwidth"]),
        },
        "fills_hosts": fills_hosts,
    }
    host: Tree = {
        "loopback_latency": _time(plain["local_latency"]),
        "loopback_bandwidth": _some_bandwidth(plain["local_bandwidth"]),
        "messages_share_memory": TomlValue(False, machine.origin, "messages_share_memory"),
    }
    if len(nodes) == 1:
        host |= {"count": machine.values["nodes"], **_kind(nodes[0])}
    else:
        tree["group"] = _groups(nodes)
    tree["host"] = host
    if machine.text("name"):
        tree["name"] = machine.values["name"]
    return tree


def _check_record(record: _Record) -> None:
    """Refuse values that our machine cannot express."""
    if record.name == _NETWORK:
        for name, number in (("machines", 1), ("dedicated connections", 0)):
            if record.whole(name) != number:
                raise record.values[name].error(f"it is {record.whole(name)}, and {number} alone is supported")
    if record.name in (_NETWORK, _MACHINE) and record.whole("collective model") >= SCHEDULES:
        known = ", ".join(f"{number} ({name})" for number, name in enumerate(COLLECTIVE_MODELS[:SCHEDULES]))
        setting = record.values["collective model"]
        raise setting.error(f"it is {record.whole('collective model')}, and the models are {known}")
    if record.name == _MAP:
        raise record.error(_PLACED)
    if record.name == _FILES and record.text("sensitivity"):
        raise record.values["sensitivity"].error("factors drawn for each run are not supported: remove its name")


def _fills_hosts(record: _Record, is_in_order: bool) -> TomlValue:
    words = record.text("map").split()
    setting = record.values["map"]
    if words == ["FILL_NODES"]:
        return TomlValue(True, setting.origin, setting.key)
    if words in (["INTERLEAVED"], ["1", "TASKS_PER_NODE"]) and is_in_order:
        return TomlValue(False, setting.origin, setting.key)
    raise setting.error(f"{record.text('map')!r} is not supported here: {_PLACED}")


def _n_nodes(node: _Record) -> int:
    return node.whole("nodes") if node.name == _NODES else 1


def _groups(nodes: list[_Record]) -> Tree:
    """Groups of hosts, one per record, numbered consecutively."""
    groups: Tree = {}
    first = 0
    for number, node in enumerate(nodes):
        last = first + _n_nodes(node) - 1
        if last < first:
            raise node.values["nodes"].error("it is 0, and must be at least 1")
        names = TomlValue(f"node-[{first}-{last}]", node.origin, "nodes")
        groups[f"nodes-{number}"] = {"names": names, **_kind(node)}
        first = last + 1
    return groups


def _kind(node: _Record) -> Tree:
    """Cores of a host, and their speed."""
    speed = node.values[_RATIO]
    if not node.number(_RATIO):
        raise speed.error("it is 0: run with --compute none for computing that takes no time, and write 1.0")
    speed_flop_per_s = exact_speed(node.number(_RATIO) * CORE_SPEED_FLOP_PER_S)
    return {"cores": node.values["processors"], "speed": TomlValue(speed_flop_per_s, speed.origin, speed.key)}


def _shared(nodes: list[_Record], name: str) -> TomlValue:
    """Value that is the same for all nodes."""
    first = nodes[0].values[name]
    for node in nodes[1:]:
        if node.number(name) != nodes[0].number(name):
            line = first.origin.rpartition(":")[2]
            raise node.values[name].error(
                f"it is {node.number(name):g}, and {nodes[0].number(name):g} in line {line}: all hosts have the same"
            )
    return first


def _with_unit(key: str, setting: TomlValue) -> TomlValue:
    if key.endswith("latency"):
        return _time(setting)
    return _bandwidth(setting, 0.0) if key.endswith("bandwidth") else setting


def _time(setting: TomlValue, share: float = 1.0) -> TomlValue:
    assert isinstance(setting.value, int | float)
    return TomlValue(exact_time(setting.value * share), setting.origin, setting.key)


def _some_bandwidth(setting: TomlValue) -> TomlValue:
    """Bandwidth for networks of links, in which 0 means no link."""
    return _bandwidth(setting, LARGEST)


def _bandwidth(setting: TomlValue, instantaneous: float) -> TomlValue:
    assert isinstance(setting.value, int | float)
    bytes_per_s = setting.value * _MIB or instantaneous
    return TomlValue(exact_bandwidth(bytes_per_s), setting.origin, setting.key)
