"""Efficiencies are the products they are said to be."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

pytest.importorskip("pyarrow")
pytest.importorskip("scipy")

from smpy.analysis.pop_metrics import PARTS, Efficiencies, pop
from smpy.analysis.pop_prediction import predict_factors
from smpy.analysis.scaling_fits import fit_curve, predict
from smpy.errors import UsageError
from smpy.records.trace import Trace
from tests.analysis.drawn_programs import programs
from tests.analysis.small_run import Again, Compute, InMemory, Message, Performed, Rules, Step, perform, trace_of
from tests.records.synthetic_trace import SyntheticTrace, seal

RULES = Rules(latency_s=0.25, bandwidth_bytes_per_s=1e9)


def ping_pong(c1: float, c2: float, size_bytes: int, rounds: int) -> list[Step]:
    there, back = Message(0, 1, size_bytes, 5), Message(1, 0, size_bytes, 7)
    return [Compute(0, c1, 3), there, Compute(1, c2, 4), back] * rounds


@settings(max_examples=50)
@given(programs())
def test_parallel_efficiency_is_the_product_of_its_factors(program: tuple[int, list[Step]]):
    n_ranks, steps = program
    steps = [Compute(0, 1.0, 1), *steps]
    run = pop([InMemory(perform(n_ranks, steps, RULES))], Again(n_ranks, steps, RULES)).runs[0]
    assert run.serialisation is not None
    assert run.transfer is not None
    assert run.ideal_s is not None
    assert run.parallel == pytest.approx(run.load_balance * run.serialisation * run.transfer, rel=1e-12)
    assert run.communication == pytest.approx(run.serialisation * run.transfer, rel=1e-12)
    assert run.transfer == pytest.approx(np.prod([getattr(run, part) for part in PARTS]), rel=1e-12)
    assert run.ideal_s <= run.time_s * (1 + 1e-12)


def test_a_ping_pong_has_the_efficiencies_of_the_hand_formula():
    c1, c2, size_bytes, rounds = 3.0, 1.0, 500_000_000, 4
    steps = ping_pong(c1, c2, size_bytes, rounds)
    run = pop([InMemory(perform(2, steps, RULES))], Again(2, steps, RULES)).runs[0]
    message_s = 0.25 + 0.5
    round_s = c1 + c2 + 2 * message_s
    assert run.load_balance == pytest.approx((c1 + c2) / 2 / c1, rel=1e-9)
    assert run.serialisation == pytest.approx(c1 / (c1 + c2), rel=1e-9)
    assert run.transfer == pytest.approx((c1 + c2) / round_s, rel=1e-9)
    assert run.contention == 1.0
    assert run.bandwidth == pytest.approx((c1 + c2 + 2 * 0.25) / round_s, rel=1e-9)
    assert run.latency == pytest.approx((c1 + c2) / (c1 + c2 + 2 * 0.25), rel=1e-9)
    assert run.overhead == 1.0


def test_what_is_taken_away_adds_up_in_order():
    steps = ping_pong(1.0, 1.0, 100, 1)
    again = Again(2, steps, RULES)
    pop([InMemory(perform(2, steps, RULES))], again)
    assert [ideal for ideal, _ in again.asked] == [PARTS[:1], PARTS[:2], PARTS[:3], PARTS]


def test_without_a_replay_load_balance_and_communication_remain():
    text = pop([InMemory(perform(2, ping_pong(3.0, 1.0, 0, 1), RULES))]).table()
    assert [line.split()[0] for line in text.splitlines()] == [
        "Efficiencies",
        "time",
        "parallel",
        "load",
        "communication",
    ]


def test_a_trace_that_cannot_be_replayed_says_why(tmp_path: Path):
    trace = trace_of(tmp_path / "trace", 2, ping_pong(3.0, 1.0, 0, 1))
    found = pop([trace], Again(2, [], RULES))
    assert found.runs[0].serialisation is None
    assert "cannot be replayed: it is of ranks with threads" in found.table()


def test_a_replay_that_takes_longer_is_told_and_not_hidden():
    def slower(trace: object, /, *, ideal: object = (), denoise: object = ()) -> Performed:
        return Again(2, ping_pong(3.0, 1.0, 0, 2), RULES)(trace)

    found = pop([InMemory(perform(2, ping_pong(3.0, 1.0, 0, 1), RULES))], slower)
    assert found.runs[0].transfer > 1
    assert "takes longer without contention" in found.table()


def test_a_region_has_the_efficiencies_of_its_time(tmp_path: Path):
    """In the region rank 0 computes for 2 of 4 s, rank 1 for 3 of 4 s; outside of it there is more."""
    run = SyntheticTrace(["a", "b"])
    for rank, inside_s in ((0, 2.0), (1, 3.0)):
        run.spend(rank, "compute", 1.0 + inside_s, run.site(rank, "", 3))
        run.spend(rank, "sleep", 4.0 - inside_s)
        run.spend(rank, "compute", 5.0)
        run.rows["regions"].append({"rank": rank, "name": "solve", "start_s": 1.0, "end_s": 3.0})
        run.rows["regions"].append({"rank": rank, "name": "solve", "start_s": 2.0, "end_s": 5.0})
    trace = Trace(run.write(tmp_path / "trace"))
    found = pop([trace], region="solve").runs[0]
    assert (found.time_s, found.load_balance, found.communication) == (4.0, 2.5 / 3.0, 3.0 / 4.0)
    with pytest.raises(UsageError, match="no region 'sovle': did you mean 'solve'"):
        pop([trace], region="sovle")


def test_a_trace_of_some_ranks_and_dates_has_the_efficiencies_of_those():
    run = perform(3, [Compute(rank, 4.0, 3) for rank in range(3)])
    run.rows["intervals"] = [row for row in run.rows["intervals"] if row["rank"] < 2]
    run.rows["intervals"][0]["start_s"] = 2.0
    run.rows["intervals"][1] |= {"start_s": 3.0, "end_s": 4.0}
    found = pop([InMemory(run)])
    assert found.runs[0].parallel == (2.0 + 1.0) / 2 / 2.0
    assert found.remarks == ["in memory has 2 of 3 ranks only: means are over these."]


def test_a_run_that_computes_nothing_is_refused():
    with pytest.raises(UsageError, match="no rank computes"):
        pop([InMemory(perform(2, [Message(0, 1, 10**9, 5)]))])


def test_scalings_are_to_the_run_of_fewest_ranks():
    def trace(n_ranks: int, seconds: float) -> InMemory:
        return InMemory(perform(n_ranks, [Compute(rank, seconds, 3) for rank in range(n_ranks)]))

    strong = pop([trace(8, 1.5), trace(2, 4.0)]).scalings
    assert [it.speedup for it in strong] == [1.0, 4.0 / 1.5]
    assert [it.global_efficiency for it in strong] == pytest.approx([1.0, 8.0 / 12.0])
    weak = pop([trace(2, 4.0), trace(8, 5.0)], is_weak=True).scalings
    assert [it.computing for it in weak] == pytest.approx([1.0, 0.8])


def test_operations_and_speed_make_up_how_computing_scales(tmp_path: Path):
    def trace(n_ranks: int, seconds: float, flop: float) -> Trace:
        run = perform(n_ranks, [Compute(rank, seconds, 3) for rank in range(n_ranks)])
        run.rows["actions"] = [
            {"rank": rank, "action": "compute", "amount": flop, "detail": 0} for rank in range(n_ranks)
        ]
        folder = run.write(tmp_path / str(n_ranks))
        text = (folder / "run.json").read_text()
        (folder / "run.json").write_text(text.replace('"can_replay": false', '"can_replay": true'))
        seal(folder)
        return Trace(folder)

    scaling = pop([trace(1, 4.0, 400.0), trace(2, 4.0, 250.0)]).scalings[1]
    assert (scaling.computing, scaling.operations, scaling.speed) == pytest.approx((0.5, 0.8, 0.625))


# ---- curves ----


@pytest.mark.parametrize("family", ["amdahl", "pipeline"])
@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize("f", [0.5, 0.75, 0.97, 0.9995])
def test_a_fit_through_exact_points_gives_the_curve_back(family: str, dimension: int, f: float):
    ranks = np.array([16.0, 32.0, 64.0, 128.0])
    x = ranks ** (1 / dimension)
    shape = 1 / (f + (1 - f) * x) if family == "amdahl" else x / ((1 - f) + f * (2 * x - 1))
    curve = fit_curve(family, dimension, ranks, 0.93 * shape)
    assert (curve.a, curve.f) == pytest.approx((0.93, f), abs=1e-6)
    assert curve.half_width([4096.0])[0] < 1e-5


def test_what_hardly_changes_is_a_constant():
    assert predict([8, 16, 32], [0.95, 0.96, 0.95], can_be_pipeline=True).curve.family == "constant"
    assert predict([8, 16, 32], [0.95, 0.90, 0.82], can_be_pipeline=True).curve.family == "amdahl"


def test_a_prediction_wants_three_numbers_of_ranks():
    for ranks in ([8, 16], [8, 16, 16]):
        with pytest.raises(UsageError, match="at least 3 different numbers of ranks"):
            predict(ranks, [0.9] * len(ranks), can_be_pipeline=False)


def planted(ranks: np.ndarray) -> np.ndarray:
    """Load balance, serialisation and transfer."""
    pipeline, amdahl = ranks / (0.4 + 0.6 * (2 * ranks - 1)), 1 / (0.998 + 0.002 * ranks)
    return np.stack([np.full_like(ranks, 0.96), 0.99 * pipeline, 0.98 * amdahl])


def runs_of(ranks: np.ndarray, factors: np.ndarray) -> list[Efficiencies]:
    return [
        Efficiencies(
            n_ranks=int(n), time_s=1.0, computing_s=1.0, longest_computing_s=1.0, parallel=lb * ser * trf,
            load_balance=lb, communication=ser * trf, serialisation=ser, transfer=trf,
        )
        for n, (lb, ser, trf) in zip(ranks, factors.T, strict=True)
    ]  # fmt: skip


def test_efficiency_on_sixteen_times_as_many_ranks_is_predicted_through_one_per_cent_of_noise():
    ranks, random = np.array([16.0, 32.0, 64.0, 128.0, 256.0]), np.random.default_rng(7)
    truth = float(planted(np.array([4096.0])).prod())
    errors, within = [], 0
    for _ in range(12):
        noisy = np.minimum(planted(ranks) * (1 + 0.01 * random.standard_normal((3, 5))), 1.0)
        found = predict_factors(runs_of(ranks, noisy), [4096])
        errors.append(abs(float(found.parallel(4096)) / truth - 1))
        within += abs(float(found.parallel(4096)) - truth) <= found.half_width("parallel", 4096)[0]
    assert np.median(errors) < 0.1
    assert within >= 9


def test_the_factor_that_costs_most_and_where_another_one_takes_over_are_told():
    ranks = np.array([16.0, 32.0, 64.0, 128.0, 256.0])
    found = predict_factors(runs_of(ranks, planted(ranks)), [32, 4096])
    assert [found.smallest(n) for n in (32, 4096)] == ["serialisation", "transfer"]
    (crossover,) = found.crossovers
    serialisation, transfer = planted(np.array([crossover.ranks]))[1:, 0]
    assert (crossover.before, crossover.after) == ("serialisation", "transfer")
    assert serialisation == pytest.approx(transfer, rel=5e-3)
    assert "ranks on transfer costs more than serialisation" in found.table()
