"""Finds the machine that a user names: a platform file, a preset, or one line."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from smpy.errors import PlatformError, PlatformWarning, meant
from smpy.input_files import read_input
from smpy.platforms.description import Description
from smpy.platforms.gc_pause import collection_paused
from smpy.platforms.models.collective_tables import with_table
from smpy.platforms.models.network_models import Network, Wire
from smpy.platforms.models.networks import DESCRIBED
from smpy.platforms.presets import preset_file, preset_names
from smpy.platforms.simgrid.options import with_options
from smpy.platforms.topologies import topology_names

if TYPE_CHECKING:
    from smpy.engine.platform import Platform
    from smpy.platforms.own_format.changes import SettingChange
    from smpy.platforms.own_format.settings import Tree
    from smpy.platforms.own_format.wanted_hosts import RunSize


def read_machine(
    what: str | Path,
    n_ranks: int,
    options: Iterable[tuple[str, str]] = (),
    *,
    ranks_per_host: int = 0,
    cpus_per_task: int = 1,
    network: str | None = None,
) -> Description:
    """The machine of a name, a file, or one line.

    Parameters
    ----------
    what : str or path
        A file, in SimGrid's XML, in our TOML or of Dimemas'; the name of a preset; or one line, such as "fat-tree
        hosts=100 nic=100Gb/s". A path is a file.
    n_ranks : int
        Number of ranks that will run: a machine that does not give its number of hosts is sized to them.
    options : iterable of (str, str)
        Keys and values that override the machine's: dotted keys are the machine's, keys with a slash SimGrid's.
    ranks_per_host : int
        Largest number of ranks on a host; 0: as many as it has cores for.
    cpus_per_task : int
        Cores of each rank.
    network : str, optional
        Name of a network model (`smpy.platforms.models.networks.with_network`) in place of the machine's own.

    Raises
    ------
    UsageError
        If an option cannot be applied.
    PlatformError
        If nothing is meant by it, the file cannot be read, or it describes no machine.

    Examples
    --------
    >>> read_machine("default", 4096)
    <Description of the default cluster: 32 hosts>
    >>> read_machine("flat hosts=16 cores=8 nic=25Gb/s", 128)
    <Description of flat hosts=16 cores=8 nic=25Gb/s: 16 hosts>
    """
    changes, simgrid_options = _split(options)
    if isinstance(what, str) and not what.strip():
        raise PlatformError(f"no machine is named by {what!r}{_instead()}")
    path = machine_file(what)
    data = None if path is None else _content(path)
    if path is not None and data is not None and _is_xml(path, data):
        from smpy.platforms.simgrid.reader import read_simgrid_xml  # a run reads one of the formats

        with collection_paused():
            machine = _changed_alike(read_simgrid_xml(path, simgrid_options, data, network=network), changes)
    else:
        from smpy.platforms.own_format.wanted_hosts import RunSize

        run_size = RunSize(n_ranks, ranks_per_host, cpus_per_task)
        machine = _in_own_format(path, data, str(what), changes, run_size)
        machine = replace(machine, models=with_options(machine.models, simgrid_options, network=network))
    _warn_of_other_networks(changes, machine.models.network)
    return on_own_links(machine)


def _in_own_format(
    path: Path | None, data: bytes | None, line: str, changes: list[SettingChange], run_size: RunSize
) -> Description:
    """The machine of a TOML file, of one of Dimemas', of a preset or of one line."""
    from smpy.platforms.own_format.describe import describe
    from smpy.platforms.own_format.one_line import SHORT_KEYS, read_one_line
    from smpy.platforms.own_format.toml_reader import read_toml

    short_keys: tuple[str, ...] = ()
    if path is not None:
        tree, origin = _tree(path, data), str(path)
    elif preset := preset_file(line):
        tree, origin = read_toml(preset, named=preset_file), str(preset)
    elif (word := line.split(maxsplit=1)[0]) in preset_names():
        raise PlatformError(
            f"{line!r}: {word!r} is a preset, which takes no words behind it: change it by --set, as in "
            f"--platform {word} --set host.count=64"
        )
    else:
        tree, origin, short_keys = read_one_line(line), repr(line), tuple(SHORT_KEYS)
    if changes:
        from smpy.platforms.own_format.changes import apply_changes

        changes = apply_changes(tree, changes)
    machine = _changed_alike(describe(tree, line, origin, run_size, short_keys), changes)
    return machine if data is None else replace(machine, sha256=sha256(data).hexdigest())


def _tree(path: Path, data: bytes | None) -> Tree:
    """Settings of a file in our format, or in that of Dimemas."""
    if data is not None and (path.suffix.lower() == ".cfg" or data.startswith(b"#DIMEMAS_CONFIGURATION")):
        from smpy.platforms.dimemas_format import read_dimemas  # few runs have one

        return read_dimemas(path, data)
    from smpy.platforms.own_format.toml_reader import read_toml

    return read_toml(path, data, named=preset_file)


def changed(machine: Description, options: Iterable[tuple[str, str]], *, network: str | None = None) -> Description:
    """A machine created in Python, with options and a network model applied.

    Raises
    ------
    UsageError
        If an option cannot be applied.
    """
    changes, simgrid_options = _split(options)
    machine = _changed_alike(machine, changes)
    machine = replace(machine, models=with_options(machine.models, simgrid_options, network=network))
    _warn_of_other_networks(changes, machine.models.network)
    return on_own_links(machine)


def _warn_of_other_networks(changes: Iterable[SettingChange], network: Network) -> None:
    """Warn of changes to the numbers of a network model that does not time this machine."""
    for change in changes:
        model = change.key.partition(".")[0]
        if model in DESCRIBED and not isinstance(network, DESCRIBED[model]):
            message = f"--set {change.key} is ignored: the network model is {network.name}; --network {model} takes it"
            warnings.warn_explicit(message, PlatformWarning, "smpy", 1)


def on_own_links(machine: Description) -> Description:
    """A machine whose network model has its missing numbers filled in, from the machine's links and call costs.

    The route from its first host to its last one stands for all.

    Raises
    ------
    PlatformError
        If it has no such route.
    """
    models = machine.models
    if not models.network.lacking():
        return machine
    loopback = {
        name: getattr(models.network, name) for name in ("loopback_bandwidth_bytes_per_s", "loopback_latency_s")
    }
    built = replace(machine, models=replace(models, network=Network(**loopback))).build()
    last = built.n_hosts - 1
    network = models.network.on_links(_wire(built, last), _wire(built, 0), models.sends)
    return replace(machine, models=replace(models, network=network))


def _wire(platform: Platform, last: int) -> Wire:
    """Route from the first host to another one, or to itself."""
    links, latency_s = platform.route_links(0, last)
    narrowest = min((platform.link(link)[0] for link in links), default=0.0)
    return Wire(f"{platform.host_names[0]} to {platform.host_names[last]}", latency_s, narrowest)


def _split(options: Iterable[tuple[str, str]]) -> tuple[list[SettingChange], list[tuple[str, str]]]:
    """The options of the machine, and SimGrid's; few runs have any."""
    pairs = list(options)
    if not pairs:
        return [], []
    from smpy.platforms.own_format.changes import split_options

    return split_options(pairs)


def _changed_alike(machine: Description, changes: list[SettingChange]) -> Description:
    if not changes:
        return machine
    from smpy.platforms.own_format.changes import changed_alike

    return changed_alike(machine, changes)


def with_kernels(machine: Description, path: Path) -> Description:
    """A machine with its kernel costs, or its efficiencies of threads, replaced by those of a calibration.

    Raises
    ------
    PlatformError
        If the file cannot be read, or has neither [kernels] nor [threads].
    """
    from smpy.platforms.own_format.kernels import read_kernels
    from smpy.platforms.own_format.settings import TomlTable
    from smpy.platforms.own_format.threads import read_threads
    from smpy.platforms.own_format.toml_reader import read_toml

    settings = TomlTable("", read_toml(path, named=preset_file), str(path))
    kernels = settings.table("kernels")
    costs = read_kernels(kernels)
    kernels.check_keys()
    threads = read_threads(settings.table("threads"))
    if costs is None and not threads:
        raise PlatformError(f"{path}: it has no [kernels]: `smpy calibrate blas` writes such a file")
    machine = replace(machine, threads=threads or machine.threads)
    if costs is None:
        return machine
    return replace(machine, kernels=costs, calibration=settings.table("calibration").unchecked_content())


def with_collectives(machine: Description, named: str) -> Description:
    """A machine with another table of collectives, given by name or file.

    Raises
    ------
    UsageError
        If the file cannot be read.
    """
    models = machine.models
    return replace(machine, models=replace(models, collectives=with_table(models.collectives, named)))


def machine_file(what: str | Path) -> Path | None:
    """The named file; None if the name is a preset or a one-line machine."""
    if isinstance(what, str) and (preset_file(what) is not None or _is_line(what)):
        return None
    return Path(what)


def _is_line(text: str) -> bool:
    """Whether it is one line rather than a file: it has several words, or begins as a one-line machine does."""
    words = text.split()
    if not words or text.lower().endswith((".xml", ".toml", ".cfg")) or _exists(text):
        return False
    return len(words) > 1 or "=" in text or words[0] in topology_names("machine", words[0])


def _exists(text: str) -> bool:
    try:
        return Path(text).exists()
    except (OSError, ValueError):
        return False


def _content(path: Path) -> bytes:
    try:
        return read_input(path, "platform file")
    except OSError as wrong:
        raise PlatformError(f"cannot read platform file {str(path)!r}: {wrong.strerror}{_meant(path)}") from None


def _meant(path: Path) -> str:
    """Suggest names close to one that is no file."""
    if path.suffix:
        return ""
    return f"{_instead()}{meant(str(path).lower(), [*preset_names(), *sorted(topology_names('machine'))])}"


def _instead() -> str:
    """All names of machines."""
    presets, kinds = preset_names(), sorted(topology_names("machine"))
    return (
        f". A machine is FILE.xml, FILE.toml, FILE.cfg, a preset ({', '.join(presets)}), or one line such as "
        f'"fat-tree hosts=100 cores=64 nic=200Gb/s" (it begins with {", ".join(kinds)})'
    )


def _is_xml(path: Path, data: bytes) -> bool:
    """Format of a file, by its suffix or its first characters."""
    ending = path.suffix.lower()
    return ending == ".xml" or (ending != ".toml" and data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"<")
