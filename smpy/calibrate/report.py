"""Prints the results of a calibration as tables in a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from rich.console import Console

_WIDTH_OF_A_FILE: Final = 132
_FIGURES: Final = (
    ("R²", "r_squared", ".5f"),
    ("median", "residual_median", ".1%"),
    ("largest", "residual_largest", ".1%"),
    ("median", "held_out_median", ".1%"),
    ("largest", "held_out_largest", ".1%"),
    ("together", "held_out_total", "+.1%"),
    ("p", "breusch_pagan_p", ".3f"),
    ("warm", "cold_over_warm", ".2f"),
)
_GROUPS: Final = ("", "residual", "residual", "unseen", "unseen", "unseen", "B.-Pagan", "cold /")


def print_result(tables: Mapping[str, Any], name: str) -> None:
    """Print a calibration: the machine, the figures of each kernel, their coefficients.

    Parameters
    ----------
    tables : mapping
        Tables of its file; kernels in a table [kernels], or in tables [kernels.NAME].
    name : str
        Name of the calibration in the text.
    """
    from rich.console import Console

    console = Console(width=None if sys.stdout.isatty() else _WIDTH_OF_A_FILE, highlight=False, soft_wrap=False)
    about = tables["calibration"]
    console.print(f"smpy: calibration {name}", markup=False)
    for key, value in [*about.items(), *_machine(tables)]:
        if key not in ("warnings", "errors", "transfers", "half_widths"):
            console.print(f"  {key:<26} {_text(value)}", markup=False)
    for warning in about.get("warnings", ()):
        console.print(f"  {'warning':<26} {warning}", style="bold", markup=False)
    if "transfers" in about:
        _print_transfers(console, about)
    kernels = _kernels(tables)
    if kernels:
        _print_figures(console, kernels)
        _print_coefficients(console, kernels)


def _machine(tables: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    """Keys of a machine except its kernels, as `--set` writes them."""
    for name, table in tables.items():
        if name not in ("calibration", "kernels") and not name.startswith("kernels.") and isinstance(table, Mapping):
            yield from ((f"{name}.{key}", value) for key, value in table.items())


def _kernels(tables: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    nested = {name: table for name, table in tables.get("kernels", {}).items() if isinstance(table, Mapping)}
    flat = {name.removeprefix("kernels."): table for name, table in tables.items() if name.startswith("kernels.")}
    return dict(sorted((nested | flat).items()))


def _print_figures(console: Console, kernels: Mapping[str, Mapping[str, Any]]) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="", caption_justify="left")
    table.add_column("\nkernel")
    for group, (title, _, _) in zip(_GROUPS, _FIGURES, strict=True):
        table.add_column(f"{group}\n{title}", justify="right")
    table.add_column("\nsizes fitted")
    for name, kernel in kernels.items():
        table.add_row(
            name,
            *(f"{kernel[key]:{form}}" if isinstance(kernel.get(key), int | float) else "" for _, key, form in _FIGURES),
            ", ".join(map(_range, kernel["sizes"], kernel.get("smallest", ()), kernel.get("largest", ()))),
        )
    console.print()
    console.print(table)


def _print_coefficients(console: Console, kernels: Mapping[str, Mapping[str, Any]]) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="")
    for title in ("kernel", "term"):
        table.add_column(title)
    for title in ("seconds", "95 % interval"):
        table.add_column(title, justify="right")
    table.add_column("correlation with those above")
    for name, kernel in kernels.items():
        correlations = kernel.get("correlations", ())
        for place, (term, seconds) in enumerate(kernel["seconds"].items()):
            width = kernel.get("half_widths", {}).get(term)
            table.add_row(
                "" if place else name,
                term,
                f"{seconds:.5e}",
                "" if width is None else f"± {width:.1e}",
                "  ".join(f"{correlation:+.3f}" for correlation in correlations[place][:place]) if correlations else "",
            )
    console.print()
    console.print(table)


def _print_transfers(console: Console, about: Mapping[str, Any]) -> None:
    """Pieces of a message's transfer, and the errors of ping-pongs by size."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="")
    for title in ("bytes above", "found between", "sizes", "latency", "95 % interval", "bandwidth", "95 % interval"):
        table.add_column(title, justify="right")
    for piece in about["transfers"]:
        first, last = piece["between_bytes"]
        table.add_row(
            f"{piece['above_bytes']:,}",
            f"{first:,}-{last:,}",
            f"{piece['n_sizes']}",
            f"{piece['latency_s'] * 1e6:.4g} us",
            *([f"± {piece['latency_half_width_s'] * 1e6:.2g} us"] if "latency_half_width_s" in piece else [""]),
            f"{piece['bandwidth_bytes_per_s'] / 1e9:.4g} GB/s",
            *(
                [f"± {piece['bandwidth_half_width_bytes_per_s'] / 1e9:.2g} GB/s"]
                if "bandwidth_half_width_bytes_per_s" in piece
                else [""]
            ),
        )
    console.print()
    console.print(table)
    table = Table(box=None, pad_edge=False, header_style="")
    for title in ("ping-pong", "error: median", "largest"):
        table.add_column(title, justify="right")
    for name, errors in about.get("errors", {}).items():
        table.add_row(name, f"{errors['median']:.1%}", f"{errors['largest']:.1%}")
    console.print()
    console.print(table)


def _range(name: str, smallest: int, largest: int) -> str:
    return f"{name} {smallest:,}-{largest:,}"


def _text(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {item}" for key, item in value.items())
    return str(value)
