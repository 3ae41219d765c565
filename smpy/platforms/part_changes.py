"""Changes of single links, switches, hosts and their devices, by name: `--set 'link[NAME].bandwidth=x4'`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from smpy.errors import PlatformError, meant
from smpy.platforms.models.devices import ALL_SPEEDS, FIELDS, changed_devices
from smpy.platforms.profiles import Changing

DEVICE_PREFIX: Final = "gpu."
"""Beginning of quantities of a host's devices."""
QUANTITIES: Final[dict[str, tuple[str, ...]]] = {
    "link": ("bandwidth", "latency"),
    "switch": ("bandwidth", "latency"),
    "host": ("speed", *(f"{DEVICE_PREFIX}{key}" for key in (ALL_SPEEDS, *FIELDS))),
}
"""Numbers that can be changed, of links, of all links at a switch, and of hosts and their devices."""

CHANGING: Final = {"bandwidth": Changing.BANDWIDTH, "latency": Changing.LATENCY, "speed": Changing.SPEED}
"""Quantities as profiles name them."""

_HALF: Final = re.compile("_(UP|DOWN)$")


@dataclass(frozen=True, slots=True)
class PartChange:
    """Change of one number of all links or hosts whose names a pattern meets, or of the links at such switches.

    A device's number is that of all devices of such hosts.

    Parameters
    ----------
    kind : str
        "link", "switch" or "host".
    pattern : str
        A name, in which * stands for any characters and ? for one. A link's name also means both its halves.
    quantity : str
        Number that changes, one of `QUANTITIES`.
    number : float
        Its value, in SI base units, or its factor; for true and false 1 and 0.
    is_factor : bool
        Whether the number multiplies the present value.
    """

    kind: Literal["link", "switch", "host"]
    pattern: str
    quantity: str
    number: float
    is_factor: bool

    def __post_init__(self) -> None:
        if self.quantity not in QUANTITIES.get(self.kind, ()):
            raise ValueError(f"a {self.kind} has no {self.quantity!r} to change")

    def __str__(self) -> str:
        return f"{self.kind}[{self.pattern}].{self.quantity}"

    def matches(self, names: Sequence[str]) -> Iterator[int]:
        """Places of names that the pattern meets.

        Raises
        ------
        PlatformError
            If it meets none.
        """
        wild = re.escape(self.pattern).replace(r"\*", ".*").replace(r"\?", ".")
        meets = re.compile(wild, re.DOTALL).fullmatch
        is_met = False
        for place, name in enumerate(names):
            if meets(name) or (self.kind == "link" and meets(_HALF.sub("", name))):
                is_met = True
                yield place
        if not is_met:
            shown = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
            if not names:
                raise self._error(f"no {self.kind} of this machine has a name: name its links")
            kinds = "switches" if self.kind == "switch" else f"{self.kind}s"
            raise self._error(
                f"the machine has no {self.kind} {self.pattern!r}"
                f"{meant(self.pattern, names) or f'; its {kinds} are {shown} (* stands for any characters)'}"
            )

    def changed_number(self, before: float, name: str) -> float:
        """The changed number of a part.

        Raises
        ------
        PlatformError
            If no part can have it.
        """
        after = before * self.number if self.is_factor else self.number
        if not (0 < after < math.inf or (after == 0 and self.quantity == "latency")):
            raise self._error(f"it makes {after:g} of {before:g} for {name!r}, which is out of range")
        return after

    def changed_properties(self, texts: Iterable[str]) -> dict[str, str]:
        """Properties that tell the devices of hosts, by those before the change.

        Raises
        ------
        PlatformError
            If there are none, or no device can have the number.
        """
        try:
            key = self.quantity.removeprefix(DEVICE_PREFIX)
            return changed_devices(texts, key, self.number, is_factor=self.is_factor)
        except PlatformError as wrong:
            raise self._error(str(wrong)) from None

    def _error(self, text: str) -> PlatformError:
        """Error with the option as its place, which is no line of the machine's file."""
        error = PlatformError(f"--set {self}: {text}")
        error.is_located = True
        return error
