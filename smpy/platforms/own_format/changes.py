"""The changes that a run makes to its machine, --set KEY=VALUE with dotted keys.

A key such as link[NAME].bandwidth changes single links or hosts of any machine (`smpy.platforms.part_changes`). Keys of
`ALIKE` change every link between hosts, or every host, of any machine: to a value, or by a factor such as x2.
In our own formats every other key of the machine can be set, too; x2 multiplies the number that it has or defaults to.
A key such as host.gpu.memory_bandwidth changes the devices of all hosts of any machine.
A key of [price] or [power] that ends in a question mark is for a machine that does not say it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, Final, Literal, NamedTuple, cast

from smpy.errors import UsageError, meant
from smpy.platforms.declared_parts import ProfileConnection
from smpy.platforms.description import Description
from smpy.platforms.models.machine_models import Models
from smpy.platforms.models.network_models import Network, parameters_of
from smpy.platforms.models.networks import DESCRIBED
from smpy.platforms.own_format.devices import device_number, is_device_key, with_devices
from smpy.platforms.own_format.models import with_settings
from smpy.platforms.own_format.power_changes import HOST_POWER_KEYS, with_host_power
from smpy.platforms.own_format.prices import PRICE_TABLES, prices_in
from smpy.platforms.own_format.settings import TomlTable, TomlValue, Tree, number_of, put, quantity_of
from smpy.platforms.part_changes import DEVICE_PREFIX, QUANTITIES, PartChange
from smpy.platforms.profiles import Changing, Profile
from smpy.units import parse_bandwidth_bytes_per_s, parse_speed_flop_per_s, parse_time_s

_PART: Final = re.compile(r"(link|switch|host)\[(.*)\]\.((?:gpu\.)?\w+)", re.DOTALL)


class SettingChange(NamedTuple):
    """One KEY=VALUE with a dotted key."""

    key: str
    value: str

    def setting(self) -> TomlValue:
        """The value and its origin; for a factor such as x2, the factor alone."""
        origin = f"--set {self.key}={self.value}"
        match = re.fullmatch(r"x((?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)", self.value.strip(), re.ASCII)
        if match is None:
            return TomlValue(self.value, origin, self.key)
        return TomlValue(None, origin, self.key, factor=float(match[1]))

    def part_change(self) -> PartChange | None:
        """The change of single links or hosts that it is; None: it is another one.

        Raises
        ------
        UsageError
            If they have no such number.
        PlatformError
            If the value cannot be read.
        """
        part = _PART.fullmatch(self.key)
        if part is None:
            return None
        pattern, quantity = part[2], part[3]
        kind = cast('Literal["link", "switch", "host"]', part[1])
        known = QUANTITIES[kind]
        if quantity not in known:
            raise UsageError(
                f"--set {self.key}={self.value}: of a single {kind}, "
                f"{' and '.join([', '.join(known[:-1]), known[-1]])} can be set"
                f"{meant(quantity, known)}"
            )
        setting, device_key = self.setting(), quantity.removeprefix(DEVICE_PREFIX)
        if device_key != quantity:
            number = device_number(device_key, setting)
        elif setting.value is None:
            number = setting.factor
        else:
            number = ALIKE[f"{'host' if kind == 'host' else 'network'}.{quantity}"].read(setting)
        return PartChange(kind, pattern, quantity, number, is_factor=setting.value is None)


class _Alike(NamedTuple):
    """Numbers that a key changes in every part of a machine, by field name, and their profiles."""

    fields: re.Pattern[str]
    read: Callable[[TomlValue], float]
    profile_of: Changing | None = None
    is_whole: bool = False
    can_be_new: bool = False  # in a part without one, the number is 0


ALIKE: Final = {
    "network.bandwidth": _Alike(
        re.compile(r"(?!loopback|memory|core_)\w*bandwidth(_in|_out)?_bytes_per_s"),
        lambda setting: quantity_of(setting, parse_bandwidth_bytes_per_s, "200Gb/s"),
        Changing.BANDWIDTH,
    ),
    "network.latency": _Alike(
        re.compile(r"(?!loopback)\w*latency_s"),
        lambda setting: quantity_of(setting, parse_time_s, "1us"),
        Changing.LATENCY,
    ),
    "host.speed": _Alike(
        re.compile("speed_flop_per_s"), lambda setting: quantity_of(setting, parse_speed_flop_per_s, "50Gf")
    ),
    **{
        f"host.{key}": _Alike(
            re.compile(f"{key}_bytes_per_s"),
            lambda setting: quantity_of(setting, parse_bandwidth_bytes_per_s, "400GB/s"),
            can_be_new=True,
        )
        for key in ("memory_bandwidth", "core_memory_bandwidth")
    },
    "host.cores": _Alike(re.compile("cores"), number_of, is_whole=True),
}
KIND: Final = "topology.kind"
_TABLES: Final = ", ".join(f"[{name}]" for name in (*PRICE_TABLES, *DESCRIBED))


def split_options(options: Iterable[tuple[str, str]]) -> tuple[list[SettingChange], list[tuple[str, str]]]:
    """Options of the machine, which have dotted keys, and SimGrid's, whose keys have a slash.

    Raises
    ------
    UsageError
        If a key is neither.
    """
    changes, others = [], []
    for key, value in options:
        if "/" in key and not _PART.fullmatch(key):
            others.append((key, value))
        elif "." in key:
            changes.append(SettingChange(key, value))
        else:
            raise UsageError(
                f"--set {key}={value}: {key!r} is neither a dotted key of the machine, such as host.cores, nor one of "
                "SimGrid's, such as smpi/os"
            )
    return changes, others


def apply_changes(tree: Tree, changes: Iterable[SettingChange]) -> list[SettingChange]:
    """Apply the changes of settings; remaining ones change every link, or every host of all groups.

    Raises
    ------
    PlatformError
        If a key is that of a table.
    """
    left = []
    for change in sorted(changes, key=lambda change: change.key != KIND):  # first the changes that disable other keys
        if change.key == KIND:
            tree[KIND.partition(".")[0]] = {}
        is_of_part = _PART.fullmatch(change.key) is not None
        if (
            is_of_part
            or change.key.endswith("?")
            or is_device_key(change.key)
            or (change.key in ALIKE and (change.key.startswith("network.") or "group" in tree))
        ):
            left.append(change)
            continue
        setting, before = change.setting(), _found(tree, change.key)
        if setting.value is None and isinstance(before, TomlValue):
            setting = replace(setting, value=before.value, folder=before.folder, factor=before.factor * setting.factor)
        put(tree, change.key, setting)
    return left


def _found(tree: Tree, path: str) -> TomlValue | Tree | None:
    inner: TomlValue | Tree | None = tree
    for part in path.split("."):
        inner = inner.get(part) if isinstance(inner, dict) else None
    return inner


def changed_alike(machine: Description, changes: Sequence[SettingChange]) -> Description:
    """The machine with every link, or every host, changed.

    Raises
    ------
    UsageError
        If a key means neither.
    PlatformError
        If a value cannot be read, or a number gets out of range.
    """
    priced: Tree = {}
    lacking: Tree = {}
    of_hosts: Tree = {}
    described: Tree = {}
    for change in changes:
        if (part_change := change.part_change()) is not None:
            if part_change.kind != "host":
                _check_links_matter(machine.models.network, change)
            machine = replace(machine, part_changes=(*machine.part_changes, part_change))
            continue
        table, _, key = change.key.removesuffix("?").partition(".")
        if table in PRICE_TABLES or is_device_key(change.key):
            is_of_hosts = key in HOST_POWER_KEYS if table == "power" else table == "host"
            into = lacking if change.key.endswith("?") else of_hosts if is_of_hosts else priced
            put(into, f"{table}.{key}", change.setting())
            continue
        if table in DESCRIBED:
            put(described, change.key, change.setting())
            continue
        if change.key not in ALIKE:
            raise UsageError(
                f"--set {change.key}={change.value}: of a machine that no file of ours describes, only "
                f"{', '.join(ALIKE)} and the keys of {_TABLES} can be set{meant(change.key, ALIKE)}"
            )
        _check_links_matter(machine.models.network, change)
        machine = replace(machine, zone=_changed(machine.zone, change.setting(), ALIKE[change.key]))
    if described:
        machine = replace(machine, models=_with_described(machine.models, TomlTable("", described, "--set")))
    if of_hosts:
        machine = _with_host_settings(machine, of_hosts)
    if priced:
        machine = replace(machine, prices=prices_in(priced, "--set").with_defaults(machine.prices))
    if lacking:
        others = prices_in(lacking, "--set").unless_noted(
            machine.parts_list.property_names if machine.parts_list else ()
        )
        machine = replace(machine, prices=machine.prices.with_defaults(others))
    return machine


def _with_host_settings(machine: Description, of_hosts: Tree) -> Description:
    """A machine whose hosts have other power, or other devices."""
    settings = TomlTable("", of_hosts, "--set")
    if "power" in of_hosts:
        machine = with_host_power(machine, settings.table("power"))
    return with_devices(machine, settings.table("host").table("gpu")) if "host" in of_hosts else machine


def _check_links_matter(network: Network, change: SettingChange) -> None:
    """Refuse to change links under a model without links that has all its numbers."""
    if (
        change.key.startswith(("network.", "link[", "switch["))
        and type(network) in DESCRIBED.values()
        and not network.lacking()
    ):
        keys = ", ".join(f"{network.name}.{each.key}" for each in parameters_of(type(network)))
        raise UsageError(
            f"--set {change.key}={change.value}: the network model {network.name} of this machine knows no links, and "
            f"that would change nothing: set {keys}"
        )


def _with_described(models: Models, settings: TomlTable) -> Models:
    """Models with parameters of networks that a machine may describe; the one that times it may be among them."""
    described = {type(each): each for each in models.described}
    for name, model in DESCRIBED.items():
        base = models.network if type(models.network) is model else described.get(model, model())
        if (changed := with_settings(base, settings.table(name))) != base:
            described[model] = changed
    settings.check_keys()
    network = described.get(type(models.network), models.network)
    return replace(models, network=network, described=tuple(described.values()))


def _changed(part: Any, setting: TomlValue, alike: _Alike) -> Any:
    """A part, with everything in it, after a change of all numbers of one unit; a missing link stays missing."""
    if type(part) is tuple:
        return tuple(_changed(inside, setting, alike) for inside in part)
    if not is_dataclass(part) or isinstance(part, type):
        return part
    is_latency = alike.profile_of is Changing.LATENCY
    if is_latency and setting.value is not None:
        _check_latency_is_of_links(part, setting)
    new = {}
    for field in fields(part):
        before = getattr(part, field.name)
        if alike.fields.fullmatch(field.name):
            carrier = field.name.replace("latency_s", "bandwidth_bytes_per_s")
            is_there = before is not None and (alike.can_be_new or getattr(part, carrier, None) != 0)
            after = _number(before, setting, alike) if is_there else before
        elif field.name == "coordinates" and is_latency and before is not None:
            after = tuple(number * setting.factor for number in before)
        elif isinstance(before, Profile):
            is_of_it = _profiled(part, field.name) is alike.profile_of
            after = _followed(before, setting) if is_of_it else before
        else:
            after = _changed(before, setting, alike)
        if after is not before:
            new[field.name] = after
    return replace(part, **new) if new else part


def _check_latency_is_of_links(part: Any, setting: TomlValue) -> None:
    from smpy.platforms.topologies.vivaldi import VivaldiZone

    if isinstance(part, VivaldiZone):
        raise setting.error("the latency between hosts of a Vivaldi zone is their distance: multiply it, as in x2")


def _profiled(part: Any, name: str) -> Changing | None:
    """Quantity whose profile the field holds; None if the field has no profile."""
    if isinstance(part, ProfileConnection):
        return part.what
    return {"bandwidth_profile": Changing.BANDWIDTH, "latency_profile": Changing.LATENCY}.get(name)


def _followed(profile: Profile, setting: TomlValue) -> Profile:
    """A profile with all values multiplied."""
    if setting.value is not None:
        raise setting.error("a link follows a profile: multiply it, as in x2, or change the profile")
    return replace(profile, values=tuple((date_s, value * setting.factor) for date_s, value in profile.values))


def _number(before: float, setting: TomlValue, alike: _Alike) -> float:
    """A changed number."""
    if alike.can_be_new and before == 0 and setting.value is None:
        what = setting.key.rpartition(".")[2].replace("_", " ")
        raise setting.error(f"a host has no {what}, and nothing times a factor is nothing: give its value")
    after = before * setting.factor if setting.value is None else alike.read(setting)
    is_zero_fine = alike.profile_of is Changing.LATENCY
    if not (0 < after < math.inf or (after == 0 and is_zero_fine)):
        raise setting.error(f"it makes {after:g} of {before:g}, which is out of range")
    if not alike.is_whole:
        return after
    if not float(after).is_integer():
        raise setting.error(f"it makes {after:g} of {before:g}, which is no whole number")
    return int(after)
