"""A study is read from TOML or a mapping, and says what is wrong in it; its points are runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from smpy.errors import UsageError
from smpy.options import RunConfig
from smpy.platforms import Prices
from smpy.study.definition import definition_of, read_definition
from smpy.study.points import Point, points_of, samples_of_options

BASE: dict[str, Any] = {
    "program": "prog.py",
    "options": {"compute": "none", "ranks": 2},
    "axes": {"args": {"--n": [5, 6]}},
}


def points(**changes: Any) -> list[Point]:
    return points_of(definition_of({**BASE, **changes}))


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"axis": {}}, "no 'axis': did you mean 'axes'?"),
        ({"program": None, "module": None}, "say one program"),
        ({"module": "prog"}, "say one program"),
        ({"program": 4}, "program = 4 is not a text"),
        ({"combine": "gird"}, "did you mean 'grid'"),
        ({"combine": "random"}, "n_points goes with"),
        ({"n_points": 4}, "n_points goes with"),
        ({"combine": "list"}, "has no [axes]"),
        ({"points": [{"ranks": 1}], "combine": "grid"}, "[[points]] are listed"),
        ({"repetitions": 0}, "at least once"),
        ({"repetitions": "3"}, "not a whole number"),
        ({"keep": ["profil"]}, "did you mean 'profile'"),
        ({"limits": {"time": "soon"}}, "limits: 'soon'"),
        ({"limits": {"time": 1e300}}, "limits.time=1e"),
        ({"limits": {"time": True}}, "limits.time=True"),
        ({"limits": {"memory": -1}}, "limits.memory=-1"),
        ({"limits": {"memory": 1.5}}, "limits.memory=1.5"),
        ({"limits": {"memory": 2**70}}, "limits.memory="),
        ({"limits": {"tim": 1}}, "did you mean 'time'"),
        ({"results": {"t": "("}}, "no regular expression"),
        ({"results": {"t": "time"}}, "one group"),
        ({"results": {"makespan_s": "(.)"}}, "such a column already"),
        ({"axes": {"makespan_s": [1]}}, "a column of every study"),
        ({"axes": {"seed": [1, 2]}, "repetitions": 2}, "the seed is an axis"),
        ({"name": "a/b"}, "cannot be called"),
        ({"args": "--n 4"}, "is not a list"),
        ({"environment": ["NAME=value"]}, "'NAME=value' is no name of a variable"),
        ({"axes": [1]}, "is not a table"),
    ],
)
def test_what_is_no_study_is_refused_in_words(changes: dict[str, Any], told: str):
    table = {key: value for key, value in {**BASE, **changes}.items() if value is not None}
    with pytest.raises(UsageError) as error:
        definition_of(table)
    assert told in str(error.value)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"options": {"compute": "none"}}, "no ranks: say a whole number"),
        ({"options": {"rank": 4}}, "there is no option 'rank': did you mean 'ranks'?"),
        ({"axes": {"ranks": ["4"]}}, "ranks = '4'"),
        ({"axes": {"args.n": [1]}}, "Write {n} in args"),
        ({"axes": {"sett.nic": [1]}}, "did you mean 'set'"),
        ({"axes": {"trace": [1]}}, "a column of every study"),
        ({"options": {"ranks": 1, "json": "x"}}, "`keep` says"),
        ({"options": {"ranks": 1, "compute": "record:x"}}, "all points would write that file"),
    ],
)
def test_settings_that_make_no_sense_are_refused(changes: dict[str, Any], told: str):
    with pytest.raises(UsageError) as error:
        points(**changes)
    assert told in str(error.value)


def test_a_file_is_named_in_its_errors(tmp_path: Path):
    path = tmp_path / "mine.toml"
    path.write_text("program = 'x.py'\naxs = {}\n")
    with pytest.raises(UsageError, match=r"mine\.toml: a study has no 'axs'"):
        read_definition(path)
    path.write_text("program = ")
    with pytest.raises(UsageError, match="is not TOML"):
        read_definition(path)
    path.write_bytes(b"name = '\xff'")
    with pytest.raises(UsageError, match=r"cannot read the study .*: it is not a text file in UTF-8"):
        read_definition(path)
    with pytest.raises(UsageError, match="cannot read the study"):
        read_definition(tmp_path / "none.toml")


def test_keys_with_dots_may_be_written_either_way(tmp_path: Path):
    path = tmp_path / "both.toml"
    path.write_text(  # as editors of Windows do, with a byte order mark
        '\ufeffprogram = "x.py"\noptions = { ranks = 2 }\n[axes]\nargs.--n = [5, 6]\n"set.nic.latency" = ["1us"]\n'
        "[axes.set.host]\ncores = { from = 1, to = 4, times = 2 }\n"
    )
    definition, _ = read_definition(path)
    assert definition.axis_names == ("args.--n", "set.nic.latency", "set.host.cores")
    assert definition.name == "both"
    assert definition.folder == str(tmp_path)


@pytest.mark.parametrize(
    ("args", "name", "value", "line"),
    [
        ([], "--n", 5, ["--n", "5"]),
        (["--n", "1", "--v"], "--n", 5, ["--n", "5", "--v"]),
        (["--n=1", "--v"], "--n", 5, ["--n=5", "--v"]),
        (["--n", "--v", "1"], "--n", 5, ["--n", "5", "--v", "1"]),
        (["--n", "-1", "--v"], "--n", 5, ["--n", "5", "--v"]),
        (["--v", "--n"], "--n", 5, ["--v", "--n", "5"]),
        (["{n}", "x{n}"], "n", 5, ["5", "x5"]),
        (["--v"], "--v", False, []),
        (["--v"], "--v", True, ["--v"]),
        ([], "--v", True, ["--v"]),
        ([], "--v", False, []),
        (["{other}"], "--n", 0.5, ["{other}", "--n", "0.5"]),
    ],
)
def test_an_argument_goes_where_the_program_has_it(args: list[str], name: str, value: Any, line: list[str]):
    (point,) = points(args=args, axes={f"args.{name}": [value]})
    assert (point.run.program, *point.run.args) == ("prog.py", *line)


def test_options_are_those_of_smpy_run():
    (point,) = points(
        options={"compute": "none", "set": {"host.cores": 8}, "algorithm": ["bcast=ring"], "map-by": "host"},
        axes={"machine": {"small": {"ranks": 4, "set.nic.latency": "1us", "algorithm.bcast": "binomial_tree"}}},
    )
    assert point.ranks == 4
    assert point.run == RunConfig(
        4,
        "prog.py",
        compute="none",
        options=(("host.cores", "8"), ("nic.latency", "1us")),
        algorithms=(("bcast", "binomial_tree"),),
        map_by="host",
    )


def test_repetitions_differ_by_their_seed():
    found = points(options={"ranks": 2, "seed": 10}, repetitions=3, axes={"args.--n": [5]})
    assert [point.run.seed for point in found] == [10, 11, 12]
    assert [point.repetition for point in found] == [0, 1, 2]


def test_points_of_one_run_have_one_key_and_others_have_others():
    keys = [point.key for point in points(axes={"args.--n": [5, 6], "ranks": [2, 4]})]
    assert len(set(keys)) == 4
    assert [point.key for point in points(axes={"ranks": [2, 4], "args.--n": [5, 6]})] == [
        keys[0],
        keys[2],
        keys[1],
        keys[3],
    ]


def test_a_wrong_option_is_named_with_its_point():
    with pytest.raises(UsageError, match=r"^point 1: map_by='near' is none of core, host, socket, random, file$"):
        points(axes={"map_by": ["core", "near"]})


def test_a_list_of_points_has_a_column_for_whatever_one_sets():
    definition = definition_of({"program": "x.py", "points": [{"ranks": 1}, {"ranks": 2, "seed": 4}]})
    assert definition.axis_names == ("ranks", "seed")
    assert [point.values for point in points_of(definition)] == [(1, ""), (2, 4)]


@pytest.mark.parametrize(
    "changes",
    [
        {"points": [{"ranks": 1}, {"ranks": 2}, {}, {"ranks": 2}, {"ranks": 1}]},
        {"axes": {"ranks": [1, 2]}, "combine": "random", "n_points": 20},
    ],
)
def test_a_point_that_is_listed_or_drawn_twice_is_one_point(changes: dict[str, Any]):
    definition = definition_of({"program": "x.py", "options": {"ranks": 2}, "repetitions": 2, **changes})
    found = [(point.ranks, point.repetition) for point in points_of(definition)]
    assert sorted(found) == [(1, 0), (1, 1), (2, 0), (2, 1)]


def test_a_listed_point_that_leaves_an_option_to_all_has_its_value_in_the_row():
    definition = definition_of(
        {
            "program": "x.py",
            "options": {"ranks": 4, "map-by": "core"},
            "points": [{"ranks": 1, "map_by": "host"}, {"set.nic.latency": "1us"}],
        }
    )
    assert [point.values for point in points_of(definition)] == [(1, "host", ""), (4, "core", "1us")]
    assert [point.ranks for point in points_of(definition)] == [1, 4]


def test_samples_have_each_option_with_its_first_and_its_last_value():
    found = points(axes={"set.host.cores": {"from": 1, "to": 100, "step": 1}, "algorithm.bcast": ["ring", "mpich"]})
    samples = samples_of_options(found)
    assert {("host.cores", "1"), ("host.cores", "100")} <= {pair for point in samples for pair in point.run.options}
    assert {("bcast", "ring"), ("bcast", "mpich")} == {pair for point in samples for pair in point.run.algorithms}
    assert len(samples_of_options(found)) <= 6


def test_prices_are_a_table_a_preset_or_a_file_beside_the_study(tmp_path: Path) -> None:
    (tmp_path / "quotation.toml").write_text("[price]\nhost_eur = 9000\n")
    given = {"program": "p.py", "options": {"ranks": 1}}
    assert definition_of(given).prices == Prices()
    assert definition_of(given | {"prices": {"host_eur": 9000}}).prices == Prices(host_eur=9000)
    assert definition_of(given | {"prices": "quotation.toml"}, tmp_path).prices == Prices(host_eur=9000)
    assert definition_of(given | {"prices": "example-prices"}).prices.kwh_eur == 0.2
    with pytest.raises(UsageError, match=r"cannot read platform file '.*nowhere\.toml'"):
        definition_of(given | {"prices": "nowhere.toml"}, tmp_path)
    with pytest.raises(UsageError, match="prices = 3 is not a file, a preset or a table"):
        definition_of(given | {"prices": 3})
    with pytest.raises(UsageError, match=r"price\.hosts_eur: unknown key: did you mean 'host_eur'"):
        definition_of(given | {"prices": {"hosts_eur": 3}})


# ---- several programs ----

PROGRAMS: dict[str, Any] = {
    "hpl": {"program": "hpl.py", "args": ["--n", 9], "options": {"ranks": 8}, "runs_per_week": 3},
    "fft": {"module": "fft", "options": {"ppn": 2, "algorithm": {"bcast": "ring"}}, "runs_per_week": 1.5},
}
MIX: dict[str, Any] = {
    "programs": PROGRAMS,
    "options": {"ranks": 4, "compute": "none", "algorithm": {"bcast": "binomial", "reduce": "binomial"}},
    "axes": {"platform": ["hdr", "edr"]},
}


def test_each_program_runs_on_each_machine_with_its_own_arguments_and_options():
    definition = definition_of(MIX)
    assert definition.axis_names == ("program", "platform")
    points = points_of(definition)
    assert [point.values for point in points] == [("hpl", "hdr"), ("hpl", "edr"), ("fft", "hdr"), ("fft", "edr")]
    hpl, fft = points[1].run, points[2].run
    assert (hpl.program, hpl.is_module, hpl.args, hpl.n_ranks) == ("hpl.py", False, ("--n", "9"), 8)
    assert (fft.program, fft.is_module, fft.args, fft.n_ranks, fft.ranks_per_host) == ("fft", True, (), 4, 2)
    assert dict(hpl.algorithms) == {"bcast": "binomial", "reduce": "binomial"}
    assert dict(fft.algorithms) == {"bcast": "ring", "reduce": "binomial"}


def test_a_program_of_several_has_the_keys_of_a_study_of_it_alone():
    alone = points_of(
        definition_of({"program": "hpl.py", "args": ["--n", 9], "options": {**MIX["options"], "ranks": 8},
                       "axes": MIX["axes"]})
    )  # fmt: skip
    assert [point.key for point in points_of(definition_of(MIX))[:2]] == [point.key for point in alone]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"runs_per_week": 0}, "program 'hpl': runs_per_week = 0 is not a number above 0: leave the program out"),
        ({"runs_per_week": "often"}, "runs_per_week = 'often' is not a number above 0"),
        ({"runs_per_week": float("inf")}, "is not a number above 0"),
        ({"core_hours_share": 0.4}, "say one weight: runs_per_week = 20 or core_hours_share = 0.3"),
        ({"runs_per_weak": 4}, "did you mean 'runs_per_week'"),
        ({"module": "hpl"}, "program 'hpl': say one program"),
        ({"options": {"platform": "hdr"}}, "options.platform: all programs run on the machines of the study"),
        ({"options": [1]}, "is not a table"),
    ],
)
def test_a_program_that_makes_no_sense_is_refused_by_its_name(changes: dict[str, Any], told: str):
    with pytest.raises(UsageError) as refused:
        definition_of({**MIX, "programs": {**PROGRAMS, "hpl": {**PROGRAMS["hpl"], **changes}}})
    assert told in str(refused.value)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"program": "hpl.py"}, "has no 'program' of its own"),
        ({"args": []}, "has no 'args' of its own"),
        ({"programs": {}}, "say a table of each"),
        ({"programs": {"hpl": "hpl.py"}}, "program 'hpl': 'hpl.py' is not a table"),
        ({"axes": {"program": {"a": {"ranks": 1}}}}, "'program' is a column of every study's table"),
        ({"priced_by": "host"}, "priced_by = 'host' is none of machine, hosts: did you mean 'hosts'?"),
    ],
)
def test_a_study_of_programs_that_makes_no_sense_is_refused(changes: dict[str, Any], told: str):
    with pytest.raises(UsageError) as refused:
        definition_of({**MIX, **changes})
    assert told in str(refused.value)


def test_weights_of_different_kinds_are_refused():
    share = {"program": "cg.py", "core_hours_share": 0.5}
    with pytest.raises(UsageError, match="give all of them the same kind of weight"):
        definition_of({**MIX, "programs": {**PROGRAMS, "cg": share}})


# ---- all cores ----


@pytest.mark.parametrize(
    ("options", "n_ranks"),
    [
        ({"platform": "flat hosts=6 cores=8"}, 48),
        ({"platform": "flat hosts=6 cores=8", "ppn": 3}, 18),
        ({"platform": "flat hosts=6 cores=8", "cpus_per_task": 4}, 12),
        ({"platform": "hdr", "set": {"host.count": 2, "host.cores": 6}}, 12),
    ],
)
def test_all_ranks_are_as_many_as_the_machine_has_places(options: dict[str, Any], n_ranks: int):
    (point, _) = points(options={"compute": "none", "ranks": "all", **options})
    assert point.ranks == n_ranks


def test_all_ranks_of_a_machine_that_is_sized_to_them_are_refused():
    with pytest.raises(UsageError, match="as many hosts as its ranks need"):
        points(options={"compute": "none", "ranks": "all", "platform": "hdr"})
