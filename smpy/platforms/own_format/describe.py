"""Makes the description of a machine from its settings: the tables [host], [nic], [topology], [network], [mpi], ....

[storage] has disks, [kernels] costs of computing, [calibration] the origin of such numbers, and [price] and [power] the
costs of buying and running the machine. A missing key has the value of the default cluster.
"""

from __future__ import annotations

from collections.abc import Iterable

from smpy.platforms.description import Description
from smpy.platforms.own_format.hosts import read_hosts
from smpy.platforms.own_format.kernels import read_kernels
from smpy.platforms.own_format.models import read_described, read_models
from smpy.platforms.own_format.prices import read_prices
from smpy.platforms.own_format.settings import TomlTable, Tree
from smpy.platforms.own_format.storage import read_storage
from smpy.platforms.own_format.threads import read_threads
from smpy.platforms.own_format.wanted_hosts import RunSize
from smpy.platforms.topologies import topology_named, topology_names


def describe(tree: Tree, name: str, origin: str, run_size: RunSize, short_keys: Iterable[str] = ()) -> Description:
    """The machine of a tree of settings.

    Parameters
    ----------
    tree : dict
        Its settings.
    name : str
        Name of the machine, unless its settings give one.
    origin : str
        Place of the description, for errors about missing keys.
    run_size : RunSize
        Size of the run: a machine that does not give its number of hosts is sized to it.
    short_keys : iterable of str
        Keys of other tables that stand among the topology's where it is described, for suggestions.

    Raises
    ------
    PlatformError
        If a setting is unknown or wrong.
    """
    machine = TomlTable("", tree, origin)
    named = machine.text("name", name)
    machine.text("about", "")
    machine.value("sources")
    fills_hosts = machine.flag("fills_hosts", True)
    hosts = read_hosts(machine).for_run(run_size)
    topology = machine.table("topology", tuple(short_keys))
    names = topology_names("machine", topology.text("kind", "fat-tree"))
    kind = topology.choice("kind", names, "fat-tree")
    hosts = hosts.with_name(topology.text("name", "cluster"))
    zone = topology_named("machine", kind).kind.from_settings(topology, hosts)
    models = read_models(machine.table("network"), machine.table("mpi"), read_described(machine))
    kernels, calibration = read_kernels(machine.table("kernels")), machine.table("calibration").unchecked_content()
    prices = read_prices(machine)
    storage = read_storage(machine.table("storage"))
    threads = read_threads(machine.table("threads"))
    machine.check_keys()
    return Description(
        *(named, zone, models),
        fills_hosts=fills_hosts,
        origin=origin,
        kernels=kernels,
        calibration=calibration,
        prices=prices,
        storage=storage,
        threads=threads,
    )
