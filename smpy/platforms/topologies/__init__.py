"""The topologies, one file each: its value, its XML attributes, its links' names, and its construction.

A topology is a `Zone` under a decorator; those in this folder are listed below by the names that files use, and
imported when a file names them. One from outside smpy registers in the same way, and files name it like the others. An
installed package names the modules of its topologies as entry points of the group `smpy.topologies`; they are imported
when a file has a name that is none of smpy's.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Final, NamedTuple, TypeVar

from smpy.installed_parts import import_installed
from smpy.platforms.parts import Zone

GROUP: Final = "smpy.topologies"
Z = TypeVar("Z", bound=type[Zone])


class RegisteredTopology(NamedTuple):
    """A topology, and the attributes of its element besides those of all clusters, or the key of a bare word."""

    kind: type[Zone]
    attributes: tuple[str, ...] = ()
    word: str = ""


_MODULES: Final = {
    "cluster": {"DRAGONFLY": "dragonfly", "FAT_TREE": "fat_tree", "FLAT": "flat_cluster", "TORUS": "torus"},
    "zone": {
        "CLUSTER": "star",
        "DIJKSTRA": "dijkstra",
        "DIJKSTRACACHE": "dijkstra",
        "FLOYD": "floyd",
        "FULL": "full",
        "NONE": "empty",
        "VIVALDI": "vivaldi",
    },
    "machine": {
        "dragonfly": "dragonfly",
        "fat-tree": "fat_tree",
        "flat": "flat_cluster",
        "graph": "graph",
        "hyperx": "hyperx",
        "torus": "torus",
    },
}  # in this folder
_topologies: Final[dict[tuple[str, str], RegisteredTopology]] = {}


def topology(name: str, *, tag: str = "cluster", attributes: tuple[str, ...] = (), word: str = "") -> Callable[[Z], Z]:
    """Register a subclass of `Zone` as a topology that files can name.

    Its `from_xml` makes it from its element; its `from_settings` from a machine in our own formats, where the tag is
    "machine". A topology that both can describe is registered twice.

    Parameters
    ----------
    name : str
        Name in files: in upper case the `topology` of a <cluster> or the `routing` of a <zone>; or the `kind` of a
        machine's topology, such as "fat-tree".
    tag : {"cluster", "zone", "machine"}
        Tag of its element; "machine" is for our own formats.
    attributes : tuple of str
        Attributes of its element beside those of all clusters.
    word : str
        The key of a machine's topology that a word without one stands for: "dimensions" in "torus 8x8x8".

    Raises
    ------
    ValueError
        If there is another one of that name.
    """

    def register(kind: Z) -> Z:
        home = _home(tag, name)
        known = _topologies.get((tag, name))
        if known is not None or home not in (None, kind.__module__):
            there = known.kind.__module__ if known is not None else home
            raise ValueError(f"{there} has a topology {name!r}: give the one here another name")
        _topologies[tag, name] = RegisteredTopology(kind, attributes, word)
        return kind

    return register


def topology_names(tag: str, named: str | None = None) -> list[str]:
    """Names of the topologies of elements with this tag, or of a "machine"; sorted.

    Parameters
    ----------
    tag : {"cluster", "zone", "machine"}
        Tag of the element.
    named : str, optional
        Name in a file: if it is no topology, those of installed packages are imported first.

    Raises
    ------
    UsageError
        If the module of a package cannot be imported.
    """
    names = {*_MODULES[tag], *(name for its_tag, name in _topologies if its_tag == tag)}
    if named is not None and named not in names:
        import_installed(GROUP)
        return topology_names(tag)
    return sorted(names)


def topology_named(tag: str, name: str) -> RegisteredTopology:
    """The topology of this name, which is one of `topology_names`."""
    home = _home(tag, name)
    if home is not None:
        importlib.import_module(home)
    return _topologies[tag, name]


def _home(tag: str, name: str) -> str | None:
    """Module of a topology in this folder; None if it is from outside smpy."""
    module = _MODULES[tag].get(name)
    return None if module is None else f"{__name__}.{module}"
