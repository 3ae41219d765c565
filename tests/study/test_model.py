"""Formulas for the parts of a study's times: planted parts, a study of an FFT, counts and costs of real runs."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from smpy.cli.main import main
from smpy.errors import UsageError
from smpy.records.profile import KINDS
from smpy.study.counts_model import COUNTS, counts_model, read_times, unit_costs
from smpy.study.model import study_model
from smpy.study.model_points import read_levels
from smpy.study.study import Study
from tests.study.tables import table_of

pytest.importorskip("scipy")

RANKS = [12, 24, 36, 48, 96, 120]
KERNELS: dict[str, Callable[[float], float]] = {
    "solve": lambda p: 100 / p,
    "halo": lambda p: 8 / p**0.5 + 0.5,
    "reduce": lambda p: 0.3 * np.log2(p),
}


def kernels_table(folder: Path, seed: int | None = None, ranks: list[int] = RANKS) -> Any:
    """Study of the three kernels, with 1 % of noise."""
    (folder / "profiles").mkdir()
    random = np.random.default_rng(seed)

    def point(p: int, repetition: int) -> dict[str, Any]:
        times = {name: f(p) * (1 + 0.01 * random.standard_normal() * (seed is not None)) for name, f in KERNELS.items()}
        sites = [
            {
                "call": name,
                "line": "prog.py:1",
                "count": 1,
                "spent_s": [p * t if k == "compute" else 0.0 for k in KINDS],
            }
            for name, t in times.items()
        ]
        path = f"profiles/{p}.json"
        (folder / path).write_text(json.dumps({"profile": {"kinds": list(KINDS), "sites": sites}}))
        return {"ranks": p, "makespan_s": sum(times.values()) + 0.05, "profile": path}

    return table_of(folder, {"ranks": ranks}, point)


def test_exact_kernels_have_their_formulas_and_the_rest_its_own(tmp_path: Path):
    found = study_model(kernels_table(tmp_path), "kernels", predict=["ranks=768"])
    assert {name: fit.formula.text for name, fit in found.fits.items()} == {
        "solve": "100 ranks^(-1)",
        "halo": "0.5 + 8 ranks^(-1/2)",
        "reduce": "0.3 log2(ranks)",
        "everything else": "0.05",
    }
    exact_s = sum(f(768) for f in KERNELS.values()) + 0.05
    assert found.predicted[0].makespan_s == pytest.approx(exact_s, rel=1e-6)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_kernels_with_noise_keep_their_order_at_six_times_the_ranks(tmp_path: Path, seed: int):
    found = study_model(kernels_table(tmp_path, seed), "kernels", predict=["ranks=768"])
    predicted = found.predicted[0]
    assert [name for name in predicted.parts_s if name in KERNELS] == ["reduce", "halo", "solve"]
    assert sorted(KERNELS, key=lambda name: -KERNELS[name](12)) == ["solve", "halo", "reduce"]  # the other way round
    exact_s = sum(f(768) for f in KERNELS.values()) + 0.05
    assert predicted.makespan_s == pytest.approx(exact_s, rel=0.12)
    assert abs(predicted.makespan_s - exact_s) <= predicted.half_width_s + 0.05 * exact_s


def test_a_kernel_that_does_not_scale_is_flagged(tmp_path: Path):
    found = study_model(kernels_table(tmp_path), "kernels")
    assert [flag for flag in found.flags if "does not scale" in flag] == [
        "reduce does not scale: its time goes with ranks^0.28."
    ]


def test_points_left_out_are_compared_and_not_fitted(tmp_path: Path):
    found = study_model(kernels_table(tmp_path), "kernels", validate=["ranks=120"])
    (validated,) = found.validated
    assert (validated.levels, len(found.levels)) == ({"ranks": 120.0}, 5)
    assert validated.makespan_s == pytest.approx(validated.measured_s, rel=1e-6)


def test_repetitions_are_averaged_and_failed_points_left_out(tmp_path: Path):
    def point(p: int, repetition: int) -> dict[str, Any]:
        return {"ranks": p, "makespan_s": 10 / p * (0.9 + 0.2 * repetition), "error": "no" if p == 64 else ""}

    table = table_of(tmp_path, {"ranks": [2, 4, 8, 16, 32, 64]}, point, n_repetitions=2)
    found = study_model(table, "makespan", predict=["ranks=128"])
    assert found.fits["makespan"].formula.text == "10 ranks^(-1)"
    assert found.remarks == ["2 points failed or took no time, and are left out."]


@pytest.mark.parametrize(
    ("ranks", "of", "options", "message"),
    [
        ([12, 24, 36], "makespan", {}, "there are 3"),
        ([12], "makespan", {}, "axis of numbers"),
        (RANKS, "makespan", {"predict": ["rank=3"]}, "does not vary"),
        (RANKS, "makespan", {"predict": ["ranks=many"]}, "no number above 0"),
        (RANKS, "makespan", {"predict": ["ranks=1", "ranks=2"]}, "twice"),
        (RANKS, "makespan", {"validate": ["ranks=7"]}, "no point with ranks 7"),
        (RANKS, "lost", {}, 'keep = \\["lost"\\]'),
    ],
)
def test_a_study_that_tells_no_model_is_refused(
    tmp_path: Path, ranks: list[int], of: Any, options: dict[str, Any], message: str
):
    with pytest.raises(UsageError, match=message):
        study_model(kernels_table(tmp_path, ranks=ranks), of, **options)


def test_an_axis_of_texts_that_varies_is_refused(tmp_path: Path):
    table = table_of(
        tmp_path, {"ranks": RANKS, "platform": ["a", "b"]}, lambda p, m, r: {"ranks": p, "makespan_s": 1.0}
    )
    with pytest.raises(UsageError, match="platform varies and is not of numbers"):
        study_model(table, "makespan")


def test_kernels_of_a_study_that_keeps_neither_profiles_nor_traces_are_refused(tmp_path: Path):
    table = table_of(tmp_path, {"ranks": RANKS}, lambda p, r: {"ranks": p, "makespan_s": 10 / p})
    with pytest.raises(UsageError, match=r'keep = \["profile"\]'):
        study_model(table, "kernels")


def test_all_axes_of_a_prediction_are_said(tmp_path: Path):
    table = table_of(
        tmp_path, {"args.--n": [8, 16, 32], "ranks": [2, 4, 8]}, lambda n, p, r: {"ranks": p, "makespan_s": n / p}
    )
    with pytest.raises(UsageError, match="for what n"):
        study_model(table, "makespan", predict=["ranks=16"])
    found = study_model(table, "makespan", predict=["ranks=16,32", "n=64"])
    assert [each.makespan_s for each in found.predicted] == pytest.approx([4, 2])


# ---- counts ----

PROGRAM = """
import sys, numpy, smpy
from mpi4py import MPI
comm = MPI.COMM_WORLD
n = int(sys.argv[1])
ball = numpy.zeros(n, dtype="u1")
for _ in range(2):
    for turn in range(comm.size):
        if comm.rank == turn:
            smpy.execute(10 * n * n)
            comm.Send(ball, (turn + 1) % comm.size)
        elif comm.rank == (turn + 1) % comm.size:
            comm.Recv(ball, turn)
"""
COSTS_S = (2e-9, 5e-6, 3e-9)


@pytest.fixture(scope="module")
def ring(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ring")
    (folder / "program.py").write_text(PROGRAM)
    definition = {
        "name": "ring",
        "program": str(folder / "program.py"),
        "args": ["{n}"],
        "options": {"compute": "none", "platform": "flat hosts=16 cores=1 nic=1GB/s latency=10us speed=1Gf"},
        "axes": {"args.n": [100, 200, 400, 1600], "ranks": [2, 4, 8]},
        "keep": ["trace", "lost"],
    }
    Study(definition, folder / "ring.study").run(workers=1)
    return folder


def counts_of(n: float, p: float) -> list[float]:
    """Closed form: all of the ring is on the path."""
    return [20 * n**2 * p, 2 * p, 2 * p * n]


def measured(folder: Path, noise: float, seed: int = 0) -> Path:
    random, lines = np.random.default_rng(seed), ["n,ranks,seconds"]
    for n, p in product([100, 200, 400, 1600], [2, 4, 8]):
        time_s = float(np.dot(COSTS_S, counts_of(n, p))) * (1 + noise * random.standard_normal())
        lines.append(f"{n},{p},{time_s!r}")
    path = folder / f"times-{seed}.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_counts_on_the_path_are_those_of_the_closed_form(ring: Path):
    for point in counts_model(Study(ring / "ring.study").table()).points:
        assert [point.counts[name] for name in COUNTS] == pytest.approx(counts_of(*point.levels.values()), rel=1e-6)


def test_planted_costs_are_found_and_elasticities_add_up_to_one(ring: Path):
    table = Study(ring / "ring.study").table()
    found = counts_model(table, measured=measured(ring, 0.0), predict=["n=3200", "ranks=64"])
    assert found.costs is not None
    assert [found.costs.costs_s[name] for name in COUNTS] == pytest.approx(COSTS_S, rel=1e-6)
    for point in (*found.points, *found.predicted):
        assert sum(point.elasticities.values()) == pytest.approx(1, abs=1e-12)
    (predicted,) = found.predicted
    assert not predicted.is_exact
    assert predicted.seconds == pytest.approx(float(np.dot(COSTS_S, counts_of(3200, 64))), rel=1e-6)


def test_costs_from_noisy_times_are_within_their_errors():
    random = np.random.default_rng(1)
    counts = 10 ** random.uniform([3, 0, 1], [6, 3, 5], (200, 3))
    true_s = np.array([1e-9, 1e-6, 1e-8])
    found = unit_costs(counts, counts @ true_s * (1 + 0.01 * random.standard_normal(200)))
    for name, cost_s in zip(COUNTS, true_s, strict=True):
        assert found.costs_s[name] == pytest.approx(cost_s, rel=0.02)
        assert abs(found.costs_s[name] - cost_s) < 4 * found.errors_s[name]


def test_alike_counts_have_a_large_inflation_and_independent_ones_none():
    operations = np.array([1.0, 2, 3, 4, 5, 6, 7, 8, 9])
    alike = np.stack([operations, 0 * operations, operations * (1 + 0.01 * (-1) ** np.arange(9))], axis=1)
    assert unit_costs(alike, operations).vif["bytes"] > 10
    apart = np.stack([np.eye(9)[0] + np.eye(9)[1], np.zeros(9), 1 - np.eye(9)[0] - np.eye(9)[1]], axis=1)
    assert unit_costs(apart, np.ones(9)).vif["bytes"] == pytest.approx(1)


def test_counts_in_a_fixed_proportion_are_refused():
    counts = np.outer(np.arange(1.0, 10), [1, 2, 3])
    with pytest.raises(UsageError, match="fixed proportion"):
        unit_costs(counts, np.ones(9))


def test_eight_runs_are_too_few_for_three_costs():
    with pytest.raises(UsageError, match=r"8 measured runs: .* need 9 or more"):
        unit_costs(np.random.default_rng(0).random((8, 3)), np.ones(8))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: it needs one column n"),
        ("n,seconds\n", "line 1: it needs one column ranks"),
        ("n,ranks,seconds,n\n", "line 1: it needs one column n"),
        ("n,ranks,seconds\n1,2\n", "line 2: 2 values for 3 columns"),
        ("n,ranks,seconds\n1,2,0\n", "line 2: '0' is no number above 0"),
        ("n,ranks,seconds\n1,x,3\n", "line 2: 'x'"),
        ("n,ranks,seconds\n1,2,inf\n", "line 2: 'inf'"),
        ('n,ranks,seconds\n"1,2,3\n', "no table"),
    ],
)
def test_a_table_of_times_that_is_none_is_refused_with_its_line(tmp_path: Path, text: str, message: str):
    path = tmp_path / "times.csv"
    path.write_text(text)
    with pytest.raises(UsageError, match=message):
        read_times(path, ["args.--n", "ranks"])


def test_a_measured_run_without_a_point_is_refused(ring: Path):
    path = ring / "other.csv"
    path.write_text("n,ranks,seconds\n7,2,1\n")
    with pytest.raises(UsageError, match="line 2: the study has no point with n 7"):
        counts_model(Study(ring / "ring.study").table(), measured=path)


# ---- the command ----


@pytest.mark.slow
def test_the_command_prints_writes_and_draws_each_model(ring: Path, tmp_path: Path):
    for of in ("makespan", "lost", "counts"):
        line = ["study", "model", str(ring / "ring.study"), "--of", of, "--predict", "n=800", "--predict", "ranks=8"]
        line += ["--json", str(tmp_path / of), "--plot", str(tmp_path / f"{of}.html")]
        line += ["--measured", str(measured(ring, 0.0, 5))] if of == "counts" else []
        done = CliRunner().invoke(main, line)
        assert done.exit_code == 0, done.output
        record = json.loads((tmp_path / of).read_text())
        assert record["predicted"][0]["ranks"] == 8
        assert ("seconds" if of == "counts" else "makespan_s") in record["predicted"][0]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (["--of", "counts", "--validate", "ranks=2"], "--of counts takes no --validate"),
        (["--measured", "a.csv"], "--measured goes with --of counts"),
    ],
)
def test_a_mistake_is_told_in_a_line(ring: Path, line: list[str], told: str):
    done = CliRunner().invoke(main, ["study", "model", str(ring / "ring.study"), *line])
    assert (done.exit_code, told in done.output) == (2, True), done.output


def test_without_scipy_the_command_says_what_to_install(ring: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    done = CliRunner().invoke(main, ["study", "model", str(ring / "ring.study")])
    assert (done.exit_code, "needs scipy" in done.output) == (2, True)


def test_levels_are_read_by_short_names():
    assert read_levels(["n=1,2"], ["args.--n", "ranks"]) == {"args.--n": [1.0, 2.0]}
    with pytest.raises(UsageError, match="'n' does not vary in the study; it varies nothing"):
        read_levels(["n=1"], [])


@pytest.mark.slow
def test_lost_time_of_an_fft_on_the_edges_of_a_box_predicts_its_inside(tmp_path: Path):
    ranks, sizes = [3, 6, 12, 18, 22], [48, 100, 200, 400, 800]
    edges = [(n, p) for n in (32, 64, 128, 256, 512, 1024) for p in (2, 26)]
    edges += [(n, p) for n in (32, 1024) for p in ranks]
    definition = {
        "program": str(Path(__file__).parents[2] / "apps" / "fft2d.py"),
        "args": ["--n", "{n}", "--m", "{n}"],
        "options": {
            "compute": "models", "network": "raw", "algorithm": {"alltoall": "pair", "alltoallv": "pair"},
            "platform": "flat hosts=32 cores=1 nic=10Gb/s latency=2us",
        },
    }  # fmt: skip

    def study(name: str, points: list[tuple[int, int]]) -> Study:
        listed = [{"ranks": p, "args.n": n} for n, p in points]
        made = Study({**definition, "name": name, "points": listed, "keep": ["lost"]}, tmp_path / name)
        made.run(workers=2)
        return made

    inside = study("inside", list(product(sizes, ranks))).table().frame
    predict = [f"n={','.join(map(str, sizes))}", f"ranks={','.join(map(str, ranks))}"]
    found = study_model(study("edges", edges).table(), "lost", predict=predict)
    measured_s = {(row["args.n"], row["ranks"]): row["makespan_s"] for row in inside.to_dict("records")}
    errors = [
        abs(each.makespan_s / measured_s[each.levels["args.n"], each.levels["ranks"]] - 1) for each in found.predicted
    ]
    assert len(errors) == 25
    assert np.mean(errors) <= 0.08
    assert max(errors) <= 0.2
