"""The studies of the gallery can run, and HPL's capacity planning says what was published."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

import smpy

STUDIES = Path(__file__).parents[2] / "apps" / "studies"
DEFINED = sorted(
    path for path in STUDIES.glob("*.toml") if {"program", "programs"} & set(tomllib.loads(path.read_text()))
)


@pytest.mark.parametrize("path", DEFINED, ids=lambda path: path.stem)
def test_every_study_of_the_gallery_has_options_and_machines_that_can_be_read(path: Path, tmp_path: Path):
    smpy.Study(path, tmp_path / "results").check()


def test_every_study_of_the_gallery_is_drawn_and_told_of():
    drawn, told = (STUDIES / "pictures.py").read_text(), (STUDIES / "README.md").read_text()
    for path in DEFINED:
        assert f"def {path.stem}(" in drawn
        assert f"`{path.name}`" in told


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_choice_of_an_allreduce_is_what_the_gallery_says(tmp_path: Path):
    given = tomllib.loads((STUDIES / "collectives.toml").read_text())
    given["program"] = str(STUDIES / given["program"])
    given["axes"]["args"]["--bytes"] = [8, 2048, 32_768]
    frame = smpy.Study(given, tmp_path / "results").run()
    assert (frame["error"] == "").all()
    best = frame.loc[frame.groupby(["network", "args.--bytes"])["allreduce_s"].idxmin()]
    is_short = best["args.--bytes"] <= 2048
    assert set(best[is_short]["algorithm.allreduce"]) == {"recursive_doubling"}
    assert set(best[~is_short]["algorithm.allreduce"]) == {"rabenseifner"}


@pytest.mark.campaign
@pytest.mark.timeout(4 * 3600)
def test_capacity_planning_says_what_was_published(tmp_path: Path):
    """Every number of top switches: about an hour of one core.

    T. Cornebize, Capacity Planning of Supercomputers (2017, hal-01544827): at 10 Gbps the switches do not matter and
    random placement is about 2 % faster; at 10 Mbps time falls 2.9 times from one switch to 16, and random placement is
    2.4 times slower with one, 1.6 with 16.
    """
    given = tomllib.loads((STUDIES / "hpl_capacity.toml").read_text())
    given["program"] = str(STUDIES / given["program"])
    given["options"]["platform"] = str(STUDIES / given["options"]["platform"])
    given["axes"]["set"]["topology"]["parents"] = [f"1,{n}" for n in range(1, 17)]
    frame = smpy.Study(given, tmp_path / "results").run()
    top = frame["set.topology.parents"].str.removeprefix("1,").astype(int)
    where = frame["placement"].str.partition(" ")[0]
    times = frame.groupby(["set.nic.bandwidth", where, top])["hpl_s"].median()
    published = json.loads((Path(__file__).parents[1] / "oracle" / "hpl.json").read_text())["topology"]["hpl_s"]
    for bandwidth, hpl_s in published.items():
        assert times[bandwidth]["in"].tolist() == pytest.approx(list(hpl_s.values()), rel=0.01)
    fast, slow = times["10Gb/s"], times["10Mb/s"]
    assert fast["in"].max() / fast["in"].min() < 1.03
    assert (fast["random"] / fast["in"]).median() == pytest.approx(0.98, abs=0.01)
    assert slow["in"][1] / slow["in"][16] == pytest.approx(2.9, rel=0.03)
    assert slow["random"][1] / slow["in"][1] == pytest.approx(2.4, rel=0.05)
    assert slow["random"][16] / slow["in"][16] == pytest.approx(1.6, rel=0.05)
    steps = [top for top in range(2, 17) if slow["in"][top] < slow["in"].loc[: top - 1].min() * 0.95]
    assert {4, 8, 16} <= set(steps) <= {2, 3, 4, 8, 16}
