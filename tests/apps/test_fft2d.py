"""The distributed Fourier transform is numpy's, however the rows lie on the ranks."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

APPS = Path(__file__).parents[2] / "apps"
FFT = APPS / "fft2d.py"
RESULT = re.compile(r"peak (\S+) at (\d+), (\d+), checksum (\S+), largest error (\S+)")
TRANSPOSED = re.compile(r"transpose of (\d+) x (\d+), checksum (\S+), largest error (\S+)")

ARRAYS = f"""
import sys
sys.path.insert(0, {str(APPS)!r})
import numpy as np
from fft2d import Options, block, make_field, transform, transpose
from mpi4py import MPI

comm, (n, m) = MPI.COMM_WORLD, map(int, sys.argv[1:])
field = make_field(block(n, comm.size, comm.rank), Options(n, m, 4, False))
spectrum = transform(comm, field, n, np.fft.fft)
again = transform(comm, spectrum, n, np.fft.ifft)
for name, mine in (("field", field), ("turned", transpose(comm, field, n)), ("spectrum", spectrum), ("again", again)):
    parts = comm.gather(mine)
    if comm.rank == 0:
        np.save(name, np.concatenate(parts))
"""

SHAPES = [(1, 6, 9), (2, 8, 12), (3, 7, 11), (4, 16, 8), (5, 10, 6), (5, 10, 15), (9, 5, 30), (16, 6, 7)]
"""Ranks, rows, columns: blocks of one size, of two sizes, and ranks that have no rows, or no columns."""


def field_of(n: int, m: int, seed: int) -> NDArray[np.complex128]:
    """The array to transform, from its description."""
    noise = np.random.default_rng(seed).random((n, m, 2)) - 0.5
    down, right = np.indices((n, m))
    return np.exp(2j * np.pi * (3 * down / n + 5 * right / m)) + noise @ np.array([1, 1j])


@pytest.mark.parametrize(("n_ranks", "n", "m"), SHAPES)
def test_transform_and_transpose_are_those_of_numpy(emulated: Callable[..., Any], n_ranks: int, n: int, m: int) -> None:
    ran = emulated(ARRAYS, n_ranks, args=(str(n), str(m)))
    assert ran.code == 0, ran.error
    field, turned, spectrum, again = (np.load(f"{name}.npy") for name in ("field", "turned", "spectrum", "again"))
    assert np.allclose(field, field_of(n, m, 4), rtol=0, atol=1e-13)
    assert np.array_equal(turned, field.T)
    assert np.allclose(spectrum, np.fft.fft2(field), rtol=0, atol=1e-13 * n * m)
    assert np.allclose(again, field, rtol=0, atol=1e-13)


def test_the_spectrum_has_the_energy_of_the_field(emulated: Callable[..., Any]) -> None:
    emulated(ARRAYS, 3, args=("20", "14"))
    field, spectrum = np.load("field.npy"), np.load("spectrum.npy")
    assert np.linalg.norm(spectrum) ** 2 / spectrum.size == pytest.approx(np.linalg.norm(field) ** 2, rel=1e-13)


@pytest.mark.parametrize("n_ranks", [1, 2, 4, 5, 24])
def test_the_printed_numbers_are_those_of_a_serial_transform(emulated: Callable[..., Any], n_ranks: int) -> None:
    n, m = 20, 36
    ran = emulated(None, n_ranks, program=str(FFT), args=("--n", str(n), "--m", str(m), "--seed", "7"))
    assert ran.code == 0, ran.error
    found = RESULT.search(ran.out)
    assert found, ran.out
    spectrum = np.fft.fft2(field_of(n, m, 7))
    total = sum(spectrum[j % n, 3 * j % m] for j in range(1, 1025))
    assert float(found[1]) == pytest.approx(abs(spectrum[3, 5]), rel=1e-8)
    assert (int(found[2]), int(found[3])) == (3, 5)
    assert complex(found[4]) == pytest.approx(total, rel=1e-8)
    assert float(found[5]) < 1e-14


@pytest.mark.parametrize("n_ranks", [1, 3, 5, 9])
def test_a_transpose_alone_puts_every_entry_in_its_place(emulated: Callable[..., Any], n_ranks: int) -> None:
    n, m = 10, 15
    ran = emulated(None, n_ranks, program=str(FFT), args=("--n", str(n), "--m", str(m), "--transpose-only"))
    assert ran.code == 0, ran.error
    found = TRANSPOSED.search(ran.out)
    assert found, ran.out
    assert (int(found[1]), int(found[2]), found[4]) == (n, m, "0.0e+00")
    assert complex(found[3]) == sum(complex(3 * j % n, j % m) for j in range(1, 1025))


@pytest.mark.parametrize(("n_ranks", "options"), [(3, ()), (4, ("--transpose-only",))])
def test_a_real_mpiexec_prints_the_same(
    emulated: Callable[..., Any], mpiexec: Callable[..., str], n_ranks: int, options: tuple[str, ...]
) -> None:
    arguments = ("--n", "64", "--m", "32", *options)
    real = mpiexec(n_ranks, str(FFT), *arguments)
    ran = emulated(None, n_ranks, program=str(FFT), args=arguments)
    assert ran.out.splitlines()[0] == real.splitlines()[0]


@pytest.mark.slow
def test_1024_ranks_print_what_one_rank_prints(emulated: Callable[..., Any]) -> None:
    first, second = (emulated(None, n_ranks, program=str(FFT)).out.splitlines()[0] for n_ranks in (1, 1024))
    assert first == second
