"""Reads the costs of kernels: the table [kernels] of a machine."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from math import isfinite
from typing import Any, Final

from smpy.platforms.models.correlations import check_correlations
from smpy.platforms.models.kernel_costs import (
    EmpiricalNoise,
    HalfNormalNoise,
    KernelCost,
    KernelCosts,
    Noise,
)
from smpy.platforms.own_format.settings import TomlTable, TomlValue, number_of, value_text
from smpy.units import exact_speed, parse_speed_flop_per_s

_ORDER: Final = ("m", "n", "k", "kl", "ku", "batch")
"""Sizes of BLAS, LAPACK and FFT calls, which callers pass without names."""
_ROUTINE: Final = re.compile(
    r"[sdcz](ge(mm|mv|r[ucq]?|trf|qrf|sdd|lsd)|gbmv|(sy|he)(mm|r2?k)|tr[ms]m|[sht]b[ms]v|(or|un)(g|m)qr|fft)(_\w+)?"
)
_KEYS: Final = ("sizes", "seconds", "half_widths", "correlations", "noise", "smallest", "largest")


def read_kernels(kernels: TomlTable) -> KernelCosts | None:
    """Costs in the table [kernels], which holds one table per kernel; None if it holds none.

    Raises
    ------
    PlatformError
        If one is no cost.
    """
    tables = dict(kernels.tables())
    if not tables:
        if kernels.is_written("reference_speed"):
            kernels.quantity("reference_speed", parse_speed_flop_per_s, "41.2Gf", is_positive=True)
        return None
    speed = kernels.quantity("reference_speed", parse_speed_flop_per_s, "41.2Gf", is_positive=True)
    return KernelCosts(speed, tuple(_cost(name, tables[name]) for name in sorted(tables)))


def kernel_tables(costs: KernelCosts | None) -> dict[str, dict[str, object]]:
    """Tables from which `read_kernels` makes the costs."""
    if costs is None:
        return {}
    tables = {f"kernels.{cost.name}": _settings(cost) for cost in costs.costs}
    return {"kernels": {"reference_speed": exact_speed(costs.reference_flop_per_s)}, **tables}


def _cost(name: str, table: TomlTable) -> KernelCost:
    setting = table.value("sizes")
    if setting is None:
        raise table.error("sizes", 'it is missing: add sizes = ["m", "n", "k"]')
    sizes = _list(setting, str, '["m", "n", "k"]')
    in_order = [size for size in _ORDER if size in sizes]
    if _ROUTINE.fullmatch(name) and in_order != [size for size in sizes if size in _ORDER]:
        raise setting.error(f"kernels are called with {', '.join(in_order)} in this order: name the sizes so")
    terms = _by_term(table.table("seconds"))
    if not terms:
        raise table.error("seconds", 'it is missing: add seconds = { "m*n*k" = 4.9e-11 }')
    widths = _by_term(table.table("half_widths"))
    smallest, largest = (
        _list(bounds, int, "[4000, 4000, 4000]") if (bounds := table.value(key)) is not None else ()
        for key in ("smallest", "largest")
    )
    for term in widths:
        if term not in terms:
            raise table.table("half_widths").error(term, f"[{table.name}] has no such term in seconds")
    if widths and len(widths) < len(terms):
        missing = next(term for term in terms if term not in widths)
        raise table.error("half_widths", f"the term {missing!r} has none: give one for each term in seconds")
    try:
        return KernelCost(
            *(name, sizes, tuple(terms.items()), tuple(widths[term] for term in terms) if widths else ()),
            noise=_noise(table.table("noise")),
            smallest=smallest,
            largest=largest,
            correlations=_correlations(table, len(widths)),
            quality=dict(table.notes(_KEYS)),
        )
    except ValueError as wrong:
        raise table.error("seconds", str(wrong)) from None


def _by_term(table: TomlTable) -> dict[str, float]:
    """Index of each term, in the order in which the terms are written."""
    by_term = {}
    for term, setting in table.values():
        number = number_of(setting)
        if not isfinite(number):
            raise setting.error(f"{value_text(setting)} is no number of seconds")
        by_term[term] = number
    return by_term


def _correlations(table: TomlTable, n_widths: int) -> tuple[tuple[float, ...], ...]:
    setting = table.value("correlations")
    if setting is None:
        return ()
    if not n_widths:
        raise setting.error("they are of half_widths, and there are none: add these, or remove them")
    rows = setting.value if isinstance(setting.value, list) else [setting.value]
    correlations = tuple(_list(replace(setting, value=row), float, "[[1, -0.98], [-0.98, 1]]") for row in rows)
    try:
        check_correlations(correlations, n_widths)
    except ValueError as wrong:
        raise setting.error(str(wrong)) from None
    return correlations


def _noise(table: TomlTable) -> Noise | None:
    kind = table.choice("kind", ("none", "half-normal", "empirical"), "none")
    try:
        if kind == "half-normal":
            return HalfNormalNoise(table.number("sigma"))
        if kind == "empirical":
            setting = table.value("residuals")
            return EmpiricalNoise(_list(setting, float, "[-0.01, 0, 0.02]") if setting is not None else ())
    except ValueError as wrong:
        raise table.error("residuals", str(wrong)) from None
    return None


def _list(setting: TomlValue, kind: type[Any], example: str) -> tuple[Any, ...]:
    kinds = (int, float) if kind is float else kind
    listed = setting.value
    if not isinstance(listed, list) or not all(
        isinstance(item, kinds) and not isinstance(item, bool) for item in listed
    ):
        raise setting.error(f"{value_text(setting)} is no such list: write it such as {example}")
    return tuple(map(kind, listed))


def _settings(cost: KernelCost) -> dict[str, object]:
    settings: dict[str, object] = {"sizes": cost.sizes, "seconds": dict(cost.terms)}
    if cost.half_widths_s:
        terms = (term for term, _ in cost.terms)
        settings["half_widths"] = dict(zip(terms, cost.half_widths_s, strict=True))
    if cost.correlations:
        settings["correlations"] = cost.correlations
    match cost.noise:
        case HalfNormalNoise(sigma):
            settings["noise"] = {"kind": "half-normal", "sigma": sigma}
        case EmpiricalNoise(residuals):
            settings["noise"] = {"kind": "empirical", "residuals": residuals}
    bounds: Mapping[str, tuple[int, ...]] = {"smallest": cost.smallest, "largest": cost.largest}
    return settings | {key: bound for key, bound in bounds.items() if bound} | dict(cost.quality)
