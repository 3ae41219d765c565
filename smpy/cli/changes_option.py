"""`--set KEY=VALUE`, the same wherever a machine is named."""

from __future__ import annotations

from typing import Final

import click


def _options(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    for value in values:
        key, equals, _ = value.partition("=")
        if not equals or not ("/" in key or "." in key):
            raise click.BadParameter(
                f"{value!r} is not KEY=VALUE with a key such as host.cores or smpi/test", ctx, param
            )
    return tuple((key, text) for key, _, text in (value.partition("=") for value in values))


changes_option: Final = click.option(
    "--set",
    "--cfg",
    "options",
    multiple=True,
    callback=_options,
    metavar="KEY=VALUE",
    help="A change of the machine for this run. Dotted keys are the machine's: network.bandwidth=x2 (all links), "
    "host.cores=64, nic.latency=500ns. Those with a slash are SimGrid's, as a platform file's <config> has them: "
    "smpi/os=0:1us, or smpy/polls=grow (failed polls get longer, SMPI's rule) or notice (they do not delay what they "
    "wait for). Repeatable.",
)
