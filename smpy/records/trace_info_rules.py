"""Rules for the keys of a trace's `run.json`, checked before any code relies on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, Final

from smpy.records.trace_layout import COLUMNS, MACHINE

_LARGEST: Final = 1e300  # upper limit of a number, so that sums and means of such numbers stay finite
_CORES_MAX: Final = 1 << 20  # of a rank, as the option has it
_WINDOWS_MAX: Final = 256  # of simulated time, in call stacks
_ROUNDING: Final = 1e-6  # relative to a share or a time, which may be a sum in another order

_Rule = Callable[[Any], bool]
_Content = Mapping[str, Any]


def broken_rule(content: _Content) -> str:
    """Words for the first rule that `run.json` breaks; empty if it breaks none.

    Parameters
    ----------
    content : mapping
        Content of the file; `trace` is an object.
    """
    for place, rule, expected in _RULES:
        is_there, value = _value_at(content, place)
        if not is_there or not rule(value):
            return f"{place} is not {expected}"
    for place, rule, expected in _OPTIONAL:
        _, value = _value_at(content, place)
        if value is not None and not rule(value):
            return f"{place} is not {expected}"
    for place, agrees, expected in _RELATIONS:
        if not agrees(content):
            return f"{place} is not {expected}"
    return ""


def _value_at(content: _Content, place: str) -> tuple[bool, Any]:
    """Whether the content has a value at this place, and the value."""
    value: Any = content
    for key in place.split("."):
        if not isinstance(value, dict) or key not in value:
            return False, None
        value = value[key]
    return True, value


# ---- values ----


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 63


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= _LARGEST


def _is_share(value: Any) -> bool:
    return _is_number(value) and bool(value <= 1 + _ROUNDING)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool)


def _list_of(rule: _Rule) -> _Rule:
    return lambda value: isinstance(value, list) and all(map(rule, value))


def _pair_of(first: _Rule, second: _Rule) -> _Rule:
    return lambda value: isinstance(value, list) and len(value) == 2 and first(value[0]) and second(value[1])


def _or_null(rule: _Rule) -> _Rule:
    return lambda value: value is None or rule(value)


def _object_of(**rules: _Rule) -> _Rule:
    """Rule for an object with at least these keys; a key that may be null may also be missing."""
    return lambda value: isinstance(value, dict) and all(rule(value.get(name)) for name, rule in rules.items())


def _columns_of(**rules: _Rule) -> _Rule:
    """Rule for an object of columns of equal length."""
    are_lists = _object_of(**{name: _list_of(rule) for name, rule in rules.items()})
    return lambda value: are_lists(value) and len({len(value[name]) for name in rules}) == 1


def _is_file_table(value: Any) -> bool:
    names = {MACHINE, *(f"{table}.parquet" for table in COLUMNS)}
    return (
        isinstance(value, dict)
        and names >= value.keys()
        and all(isinstance(each, dict) and _is_count(each.get("bytes")) for each in value.values())
        and all(_is_text(each.get("sha256")) for each in value.values())
        and all(_is_count(each.get("rows")) for name, each in value.items() if name != MACHINE)
    )


def _is_line(value: Any) -> bool:
    """Whether a value names a line of a file: "heat.py:31"."""
    return _is_text(value) and value.rpartition(":")[2].isdecimal()


def _is_window(value: Any) -> bool:
    return _is_count(value) and bool(value < _WINDOWS_MAX)


_is_site: Final = _object_of(
    call=_or_null(_is_text), line=_or_null(_is_text), count=_is_count, spent_s=_list_of(_is_number),
    sent_bytes=_is_count, slowest=lambda value: value == -1 or _is_count(value),
)  # fmt: skip
_is_computing_line: Final = _object_of(
    ended_by=_or_null(_is_text), function=_is_text, line=_is_line, seconds=_is_number, samples=_is_count
)
_are_calls: Final = _columns_of(
    caller=lambda value: value == -1 or _is_count(value), function=_is_text, file=_is_text, line=_is_count
)
_are_times: Final = _columns_of(ranks=_is_count, window=_is_window, call=_is_count, seconds=_is_number)
_are_call_stacks: Final = _object_of(
    window_s=lambda value: _is_number(value) and value > 0,
    ranks_per_cell=lambda value: _is_count(value) and value > 0,
    calls=_are_calls,
    times=_are_times,
)
_is_shared_kernel: Final = _object_of(seconds=_is_number, alone_s=_is_number)


def _is_remark(value: Any) -> bool:
    if not isinstance(value, dict) or value.get("topic") != "shared hosts":
        return isinstance(value, dict) and _is_text(value.get("topic"))
    kernels = value.get("kernels")
    return isinstance(kernels, dict) and all(map(_is_shared_kernel, kernels.values()))


_are_loads: Final = _columns_of(
    link=_is_text, most_flows=_is_count, bytes=_is_number, busy_s=_is_number, saturated_s=_is_number
)
_are_labels: Final = _columns_of(link=_is_text, joins=_is_text)


def _are_links(value: Any) -> bool:
    return _are_loads(value) and ("joins" not in value or _are_labels(value))


_is_choice: Final = _object_of(
    table=_is_text,
    file=_is_text,
    content=_is_text,
    algorithms=_list_of(_pair_of(_is_text, _is_text)),
    schedules=_list_of(_is_count),
)

_is_import: Final = _object_of(form=_is_text, path=_is_text, keeps_seconds=_is_bool, cycles=_or_null(_is_text))

_COUNT: Final = "a number of 0 or more"
_RULES: Final[tuple[tuple[str, _Rule, str], ...]] = (
    ("ranks", lambda value: _is_count(value) and value > 0, "a number of ranks"),
    ("finish_s", _list_of(_or_null(_is_number)), "a list of dates"),
    ("makespan_s", _or_null(_is_number), "a date, or null"),
    ("messages", _is_count, _COUNT),
    ("bytes", _is_count, _COUNT),
    ("program", _is_text, "a text"),
    ("platform", _is_text, "a text"),
    ("platform_fingerprint", _is_text, "a text"),
    ("args", _list_of(_is_text), "a list of texts"),
    ("mapping", _list_of(_pair_of(_is_text, _is_count)), "a list of hosts with their ranks"),
    ("host.command", _list_of(_is_text), "a list of texts"),
    ("trace.program_path", _is_text, "a text"),
    ("trace.is_complete", _is_bool, "true or false"),
    ("trace.can_replay", _is_bool, "true or false"),
    ("trace.window_s", _or_null(_pair_of(_is_number, _or_null(_is_number))), "two dates, or null"),
    ("trace.ranks", _or_null(_list_of(_is_count)), "a list of ranks, or null"),
    *((f"trace.{name}", _is_count, _COUNT) for name in ("n_wildcards", "n_polls", "n_failed_polls", "n_choices")),
    ("trace.regions", _list_of(_is_text), "a list of names"),
    ("trace.hosts_of_ranks", _list_of(_pair_of(_is_count, _is_count)), "the hosts of all ranks"),
    ("trace.algorithms", _list_of(_pair_of(_is_text, _is_text)), "a list of operations and algorithms"),
    ("trace.host_speed_flop_per_s", _or_null(_is_number), "a speed, or null"),
    ("trace.files", _is_file_table, "a table of the trace's files"),
)
"""Keys of every trace, each with its rule and the words for it."""

_OPTIONAL: Final[tuple[tuple[str, _Rule, str], ...]] = (
    ("trace.cpus_per_task", lambda value: _is_count(value) and 0 < value <= _CORES_MAX, "a number of cores"),
    ("smpy", _is_text, "a text"),
    ("background", _object_of(text=_is_text, seed=_is_count), "a text and a seed"),
    *((f"{name}_share", _is_share, "a share") for name in ("compute", "communication", "waiting", "sleep")),
    *((f"{name}_share", _is_share, "a share") for name in ("device", "skipped")),
    ("compute", _is_text, "a text"),
    ("remarks", _list_of(_is_remark), "a list of remarks"),
    ("profile", _object_of(kinds=_list_of(_is_text), sites=_list_of(_is_site)), "a profile, with kinds and sites"),
    ("profile.computing_lines", _list_of(_is_computing_line), "a list of lines that computed"),
    ("profile.call_stacks", _are_call_stacks, "a table of call stacks"),
    ("profile.noise_waiting_s", _is_number, "a time"),
    ("profile.links", _are_links, "a table of links"),
    ("trace.imported", _is_import, "the origin of an imported trace"),
    ("trace.choices", _list_of(_is_choice), "a list of choices by hints"),
    ("profile.hosts", _columns_of(host=_is_text, compute_s=_is_number), "a table of hosts"),
)
"""Keys that may be missing or null, each with its rule and the words for it."""

# ---- values that have to agree with others ----


def _has_each_rank(content: _Content) -> bool:
    return bool(len(content["finish_s"]) == content["ranks"])


def _has_the_host_of_each_rank(content: _Content) -> bool:
    return bool(sum(n for _, n in content["trace"]["hosts_of_ranks"]) == content["ranks"])


def _has_ranks_of_the_run(content: _Content) -> bool:
    ranks: list[int] | None = content["trace"]["ranks"]
    if ranks is None:
        return True
    return len(ranks) > 0 and ranks[-1] < int(content["ranks"]) and all(one < other for one, other in pairwise(ranks))


def _has_window_in_order(content: _Content) -> bool:
    first_s, last_s = content["trace"]["window_s"] or (0.0, None)
    return last_s is None or first_s < last_s


def _has_what_a_run_has(content: _Content) -> bool:
    traced = content["trace"]
    return "imported" in traced or (content["makespan_s"] is not None and MACHINE in traced["files"])


def _has_times_of_each_kind(content: _Content) -> bool:
    profile = content.get("profile")
    return profile is None or all(len(site["spent_s"]) == len(profile["kinds"]) for site in profile["sites"])


def _has_stacks_in_order(content: _Content) -> bool:
    stacks = (content.get("profile") or {}).get("call_stacks")
    if stacks is None:
        return True
    callers, times = stacks["calls"]["caller"], stacks["times"]
    return (
        all(caller < number for number, caller in enumerate(callers))
        and all(call < len(callers) for call in times["call"])
        and all(ranks * stacks["ranks_per_cell"] < content["ranks"] for ranks in times["ranks"])
    )


def _has_links_of_the_run(content: _Content) -> bool:
    links = (content.get("profile") or {}).get("links") or {"busy_s": [], "saturated_s": []}
    longest_s = float(content["makespan_s"] or 0.0) * (1 + _ROUNDING)
    return all(part_s <= longest_s for name in ("busy_s", "saturated_s") for part_s in links[name])


_RELATIONS: Final[tuple[tuple[str, Callable[[_Content], bool], str], ...]] = (
    ("finish_s", _has_each_rank, "a list of as many dates as there are ranks"),
    ("trace.hosts_of_ranks", _has_the_host_of_each_rank, "the hosts of all ranks"),
    ("trace.ranks", _has_ranks_of_the_run, "a list of ranks of the run, in order"),
    ("trace.window_s", _has_window_in_order, "two dates in order"),
    ("trace", _has_what_a_run_has, "a record with a machine and dates"),
    ("profile.sites", _has_times_of_each_kind, "a list of sites with a time of each kind"),
    ("profile.call_stacks", _has_stacks_in_order, "a table whose calls stand after their callers"),
    ("profile.links", _has_links_of_the_run, "a table of links, none busy for longer than the run"),
)
"""Conditions between several keys, with the words for each; checked once all types are right."""
