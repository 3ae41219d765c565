"""Constructor call of a datatype: envelope, contents, and a readable form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final, Self

from smpy.mpi.data.datatype_core import DatatypeCore
from smpy.mpi.data.layout import Layout
from smpy.mpi.state import constants

__all__ = ["Contents"]

_INTEGERS: Final[dict[str, str]] = {
    "CONTIGUOUS": "count",
    "VECTOR": "count blocklength stride",
    "HVECTOR": "count blocklength",
    "INDEXED": "#displacements blocklengths displacements",
    "HINDEXED": "#displacements blocklengths",
    "INDEXED_BLOCK": "#displacements blocklength displacements",
    "HINDEXED_BLOCK": "#displacements blocklength",
    "STRUCT": "#displacements blocklengths",
    "SUBARRAY": "#sizes sizes subsizes starts order",
    "DARRAY": "size rank #gsizes gsizes distribs dargs psizes order",
    "F90_INTEGER": "r",
    "F90_REAL": "p r",
    "F90_COMPLEX": "p r",
}
"""Arguments among the integers of the contents, in the standard's order (MPI 4.1, 5.1.13); ``#`` gives a length."""
_ADDRESSES: Final[dict[str, str]] = {
    "HVECTOR": "stride",
    "HINDEXED": "displacements",
    "HINDEXED_BLOCK": "displacements",
    "STRUCT": "displacements",
    "RESIZED": "lb extent",
}
"""Arguments among the addresses of the contents."""
_COMBINERS: Final[dict[str, int]] = {
    name.removeprefix("COMBINER_"): number for name, number in vars(constants).items() if name.startswith("COMBINER_")
}


class Contents(DatatypeCore):
    """Methods that return how a datatype was constructed."""

    __slots__ = ()
    _known: ClassVar[dict[int, Any]] = {}
    """Predefined handles by number."""

    def Get_envelope(self) -> tuple[int, int, int, int, int]:
        """Numbers of integers, addresses, counts and datatypes in the constructor call, and the combiner."""
        origin = self._layout.origin
        if origin is None:
            return 0, 0, 0, 0, constants.COMBINER_NAMED
        integers, addresses = self._numbers(_INTEGERS), self._numbers(_ADDRESSES)
        return len(integers), len(addresses), 0, len(origin.datatypes), _COMBINERS[origin.combiner]

    def Get_contents(self) -> tuple[list[int], list[int], list[int], list[Self]]:
        """Arguments of the constructor call: integers, addresses, counts and datatypes.

        The datatypes are new handles on the datatypes of that call.
        """
        origin = self._layout.origin
        if origin is None:
            return [], [], [], []
        datatypes = [self._handle_on(layout) for layout in origin.datatypes]
        return self._numbers(_INTEGERS), self._numbers(_ADDRESSES), [], datatypes

    def _numbers(self, table: dict[str, str]) -> list[int]:
        origin = self._layout.origin
        assert origin is not None
        numbers: list[int] = []
        for name in table.get(origin.combiner, "").split():
            value: Any = origin.arguments[name.removeprefix("#")]
            if name[0] == "#":
                numbers.append(len(value))
            else:
                numbers += value if isinstance(value, list) else [value]
        return numbers

    @classmethod
    def _handle_on(cls, layout: Layout) -> Self:
        """Predefined handle of the layout, or a new handle."""
        known = cls._known.get(layout.number)
        return cls._of(layout) if known is None else known

    @classmethod
    def _know(cls, named: Mapping[str, Any]) -> None:
        """Register the predefined datatypes."""
        super()._know(named)
        cls._known = {known._identity(): known for known in reversed(list(named.values())) if known}

    def decode(self) -> tuple[Self, str, dict[str, Any]]:
        """The old datatype, the combiner's name, and the arguments of the constructor method."""
        origin = self._layout.origin
        if origin is None:
            return self, "NAMED", {}
        arguments: dict[str, Any] = {
            name: value.copy() if isinstance(value, list) else value for name, value in origin.arguments.items()
        }
        olds = [self._handle_on(layout) for layout in origin.datatypes]
        if origin.combiner == "STRUCT":
            arguments["datatypes"] = olds
            olds = []
        return olds[0] if olds else self._predefined["DATATYPE_NULL"], origin.combiner, arguments

    def __reduce__(self) -> str | tuple[Any, ...]:
        layout = self._layout_or_null
        if layout is None or layout.origin is None:
            return super().__reduce__()
        old, combiner, arguments = self.decode()
        return _made_again, (old or type(self), f"Create_{combiner.lower()}", arguments)

    @property
    def envelope(self) -> tuple[int, int, int, int, int]:
        """Numbers of arguments of the constructor call, and the combiner, as `Get_envelope` returns them."""
        return self.Get_envelope()

    @property
    def contents(self) -> tuple[list[int], list[int], list[int], list[Self]]:
        """Arguments of the constructor call, as `Get_contents` returns them."""
        return self.Get_contents()

    @property
    def combiner(self) -> int:
        """The ``COMBINER_`` constant of the datatype's constructor."""
        origin = self._layout.origin
        return constants.COMBINER_NAMED if origin is None else _COMBINERS[origin.combiner]

    @property
    def is_named(self) -> bool:
        """Whether the datatype is a named one of the standard."""
        return self.combiner == constants.COMBINER_NAMED

    @property
    def is_predefined(self) -> bool:
        """Whether the datatype is predefined, or null."""
        return self._layout_or_null is None or self._layout_or_null.is_basic


def _made_again(old: Any, constructor: str, arguments: dict[str, Any]) -> Any:
    """Equal datatype, constructed again for pickle."""
    return getattr(old, constructor)(**arguments)
