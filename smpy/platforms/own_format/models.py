"""Reads the tables [network] and [mpi] of a machine: the times of its messages and calls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final, NamedTuple, TypeVar

from smpy.errors import UsageError
from smpy.platforms.default_cluster import MODELS, RENDEZVOUS_CROSSINGS
from smpy.platforms.models.collective_tables import with_table
from smpy.platforms.models.machine_models import (
    FACTORS_MAX,
    OVERHEADS_MAX,
    SIZE_MAX_BYTES,
    SMPI_MODELS,
    CallCosts,
    CollectiveChoice,
    Models,
    NetworkModel,
    Overhead,
    Polling,
    Step,
)
from smpy.platforms.models.network_models import FROM_LINKS, Network, parameters_of
from smpy.platforms.models.networks import DESCRIBED, with_network
from smpy.platforms.own_format.settings import TomlTable, TomlValue, number_of, quantity_of, value_text
from smpy.units import LARGEST, parse_bandwidth_bytes_per_s, parse_size_bytes, parse_time_s

Row = TypeVar("Row")

_POLLS: Final = {"constant": (False, False), "grow": (True, False), "notice": (True, True)}


class _Eager(NamedTuple):
    """Costs of messages up to the eager limit for sender and receiver, and the latency factor of longer ones."""

    limit_bytes: int
    overhead_s: float
    copy_s_per_byte: float
    crossings: float

    def overheads(self) -> tuple[Overhead, ...]:
        """Overheads of a call by size; messages above the eager limit are not copied."""
        if not self.overhead_s and not self.copy_s_per_byte:
            return ()
        if not self.limit_bytes:
            return (Overhead(0, self.overhead_s, 0),)
        longest_s = self.overhead_s + self.limit_bytes * self.copy_s_per_byte
        return Overhead(0, self.overhead_s, self.copy_s_per_byte), Overhead(self.limit_bytes, longest_s, 0)

    def latency_factor(self, envelope_bytes: float) -> tuple[Step, ...]:
        return () if self.crossings == 1 else (Step(self.limit_bytes + envelope_bytes, self.crossings),)


def read_models(network: TomlTable, mpi: TomlTable, described: tuple[Network, ...] = ()) -> Models:
    """Models of a machine; missing values are the default cluster's, or SMPI's if `model` or `costs` says so.

    Raises
    ------
    PlatformError
        If a value is wrong, or two contradict each other.
    """
    model = network.text("model", "")
    own_network = not model or model.lower().startswith("ideal")
    base = _network_base(network, model, own_network, described)
    costs = SMPI_MODELS if mpi.choice("costs", ("default", "smpi"), "default") == "smpi" else MODELS
    default = _default_eager(costs)
    if not own_network:
        default = default._replace(crossings=1.0)
    eager = _eager(mpi, default)
    for key in ("model", "latency_factor"):
        if network.is_written(key) and mpi.is_written("rendezvous"):
            remedy = "keep one of both" + (", or name the model by --network" if key == "model" else "")
            raise mpi.error("rendezvous", f"{key} in [network] says how far longer messages travel: {remedy}")
    return Models(
        _network(network, base, eager if own_network else None),
        _calls(mpi, costs.calls, eager),
        _polling(mpi, costs.polling),
        _collectives(mpi, costs.collectives),
        described,
    )


def _network_base(network: TomlTable, model: str, own_network: bool, described: tuple[Network, ...]) -> Network:
    """The named network model, or ours with ideal parts."""
    base = MODELS.network if own_network else SMPI_MODELS.network
    try:
        return with_network(base, model, described) if model else base
    except (ValueError, UsageError) as wrong:
        raise network.error("model", str(wrong)) from None


def _default_eager(costs: Models) -> _Eager:
    limit = costs.calls.detached_below_bytes - 1
    first = costs.calls.send_overhead[0] if costs.calls.send_overhead else Overhead(0, 0.0, 0.0)
    crossings = RENDEZVOUS_CROSSINGS if costs is MODELS else 1.0
    return _Eager(limit, first.constant_s, first.per_byte_s, crossings)


def _eager(mpi: TomlTable, default: _Eager) -> _Eager:
    limit = mpi.quantity("eager_limit", parse_size_bytes, "8KiB", default.limit_bytes)
    if limit != int(limit) or limit >= SIZE_MAX_BYTES:
        raise mpi.error("eager_limit", f"it is {limit:g} bytes, which is no size of a message")
    overhead_s = mpi.quantity("overhead", parse_time_s, "0.2us", default.overhead_s)
    copy_s_per_byte = _byte_s(mpi, "copy_bandwidth", default.copy_s_per_byte)
    return _Eager(
        int(limit), overhead_s, copy_s_per_byte, mpi.number("rendezvous", default.crossings, is_positive=True)
    )


def _network(settings: TomlTable, base: Network, eager: _Eager | None) -> Network:
    if not isinstance(base, NetworkModel):
        return with_settings(base, settings)
    envelope_bytes = settings.quantity("envelope", parse_size_bytes, "34B", base.envelope_bytes)
    if eager is not None:
        base = replace(base, latency_factor=eager.latency_factor(envelope_bytes))
    try:
        return replace(
            base,
            latency_factor=_factor(settings, "latency_factor", base.latency_factor),
            bandwidth_factor=_factor(settings, "bandwidth_factor", base.bandwidth_factor),
            weight_bytes=settings.quantity("weight", parse_size_bytes, "8775B", base.weight_bytes),
            tcp_gamma_bytes=settings.quantity("tcp_window", parse_size_bytes, "4MiB", base.tcp_gamma_bytes),
            crosstraffic=settings.number("crosstraffic", base.crosstraffic),
            envelope_bytes=envelope_bytes,
        )
    except ValueError as wrong:
        raise settings.error(str(wrong).partition(" ")[0], str(wrong)) from None


def with_settings(base: Network, settings: TomlTable) -> Network:
    """A model other than SimGrid's, with the parameters of its settings.

    Raises
    ------
    PlatformError
        If a value is wrong.
    """
    numbers = {}
    for parameter in parameters_of(type(base)):
        key, unit, default = parameter.key, parameter.unit, getattr(base, parameter.field)
        if default == FROM_LINKS:
            if not settings.mentions(key):
                continue
            default = 0.0
        number = (
            settings.quantity(key, unit.parse, unit.example, default) if unit.example else settings.number(key, default)
        )
        try:
            numbers[parameter.field] = parameter.checked(number)
        except ValueError as wrong:
            raise settings.error(parameter.key, str(wrong)) from None
    try:
        return replace(base, **numbers)  # type: ignore[arg-type]  # fields of a subclass
    except ValueError as wrong:
        raise settings.error(str(wrong).partition(" ")[0], str(wrong)) from None


def read_described(machine: TomlTable) -> tuple[Network, ...]:
    """Models for which a machine has a table of numbers, besides the one that times it.

    Raises
    ------
    PlatformError
        If a value is wrong.
    """
    networks = []
    for name, model in DESCRIBED.items():
        if (described := with_settings(model(), machine.table(name))) != model():
            networks.append(described)
    return tuple(networks)


def _calls(mpi: TomlTable, base: CallCosts, eager: _Eager) -> CallCosts:
    usual = eager.overheads()
    return replace(
        base,
        detached_below_bytes=eager.limit_bytes + 1,
        send_overhead=_rows(mpi, "send_overhead", _overhead, OVERHEADS_MAX, usual),
        isend_overhead=_rows(mpi, "isend_overhead", _overhead, OVERHEADS_MAX, usual),
        recv_overhead=_rows(mpi, "recv_overhead", _overhead, OVERHEADS_MAX, usual),
        wtime_s=mpi.quantity("wtime", parse_time_s, "10ns", base.wtime_s),
        spawn_s=mpi.quantity("spawn", parse_time_s, "50ms", base.spawn_s),
        reduction_byte_s=_byte_s(mpi, "reduction_bandwidth", base.reduction_byte_s),
        own_copy=_rows(mpi, "own_copy_bandwidth", _copy, OVERHEADS_MAX, base.own_copy),
        block=_rows(mpi, "block", _overhead, OVERHEADS_MAX, base.block),
        page_fault_s=mpi.quantity("page_fault", parse_time_s, "0.5us", base.page_fault_s),
        huge_page_fault_s=mpi.quantity("huge_page_fault", parse_time_s, "0.1ms", base.huge_page_fault_s),
    )


def _byte_s(mpi: TomlTable, key: str, default: float) -> float:
    """Read the time of a byte from a bandwidth; 0 is none."""
    bandwidth_bytes_per_s = mpi.quantity(key, parse_bandwidth_bytes_per_s, "10GB/s", 1 / default if default else 0.0)
    return 1 / bandwidth_bytes_per_s if bandwidth_bytes_per_s else 0.0


def _polling(mpi: TomlTable, base: Polling) -> Polling:
    usual = next(word for word, rule in _POLLS.items() if rule == (base.polls_grow, base.polls_notice))
    polls_grow, polls_notice = _POLLS[mpi.choice("polls", _POLLS, usual)]
    test_s = mpi.quantity("test", parse_time_s, "1us", base.test_s)
    iprobe_s = mpi.quantity("iprobe", parse_time_s, "1us", base.iprobe_s)
    try:
        return Polling(test_s, iprobe_s, polls_grow, polls_notice)
    except ValueError as wrong:
        raise mpi.error(str(wrong).partition("_s ")[0], str(wrong)) from None


def _collectives(mpi: TomlTable, base: CollectiveChoice) -> CollectiveChoice:
    choice = replace(base, algorithms=mpi.table("algorithms").texts())
    named = mpi.text("collectives", base.table)
    try:
        return with_table(choice, named, mpi.folder_of("collectives"))
    except UsageError as wrong:
        raise mpi.error("collectives", str(wrong)) from None


# ---- values that depend on the size of a message ----


def _rows(
    settings: TomlTable, key: str, read: Callable[[float, TomlValue], Row], most: int, default: tuple[Row, ...]
) -> tuple[Row, ...]:
    """Rows of a value that depends on the message size, by threshold."""
    pairs = settings.by_size(key)
    if pairs is None:
        return default
    if len(pairs) > most:
        raise settings.error(key, f"it has {len(pairs)} steps, and the model has room for {most}: use fewer")
    rows = [(quantity_of(size, parse_size_bytes, "8KiB"), value) for size, value in pairs]
    for (size, _), (above_bytes, _) in zip(pairs, rows, strict=True):
        if sum(above_bytes == other for other, _ in rows) > 1:
            raise size.error(f"{value_text(size)} is there twice: give each size one value")
    return tuple(read(above_bytes, value) for above_bytes, value in sorted(rows, key=lambda row: row[0]))


def _factor(settings: TomlTable, key: str, default: tuple[Step, ...]) -> tuple[Step, ...]:
    """Steps of a factor; empty if it is 1 everywhere."""
    steps = _rows(settings, key, _step, FACTORS_MAX, default)
    return () if all(step.value == 1 for step in steps) else steps


def _step(above_bytes: float, setting: TomlValue) -> Step:
    return Step(above_bytes, number_of(setting))


def _copy(above_bytes: float, setting: TomlValue) -> Overhead:
    bandwidth_bytes_per_s = quantity_of(setting, parse_bandwidth_bytes_per_s, "10GB/s")
    return Overhead(above_bytes, 0.0, 1 / bandwidth_bytes_per_s if bandwidth_bytes_per_s else 0.0)


def _overhead(above_bytes: float, setting: TomlValue) -> Overhead:
    """Read an overhead: a time, or a time and the time per byte."""
    parts = setting.value if isinstance(setting.value, list) else [setting.value]
    if not 1 <= len(parts) <= 2:
        raise setting.error(
            f'{value_text(setting)} is neither a time nor ["0.2us", "0.1ns"], a time and that of a byte'
        )
    times_s = [quantity_of(replace(setting, value=part), parse_time_s, "0.2us") for part in parts]
    if min(times_s) < 0:
        raise setting.error(f"{value_text(setting)} is negative: no call takes less than no time")
    if max(times_s) > LARGEST:
        raise setting.error(f"{value_text(setting)} is too long: a call can take {LARGEST:g} s")
    return Overhead(above_bytes, times_s[0], times_s[1] if len(times_s) > 1 else 0.0)
