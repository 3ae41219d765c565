"""Reads the profiles of SimGrid's files: attributes of hosts and links, <trace> and <trace_connect>."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

from smpy.errors import meant
from smpy.input_files import read_text
from smpy.platforms.declared_parts import ProfileConnection
from smpy.platforms.profiles import Changing, Profile, read_profile
from smpy.platforms.simgrid.elements import Element
from smpy.units import parse_number

HOST_PROFILES: Final = {
    "speed_file": Changing.SPEED,
    "availability_file": Changing.SPEED,
    "state_file": Changing.HOST_IS_ON,
}
LINK_PROFILES: Final = {
    "bandwidth_file": Changing.BANDWIDTH,
    "latency_file": Changing.LATENCY,
    "state_file": Changing.LINK_IS_ON,
}
_KINDS: Final = {
    "HOST_AVAIL": Changing.HOST_IS_ON,
    "SPEED": Changing.SPEED,
    "LINK_AVAIL": Changing.LINK_IS_ON,
    "BANDWIDTH": Changing.BANDWIDTH,
    "LATENCY": Changing.LATENCY,
}


class ProfileReader:
    """Collects the profiles of a platform file, which may refer to a profile before or after its definition."""

    def __init__(self) -> None:
        self._traces: Final[dict[str, Profile]] = {}
        self._connections: Final[list[Element]] = []
        self._files: Final[dict[Path, Profile]] = {}

    def of_element(self, element: Element, known: dict[str, Changing]) -> dict[Changing, Profile]:
        """Profiles that the element's attributes name."""
        profiles: dict[Changing, Profile] = {}
        for name, what in known.items():
            path = element.text(name, "")
            if not path:
                continue
            if what in profiles:
                raise element.error(f"attribute {name!r}: another one gives a profile of the same: keep one")
            profiles[what] = self._file(element, path)
            profiles[what].check(what)
        return profiles

    def trace(self, element: Element) -> None:
        """Profile that a <trace_connect> refers to."""
        element.check_attributes(("id", "file", "periodicity"))
        name, path = element.text("id"), element.text("file", "")
        period_s = self._seconds(element)
        if name in self._traces:
            raise element.error("it is declared twice: give each trace an id of its own")
        if path and element.content.strip():
            raise element.error("it names a file and has lines of its own: keep one of them")
        if path:
            if period_s is not None:
                element.warn("attribute 'periodicity' is for lines inside: the file says itself whether it repeats")
            self._traces[name] = self._file(element, path)
        else:
            profile = read_profile(element.content, element.file, element.line, period_s)
            self._traces[name] = replace(profile, origin=element.origin)

    def connect(self, element: Element) -> None:
        """Keep a <trace_connect>, which makes a host or link follow a trace."""
        element.check_attributes(("kind", "trace", "element"))
        self._connections.append(element)

    def connections(self) -> tuple[ProfileConnection, ...]:
        """Connections of all <trace_connect> elements."""
        return tuple(map(self._connection, self._connections))

    def _connection(self, element: Element) -> ProfileConnection:
        name = element.text("trace")
        what = _KINDS[element.choice("kind", tuple(_KINDS), "HOST_AVAIL")]
        if name not in self._traces:
            raise element.error(f"unknown trace {name!r}{meant(name, self._traces) or ': no <trace> has that id'}")
        self._traces[name].check(what)
        return ProfileConnection(what, element.text("element"), self._traces[name], origin=element.origin)

    def _file(self, element: Element, name: str) -> Profile:
        path = Path(element.file).parent / name
        if path not in self._files:
            try:
                text = read_text(path, "profile")
            except OSError as wrong:
                raise element.error(f"cannot read profile {str(path)!r}: {wrong.strerror}") from None
            self._files[path] = read_profile(text, str(path))
        return self._files[path]

    @staticmethod
    def _seconds(element: Element) -> float | None:
        """Period of a <trace>; SimGrid treats 0 and less as no period."""
        text = element.text("periodicity", "-1")
        try:
            seconds = parse_number(text)
        except ValueError:
            raise element.error(f"attribute 'periodicity': {text!r} is no number of seconds") from None
        return seconds if seconds > 0 else None
