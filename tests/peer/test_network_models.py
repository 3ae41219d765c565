"""Network models by name, and early messages: every rank finishes when it does under smpirun with the same settings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from smpy.errors import PlatformWarning
from tests.peer.case import HOSTS, OVERHEADS, Case
from tests.peer.runners import Settings, smpirun_finish_s, smpy_finish_s

pytestmark = pytest.mark.peer

TOLERANCE = 1e-6  # relative
RAW: Final = (("network/model", "CM02"), ("network/TCP-gamma", "0"), ("network/crosstraffic", "no"))
MODELS: Final[dict[str, tuple[Settings, Settings]]] = {  # ours, and smpirun's: 3.32 has no model called raw
    **{name: ((("network/model", name),),) * 2 for name in ("LV08", "CM02", "IB")},
    "raw": ((("network/model", "raw"),), RAW),
    "LV08-factors": ((("network/model", "LV08"), ("network/latency-factor", "2"), ("network/weight-S", "1000")),) * 2,
    "CM02-factors": ((("network/bandwidth-factor", "0.5"), ("network/model", "CM02"), ("network/TCP-gamma", "1e4")),)
    * 2,
    "IB-penalties": ((("network/model", "IB"), ("smpi/IB-penalty-factors", "1.5;1.2;1.1")),) * 2,
    "IB-factors": ((("network/model", "IB"), ("smpi/bw-factor", "0:0.7;9000:0.9"), ("smpi/lat-factor", "0:3")),) * 2,
}
EARLY: Final[dict[str, tuple[Settings, Settings]]] = {
    f"early-{size}": ((("smpi/async-small-thresh", str(size)),),) * 2 for size in (1000, 65536)
}
PLATFORMS: Final = ("full", "cluster_bare", "cluster_limited", "fat_tree_3_shared")


def cases() -> Iterator[Case]:
    for seed, platform in enumerate(PLATFORMS):
        n_hosts = HOSTS[platform][1]
        for size in (300, 500_000):
            yield Case("permutation", (seed, size, 2), platform, n_hosts)
        yield Case("incast", ("isend", 70_000, 2, 1e4, 1), platform, min(7, n_hosts))
        yield Case("mix", (seed, 4, 12), platform, min(9, n_hosts))
    yield Case("pingpong", ("send", 1411, 2, 2), "zero_latency", 3)
    yield Case("mix", (7, 3, 20), "cluster_multicore", 11, per_host=3)


def early_cases() -> Iterator[Case]:
    """Cases of messages that travel before they are received: polls, wildcards, cancelled sends, overheads."""
    for seed, platform in enumerate(("full", "cluster", "cluster_multicore")):
        n_ranks = min(7, HOSTS[platform][1])
        yield Case("mix", (seed, 4, 20), platform, n_ranks)
        yield Case("anything", (seed, 60), platform, n_ranks)
        yield Case("anything", (seed, 60), platform, n_ranks, options=OVERHEADS)
    for how in ("iprobe", "probe", "testany"):
        yield Case("poll", (how, 10, 1e6, 2), "cluster_bare", 6)
    for mode in ("ibsend", "start-send"):
        yield Case("modes", (mode, 900, 1, 4, 1e4), "full", 4)
    yield Case("collectives", ("allreduce", 900, 0, 2, 1e4), "cluster", 7)


CONSTANT: Final[dict[str, tuple[Settings, Settings]]] = {"constant": ((("network/model", "Constant"),),) * 2}
IGNORED: Final[dict[str, tuple[Settings, Settings]]] = {
    "smpi-ignored": ((("network/latency-factor", "5"), ("network/bandwidth-factor", "0.5")),) * 2,
    "LV08-ignored": ((("network/model", "LV08"), ("smpi/lat-factor", "5"), ("smpi/bw-factor", "0.5")),) * 2,
}


def constant_cases() -> Iterator[Case]:
    """Messages that no other date cuts, and short ones, which leave no rest of rounding when one does."""
    yield Case("late_receivers", (1_000_000, 2.3e4, 0, 3), "unlinked", 8)
    yield Case("late_receivers", (1_000_000, 0, 2.3e4, 1), "unlinked", 2)
    yield Case("late_receivers", (1, 0, 2.3e4, 1), "unlinked", 4)


CASES: Final = [
    (name, case, (of_model + at) % 2 == 1)
    for models, listed in ((MODELS, cases), (EARLY, early_cases))
    for of_model, name in enumerate(models)
    for at, case in enumerate(listed())
] + [(name, case, False) for name in CONSTANT for case in constant_cases()]
"""Each model with each case, and whether that is left to campaigns: for each change a model has every other case."""


@pytest.mark.parametrize(
    ("model", "case"),
    [
        pytest.param(name, case, id=f"{name}-{case.name}", marks=pytest.mark.campaign if is_left else ())
        for name, case, is_left in CASES
    ],
)
def test_every_rank_finishes_when_it_does_under_smpirun_with_the_model(
    model: str, case: Case, binaries: Path, tmp_path: Path
) -> None:
    ours, theirs = (MODELS | EARLY | CONSTANT)[model]
    expected_s = smpirun_finish_s(case, binaries, tmp_path, theirs)
    assert smpy_finish_s(case, tmp_path, ours) == pytest.approx(expected_s, rel=TOLERANCE, abs=0)


@pytest.mark.parametrize("model", IGNORED)
def test_factors_of_other_models_are_ignored_with_a_warning_as_smpirun_ignores_them(
    model: str, binaries: Path, tmp_path: Path
) -> None:
    case = Case("pingpong", ("send", 70_000, 2, 1), "full", 2)
    ours, theirs = IGNORED[model]
    expected_s = smpirun_finish_s(case, binaries, tmp_path, theirs)
    with pytest.warns(PlatformWarning, match="is ignored, as smpirun does"):
        assert smpy_finish_s(case, tmp_path, ours) == pytest.approx(expected_s, rel=TOLERANCE, abs=0)
