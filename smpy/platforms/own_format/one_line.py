"""Reads a machine of one line, such as "fat-tree hosts=1000 cores=64 nic=200Gb/s latency=1us oversubscription=2"."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Final

from smpy.errors import PlatformError, meant
from smpy.platforms.own_format.settings import TomlValue, Tree, put
from smpy.platforms.topologies import topology_named, topology_names

SHORT_KEYS: Final = {
    "hosts": "host.count",
    "names": "host.names",
    "sockets": "host.sockets",
    "cores": "host.cores",
    "speed": "host.speed",
    "memory_bandwidth": "host.memory_bandwidth",
    "nic": "nic.bandwidth",
    "latency": "nic.latency",
    "rails": "nic.rails",
    "network": "network.model",
}


def read_one_line(line: str) -> Tree:
    """Settings of a line: a kind of topology, its bare word, and KEY=VALUE in any order.

    A key is one of `SHORT_KEYS`, a dotted one as in TOML (`mpi.eager_limit=16KiB`), or one of the topology's.

    Parameters
    ----------
    line : str
        The line.

    Raises
    ------
    PlatformError
        If it begins with no kind of topology, or a word stands for nothing.
    """
    origin = repr(line)
    try:
        kind, *words = shlex.split(line)
    except ValueError:
        raise PlatformError(f"{origin}: a quote is never closed, or nothing is said") from None
    kinds = topology_names("machine", kind)
    if kind not in kinds:
        spelt_apart = "-".join([kind, *words[:1]])
        advice = meant(spelt_apart if spelt_apart in kinds else kind, kinds)
        raise PlatformError(
            f"{origin}: it begins with {kind!r}, and the kinds of topologies are {', '.join(kinds)}{advice}"
        )
    key_of_word = topology_named("machine", kind).word
    tree: Tree = {"topology": {"kind": TomlValue(kind, origin, "topology", Path())}}
    seen: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals:
            key, value = key_of_word, word
        if not key:
            raise PlatformError(f"{origin}: {word!r} is no KEY=VALUE, and {kind} takes no word without a key")
        path = SHORT_KEYS.get(key, key if "." in key else f"topology.{key}")
        if path in seen and not equals:
            raise PlatformError(f"{origin}: {word!r} is no KEY=VALUE, and {key_of_word} is said by {seen[path]!r}")
        if path in seen:
            raise PlatformError(f"{origin}: {key} is given twice")
        seen[path] = word
        put(tree, path, TomlValue(value, origin, key, Path()))
    return tree
