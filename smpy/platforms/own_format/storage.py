"""Reads and writes the table [storage]."""

from __future__ import annotations

from typing import Final

from smpy.platforms.models.storage import Storage
from smpy.platforms.own_format.settings import TomlTable
from smpy.units import (
    exact_bandwidth,
    exact_size,
    exact_time,
    parse_bandwidth_bytes_per_s,
    parse_size_bytes,
    parse_time_s,
)

_KEYS: Final = ("read_bandwidth", "write_bandwidth", "latency", "servers", "stripe")
_USUAL_STRIPE: Final = "1MiB"


def read_storage(table: TomlTable) -> Storage | None:
    """Storage of the machine; None if no key of it is written.

    Raises
    ------
    PlatformError
        If a setting is wrong, or a bandwidth is missing.
    """
    is_there = any(table.is_written(key) for key in _KEYS)
    read, write = (
        table.quantity(key, parse_bandwidth_bytes_per_s, "2GB/s", None if is_there else 0.0, is_positive=is_there)
        for key in ("read_bandwidth", "write_bandwidth")
    )
    latency_s = table.quantity("latency", parse_time_s, "100us", 0.0)
    servers = table.text_list("servers")
    stripe = table.quantity("stripe", parse_size_bytes, _USUAL_STRIPE, float(1 << 20), is_positive=True)
    if not is_there:
        return None
    if len(set(servers)) < len(servers):
        twice = next(name for name in servers if servers.count(name) > 1)
        raise table.error("servers", f"host {twice!r} is named twice")
    if not stripe.is_integer() or stripe >= 2**53:
        raise table.error("stripe", f"{stripe:g} is no whole number of bytes: give one, such as {_USUAL_STRIPE}")
    return Storage(read, write, latency_s, servers, int(stripe), origin=table.origin_of("servers"))


def storage_table(storage: Storage) -> dict[str, object]:
    """Table from which `read_storage` reads it."""
    return {
        "read_bandwidth": exact_bandwidth(storage.read_bytes_per_s),
        "write_bandwidth": exact_bandwidth(storage.write_bytes_per_s),
        "latency": exact_time(storage.latency_s),
        **({"servers": list(storage.servers), "stripe": exact_size(storage.stripe_bytes)} if storage.servers else {}),
    }
