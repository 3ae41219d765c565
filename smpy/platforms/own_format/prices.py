"""Reads prices and power of a machine's parts: the tables [price] and [power]."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from smpy.errors import PlatformError
from smpy.platforms.models.prices import Prices
from smpy.platforms.own_format.settings import TomlTable, TomlValue, Tree, put
from smpy.platforms.own_format.toml_reader import read_toml
from smpy.platforms.presets import preset_file
from smpy.units import parse_power_w

PRICE_TABLES: Final = ("price", "power")
_NETWORK_EUR: Final = ("switch_eur", "switch_port_eur", "cable_eur", "switch_cable_eur", "kwh_eur")


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
    return Prices(
        **numbers,
        lifetime_years=years if price.is_written("lifetime_years") else None,
        switch_w=switch_w if power.is_written("switch") else None,
    )


def read_host_power(power: TomlTable, idle_w: float = 0.0, busy_w: float = 0.0) -> tuple[float, float]:
    """Power in W of a host with all cores idle, and with all of them busy; the defaults are for missing keys.

    Raises
    ------
    PlatformError
        If a busy one draws less.
    """
    idle_w = power.quantity("idle", parse_power_w, "200W", idle_w)
    busy_w = power.quantity("busy", parse_power_w, "700W", busy_w)
    if busy_w < idle_w:
        raise power.error("busy", f"a host with all cores busy draws {busy_w:g} W, and an idle one {idle_w:g} W")
    return idle_w, busy_w


def read_price_list(prices: str | Path | Mapping[str, object]) -> Prices:
    """The prices and the power of all parts, hosts among them, apart from any machine.

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
    """The prices and the power of all parts that settings say, which say nothing else.

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
    return hosts.above(network)


def price_tables(prices: Prices) -> dict[str, dict[str, object]]:
    """The tables from which `read_prices` reads them."""
    price = {key: getattr(prices, key) for key in (*_NETWORK_EUR, "lifetime_years")}
    written = {key: number for key, number in price.items() if number is not None}
    return {
        **({"price": written} if written else {}),
        **({"power": {"switch": f"{prices.switch_w!r}W"}} if prices.switch_w is not None else {}),
    }


def _number(price: TomlTable, key: str) -> float | None:
    """Number written for a key; None: the key is missing."""
    number = price.number(key, 0.0)
    return number if price.is_written(key) else None


def _put_all(tree: Tree, tables: Mapping[str, object], above: str = "") -> None:
    for key, value in tables.items():
        path = f"{above}{key}"
        if isinstance(value, Mapping):
            _put_all(tree, value, f"{path}.")
        else:
            put(tree, path, TomlValue(value, "prices", path))
