"""Names of network models: SimGrid's, as its version 3.32 has them, registered ones, and ideal parts of any of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from smpy.errors import meant
from smpy.platforms.models.dimemas import Dimemas
from smpy.platforms.models.loggp import LogGP
from smpy.platforms.models.machine_models import NetworkModel, Step
from smpy.platforms.models.network_models import (
    IDEAL,
    IDEAL_PARTS,
    Network,
    parameters_of,
    registered_model,
    registered_names,
)

NETWORKS: Final = {
    model.kind: model
    for model in (
        NetworkModel(),
        NetworkModel(
            latency_factor=(Step(0, 13.01),), bandwidth_factor=(Step(0, 0.97),), weight_bytes=20537, kind="lv08"
        ),
        NetworkModel(latency_factor=(), bandwidth_factor=(), weight_bytes=0, kind="cm02"),
        NetworkModel(
            latency_factor=(),
            bandwidth_factor=(),
            weight_bytes=0,
            tcp_gamma_bytes=0,
            crosstraffic=0,
            kind="raw",
        ),
        NetworkModel(kind="constant"),
        NetworkModel(kind="ib"),
    )
}
"""Models by name. `lv08` is that of Velho & Legrand 2009, `cm02` that of Casanova & Marchal 2002."""

DESCRIBED: Final[dict[str, type[Network]]] = {"loggp": LogGP, "dimemas": Dimemas}
"""Models without links: a machine may have a table of the numbers of each, whichever it is timed by."""


def network_names() -> list[str]:
    """All names of network models, those of installed packages included."""
    return [*NETWORKS, *registered_names(), IDEAL]


def with_network(network: Network, text: str, described: Iterable[Network] = ()) -> Network:
    """The model of a name, on the machine of another model: the loopback and the rule of its factors stay.

    Parameters
    ----------
    network : Network
        The machine's own.
    text : str
        A name, in any case; of a registered model also `NAME:KEY=VALUE,...`, with its parameters; or `ideal`,
        `ideal:PART,PART,...`: the machine's own, with these parts (or all) ideal.
    described : iterable of Network
        Models that the machine has numbers for: they are the defaults of the parameters.

    Raises
    ------
    ValueError
        If there is no such model, parameter or part.
    UsageError
        If the module of an installed package cannot be imported, or registers no such model.

    Examples
    --------
    >>> with_network(NetworkModel(), "CM02").latency_factor
    ()
    >>> with_network(NetworkModel(), "ideal:latency,contention").ideal
    ('contention', 'latency')
    """
    name, colon, listed = text.strip().partition(":")
    name = name.lower()
    if name == IDEAL:
        parts = {part.strip().lower() for part in listed.split(",")} if colon else set(IDEAL_PARTS)
        for part in sorted(parts.difference(IDEAL_PARTS)):
            raise ValueError(f"{part!r} is no part of a network: there are {', '.join(IDEAL_PARTS)}")
        return replace(network, ideal=tuple(part for part in IDEAL_PARTS if part in parts))
    chosen: Network | None = _of_simgrid(network, name) if name in NETWORKS and not colon else None
    if chosen is None and (model := registered_model(name)) is not None:
        base = next((each for each in (network, *described) if type(each) is model), model())
        chosen = replace(base, **(_numbers(model, listed) if colon else {}))  # type: ignore[arg-type]  # its own fields
    if chosen is None:
        known = network_names()
        raise ValueError(f"{text!r} is not a network model: there are {', '.join(known)}{meant(name, known)}")
    return replace(
        chosen,
        loopback_bandwidth_bytes_per_s=network.loopback_bandwidth_bytes_per_s,
        loopback_latency_s=network.loopback_latency_s,
    )


def _of_simgrid(network: Network, name: str) -> NetworkModel:
    return replace(NETWORKS[name], factor_caps=isinstance(network, NetworkModel) and network.factor_caps)


def _numbers(model: type[Network], listed: str) -> dict[str, float]:
    """Parameters that "KEY=VALUE,..." sets for a registered model."""
    known = {parameter.key: parameter for parameter in parameters_of(model)}
    numbers = {}
    for pair in listed.split(","):
        key, equals, value = (part.strip() for part in pair.partition("="))
        if key not in known:
            raise ValueError(f"{key!r} is no parameter of it: {', '.join(known)} are{meant(key, known)}")
        if not equals:
            raise ValueError(f"{key!r} has no value: write {key}={known[key].unit.example or 2}")
        numbers[known[key].field] = known[key].checked(known[key].unit.parse(value))
    return numbers
