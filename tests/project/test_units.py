"""Quantities with units: what is read, what is refused, what is shown."""

from __future__ import annotations

import re
from time import process_time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from smpy.units import (
    exact_bandwidth,
    exact_size,
    exact_speed,
    exact_time,
    format_bytes,
    format_time,
    has_unit,
    parse_bandwidth_bytes_per_s,
    parse_number,
    parse_size_bytes,
    parse_speed_flop_per_s,
    parse_time_s,
    rounded_bandwidth,
    rounded_speed,
    rounded_time,
)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("50us", 50e-6), ("1.5ms", 1.5e-3), ("3ns", 3e-9), ("7ps", 7e-12), ("2s", 2), ("2m", 120), ("1h", 3600),
     ("1d", 86400), ("1w", 604800), ("0.25", 0.25), ("1e-3s", 1e-3), ("0", 0), (" 5us ", 5e-6)],
)  # fmt: skip
def test_times_are_read_in_seconds(text: str, seconds: float) -> None:
    assert parse_time_s(text) == pytest.approx(seconds, rel=1e-15)


@pytest.mark.parametrize(
    ("text", "flop_per_s"),
    [("1Gf", 1e9), ("100Mf", 1e8), ("2.5kf", 2500), ("1f", 1), ("3flops", 3), ("1gigaflops", 1e9), ("1teraflops", 1e12),
     ("1zetaflops", 1e21), ("5", 5), ("49.6Gflop/s", 49.6e9), ("2Gflops", 2e9)],
)  # fmt: skip
def test_speeds_are_read_in_flop_per_second(text: str, flop_per_s: float) -> None:
    assert parse_speed_flop_per_s(text) == pytest.approx(flop_per_s, rel=1e-15)


@pytest.mark.parametrize(
    ("text", "bytes_per_s"),
    [("10Gbps", 1.25e9), ("10GBps", 1e10), ("8bps", 1), ("1KiBps", 1024), ("8Mibps", 1024**2), ("125MBps", 125e6),
     ("3Bps", 3), ("200Gb/s", 25e9), ("25GB/s", 25e9), ("1KiB/s", 1024)],
)  # fmt: skip
def test_the_case_of_the_b_tells_bytes_from_bits(text: str, bytes_per_s: float) -> None:
    assert parse_bandwidth_bytes_per_s(text) == bytes_per_s


@pytest.mark.parametrize(("text", "size_bytes"), [("64KiB", 65536), ("64kB", 64000), ("8b", 1), ("100", 100)])
def test_sizes_are_read_in_bytes(text: str, size_bytes: float) -> None:
    assert parse_size_bytes(text) == size_bytes


@pytest.mark.parametrize("text", ["", "fast", "Gf", "1 Gf!", "1GF", "1_000f", "nan", "inf"])
def test_what_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a speed"):
        parse_speed_flop_per_s(text)


def test_a_unit_in_the_wrong_case_is_refused_with_the_right_one() -> None:
    with pytest.raises(ValueError, match=r"did you mean 'GBps' or 'Gbps'\?"):
        parse_bandwidth_bytes_per_s("10gbps")
    with pytest.raises(ValueError, match=r"did you mean 'us'\?"):
        parse_time_s("10US")


def test_only_zero_needs_no_unit() -> None:
    assert has_unit("5us")
    assert has_unit("0")
    assert has_unit("0.0")
    assert not has_unit("5")


@given(st.floats(1e-9, 1e6), st.sampled_from(["", "k", "M", "G", "T"]))
def test_a_bandwidth_in_bits_is_an_eighth_of_one_in_bytes(number: float, prefix: str) -> None:
    in_bytes = parse_bandwidth_bytes_per_s(f"{number!r}{prefix}Bps")
    assert parse_bandwidth_bytes_per_s(f"{number!r}{prefix}bps") == pytest.approx(in_bytes / 8, rel=1e-15)


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0, "0 s"), (0.00123456, "1.235 ms"), (1e-7, "100 ns"), (2.5e-6, "2.5 us"), (0.9999999, "1 s"), (59.5, "59.5 s"),
     (119, "119 s"), (4000, "1 h 6 min 40 s"), (90061, "1 d 1 h 1 min 1 s"), (-0.5, "-500 ms"), (3e-12, "0.003 ns")],
)  # fmt: skip
def test_times_are_shown_to_four_digits(seconds: float, shown: str) -> None:
    assert format_time(seconds) == shown


@pytest.mark.parametrize(
    ("size_bytes", "shown"), [(0, "0 B"), (12, "12 B"), (65536, "65.54 kB"), (1e6, "1 MB"), (2.5e12, "2.5 TB")]
)
def test_amounts_of_data_are_shown_in_decimal_units(size_bytes: float, shown: str) -> None:
    assert format_bytes(size_bytes) == shown


EXACT = {
    exact_time: parse_time_s,
    exact_bandwidth: parse_bandwidth_bytes_per_s,
    exact_speed: parse_speed_flop_per_s,
    exact_size: parse_size_bytes,
}


@given(st.floats(0, allow_infinity=False))
@example(554188700753182.56)
def test_every_number_has_a_text_that_is_read_as_the_very_same(number: float) -> None:
    for write, read in EXACT.items():
        assert read(write(number)) == number
        assert has_unit(write(number))


@given(st.floats(1e-12, 1e18), st.integers(3, 7))
@example(999999.7, 6)
def test_a_measured_number_is_written_in_few_digits_without_an_exponent_and_read_as_what_it_says(
    number: float, digits: int
) -> None:
    for text, read in (
        (rounded_time(number, "us", digits), lambda text: parse_time_s(text) * 1e6),
        (rounded_bandwidth(number, digits), parse_bandwidth_bytes_per_s),
        (rounded_speed(number, digits), parse_speed_flop_per_s),
    ):
        value = number * 1e6 if text.endswith("us") else number
        assert re.fullmatch(r"\d+(\.\d*[1-9])?[A-Za-z/]+", text)
        assert read(text) == pytest.approx(value, rel=0.5001 * 10 ** (1 - digits), abs=1e-300)


def test_a_time_beyond_all_ages_is_no_row_of_digits() -> None:
    assert format_time(1e300) == "1e+300 s"
    assert format_time(8640000) == "100 d"


def test_a_number_of_many_digits_is_refused_as_soon_as_it_is_read() -> None:
    began_s = process_time()
    with pytest.raises(ValueError, match="is not a number"):
        parse_number("9" * 50_000 + "x")
    assert process_time() - began_s < 1  # a search that takes digits back would try each place: minutes
