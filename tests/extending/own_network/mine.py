"""A network model from outside smpy: copy this file, and mine.c beside it, to write your own.

A package makes it known by an entry point, in its pyproject.toml:

    [project.entry-points."smpy.networks"]
    mine = "mine"
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from smpy.platforms import Network, network_model


@network_model("mine", kernel=Path(__file__).with_name("libmine.so"))
@dataclass(frozen=True, slots=True)
class Mine(Network):
    """Each message takes latency + bytes / bandwidth, whatever else is under way.

    The fields are the parameters of mine.c, by the same names. A run gives them as --network mine:latency=5us, a
    machine of ours under [network].
    """

    latency_s: float = 1e-3
    bandwidth_bytes_per_s: float = 1e6
