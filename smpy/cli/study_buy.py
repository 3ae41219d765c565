"""`smpy study buy`: the machine with the greatest throughput for a budget."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from smpy.cli.click_classes import GroupedCommand, IntegerRange
from smpy.cli.cost_text import count_text
from smpy.cli.results import errors_told, json_option, tell
from smpy.cli.study import folder_option, open_study, retry_option, run_points, study_argument, workers_option
from smpy.cli.throughput_text import computing_lines, number_text, throughput_text, throughput_unit
from smpy.errors import UsageError

if TYPE_CHECKING:
    from smpy.study.candidates import Candidate, Candidates
    from smpy.study.definition import Definition
    from smpy.study.purchase import Purchase, TriedMachine

_RUNS_MAX: Final = 40
_ROWS_MIN: Final = 3
_ROWS_MAX: Final = 12


@click.command("buy", cls=GroupedCommand, short_help="Find the best machine for a budget.")
@study_argument
@click.option(
    "--budget", "budget", required=True, metavar="EUR", help="Most that the machine may cost: 1.3MEUR, 800kEUR."
)
@click.option("--power", metavar="W", help="Most that it may draw with all cores and links busy: 120kW.")
@click.option(
    "--runs",
    "runs_max",
    type=IntegerRange(min=1),
    default=_RUNS_MAX,
    show_default=True,
    metavar="N",
    help="Most runs of the search; those that the study has already do not count.",
)
@folder_option
@workers_option
@retry_option
@click.option("--quiet", is_flag=True, help="Show no progress.")
@json_option
def command(
    what: Path,
    budget: str,
    power: str | None,
    runs_max: int,
    folder: Path | None,
    workers: int | None,
    retry_failed: bool,
    quiet: bool,
    json_path: Path | None,
) -> None:
    """Find the machine of a study with the greatest throughput that a budget allows.

    The machines are the combinations of the axes; an axis set.host.count stands for all sizes from its least to its
    greatest. A few machines run, the others are estimated, and the best one has always run.

    \b
      smpy study buy mix.toml --budget 1.3MEUR
      smpy study buy mix.toml --budget 1.3MEUR --power 120kW --runs 80
    """
    with errors_told():
        from smpy.study.candidates import candidates
        from smpy.study.purchase import MachineSearch, affordable
        from smpy.units import parse_eur, parse_power_w

        budget_eur = _amount("--budget", budget, parse_eur)
        power_w = None if power is None else _amount("--power", power, parse_power_w)
        study = open_study(what, folder)
        offers = candidates(study.definition)
        machines = affordable(offers, budget_eur, power_w)
        search = MachineSearch(study.definition, offers.first, machines, runs_max)
        search.check(study.state(search.points))
        study.check()
        run_points(study, is_quiet=quiet, workers=workers, retry_failed=retry_failed, search=search)
        state = study.state(search.points)
        purchase = search.purchase(state)
        lines = _lines(study.definition, offers, machines, purchase, runs_max)
        text = "\n".join([*lines, *computing_lines(study.definition, search.points, state)])
        tell(text, _record(study.definition, machines, purchase), json_path)


def _amount(option: str, text: str, parse: Callable[[str], float]) -> float:
    try:
        amount = parse(text)
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from None
    if amount <= 0:
        raise UsageError(f"{option}: {text!r} is not above 0")
    return amount


def _lines(
    definition: Definition, offers: Candidates, machines: list[Candidate], purchase: Purchase, runs_max: int
) -> Iterator[str]:
    best = purchase.machines[0]
    too_small = f", {offers.n_too_small:,} have no room for the ranks" if offers.n_too_small else ""
    dear = len(offers.machines) - len(machines)
    yield f"smpy: the best of {len(machines):,} machines ({dear:,} more cost or draw too much{too_small})"
    yield f"  machine        {_settings(definition, best)}"
    cost = best.candidate.cost
    power = "" if cost.busy_w != cost.busy_w else f", {cost.busy_w / 1000:,.4g} kW"
    parts = [
        count_text(cost.n_hosts, "host"),
        count_text(cost.n_cores, "core"),
        count_text(cost.n_switches, "switch", "switches"),
        count_text(cost.n_cables, "cable"),
    ]
    yield f"  parts          {', '.join(parts)}: {cost.price_eur:,.0f} EUR{power}"
    yield f"  throughput     {throughput_text(best.throughput)} ({throughput_unit(definition)})"
    yield f"  per price      {number_text(best.throughput.throughput_per_eur * 1e6)} for 1 MEUR"
    if best.throughput.work_per_kwh == best.throughput.work_per_kwh:
        yield f"  per energy     {number_text(best.throughput.work_per_kwh * 1e3)} for 1 MWh"
    shares = best.throughput.shares
    if len(shares) > 1:
        yield "  time of hosts  " + ", ".join(f"{name} {share:.0%}" for name, share in shares.items())
    yield f"  runs           {purchase.n_runs:,} of {len(machines) * len(best.candidate.points):,}"
    if purchase.n_failed:
        yield f"  failed         on {purchase.n_failed:,} machines: smpy study status names them"
    yield from _table(definition, purchase)
    if purchase.n_open:
        yield (
            f"{purchase.n_open:,} machines that have not run may be better: their estimates are uncertain after "
            f"{purchase.n_runs:,} runs; --runs {2 * runs_max} goes on"
        )


def _table(definition: Definition, purchase: Purchase) -> Iterator[str]:
    """Lines of the best machine and of the runners-up: those within its error, and at least a few."""
    from smpy.records.text_table import text_table

    best = purchase.machines[0].throughput
    n_within = sum(_is_within(one, purchase) for one in purchase.machines)
    shown = purchase.machines[: min(max(n_within, _ROWS_MIN), _ROWS_MAX)]
    rows = [
        [
            *map(str, one.candidate.values),
            f"{one.candidate.cost.price_eur:,.0f}",
            throughput_text(one.throughput),
            f"{one.throughput.throughput / best.throughput - 1:+.1%}",
            "best" if one is shown[0] else "within its error" if _is_within(one, purchase) else "",
        ]
        for one in shown
    ]
    yield from text_table([*definition.setting_names, "EUR", "throughput", "", ""], rows, n_words=1).splitlines()
    if n_within > len(shown):
        yield f"  and {n_within - len(shown):,} more within its error"
    if best.half_width != best.half_width:
        yield "  times have no ±: repetitions with noise, or calibrated kernels, give one"


def _is_within(one: TriedMachine, purchase: Purchase) -> bool:
    best = purchase.machines[0].throughput
    margin = best.half_width if best.half_width == best.half_width else 0.0
    return one.throughput.throughput >= best.throughput - margin


def _settings(definition: Definition, one: TriedMachine) -> str:
    pairs = zip(definition.setting_names, one.candidate.values, strict=True)
    return ", ".join(f"{name} = {value}" for name, value in pairs) or "the only one"


def _record(definition: Definition, machines: list[Candidate], purchase: Purchase) -> dict[str, Any]:
    return {
        "machines": len(machines),
        "runs": purchase.n_runs,
        "failed": purchase.n_failed,
        "open": purchase.n_open,
        "unit": throughput_unit(definition),
        "best": [
            {
                "settings": dict(zip(definition.setting_names, one.candidate.values, strict=True)),
                "cost": one.candidate.cost.to_json(),
                "power_w": _known(one.candidate.cost.busy_w),
                "throughput": {
                    name: _known(value) for name, value in asdict(one.throughput).items() if name != "values"
                },
            }
            for one in purchase.machines
        ],
    }


def _known(value: Any) -> Any:
    return None if isinstance(value, float) and value != value else value
