"""Command lines of programs that make no sense are refused, once and not by every rank."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

APPS = Path(__file__).parents[2] / "apps"

REFUSED = {
    "pingpong": [
        (1, "", "two ranks are needed, there is one"),
        (3, "--peer 3", "--peer is a rank from 1 to 2, not 3"),
        (3, "--peer 0", "--peer is a rank from 1 to 2, not 0"),
        (3, "--sizes 8 0", "--sizes and --repetitions are at least 1"),
        (3, "--repetitions 0", "--sizes and --repetitions are at least 1"),
        (3, "--sizes large", "invalid int value: 'large'"),
    ],
    "ring": [
        (3, "--rounds 0", "--rounds and --length are at least 1"),
        (3, "--length -1", "--rounds and --length are at least 1"),
        (3, "--tokens some", "invalid choice: 'some'"),
    ],
    "sweep3d": [
        (3, "--rows 2", "--rows divides the number of ranks, 3"),
        (3, "--rows -1", "--rows divides the number of ranks, 3"),
        (3, "--blocks 0", "--blocks and --numbers are at least 1"),
        (3, "--work nan", "--work is from 1e-6 to 3600"),
        (3, "--bandwidth 0", "--latency, --overhead and --envelope are not negative, and --bandwidth is above 0"),
    ],
    "monte_carlo_pi": [
        (3, "--samples 0", "--samples and --block are at least 1"),
        (3, "--block -5", "--samples and --block are at least 1"),
        (3, "--seed -1", "--seed is not negative"),
        (3, "--samples 1e6", "invalid int value: '1e6'"),
    ],
    "master_worker": [
        (3, "--limit 0", "--limit is from 1 to 1000000000"),
        (3, "--limit 1000000001", "--limit is from 1 to 1000000000"),
        (3, "--tasks 0", "--tasks at least 1"),
        (3, "--tasks few", "invalid int value: 'few'"),
    ],
    "jacobi": [
        (3, "--n 0", "--n, --iterations and --check-every are at least 1"),
        (3, "--tolerance nan", "--tolerance is not negative"),
    ],
    "jacobi3d": [
        (3, "--n 0", "--n, --iterations and --check-every are at least 1"),
        (3, "--iterations -5", "--n, --iterations and --check-every are at least 1"),
        (3, "--check-every 0", "--n, --iterations and --check-every are at least 1"),
        (3, "--tolerance -0.001", "--tolerance is not negative"),
        (3, "--tolerance nan", "--tolerance is not negative"),
    ],
    "conjugate_gradient": [
        (3, "--n 0", "--n and --iterations are at least 1, --links is not negative"),
        (3, "--iterations 0", "--n and --iterations are at least 1, --links is not negative"),
        (3, "--links -1", "--n and --iterations are at least 1, --links is not negative"),
        (3, "--tolerance 1", "--tolerance is 0, or lies between 1e-14, what double precision can reach, and 1"),
        (3, "--tolerance nan", "--tolerance is 0, or lies between 1e-14, what double precision can reach, and 1"),
    ],
    "fft2d": [
        (3, "--n 3", "the wave needs --n above 3 and --m above 5"),
        (3, "--m 5", "the wave needs --n above 3 and --m above 5"),
        (3, "--n -8", "the wave needs --n above 3 and --m above 5"),
        (3, "--seed -1", "--seed is not negative"),
    ],
    "nbody": [
        (3, "--bodies 0", "--bodies and --steps are at least 1"),
        (3, "--steps 0", "--bodies and --steps are at least 1"),
        (3, "--dt 0", "--dt and --softening are positive"),
        (3, "--dt nan", "--dt and --softening are positive"),
        (3, "--softening -0.1", "--dt and --softening are positive"),
        (3, "--softening inf", "--dt and --softening are positive"),
        (3, "--seed -1", "--seed is not negative"),
    ],
    "npb/cg": [(3, "--class E", "invalid choice: 'E'")],
    "npb/ep": [(3, "--class E", "invalid choice: 'E'")],
    "npb/mg": [
        (3, "--class E", "invalid choice: 'E'"),
        (3, "--class S", "3 ranks: give a power of two, 16 at most"),
        (32, "--class S", "32 ranks: give a power of two, 16 at most"),
    ],
}


@pytest.mark.parametrize(
    ("program", "n_ranks", "arguments", "message"),
    [(program, *row) for program, rows in REFUSED.items() for row in rows],
)
def test_what_makes_no_sense_is_refused_once(
    emulated: Callable[..., Any], program: str, n_ranks: int, arguments: str, message: str
) -> None:
    ran = emulated(None, n_ranks, program=str(APPS / f"{program}.py"), args=tuple(arguments.split()))
    assert ran.code == 2
    assert ran.err.count(message) == 1, ran.err
    assert not ran.out


def test_a_real_mpiexec_says_it_once_too(mpiexec: Callable[..., str]) -> None:
    with pytest.raises(AssertionError) as told:
        mpiexec(3, str(APPS / "ring.py"), "--rounds", "0")
    lines = [line for line in str(told.value).splitlines() if line.strip().startswith("ring.py: error")]
    assert len(lines) == 1, told.value
