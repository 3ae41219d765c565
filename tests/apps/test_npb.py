"""NAS CG and MG find the values of their classes, on any number of ranks, and have marked loops."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

NPB = Path(__file__).parents[2] / "apps" / "npb"
TIME = re.compile(r"^time: (\S+) s", re.MULTILINE)
# Verification values of NPB 3.3: cg.f and mg.f.
ZETA = {"S": 8.5971775078648, "W": 10.362595087124}
NORM = {"S": 0.5307707005734e-4, "W": 0.6467329375339e-5}


def found(emulated: Callable[..., Any], program: str, name: str, n_ranks: int, **config: Any) -> Any:
    ran = emulated(None, n_ranks, program=str(NPB / program), args=("--class", name), **config)
    assert ran.outcome.exit_code == 0
    return ran


@pytest.mark.parametrize(
    ("name", "n_ranks"), [("S", 1), ("S", 2), ("S", 3), ("S", 8), pytest.param("W", 4, marks=pytest.mark.slow)]
)
def test_cg_finds_the_eigenvalue_of_its_class(emulated: Callable[..., Any], name: str, n_ranks: int) -> None:
    out = found(emulated, "cg.py", name, n_ranks).out
    assert float(re.findall(r"zeta: (\S+),", out)[0]) == pytest.approx(ZETA[name], rel=1e-10)
    assert "verification: successful" in out


@pytest.mark.parametrize(
    ("name", "n_ranks"), [("S", 1), ("S", 2), ("S", 4), ("S", 16), pytest.param("W", 4, marks=pytest.mark.slow)]
)
def test_mg_finds_the_norm_of_its_class(emulated: Callable[..., Any], name: str, n_ranks: int) -> None:
    out = found(emulated, "mg.py", name, n_ranks).out
    assert float(re.findall(r"norm of the residual: (\S+)", out)[0]) == pytest.approx(NORM[name], rel=1e-8)
    assert "verification: successful" in out


def test_cg_takes_its_time_from_few_iterations(emulated: Callable[..., Any]) -> None:
    options = {"compute": "models", "platform": "fat-tree hosts=8 cores=4", "ranks_per_host": 1}
    whole, part = (found(emulated, "cg.py", "S", 8, **options, iterations=half) for half in (None, 0.01))
    assert float(TIME.findall(part.out)[0]) == pytest.approx(float(TIME.findall(whole.out)[0]), rel=5e-3)
    loops = {loop.name: (loop.simulated, loop.count) for loop in part.outcome.summary.iterations}
    assert loops == {"power method": (5, 15), "conjugate gradients": (25, 125)}
