"""A machine as plain data: made in Python or read from a file, compared, printed, sent to another process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from smpy.errors import PlatformError
from smpy.platforms.canonical import canonical_text
from smpy.platforms.gc_pause import collection_paused
from smpy.platforms.models.machine_models import SMPI_MODELS, Models
from smpy.platforms.models.prices import NO_PRICES, Prices
from smpy.platforms.parts import Zone

if TYPE_CHECKING:
    from smpy.engine.platform import Platform
    from smpy.platforms.declared_parts import ProfileConnection
    from smpy.platforms.models.kernel_costs import KernelCosts
    from smpy.platforms.models.storage import Storage
    from smpy.platforms.models.thread_efficiency import ThreadEfficiency
    from smpy.platforms.part_changes import PartChange
    from smpy.platforms.parts_list import PartsList


@dataclass(frozen=True, slots=True, repr=False)
class Description:
    """A machine as plain data.

    Parameters
    ----------
    name : str
        Name of the machine: its file, or a few words; machines that differ in nothing else are equal.
    zone : Zone
        The outermost zone: a topology of `smpy.platforms.topologies`.
    models : Models
        Costs of messages and calls, and the choice of collective algorithms.
    fills_hosts : bool
        Whether ranks without a hostfile fill a host until each of its cores has one, rather than go to each host in
        turn.
    sha256 : str or None
        Hash of the content of its file, if it has one; two machines that differ in nothing else are equal.
    connections : tuple of ProfileConnection
        Hosts and links whose own parts do not say which profiles they follow.
    kernels : KernelCosts or None
        Costs of computing kernels on a core; None: none is known.
    calibration : mapping of str to object
        Origin of these numbers, from its file; machines that differ in nothing else are equal.
    prices : Prices
        Prices and power of its parts, beside the properties of single hosts; machines that differ in nothing else
        are equal.
    storage : Storage or None
        Storage of all files, beside the disks of single hosts; None: none is known.
    part_changes : tuple of PartChange
        Changes of single links and hosts, by name, in their order.
    threads : tuple of ThreadEfficiency
        Parallel efficiencies of kernels that are computed in several threads; of others it is 1.

    Examples
    --------
    >>> from smpy.platforms import Host, Description
    >>> from smpy.platforms.topologies.full import FullZone
    >>> desk = Description("a desk", FullZone("desk", (Host("mine", speed_flop_per_s=1e9, cores=8),)))
    >>> desk
    <Description of a desk: 1 host>
    >>> desk.build()
    <Platform a desk: 1 hosts, 1 links>
    """

    name: str = field(compare=False)
    zone: Zone
    models: Models = SMPI_MODELS
    fills_hosts: bool = False
    sha256: str | None = field(default=None, compare=False)
    origin: str = field(default="", kw_only=True, compare=False)
    connections: tuple[ProfileConnection, ...] = field(default=(), kw_only=True)
    kernels: KernelCosts | None = field(default=None, kw_only=True)
    calibration: Mapping[str, object] = field(default_factory=dict, kw_only=True, compare=False)
    prices: Prices = field(default=NO_PRICES, kw_only=True, compare=False)
    storage: Storage | None = field(default=None, kw_only=True)
    part_changes: tuple[PartChange, ...] = field(default=(), kw_only=True)
    threads: tuple[ThreadEfficiency, ...] = field(default=(), kw_only=True)

    @property
    def n_hosts(self) -> int:
        return self.zone.n_hosts

    @property
    def parts_list(self) -> PartsList | None:
        """Hosts, switches and cables, counted without building the machine; None if its topology has no formula.

        Examples
        --------
        >>> from smpy.platforms import read_machine
        >>> parts = read_machine("fat-tree children=16,32 parents=1,4", 1).parts_list
        >>> parts.n_hosts, parts.n_switches, parts.n_cables, parts.n_ports
        (512, 36, 640, 768)
        >>> parts.switches
        (SwitchParts(count=32, ports=20), SwitchParts(count=4, ports=32))
        """
        return self.zone.parts_list

    @property
    def fingerprint(self) -> str:
        """A hash of the machine, equal for equal machines however they were described, and in every version of smpy.

        It is the SHA-256 of a canonical text: every part by the name of its class, with the fields that differ from
        their defaults. It leaves out names, origins, hashes of files, and the price and power of hosts.
        """
        from hashlib import sha256  # runs that write no record need not import it

        parts = (self.zone, self.models, self.fills_hosts)
        others = self.connections, self.kernels, self.storage, self.part_changes, self.threads
        text = canonical_text((*parts, *(part for part in others if part)))
        return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()  # names may come from any bytes of a shell

    def build(self) -> Platform:
        """The machine as the kernel knows it.

        Raises
        ------
        PlatformError
            If its parts do not fit together, or this computer has no memory for it.
        """
        from smpy.engine.platform_builder import PlatformBuilder
        from smpy.engine.platform_refusals import located

        builder = PlatformBuilder(self.name, self.models)
        try:
            builder.check_room("the platform", self.n_hosts, 2 * self.n_hosts)
            builder.power.wire_w, builder.power.of_others = self.prices.link_w, self.prices.host_power
            with collection_paused():
                builder.add(self.zone)
                for connection in self.connections:
                    builder.add(connection)
                for change in self.part_changes:
                    builder.change(change)
            return builder.finish(fills_hosts=self.fills_hosts, sha256=self.sha256, storage=self.storage)
        except PlatformError as wrong:
            raise located(wrong, self.origin) from None

    def __repr__(self) -> str:
        return f"<Description of {self.name}: {self.n_hosts} host{'s' * (self.n_hosts != 1)}>"
