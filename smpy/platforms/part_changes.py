"""Changes of single links, switches and hosts of a machine, by name: `--set 'link[NAME].bandwidth=x4'`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

from smpy.errors import PlatformError, meant
from smpy.platforms.profiles import Changing

Quantity = Literal["bandwidth", "latency", "speed"]
QUANTITIES: Final[dict[str, tuple[Quantity, ...]]] = {
    "link": ("bandwidth", "latency"),
    "switch": ("bandwidth", "latency"),
    "host": ("speed",),
}
"""Numbers that can be changed, of links, of all links at a switch, and of hosts."""

CHANGING: Final[dict[Quantity, Changing]] = dict(
    zip(get_args(Quantity), (Changing.BANDWIDTH, Changing.LATENCY, Changing.SPEED), strict=True)
)
"""Quantities as profiles name them."""

_HALF: Final = re.compile("_(UP|DOWN)$")


@dataclass(frozen=True, slots=True)
class PartChange:
    """Change of one number of all links or hosts whose names a pattern meets, or of the links at such switches.

    Parameters
    ----------
    kind : str
        "link", "switch" or "host".
    pattern : str
        A name, in which * stands for any characters and ? for one. A link's name also means both its halves.
    quantity : str
        Number that changes, one of `QUANTITIES`.
    number : float
        Its value, in bytes/s, s or flop/s, or its factor.
    is_factor : bool
        Whether the number multiplies the present value.
    """

    kind: Literal["link", "switch", "host"]
    pattern: str
    quantity: Quantity
    number: float
    is_factor: bool

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
                raise PlatformError(f"--set {self}: no {self.kind} of this machine has a name: name its links")
            kinds = "switches" if self.kind == "switch" else f"{self.kind}s"
            raise PlatformError(
                f"--set {self}: the machine has no {self.kind} {self.pattern!r}"
                f"{meant(self.pattern, names) or f'; its {kinds} are {shown} (* stands for any characters)'}"
            )

    def after(self, before: float, name: str) -> float:
        """The changed number of a part.

        Raises
        ------
        PlatformError
            If no part can have it.
        """
        after = before * self.number if self.is_factor else self.number
        if not (0 < after < math.inf or (after == 0 and self.quantity == "latency")):
            raise PlatformError(f"--set {self}: it makes {after:g} of {before:g} for {name!r}, which is out of range")
        return after
