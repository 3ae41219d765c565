"""HyperX: switches on a lattice, of which all that differ in one coordinate are joined (Ahn et al. 2009)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from math import isqrt, prod
from operator import mul
from typing import TYPE_CHECKING, Final, Literal, cast

from smpy.errors import PlatformError
from smpy.platforms.cluster import Cluster
from smpy.platforms.lattice_cuts import halving_cut
from smpy.platforms.link_classes import (
    LinkClass,
    WireKind,
    class_bandwidth_bytes_per_s,
    link_class_settings,
    read_link_classes,
    relative_bandwidth,
    wire_blocks,
)
from smpy.platforms.link_ends import LinkEndsOf, WireEnds, cluster_link_ends
from smpy.platforms.link_names import LinkNamer, cluster_link_name
from smpy.platforms.part_checks import COUNT_MAX
from smpy.platforms.parts import Zone
from smpy.platforms.parts_list import CableParts, PartsList, SwitchParts, cluster_parts
from smpy.platforms.topologies import topology

if TYPE_CHECKING:
    from smpy.engine.platform_builder import PlatformBuilder
    from smpy.platforms.own_format.settings import TomlTable
    from smpy.platforms.own_format.wanted_hosts import WantedHosts

DIMENSIONS_MAX: Final = 16
PORTS_MAX: Final = 100_000
ROUTINGS: Final = ("dimension_order", "valiant", "adaptive")


@dataclass(frozen=True, slots=True)
class LatticeShape:
    """Switches in each dimension, hosts below each, and cables between two that differ in each dimension.

    Examples
    --------
    >>> LatticeShape(dimensions=(4, 3), hosts_per_switch=6, cables=(2, 2)).switch_ports
    16
    """

    dimensions: tuple[int, ...]
    hosts_per_switch: int
    cables: tuple[int, ...]

    @property
    def switch_ports(self) -> int:
        """Ports in use of a switch whose places for hosts are all taken."""
        return self.hosts_per_switch + sum(
            (size - 1) * cables for size, cables in zip(self.dimensions, self.cables, strict=True)
        )


def switched_lattice(n_hosts: int, ports: int) -> LatticeShape:
    """The HyperX of fewest dimensions, and then of most hosts a switch, for so many hosts and ports of a switch.

    Its cables carry what all hosts send to all: in a dimension of S switches, a switch of T hosts sends T / S to each
    other one [1]_, so that there are as many cables between two, rounded up. Its dimensions are as equal as can be.

    Raises
    ------
    ValueError
        If no such HyperX has places for the hosts.

    References
    ----------
    .. [1] J. Ahn, N. Binkert, A. Davis, M. McLaren, R. Schreiber, "HyperX: topology, routing, and packaging of
       efficient large-scale networks", SC 2009, section 3: a relative bisection bandwidth of 1/2 or more.

    Examples
    --------
    >>> switched_lattice(96, 40)
    LatticeShape(dimensions=(5,), hosts_per_switch=20, cables=(4,))
    >>> switched_lattice(1000, 40)
    LatticeShape(dimensions=(10, 10), hosts_per_switch=10, cables=(1, 1))
    """
    for n_dimensions in range(1, DIMENSIONS_MAX + 1):
        for hosts_per_switch in range(min(ports, n_hosts), 0, -1):
            dimensions = _equal_sizes(-(-n_hosts // hosts_per_switch), n_dimensions)
            filled = -(-n_hosts // prod(dimensions))  # places for hosts that are needed
            cables = tuple(-(-filled // size) for size in dimensions)
            shape = LatticeShape(dimensions, filled, cables)
            if shape.switch_ports <= ports:
                return shape
    raise ValueError(
        f"switches of {ports} ports make no HyperX of {n_hosts:,} hosts whose cables carry traffic of all to all: take "
        "other switches, or give its dimensions"
    )


def _equal_sizes(least: int, n_dimensions: int) -> tuple[int, ...]:
    """Sizes, as equal as can be, of a lattice with at least so many places; the largest first."""
    sizes = []
    for left in range(n_dimensions, 0, -1):
        size = max(1, int(least ** (1 / left)) - 1)
        while size**left < least:
            size += 1
        sizes.append(size)
        least = -(-least // size)
    return tuple(sizes)


@topology("hyperx", tag="machine", word="dimensions")
@dataclass(frozen=True, slots=True)
class HyperX(Zone):
    """Switches on a lattice, of which all that differ in one coordinate are joined [1]_; hosts below each switch.

    It has no router, one of its hosts can be the gateway. The messages from one host to another take one of
    parallel cables: number (source + target // cables) mod cables, so that hosts in a row use all of them.

    Parameters
    ----------
    cluster : Cluster
        Its hosts and wires, those between switches included; it has no backbone. The first hosts are below the first
        switch, whose coordinates are all 0; the second switch differs from it in dimension 0.
    dimensions : tuple of int
        Switches in each dimension.
    hosts_per_switch : int
        Places for hosts below each switch, with one wire each host; the last places may be empty.
    cables : tuple of int
        Parallel cables between two switches that differ in each dimension; none given: one.
    routing : {"dimension_order", "valiant", "adaptive"}
        Straight from switch to switch in the order of the dimensions, or in this way to a switch that is drawn for each
        pair of hosts (not for hosts of one switch), and from there to the target [2]_; or, for each message, whichever
        has the least load when it sets out, as `Dragonfly` says.
    seed : int
        Draws these switches.
    link_classes : tuple of LinkClass
        Wires that are unlike those of hosts: ``dimension0`` are those between switches that differ in dimension 0.

    References
    ----------
    .. [1] J. Ahn, N. Binkert, A. Davis, M. McLaren, R. Schreiber, "HyperX: topology, routing, and packaging of
       efficient large-scale networks", SC 2009.
    .. [2] L. Valiant, G. Brebner, "Universal schemes for parallel communication", STOC 1981.

    Examples
    --------
    >>> from smpy.platforms import Cluster, Description, NumberedNames
    >>> hosts = Cluster("c", NumberedNames("n", (range(64),)), 1e9, bandwidth_bytes_per_s=1e10, latency_s=1e-6)
    >>> machine = Description("a lattice", HyperX(hosts, dimensions=(4, 4), hosts_per_switch=4)).build()
    >>> machine.route(0, 63).link_names
    ('c_link_0_UP', 'c_switch_0_3_cable_0_UP', 'c_switch_3_15_cable_0_UP', 'c_link_63_DOWN')
    """

    cluster: Cluster
    dimensions: tuple[int, ...]
    hosts_per_switch: int
    cables: tuple[int, ...] = ()
    routing: Literal["dimension_order", "valiant", "adaptive"] = "dimension_order"
    seed: int = 0
    link_classes: tuple[LinkClass, ...] = ()

    @classmethod
    def from_settings(cls, settings: TomlTable, hosts: WantedHosts) -> HyperX:
        """The HyperX of kind = "hyperx", with `dimensions` such as "8x8x4"; as many hosts a switch as are needed.

        With `ports` in place of dimensions it is that of `switched_lattice`.
        """
        if settings.is_written("ports"):
            usual = _usual_shape(settings, hosts.needed if hosts.count is None else hosts.count)
            dimensions, hosts_per_switch, cables = usual.dimensions, usual.hosts_per_switch, usual.cables
        else:
            dimensions = settings.integers("dimensions")
            fitting = None if hosts.count is None else -(-hosts.count // prod(dimensions))
            hosts_per_switch = settings.integer("hosts_per_switch", fitting, most=COUNT_MAX)
            cables = settings.integers("cables", ())
        cluster = hosts.cluster_within(prod(dimensions) * hosts_per_switch)
        classes = [_class(dimension) for dimension in range(len(dimensions))]
        return cls(
            cluster,
            dimensions,
            hosts_per_switch,
            cables,
            cast(
                "Literal['dimension_order', 'valiant', 'adaptive']", settings.choice("routing", ROUTINGS, ROUTINGS[0])
            ),
            settings.integer("seed", 0, least=0),
            read_link_classes(settings, classes, cluster),
        )

    @property
    def n_hosts(self) -> int:
        return self.cluster.n_hosts

    @property
    def n_switches(self) -> int:
        return prod(self.dimensions)

    @property
    def n_wires(self) -> int:
        """Number of wires to hosts and between switches."""
        return self.n_hosts + sum(map(self._n_trunks, range(len(self.dimensions))))

    @property
    def parts_list(self) -> PartsList:
        trunks = sum((size - 1) * cables for size, cables in zip(self.dimensions, self._cables, strict=True))
        return cluster_parts(
            self.cluster,
            [SwitchParts(self.n_switches, self.hosts_per_switch + trunks)],
            [
                CableParts(
                    self._n_trunks(d), 2, class_bandwidth_bytes_per_s(self.link_classes, _class(d), self.cluster)
                )
                for d in range(len(self.dimensions))
            ],
            cables_per_host=1,
        )

    @property
    def longest_route_links(self) -> int | None:
        if (
            self.routing != "dimension_order"
            or self.cluster.limiter_bandwidth_bytes_per_s
            or self.n_hosts < self._n_places
        ):
            return None
        return 2 + sum(size > 1 for size in self.dimensions) if self.n_hosts > 1 else 0

    @property
    def bisection_bandwidth_bytes_per_s(self) -> float | None:
        """Bandwidth of the cables between two halves of the switches, or of half of the hosts' wires if less."""
        if (
            self.cluster.limiter_bandwidth_bytes_per_s
            or self.n_hosts < self._n_places
            or not self.cluster.has_equal_wires
        ):
            return None
        lines = [
            size**2 // 4 * cables * relative_bandwidth(self.link_classes, _class(dimension), self.cluster)
            for dimension, (size, cables) in enumerate(zip(self.dimensions, self._cables, strict=True))
        ]
        inside = self.hosts_per_switch // 2 if self.n_switches % 2 else 0  # of the switch that is halved itself
        n_wires = min(halving_cut(self.dimensions, lines) + inside, self.n_hosts // 2)
        return self.cluster.rails * self.cluster.bandwidth_bytes_per_s * n_wires

    def to_settings(self) -> dict[str, object]:
        return {
            "kind": "hyperx",
            "dimensions": self.dimensions,
            "hosts_per_switch": self.hosts_per_switch,
            **({"cables": self.cables} if self.cables else {}),
            "routing": self.routing,
            "seed": self.seed,
            **link_class_settings(self.link_classes),
        }

    def build(self, builder: PlatformBuilder, zone: str | None) -> None:
        self._check()
        builder.check_room(f"HyperX {self.cluster.name!r}", 0, 2 * self.n_wires)
        shape = self.dimensions, self._cables, self.hosts_per_switch
        network = builder.networks.hyperx(*shape, self.routing, self.seed)
        trunks = [WireKind(_class(dimension), self._n_trunks(dimension)) for dimension in range(len(self.dimensions))]
        wires = [WireKind("", self.n_hosts), *trunks]
        own_wires = wire_blocks(f"HyperX {self.cluster.name!r}", self.link_classes, wires)
        builder.cluster(
            self.cluster,
            zone,
            network,
            link_name=self._link_name(),
            link_ends=self._link_ends(),
            own_wires=own_wires,
            wires_per_host=1,
        )

    @property
    def _n_places(self) -> int:
        return self.n_switches * self.hosts_per_switch

    @property
    def _cables(self) -> tuple[int, ...]:
        return self.cables or (1,) * len(self.dimensions)

    def _n_trunks(self, dimension: int) -> int:
        return self.n_switches * (self.dimensions[dimension] - 1) // 2 * self._cables[dimension]

    def _check(self) -> None:
        name = f"HyperX {self.cluster.name!r}"
        if not 1 <= len(self.dimensions) <= DIMENSIONS_MAX:
            raise PlatformError(f"{name} has {len(self.dimensions)} dimensions: it needs 1 to {DIMENSIONS_MAX}")
        if len(self._cables) != len(self.dimensions):
            raise PlatformError(
                f"{name} has {len(self.dimensions)} dimensions and {len(self.cables)} numbers of cables: give one of "
                "each a dimension"
            )
        if min(*self.dimensions, *self._cables, self.hosts_per_switch) < 1:
            raise PlatformError(f"{name} has a 0 among its numbers: switches, cables and hosts are at least 1")
        if max(*self._cables, self.hosts_per_switch) > COUNT_MAX:
            raise PlatformError(f"{name} is too large: there can be {COUNT_MAX:,} cables and hosts")
        if self._n_places < self.n_hosts:
            product = " x ".join(map(str, self.dimensions))
            raise PlatformError(
                f"{name} has {self.n_hosts} hosts and its shape {product} switches x {self.hosts_per_switch} = "
                f"{self._n_places} places: change its hosts, its dimensions or its hosts a switch"
            )
        if self.cluster.backbone_bandwidth_bytes_per_s:
            raise PlatformError(f"{name} has a backbone: only flat clusters have one, remove it")
        if self.routing not in ROUTINGS:
            raise PlatformError(f"{name} has routing {self.routing!r}: give one of {', '.join(ROUTINGS)}")
        if not 0 <= self.seed < 2**64:
            raise PlatformError(f"{name} has seed {self.seed}: give a number from 0 to 2**64 - 1")

    def _link_name(self) -> LinkNamer:
        """The name of the i-th link; a cable between switches is named after them, the one it goes up from first."""
        cluster, trunk = self.cluster, self._nodes_of_trunks()
        numbers = cluster.hosts.numbers

        def wire(number: int, half: str) -> str:
            if number < self.n_hosts:
                return f"{cluster.name}_link_{numbers[number]}{half}"
            a, b, cable = trunk(number)
            return f"{cluster.name}_switch_{a}_{b}_cable_{cable}{half}"

        return cluster_link_name(cluster, self.n_wires, wire, self.n_hosts, lambda number: numbers[number])

    def _link_ends(self) -> LinkEndsOf:
        trunk = self._nodes_of_trunks()

        def wire(number: int) -> WireEnds:
            if number < self.n_hosts:
                return WireEnds(number, f"switch {number // self.hosts_per_switch}")
            a, b, cable = trunk(number)
            return WireEnds(f"switch {a}", f"switch {b}", cable if max(self._cables) > 1 else None)

        return cluster_link_ends(self.cluster, self.n_wires, wire)

    def _nodes_of_trunks(self) -> Callable[[int], tuple[int, int, int]]:
        """Numbers of the switches that a cable between switches joins, and its number among parallel ones."""
        sizes, cables = self.dimensions, self._cables
        strides = [1, *accumulate(sizes, mul)]
        first_wire = [*accumulate(map(self._n_trunks, range(len(sizes))), initial=self.n_hosts)]

        def trunk(number: int) -> tuple[int, int, int]:
            d = bisect_right(first_wire, number) - 1
            rest, cable = divmod(number - first_wire[d], cables[d])
            line, pair = divmod(rest, sizes[d] * (sizes[d] - 1) // 2)
            j = (1 + isqrt(1 + 8 * pair)) // 2
            i = pair - j * (j - 1) // 2
            high, low = divmod(line, strides[d])
            corner = low + strides[d] * sizes[d] * high  # of the line: coordinate 0
            return corner + strides[d] * i, corner + strides[d] * j, cable

        return trunk


def _usual_shape(settings: TomlTable, n_hosts: int) -> LatticeShape:
    for key in ("dimensions", "hosts_per_switch", "cables"):
        if settings.is_written(key):
            raise settings.error("ports", f"{key} says it: keep one or the other")
    try:
        return switched_lattice(n_hosts, settings.integer("ports", least=2, most=PORTS_MAX))
    except ValueError as wrong:
        raise settings.error("ports", str(wrong)) from None


def _class(dimension: int) -> str:
    """The name of the class of wires between switches that differ in a dimension."""
    return f"dimension{dimension}"
