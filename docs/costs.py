"""Calls on folded arrays, and the page of their modelled costs, which are read from a simulated run."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import smpy

Cost = dict[str, tuple[int, float]]  # by kernel: times, and seconds of all together

CALLS = {
    "Elements": """
a + a
np.exp(a)
np.add.reduce(a)
np.add.accumulate(a)
np.add.outer(v, v)
np.where(a > 0, a, a)
np.clip(a, 0, 1)
np.round(a)
np.around(a)
np.fix(a)
np.nan_to_num(a)
np.angle(z)
np.sinc(a)
np.isclose(a, a)
np.real_if_close(z)
np.cumsum(a)
np.cumprod(a)
np.outer(v, v)
np.linalg.outer(v, v)
np.linalg.norm(a)
np.trace(a)
np.zeros_like(a)
np.ones_like(a)
np.full_like(a, 2)
np.sum(a)
np.prod(a)
np.max(a)
np.min(a)
np.amax(a)
np.amin(a)
np.any(a)
np.all(a)
np.mean(a)
np.argmax(a)
np.argmin(a)
np.count_nonzero(a)
np.nansum(a)
np.nanprod(a)
np.nanmax(a)
np.nanmin(a)
np.nanmean(a)
np.ptp(a)
np.std(a)
np.var(a)
np.nanstd(a)
np.nanvar(a)
""",
    "Copies": """
a[[0, 2]]
a.astype("f4")
np.copy(a)
np.copyto(a, a)
np.concatenate([a, a])
np.stack([a, a])
np.vstack([a, a])
np.hstack([a, a])
np.column_stack([a, a])
np.repeat(a, 2)
np.tile(a, 2)
np.take(a, [0, 2], 0)
np.roll(a, 1)
np.tril(a)
np.triu(a)
np.fft.fftshift(a)
np.fft.ifftshift(a)
""",
    "Products": """
a @ a
a @ v
np.dot(v, v)
np.dot(a, a)
np.inner(a, a)
np.vdot(a, a)
np.tensordot(a, a)
np.linalg.matmul(a, a)
np.linalg.tensordot(a, a)
np.einsum("ij,jk->ik", a, a)
""",
    "Linear algebra of numpy": """
np.linalg.solve(a, v)
np.linalg.inv(a)
np.linalg.det(a)
np.linalg.slogdet(a)
np.linalg.cholesky(a)
np.linalg.qr(a)
np.linalg.eigh(a)
np.linalg.eigvalsh(a)
np.linalg.svd(a)
np.linalg.svdvals(a)
np.linalg.lstsq(a, v)
""",
    "Linear algebra of scipy": """
linalg.lu_factor(a)
linalg.lu(a)
linalg.det(a)
linalg.solve(a, v)
linalg.inv(a)
linalg.lu_solve((a, pivots), v)
linalg.cho_solve((a, True), v)
linalg.solve_triangular(a, v)
linalg.cholesky(a)
linalg.cho_factor(a)
linalg.qr(a)
linalg.eigh(a)
linalg.eigvalsh(a)
linalg.svd(a)
linalg.svdvals(a)
linalg.lstsq(a, v)
linalg.norm(a)
""",
    "LAPACK": """
lapack.dgetrf(a)
lapack.dgetrs(a, pivots, v)
lapack.dgesv(a, v)
lapack.dgetri(a, pivots)
lapack.dpotrf(a)
lapack.dpotrs(a, v)
lapack.dposv(a, v)
lapack.dpotri(a)
lapack.dtrtri(a)
lapack.dtrtrs(a, v)
lapack.dgeqrf(a)
lapack.dorgqr(a, v)
lapack.zungqr(z, z[0])
lapack.dormqr("L", "N", a, v, a, 64_000)
lapack.zunmqr("L", "N", z, z[0], z, 64_000)
lapack.dgels(a, v)
lapack.dlaswp(a, pivots)
lapack.dsyev(a)
lapack.dsyevd(a)
lapack.zheev(z)
lapack.zheevd(z)
lapack.dgesvd(a)
lapack.dgesdd(a)
""",
    "BLAS": """
blas.daxpy(v, v)
blas.dcopy(v, v)
blas.ddot(v, v)
blas.zdotu(z[0], z[0])
blas.zdotc(z[0], z[0])
blas.dswap(v, v)
blas.dscal(2.0, v)
blas.zdscal(2.0, z[0])
blas.dnrm2(v)
blas.dasum(v)
blas.idamax(v)
blas.drot(v, v, 1.0, 0.0)
blas.drotm(v, v, parameters)
blas.dgemv(1.0, a, v)
blas.dgbmv(1000, 1000, 1, 1, 1.0, band, v)
blas.dger(1.0, v, v)
blas.zgeru(1.0, z[0], z[0])
blas.zgerc(1.0, z[0], z[0])
blas.dsymv(1.0, a, v)
blas.zhemv(1.0, z, z[0])
blas.dsbmv(1, 1.0, a[:2], v)
blas.zhbmv(1, 1.0, z[:2], z[0])
blas.dspmv(1000, 1.0, packed, v)
blas.zhpmv(1000, 1.0, zpacked, z[0])
blas.dtrmv(a, v)
blas.dtrsv(a, v)
blas.dtbmv(1, a[:2], v)
blas.dtbsv(1, a[:2], v)
blas.dtpmv(1000, packed, v)
blas.dtpsv(1000, packed, v)
blas.dsyr(1.0, v)
blas.zher(1.0, z[0])
blas.dsyr2(1.0, v, v)
blas.zher2(1.0, z[0], z[0])
blas.dspr(1000, 1.0, v, packed)
blas.zhpr(1000, 1.0, z[0], zpacked)
blas.dspr2(1000, 1.0, v, v, packed)
blas.zhpr2(1000, 1.0, z[0], z[0], zpacked)
blas.dgemm(1.0, a, a)
blas.dsymm(1.0, a, a)
blas.zhemm(1.0, z, z)
blas.dsyrk(1.0, a)
blas.zherk(1.0, z)
blas.dsyr2k(1.0, a, a)
blas.zher2k(1.0, z, z)
blas.dtrmm(1.0, a, a)
blas.dtrsm(1.0, a, a)
""",
    "Transforms of numpy": """
np.fft.fft(z)
np.fft.ifft(z)
np.fft.fft2(z)
np.fft.ifft2(z)
np.fft.fftn(z)
np.fft.ifftn(z)
np.fft.rfft(a)
np.fft.irfft(z)
np.fft.rfft2(a)
np.fft.irfft2(z)
np.fft.rfftn(a)
np.fft.irfftn(z)
np.fft.hfft(z)
np.fft.ihfft(a)
""",
}
_PROGRAM = """
import numpy as np, smpy
from scipy import linalg
from scipy.linalg import blas, lapack

a, v, z = smpy.folded((1000, 1000)), smpy.folded(1000), smpy.folded((1000, 1000), complex)
packed, zpacked, band = smpy.folded(500_500), smpy.folded(500_500, complex), smpy.folded((3, 1000))
pivots, parameters = np.arange(1000, dtype="i4"), np.zeros(5)
"""
_FLOP = "flat hosts=1 cores=1 speed=1Gf host.memory_bandwidth=1000000000GB/s"
_BYTES = "flat hosts=1 cores=1 speed=1000000000Gf host.memory_bandwidth=1GB/s"
_ABOUT = """# Cost of each function

This page is made by calling each function on folded arrays in a simulated run. There, `v` has 1,000 numbers and `a` is
a matrix of 1,000 x 1,000, both in double precision. `z` is such a matrix of complex numbers.
[What costs what](what-costs-what.md) has the rules, and the functions that are made of these.

A call takes the time that the machine's `[kernels]` tell for its kernels. For a kernel without a time there, it takes
the operations on the core or the bytes in the memory, whichever is longer.
"""


def costs_page() -> str:
    """The page: a table for each group of calls."""
    groups = {title: calls.strip().split("\n") for title, calls in CALLS.items()}
    calls = [call for group in groups.values() for call in group]
    flop, moved = costs(calls, _FLOP), costs(calls, _BYTES)
    page = _ABOUT
    for title, group in groups.items():
        page += f"\n## {title}\n\n| call | kernels | million operations | MB moved |\n|---|---|--:|--:|\n"
        page += "".join(cost_row(call, flop.get(call, {}), moved.get(call, {})) for call in group)
    return page


def cost_row(call: str, flop: Cost, moved: Cost) -> str:
    """Row of a call: the kernels that it takes, and millions of their operations and bytes."""
    kernels = ", ".join(f"`{name}`" + (f" x {n}" if n > 1 else "") for name, (n, _) in (flop | moved).items())
    flop_and_bytes = (sum(seconds for _, seconds in cost.values()) * 1e3 for cost in (flop, moved))
    return f"| `{call}` | {kernels} | {' | '.join(f'{round(number, 4):,g}' for number in flop_and_bytes)} |\n"


def costs(calls: list[str], machine: str) -> dict[str, Cost]:
    """Cost of each call that has one, on a machine of 1 Gf or of 1 GB/s."""
    n_before = len(_PROGRAM.splitlines())
    found: dict[str, Cost] = {}
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "calls.py"
        program.write_text(_PROGRAM + "\n".join(calls), encoding="utf-8")
        run = smpy.simulate(program, ranks=1, platform=machine, compute="models")
    for site in json.loads(run.to_json())["profile"]["sites"]:
        if site["call"] is None:  # the program itself
            continue
        call = calls[int(site["line"].rpartition(":")[2]) - n_before - 1]
        found.setdefault(call, {})[site["call"]] = (site["count"], site["spent_s"][0])
    return found
