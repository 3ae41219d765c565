"""Reads prices and power of a machine's parts: the tables [price] and [power]."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from smpy.errors import PlatformError, meant
from smpy.platforms.models.power import PowerState
from smpy.platforms.models.prices import Prices
from smpy.platforms.own_format.settings import TomlTable, TomlValue, Tree, number_of, put, quantity_of, value_text
from smpy.platforms.own_format.toml_reader import read_toml
from smpy.platforms.presets import preset_file
from smpy.units import LARGEST, SMALLEST, parse_power_w, parse_speed_flop_per_s

PRICE_TABLES: Final = ("price", "power")
_NETWORK_EUR: Final = ("nic_eur", "switch_port_eur", "cable_eur", "switch_cable_eur", "kwh_eur")
_PORTS_MAX: Final = 1_000_000


def read_prices(machine: TomlTable) -> Prices:
    """Prices of a machine's network and energy, and its lifetime; prices of hosts are properties of the hosts.

    Raises
    ------
    PlatformError
        If a setting is wrong.
    """
    price, power = machine.table("price"), machine.table("power")
    numbers = {key: _number(price, key) for key in _NETWORK_EUR}
    years = price.number("lifetime_years", 1.0, is_positive=True)
    switch_w = power.quantity("switch", parse_power_w, "400W", 0.0)
    link_idle_w, link_busy_w = _link_w(power) or (None, None)
    return Prices(
        **numbers,
        switch_eur=_switch_eur(price),
        link_idle_w=link_idle_w,
        link_busy_w=link_busy_w,
        lifetime_years=years if price.is_written("lifetime_years") else None,
        switch_w=switch_w if power.is_written("switch") else None,
    )


def _switch_eur(price: TomlTable) -> float | tuple[tuple[int, float], ...] | None:
    """Price of a switch, or prices by number of ports: `{36 = 9000, 64 = 21000}`; None if it is missing."""
    written = price.by_size("switch_eur")
    if written is None or [ports.value for ports, _ in written] == ["0"]:
        return _number(price, "switch_eur")
    sizes = sorted((number_of(ports), number_of(eur)) for ports, eur in written)
    for ports, eur in sizes:
        if not (1 <= ports <= _PORTS_MAX and ports.is_integer()):
            raise price.error("switch_eur", f"a switch has 1 to {_PORTS_MAX:,} ports, not {ports:g}")
        if not 0 <= eur <= LARGEST:
            raise price.error("switch_eur", f"a switch of {ports:g} ports cannot cost {eur:g} EUR: give 0 or more")
    if len({ports for ports, _ in sizes}) < len(sizes):
        raise price.error("switch_eur", "a number of ports is there twice")
    return tuple((int(ports), eur) for ports, eur in sizes)


def read_host_power(power: TomlTable, idle_w: float = 0.0, busy_w: float = 0.0) -> tuple[float, float]:
    """Power in W of a host with all cores idle, and with all of them busy; the defaults are for missing keys.

    Raises
    ------
    PlatformError
        If a busy one draws less.
    """
    idle_w = power.quantity("idle", parse_power_w, "200W", idle_w)
    busy_w = power.quantity("busy", parse_power_w, "700W", busy_w)
    if busy_w == 0 < idle_w and not power.is_written("busy"):
        raise power.error("idle", f'an idle host draws {idle_w:g} W: say power.busy, too, such as "700W"')
    if busy_w < idle_w:
        key = "busy" if power.is_written("busy") else "idle"
        raise power.error(key, f"a host with all cores busy draws {busy_w:g} W, and an idle one {idle_w:g} W")
    return idle_w, busy_w


def read_power_states(power: TomlTable) -> tuple[PowerState, ...]:
    """States of hosts: `states = [{speed = "3Gf", idle = "90W", one_core = "110W", busy = "350W"}]`; none if missing.

    Raises
    ------
    PlatformError
        If one is wrong.
    """
    setting = power.value("states")
    if setting is None:
        return ()
    rows = setting.value
    example = '[{speed = "3Gf", idle = "90W", one_core = "110W", busy = "350W"}]'
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise setting.error(f"it is a list of tables, one for each state: write {example}")
    for key in ("idle", "one_core", "busy"):
        if power.is_written(key):
            raise power.error(key, "the states say it: keep one of the two")
    return tuple(_state(replace(setting, key=f"{setting.key}[{number}]"), row) for number, row in enumerate(rows))


def _state(place: TomlValue, row: dict[str, object]) -> PowerState:
    known = ("speed", "idle", "one_core", "busy")
    for key in row:
        if key not in known:
            raise place.error(f"unknown key {key!r}{meant(key, known) or ': a state takes ' + ', '.join(known)}")
    for key in ("speed", "idle", "busy"):
        if key not in row:
            raise place.error(f"{key} is missing")

    def number(key: str, parse: Callable[[str], float], example: str) -> float:
        setting = replace(place, key=f"{place.key}.{key}", value=row[key])
        value = quantity_of(setting, parse, example)
        if not 0 <= value <= LARGEST or (key == "speed" and value < SMALLEST):
            raise setting.error(f"{value:g} cannot be: give {'more than 0' if key == 'speed' else '0 or more'}")
        return value

    idle_w, busy_w = number("idle", parse_power_w, "90W"), number("busy", parse_power_w, "350W")
    epsilon_w = number("one_core", parse_power_w, "110W") if "one_core" in row else idle_w
    if busy_w < idle_w:
        raise place.error(f"a host with all cores busy draws {busy_w:g} W, and an idle one {idle_w:g} W")
    return PowerState(number("speed", parse_speed_flop_per_s, "3Gf"), idle_w, epsilon_w, busy_w)


def _link_w(power: TomlTable) -> tuple[float, float] | None:
    """Idle and busy power of a link in W, of `link = "2W:6W"`; None if it is missing."""
    setting = power.value("link")
    if setting is None:
        return None
    parts = setting.value.split(":") if isinstance(setting.value, str) else ()
    if len(parts) != 2:
        raise setting.error(f'{value_text(setting)} is not idle:busy: write it such as "2W:6W"')
    idle_w, busy_w = (quantity_of(replace(setting, value=part), parse_power_w, "2W:6W") for part in parts)
    if not 0 <= idle_w <= busy_w <= LARGEST:
        raise setting.error(f"an idle link draws {idle_w:g} W, and a busy one {busy_w:g} W: give 0 or more, and rising")
    return idle_w, busy_w


def read_price_list(prices: str | Path | Mapping[str, object]) -> Prices:
    """Prices and power of all parts, hosts among them, independent of a machine.

    Parameters
    ----------
    prices : str, path or mapping
        A TOML file or a preset with the tables [price] and [power]; or the keys of [price], and [power] as a table.

    Raises
    ------
    PlatformError
        If it cannot be read, or has none of the two tables.

    Examples
    --------
    >>> prices = read_price_list({"host_eur": 9000, "power": {"idle": "200W", "busy": "700W"}})
    >>> prices.host_eur, prices.host_busy_w, prices.cable_eur
    (9000.0, 700.0, None)
    """
    tree: Tree = {}
    origin = "prices"
    if isinstance(prices, Mapping):
        for key, value in prices.items():
            name = key if key.partition(".")[0] in PRICE_TABLES else f"price.{key}"
            _put_all(tree, {name: value})
    else:
        path = preset_file(str(prices)) or Path(prices)
        tree, origin = read_toml(path, named=preset_file), str(prices)
        if not any(table in tree for table in PRICE_TABLES):
            raise PlatformError(f"{origin}: it has neither [price] nor [power]")
        tree = {table: tree[table] for table in PRICE_TABLES if table in tree}
    return prices_in(tree, origin)


def prices_in(tree: Tree, origin: str) -> Prices:
    """Prices and power of all parts, from settings that contain nothing else.

    Raises
    ------
    PlatformError
        If a setting is unknown or wrong.
    """
    settings = TomlTable("", tree, origin)
    price, power = settings.table("price"), settings.table("power")
    hosts = Prices(host_eur=_number(price, "host_eur"), host_hour_eur=_number(price, "host_hour_eur"))
    network = read_prices(settings)
    idle_w, busy_w = read_host_power(power)
    if power.is_written("idle") or power.is_written("busy"):
        hosts = Prices(hosts.host_eur, hosts.host_hour_eur, host_idle_w=idle_w, host_busy_w=busy_w)
    settings.check_keys()
    return hosts.with_defaults(network)


def price_tables(prices: Prices) -> dict[str, dict[str, object]]:
    """Tables from which `read_prices` reads them."""
    price = {key: getattr(prices, key) for key in (*_NETWORK_EUR, "lifetime_years")}
    written: dict[str, object] = {key: number for key, number in price.items() if number is not None}
    if prices.switch_eur is not None:
        of_ports = prices.switch_eur if isinstance(prices.switch_eur, tuple) else None
        written["switch_eur"] = {str(n): eur for n, eur in of_ports} if of_ports else prices.switch_eur
    texts = {key.removeprefix("power.").removesuffix("?"): text for key, text in prices.power_settings.items()}
    power: dict[str, object] = {key: texts[key] for key in ("switch", "link") if key in texts}
    return {**({"price": written} if written else {}), **({"power": power} if power else {})}


def _number(price: TomlTable, key: str) -> float | None:
    """Number of a key; None if the key is missing."""
    number = price.number(key, 0.0)
    return number if price.is_written(key) else None


def _put_all(tree: Tree, tables: Mapping[str, object], above: str = "") -> None:
    for key, value in tables.items():
        path = f"{above}{key}"
        if isinstance(value, Mapping):
            _put_all(tree, value, f"{path}.")
        else:
            put(tree, path, TomlValue(value, "prices", path))
