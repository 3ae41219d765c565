"""Models of a machine in the kernel's form."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Final, NamedTuple

from smpy.engine.kernel import ffi, lib
from smpy.errors import UsageError
from smpy.platforms.models.machine_models import CALL_NUMBERS, OVERHEADS, OVERHEADS_MAX, POLL_NUMBERS, Models, Overhead
from smpy.platforms.models.network_models import Network

_SYMBOL: Final = "smpy_network"


class KernelModel(NamedTuple):
    """The kernel's `model`, and the memory of its network's parameters, to which it points."""

    model: Any
    parameters: Any


def kernel_model(models: Models) -> KernelModel:
    """Models in the kernel's form.

    Raises
    ------
    UsageError
        If a table has more rows than the kernel has room for, messages travel early that are not eager, or the kernel
        cannot use the network model.
    """
    model = ffi.new("model *")
    model.calls = kernel_calls(models)[0]
    for name in POLL_NUMBERS:
        setattr(model.polling, name.removeprefix("polls_"), getattr(models.polling, name))
    kind = _kind_of(models.network)
    parameters = _block(models.network, kind)
    model.network.kind, model.network.parameters = kind, parameters
    return KernelModel(model, parameters)


def kernel_calls(models: Models) -> Any:
    """Costs of calls in the kernel's form.

    Raises
    ------
    UsageError
        If a table has more rows than the kernel has room for, or messages travel early that are not eager.
    """
    calls = models.paid_calls
    if calls.early_below_bytes > calls.detached_below_bytes:
        raise UsageError(
            f"smpi/async-small-thresh ({calls.early_below_bytes}) is above smpi/send-is-detached-thresh "
            f"({calls.detached_below_bytes}): only eager messages travel before they are received"
        )
    costs = ffi.new("call_costs *")
    for name in OVERHEADS:
        rows: tuple[Overhead, ...] = getattr(calls, name)
        if len(rows) > OVERHEADS_MAX:
            raise UsageError(f"{name} has {len(rows)} steps and the model has room for {OVERHEADS_MAX}: use fewer")
        setattr(costs, f"n_{name}", len(rows))
        getattr(costs, name)[0 : 3 * len(rows)] = _flat(rows)
    for name in CALL_NUMBERS:
        setattr(costs, name, getattr(calls, name))
    return costs


def _flat(rows: tuple[Overhead, ...]) -> list[float]:
    """Threshold, constant, per byte, ... by ascending threshold; the first row also holds for smaller sizes."""
    ordered = sorted(rows, key=lambda row: row.above_bytes)
    thresholds = [-math.inf, *(row.above_bytes for row in ordered[1:])][: len(ordered)]
    return [
        number
        for threshold, row in zip(thresholds, ordered, strict=True)
        for number in (threshold, row.constant_s, row.per_byte_s)
    ]


# ---- the network ----


def _kind_of(network: Network) -> Any:
    """The `network_kind` of a model; one from outside is checked."""
    kernel = network.kernel_kind
    if isinstance(kernel, str):
        kind = lib.sim_network_named(kernel.encode())
        if kind == ffi.NULL:
            raise UsageError(f"the kernel has no {kernel!r}, which the network model {network.name} is made of")
        return kind
    address = _exported(network, kernel) if isinstance(kernel, Path) else kernel()
    ours = ffi.cast("const network_abi *", lib.sim_network_named(b"flow"))
    theirs = ffi.cast("const network_abi *", address)
    if (theirs.version, theirs.kind_bytes) != (ours.version, ours.kind_bytes):
        raise UsageError(
            f"the network model {network.name} was compiled for version {theirs.version} of network_kind.h "
            f"({theirs.kind_bytes} bytes), and this smpy has version {ours.version} ({ours.kind_bytes} bytes): compile "
            "it again with the header of this smpy"
        )
    return ffi.cast("const network_kind *", address)


def _exported(network: Network, library: Path) -> int:
    """Address of the `network_kind` that a shared library exports."""
    import ctypes

    try:
        return ctypes.addressof(ctypes.c_char.in_dll(ctypes.CDLL(str(library)), _SYMBOL))
    except (OSError, ValueError) as wrong:  # no such library, no such symbol
        raise UsageError(
            f"the network model {network.name} has no part for the kernel: {wrong}. That part is a shared library "
            f"which exports a network_kind as {_SYMBOL}"
        ) from None


def _block(network: Network, kind: Any) -> Any:
    """Parameters of a model, in the order of its kind."""
    sizes, n_bytes = _sizes(kind)
    parameters = network.parameters()
    if parameters.keys() != sizes.keys() or ffi.sizeof("double") * sum(sizes.values()) != n_bytes:
        raise UsageError(
            f"the network model {network.name} has the parameters {', '.join(parameters)} in Python, and its kind in C "
            f"has {', '.join(sizes)} in a block of {n_bytes} bytes: name in both each double of the block, and each "
            "array"
        )
    numbers: list[float] = []
    for name, size in sizes.items():
        value = parameters[name]
        values = value if isinstance(value, tuple) else (value,)
        numbers += [*values, *[0.0] * (size - len(values))]
    return ffi.new("double[]", numbers)


def _sizes(kind: Any) -> tuple[dict[str, int], int]:
    """The length of each parameter of a kind, and the size of its block in bytes."""
    extended, n_bytes = ffi.new("const network_kind **"), ffi.new("int64_t *")
    listed = lib.sim_network_parameters(kind, extended, n_bytes)
    sizes = _sizes(extended[0])[0] if extended[0] else {}
    at = 0
    while listed[at].name:
        sizes[ffi.string(listed[at].name).decode()] = listed[at].n
        at += 1
    return sizes, int(n_bytes[0])
