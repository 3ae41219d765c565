"""The topologies there are, a file each: its value, its attributes in XML, its links' names, how it is built.

A topology is a `Zone` under a decorator; those in this folder are found when a file is read. One from outside smpy
registers in the same way, and is then read from XML like the others.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from typing import Final, NamedTuple, TypeVar

from smpy.platforms.parts import Zone

Z = TypeVar("Z", bound=type[Zone])


class Registered(NamedTuple):
    """A topology, and what its element has beside the attributes of all clusters, or the key of a bare word."""

    kind: type[Zone]
    attributes: tuple[str, ...] = ()
    word: str = ""


_topologies: Final[dict[tuple[str, str], Registered]] = {}


def topology(name: str, *, tag: str = "cluster", attributes: tuple[str, ...] = (), word: str = "") -> Callable[[Z], Z]:
    """Register a subclass of `Zone` as a topology that files can name.

    Its `from_xml` makes it from its element; its `from_settings` from a machine in our own formats, where the tag is
    "machine". A topology that both can describe is registered twice.

    Parameters
    ----------
    name : str
        What files call it: in upper case the `topology` of a <cluster> or the `routing` of a <zone>; or the `kind` of a
        machine's topology, such as "fat-tree".
    tag : {"cluster", "zone", "machine"}
        Which of the three it is.
    attributes : tuple of str
        What its element has beside the attributes of all clusters.
    word : str
        The key of a machine's topology that a word without one stands for: "dimensions" in "torus 8x8x8".

    Raises
    ------
    ValueError
        If there is another one of that name.
    """

    def register(kind: Z) -> Z:
        if not kind.__module__.startswith(f"{__name__}."):
            topologies(tag)  # smpy's own come first
        known = _topologies.get((tag, name))
        if known is not None:
            raise ValueError(f"{known.kind.__module__} has a topology {name!r}: give the one here another name")
        _topologies[tag, name] = Registered(kind, attributes, word)
        return kind

    return register


def topologies(tag: str) -> dict[str, Registered]:
    """The topologies of elements with that tag, or of a "machine", by their names in files."""
    for module in pkgutil.iter_modules(__path__, f"{__name__}."):
        importlib.import_module(module.name)
    return {name: known for (of, name), known in _topologies.items() if of == tag}
