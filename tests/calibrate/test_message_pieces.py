"""Lines by size: planted ones are found, with the sizes at which they change."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smpy.calibrate.network.pieces import LinearPiece, fit_pieces, predict_s, with_told_slopes

SIZES = np.unique(np.geomspace(1, 4e6, 90).astype(int)).astype(float)


@st.composite
def planted(draw) -> list[LinearPiece]:
    """One to four pieces, each of at least nine sizes; constants and slopes grow."""
    n_pieces = draw(st.integers(1, 4))
    places = sorted(draw(st.sets(st.sampled_from(range(10, len(SIZES) - 10, 9)), min_size=n_pieces, max_size=n_pieces)))
    found = []
    for number, place in enumerate([0, *places[1:]]):
        constant = draw(st.floats(0.5e-6, 5e-6)) * 1.7**number
        found.append(
            LinearPiece(SIZES[place] if number else 0.0, constant, draw(st.floats(0.5e-10, 5e-10)) * 1.7**number)
        )
    return found


@settings(max_examples=25)
@given(planted())
def test_planted_pieces_without_noise_predict_every_size_to_a_percent(pieces):
    times = predict_s(pieces, SIZES)
    found = fit_pieces(SIZES, times)
    assert predict_s(found, SIZES) == pytest.approx(times, rel=0.01)
    assert len(found) <= len(pieces)


@settings(max_examples=25)
@given(planted(), st.integers(0, 1000))
def test_no_piece_falls_with_size_or_begins_below_no_time_whatever_the_noise(pieces, seed):
    noise = np.exp(np.random.default_rng(seed).normal(0, 0.3, len(SIZES)))
    found = fit_pieces(SIZES, predict_s(pieces, SIZES) * noise)
    assert all(piece.constant_s >= 0 and piece.per_byte_s >= 0 for piece in found)
    assert [piece.above_bytes for piece in found] == sorted({piece.above_bytes for piece in found})


def test_a_piece_begins_between_the_sizes_that_tell_it_and_at_a_power_of_two_if_one_lies_there():
    pieces = [LinearPiece(0, 1e-6, 1e-10), LinearPiece(8192, 3e-6, 1e-10)]
    found = fit_pieces(SIZES, predict_s(pieces, SIZES))
    assert [piece.above_bytes for piece in found] == [0, 8192]
    assert found[1].begins_after_bytes <= 8192 < found[1].begins_by_bytes


def test_noise_alone_makes_no_pieces():
    line = 1e-6 + SIZES * 1e-10
    n_pieces = [
        len(fit_pieces(SIZES, line * (1 + np.random.default_rng(seed).normal(0, 0.05, len(SIZES)))))
        for seed in range(25)
    ]
    assert np.mean(np.array(n_pieces) > 1) <= 0.08


def test_intervals_hold_the_planted_line_as_often_as_they_say():
    hits, sizes = [], SIZES[::3]
    for seed in range(200):
        noise = np.random.default_rng(seed).normal(0, 0.03, len(sizes))
        (line,) = fit_pieces(sizes, (2e-6 + sizes * 1e-10) * (1 + noise), pieces_max=1)
        hits.append(
            (
                abs(line.constant_s - 2e-6) <= line.constant_half_width_s,
                abs(line.per_byte_s - 1e-10) <= line.per_byte_half_width_s,
            )
        )
    assert np.mean(hits, axis=0) == pytest.approx([0.95, 0.95], abs=0.02)


def test_no_time_at_all_is_a_piece_of_none():
    (piece,) = fit_pieces([1, 2, 4, 8, 16], np.zeros(5))
    assert (piece.constant_s, piece.per_byte_s) == (0, 0)
    assert fit_pieces([], []) == ()


def test_an_envelope_belongs_to_the_line():
    (piece,) = fit_pieces(SIZES, 1e-6 + (SIZES + 34) * 1e-10, envelope_bytes=34)
    assert (piece.constant_s, piece.per_byte_s) == pytest.approx((1e-6, 1e-10), rel=1e-6)


# ---- slopes that say nothing ----

SHORT = np.array([4100.0, 5000.0, 6100.0, 7900.0])  # a protocol's few sizes between two others'
STEPS = (LinearPiece(0.0, 1e-6, 5e-11), LinearPiece(4096.0, 4e-6, 5e-11), LinearPiece(8192.0, 9e-6, 4.5e-11))


def test_a_piece_that_tells_no_slope_gets_a_neighbours_and_predicts_no_worse():
    at = np.concatenate([SIZES[(SIZES < 4096) & (SIZES > 100)], SHORT, SIZES[SIZES > 8192]])
    true = predict_s(STEPS, at)
    inside = (at > 4096) & (at <= 8192)
    errors, slopes = [], []
    for seed in range(20):
        times = true * (1 + np.random.default_rng(seed).normal(0, 0.02, len(at)))
        alone = [
            fit_pieces(at[part], times[part], above_bytes=above, pieces_max=1)[0]
            for part, above in ((at <= 4096, 0.0), (inside, 4096.0), (at > 8192, 8192.0))
        ]
        shared = with_told_slopes(alone, at, times)
        slopes.append([pieces[1].per_byte_s for pieces in (alone, shared)])
        errors.append([np.abs(predict_s(pieces, SHORT) / true[inside] - 1).mean() for pieces in (alone, shared)])
    (worst_alone, worst_shared), (error_alone, error_shared) = np.min(slopes, axis=0), np.mean(errors, axis=0)
    assert worst_alone < 5e-12 < 2.5e-11 < worst_shared
    assert error_shared < error_alone


def test_a_slope_that_the_times_contradict_is_not_taken_over():
    at = np.concatenate([SIZES[SIZES < 4096], SHORT, SIZES[SIZES > 8192]])
    flat = [STEPS[0], LinearPiece(4096.0, 4e-6, 0.0), STEPS[2]]
    times = predict_s(flat, at)
    found = with_told_slopes(fit_pieces(at, times), at, times)
    assert [piece.per_byte_s for piece in found] == pytest.approx([5e-11, 0, 4.5e-11])
