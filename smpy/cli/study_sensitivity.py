"""`smpy study sensitivity`: parameters of the machine that a run's time depends on, from its trace."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from smpy.cli.click_classes import GroupedCommand, IntegerRange
from smpy.cli.progress import replay_progress
from smpy.cli.results import errors_told, json_option, plot_option, show
from smpy.cli.run_options import PLACEMENT, run_options


@click.command(
    "sensitivity", cls=GroupedCommand, short_help="Find the parameters that the time of a run depends on, by replays."
)
@click.argument("trace", type=click.Path(path_type=Path))
@click.option(
    "--vary",
    "varied",
    multiple=True,
    required=True,
    metavar="KEY=LOW:HIGH",
    help="A key of the machine as --set has it, or cpu (the speed of cores), and between which values: "
    "network.latency=0.5x:2x (times its own), network.bandwidth=5Gb/s:20Gb/s. Repeatable.",
)
@click.option(
    "--samples",
    "n_samples",
    type=IntegerRange(2),
    metavar="N",
    help="Sobol indices, too, from N x (parameters + 2) replays; N is a power of 2, such as 1024. With --model: N "
    "replays, by default 48.",
)
@click.option(
    "--model",
    type=click.Choice(["linear"]),
    help="Fit the time to replays: a constant + computing / cpu + latency x factor + bytes / bandwidth.",
)
@click.option(
    "--predict",
    "predicted",
    multiple=True,
    metavar="KEY=FACTOR,...",
    help="With --model: the time that it predicts for network.latency=x4,cpu=x2, also beyond what is varied. "
    "Repeatable.",
)
@click.option(
    "--tolerance",
    "tolerances",
    metavar="SHARE,...",
    help="Find the factor of each varied key at which the run takes so much longer: 1%,10%.",
)
@click.option(
    "--scale",
    type=click.Choice(["linear", "log"]),
    default="linear",
    show_default=True,
    help="Spread samples between low and high by equal differences, or by equal factors.",
)
@run_options("platform", help="Another machine, as smpy run takes it. Without it: that of the run.")
@run_options(*PLACEMENT, "seed")
@json_option
@plot_option
def command(
    trace: Path,
    varied: tuple[str, ...],
    n_samples: int | None,
    model: str | None,
    predicted: tuple[str, ...],
    tolerances: str | None,
    scale: str,
    platform: str | None,
    json_path: Path | None,
    plot_path: Path | None,
    **placement: Any,
) -> None:
    """Find the parameters that a run's time depends on, by performing its TRACE on machines that differ from its own.

    Each --vary is set to its low and its high value, the others staying as they are. With --samples all are drawn
    together, and Sobol indices say which share of the variance is due to each.

    \b
      smpy study sensitivity trace --vary network.latency=0.5x:2x --vary network.bandwidth=5Gb/s:20Gb/s
      smpy study sensitivity trace --vary network.latency=0.5x:2x --vary cpu=0.5x:2x --samples 256
      smpy study sensitivity trace --vary network.latency=0.2x:5x --vary cpu=0.2x:5x --model linear --tolerance 1%,10%
    """
    with errors_told():
        from smpy.study.parameters import read_parameters
        from smpy.study.sensitivity import sensitivity
        from smpy.study.tolerance import read_shares

        parameters = read_parameters(varied, is_logarithmic=scale == "log")
        n_processes = len(os.sched_getaffinity(0))
        with replay_progress() as progress:
            result = sensitivity(
                trace,
                parameters,
                n_samples=n_samples or 0,
                is_linear=model == "linear",
                predicted=predicted,
                tolerances=[] if tolerances is None else read_shares(tolerances),
                platform=platform,
                n_processes=n_processes,
                progress=progress,
                **placement,
            )
        show(result, json_path, plot_path)
