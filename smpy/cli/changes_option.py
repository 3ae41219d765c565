"""`--set KEY=VALUE`, the same wherever a machine is named."""

from __future__ import annotations

import re
from typing import Final

import click

from smpy.cli.click_classes import grouped_option


def _options(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    pairs = []
    for value in values:
        pair = re.match(r"([^=:]*/[^=:]*)[=:]|([^=]*[./][^=]*)=", value)
        if pair is None:
            from smpy.platforms.own_format.one_line import SHORT_KEYS

            key, equals, rest = value.partition("=")
            advice = f": write {SHORT_KEYS[key]}={rest}" if equals and key in SHORT_KEYS else ""
            raise click.BadParameter(
                f"{value!r} is not KEY=VALUE with a key such as host.cores, topology.oversubscription or smpi/test"
                f"{advice}",
                ctx,
                param,
            )
        pairs.append((pair[1] or pair[2], value[pair.end() :]))
    return tuple(pairs)


changes_option: Final = grouped_option(
    "--set",
    "--cfg",
    "options",
    group="Machine",
    multiple=True,
    callback=_options,
    metavar="KEY=VALUE",
    help="A change of the machine for this run. Dotted keys are the machine's: network.bandwidth=x2 (all links), "
    "host.cores=64, nic.latency=500ns. Those with a slash are SimGrid's, as a platform file's <config> has them: "
    "smpi/os=0:1us (smpi/os:0:1us, as smpirun takes it, is the same), or smpy/polls=grow (failed polls get longer, "
    "SMPI's rule) or notice (they do not delay what they wait for). Repeatable.",
)
