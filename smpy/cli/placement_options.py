"""The options that say which rank runs on which host, the same wherever ranks are placed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import click

from smpy.cli.click_classes import grouped_option

# the names of smpy.platforms.placement and host_order, which the command line reads no earlier than it needs them
MAPPINGS: Final = ("core", "host", "socket", "random", "file")
HOST_ORDERS: Final = ("natural", "lexicographic", "platform")


def placement_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add them to a command; with `seed`, its parameters are those of `smpy.platforms.place`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


_OPTIONS: Final = (
    grouped_option(
        "--hostfile",
        group="Ranks",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Hosts of the ranks, a line each: NAME, NAME:COUNT or NAME slots=COUNT; with --map-by file, a rank file.",
    ),
    grouped_option(
        "--ppn",
        "ranks_per_host",
        group="Ranks",
        type=click.IntRange(min=1),
        metavar="N",
        help="Ranks a host takes at most; without --map-by they fill one host after the other.",
    ),
    grouped_option(
        "--map-by",
        group="Ranks",
        type=click.Choice(MAPPINGS),
        help="Ranks go to all cores of a host, then to the next one's (core); to one host after the other, in turn "
        "(host); to one socket after the other, in turn (socket); anywhere (random); where a rank file says (file). "
        "Without it: host for SimGrid's XML files, core for all other machines.",
    ),
    grouped_option(
        "--host-order",
        group="Ranks",
        type=click.Choice(HOST_ORDERS),
        help="Hosts by name, h2 before h10 (natural); by name as text, h10 before h2 (lexicographic); as the platform "
        "lists them. Without it: lexicographic for SimGrid's XML files, natural for all other machines.",
    ),
)

seed_option: Final = grouped_option(
    "--seed",
    group="Computing",
    type=click.IntRange(0, 2**32 - 1),
    default=0,
    show_default=True,
    help="Seed of what is drawn (--map-by random, --noise, --samples).",
)
