"""The network models that have a name: SimGrid's, as its version 3.32 has them, and what is ideal about any of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from smpy.platforms.models import IDEAL_PARTS, NetworkModel, Step

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
"""By name. `lv08` is that of Velho & Legrand 2009, `cm02` that of Casanova & Marchal 2002."""

IDEAL: Final = "ideal"


def with_network(network: NetworkModel, text: str) -> NetworkModel:
    """The model that a name stands for, on the machine of another one: its loopback stays, and the rule of its factors.

    Parameters
    ----------
    network : NetworkModel
        The machine's own.
    text : str
        A name of `NETWORKS`, in any case; or `ideal`, `ideal:PART,PART,...`: the machine's own, with these parts (or
        all) ideal.

    Raises
    ------
    ValueError
        If there is no such model, or no such part.

    Examples
    --------
    >>> with_network(NetworkModel(), "CM02").latency_factor
    ()
    >>> with_network(NetworkModel(), "ideal:latency,contention").ideal
    ('contention', 'latency')
    """
    name, colon, listed = text.strip().partition(":")
    if name.lower() == IDEAL:
        parts = {part.strip().lower() for part in listed.split(",")} if colon else set(IDEAL_PARTS)
        for part in sorted(parts.difference(IDEAL_PARTS)):
            raise ValueError(f"{part!r} is no part of a network: {', '.join(IDEAL_PARTS)} are")
        return replace(network, ideal=tuple(part for part in IDEAL_PARTS if part in parts))
    if colon or name.lower() not in NETWORKS:
        known = (*NETWORKS, IDEAL)
        raise ValueError(f"{text!r} is not a network model: {', '.join(known)} are")
    return replace(
        NETWORKS[name.lower()],
        loopback_bandwidth_bytes_per_s=network.loopback_bandwidth_bytes_per_s,
        loopback_latency_s=network.loopback_latency_s,
        factor_caps=network.factor_caps,
    )
