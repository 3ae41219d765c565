"""A run is a value: it has one JSON, and one command line, and both are read as the same run."""

from __future__ import annotations

import inspect
import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import smpy
from smpy.cli.run import config_from
from smpy.errors import UsageError
from smpy.option_texts import LOAD_GOVERNORS, UniformTraffic
from smpy.options import KEYWORDS, OPTIONS, RunConfig
from smpy.platforms.machine import read_machine
from smpy.runs.run_text import command_line, from_json, options_of, run_config, to_json

LETTERS = st.characters(exclude_characters="\0", exclude_categories=["Cs"]) | st.just("\udcff")  # of any bytes
WORDS = st.text(LETTERS, min_size=1).filter(lambda word: not word.startswith("-"))
PATHS = WORDS.map(Path)
SECONDS = st.floats(1e-12, 1e6)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "n_ranks": st.integers(10_000, 2**31 - 1),
    "map_by": st.sampled_from(["core", "host", "random"]),
    "host_order": st.sampled_from(["natural", "platform"]),
    "options": st.lists(st.tuples(st.sampled_from(["host.cores", "smpi/os", "link[a b].latency"]), WORDS)).map(tuple),
    "collectives": WORDS,
    "algorithms": st.lists(st.tuples(st.sampled_from(["bcast", "alltoall"]), WORDS)).map(tuple),
    "private": st.lists(WORDS).map(tuple),
    "shared": st.lists(WORDS).map(tuple),
    "compute": st.sampled_from(["measured", "models", "mixed", "none"]),
    "burst_memory": st.just("none"),
    "record": st.none(),
    "replay": st.none(),
    "host": st.none(),
    "output_dir": st.none(),
    "host_speed_flop_per_s": st.floats(1, 1e15),
    "noise_model": st.one_of(
        st.tuples(
            st.sampled_from(["normal", "pareto"]), st.integers(1, 3000).map(lambda n: n / 100 / 100), st.just(0.0)
        ),
        st.tuples(st.just("ticks"), st.floats(1e-9, 1e3), st.floats(1e-9, 1e3)),
    ),
    "background": st.one_of(
        st.just("none"),
        PATHS,
        st.builds(UniformTraffic, st.floats(1e-9, 1, exclude_max=True), st.integers(1, 2**53)),
    ),
    "iterations": st.floats(1e-6, 0.5),
    "governor": st.tuples(
        st.sampled_from(["performance", "powersave", "ondemand", "conservative"]), st.floats(1e-6, 1e6)
    ),
    "trace_window_s": st.tuples(SECONDS, SECONDS.map(lambda s: s + 2e6) | st.just(math.inf)),
    "trace_ranks": st.sets(st.integers(0, 9999), min_size=1).map(lambda ranks: tuple(sorted(ranks))),
    "chosen_message": st.tuples(*(st.integers(least, 9999) for least in (0, 1, 0, 0))),
    "ranks_per_host": st.integers(1, 99),
    "pdb_rank": st.integers(0, 9999),
    "cpus_per_task": st.integers(1, 99),
    "seed": st.integers(0, 2**32 - 1),
    "repeat": st.integers(1, 9),
    "platform": WORDS,
    "network": WORDS,
    "compat": WORDS,
}


@st.composite
def runs(draw: st.DrawFn) -> RunConfig:
    fields = {"trace": Path("trace")}
    for name, option in OPTIONS.items():
        if name == "n_ranks" or draw(st.booleans()):
            fields[name] = draw(VALUES.get(name, st.booleans() if option.read is None else PATHS))
    if fields.get("noise_model", ("",))[0] == "ticks" or fields.get("governor", ("",))[0] in LOAD_GOVERNORS:
        fields.pop("iterations", None)  # which refuses ticks, and governors that follow the load
    return RunConfig(program=draw(WORDS), args=tuple(draw(st.lists(WORDS))), **fields)  # type: ignore[arg-type]


@given(runs())
def test_a_run_is_read_from_its_json_its_keywords_and_its_command_line(run: RunConfig):
    assert from_json(to_json(run)) == run
    assert run_config(run.program, run.args, options_of(run)) == run
    assert config_from(command_line(run)) == run
    assert hash(from_json(to_json(run))) == hash(run)


@pytest.mark.parametrize("file", ["record", "replay"])
def test_a_file_of_bursts_is_in_the_text_of_a_run(file: str):
    run = RunConfig(2, "p.py", **{file: Path("a:b")})  # type: ignore[arg-type]
    assert options_of(run) == {"ranks": 2, "compute": f"{file}:a:b"}
    assert from_json(to_json(run)) == config_from(command_line(run)) == run


def test_a_machine_made_in_python_is_in_the_json_of_a_run():
    run = RunConfig(4, "p.py", platform=read_machine("torus 2x2 cores=1 latency=50us", 4))
    assert from_json(to_json(run)) == run
    assert hash(from_json(to_json(run))) == hash(run)
    assert "platform" not in options_of(run)


def test_every_option_of_a_run_has_one_name_in_python():
    assert len(KEYWORDS) == len(OPTIONS) == len({flag for option in OPTIONS.values() for flag in option.flags}) - 3


def test_simulate_names_and_describes_every_option():
    parameters = inspect.signature(smpy.simulate).parameters
    assert set(parameters) == {"program", "args", "timeout_s", "memory_limit_bytes", "stdin", *KEYWORDS}
    assert (parameters["compute"].default, parameters["seed"].default, parameters["strict"].default) == (
        "measured",
        0,
        False,
    )
    described = smpy.simulate.__doc__.partition("Other Parameters")[2].partition("Returns")[0]
    assert re.findall(r"^(\w+)$", described, re.MULTILINE) == [name for name in KEYWORDS if name != "ranks"]
    assert "with map_by file, a rank file." in described
    assert "--" not in described.partition("-\n")[2]


GOOD: dict[str, Any] = {"format": 1, "program": "p.py", "args": [], "options": {"ranks": 4}}


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"format": 2}, "it is a run of format 2, and this version of smpy reads 1"),
        ({"format": None}, "it is a run of format None"),
        ({"format": True}, "not the JSON of a run as smpy writes it"),
        ({"option": {}}, "a run has no 'option': did you mean 'options'?"),
        ({"program": 3}, "of another type"),
        ({"args": "p"}, "of another type"),
        ({"args": [3]}, "args[0]=3: say a str or a path"),
        ({"options": {}}, "ranks=: how many?"),
        ({"options": {"ranks": 4, "rank": 3}}, "there is no option 'rank': did you mean 'ranks'?"),
        ({"options": {"ranks": "4"}}, "not the JSON of a run as smpy writes it"),
        ({"options": {"ranks": [4, 4]}}, "ranks=[4, 4]: say one value"),
        ({"options": {"ranks": 4, "strict": 1}}, "strict=1: say True or False"),
        ({"options": {"ranks": 4, "strict": False}}, "not the JSON of a run as smpy writes it"),
        ({"options": {"ranks": 0}}, "ranks=0 is not at least 1"),
        ({"options": {"ranks": 4, "seed": 2**40}}, "seed=1099511627776 is not from 0 to"),
        ({"options": {"ranks": 4, "overwrite": True}}, "overwrite= is for the folder of a trace: trace=FOLDER names"),
        ({"options": {"ranks": 4, "trace": "t", "trace_ranks": "0-4"}}, "trace_ranks=: there is no rank 4"),
        ({"options": {"ranks": 4, "trace_window": "2:1"}}, "trace_window='2:1' is not FROM:TO"),
        ({"machine": {}}, "format"),
    ],
)
def test_json_that_is_no_run_is_refused_in_one_line(changes: dict[str, Any], told: str):
    with pytest.raises(UsageError) as raised:
        from_json(json.dumps(GOOD | changes))
    assert told in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("text", ["", "[]", "[" * 100_000, '{"format": 1, "format": 1}', json.dumps(GOOD, indent=1)])
def test_text_that_is_no_run_is_refused(text: str):
    assert from_json(json.dumps(GOOD)) == RunConfig(4, "p.py")
    with pytest.raises(UsageError, match="it is "):
        from_json(text)
