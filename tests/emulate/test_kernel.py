"""`smpy.kernel`: functions whose computing is modelled from their arguments."""

from __future__ import annotations

from collections.abc import Callable
from math import log2
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import smpy
from smpy.compute.models.expressions import over_arguments

MACHINE = "flat hosts=1 cores=4 speed=1Gf host.memory_bandwidth=4GB/s host.caches=1MB:8GB/s"
MULTIPLY = """
import smpy
@smpy.kernel(flop="2*m*n*k", bytes="8*(m*k + k*n + 2*m*n)", working_set_bytes="8*(m*k + k*n + m*n)")
def multiply(a, m, n, k=500):
    print("multiplied", m, n, k)
    return 7
"""


def ran_s(emulated: Callable, source: str, n_ranks: int = 1, **config: object) -> tuple[float, str]:
    ran = emulated(source, n_ranks, platform=MACHINE, **config)
    assert ran.error == ""
    return ran.outcome.summary.makespan_s, ran.out


@pytest.mark.parametrize(
    ("mode", "array", "takes_s", "printed"),
    [
        ("models", "3", 1.0, "multiplied 1000 1000 500\n7\n"),
        ("models", "smpy.folded(3)", 1.0, "None\n"),
        ("measured", "smpy.folded(3)", 1.0, "None\n"),
        ("none", "3", 0.0, "multiplied 1000 1000 500\n7\n"),
        ("none", "smpy.folded(3)", 0.0, "None\n"),
    ],
)
def test_a_kernel_takes_its_time_and_its_body_runs_unless_an_argument_is_folded(
    emulated: Callable, mode: str, array: str, takes_s: float, printed: str
) -> None:
    took_s, out = ran_s(emulated, f"{MULTIPLY}print(multiply({array}, 1000, n=1000))", compute=mode)
    assert took_s == pytest.approx(takes_s, abs=0.05 if mode == "measured" else 1e-12)
    assert out == printed


def test_a_kernel_that_is_measured_takes_no_modelled_time(emulated: Callable) -> None:
    took_s, out = ran_s(emulated, f"{MULTIPLY}multiply(3, 10**5, 10**5, k=10**5)", compute="measured")
    assert took_s < 1
    assert out.startswith("multiplied")


def test_the_machine_may_say_what_a_kernels_own_bytes_cost(emulated: Callable, tmp_path: Path) -> None:
    machine = tmp_path / "machine.toml"
    cost = '[kernels.add]\nsizes = ["bytes", "n"]\nseconds = { "bytes" = 1e-9, "n" = 1e-3 }\n'
    machine.write_text(f'[host]\nspeed = "1Gf"\n[kernels]\nreference_speed = "1Gf"\n{cost}')
    source = "import smpy\nsmpy.kernel(bytes='24*n', name='add')(lambda n: None)(1000)"
    ran = emulated(source, 1, compute="models", platform=machine)
    assert ran.outcome.summary.makespan_s == pytest.approx(24e-6 + 1.0, rel=1e-12)
    other = emulated(
        source.replace("lambda n", "lambda m").replace("24*n", "24*m"), 1, compute="models", platform=machine
    )
    assert "sizes bytes, n, and 'n' is no argument that is a whole number, nor one of flop, bytes," in other.error


def test_memory_bound_kernels_share_the_memory_of_their_host(emulated: Callable) -> None:
    source = "import smpy\nsmpy.kernel(bytes='24*len(x)')(lambda x: None)(smpy.folded(10**8))"
    assert ran_s(emulated, source, 3, compute="models")[0] == pytest.approx(3 * 24e8 / 4e9, rel=1e-12)


def test_kernels_within_a_kernel_take_no_time_of_their_own(emulated: Callable) -> None:
    source = """
import smpy
from mpi4py import MPI
inner = smpy.kernel(flop=1e9, name="inner")(lambda: None)
@smpy.kernel(flop="2e9")
def outer():
    inner()
    MPI.COMM_WORLD.Barrier()  # where other ranks run
    inner()
outer() if MPI.COMM_WORLD.rank == 0 else (inner(), MPI.COMM_WORLD.Barrier(), inner(), inner())
"""
    ran = emulated(source, 2, platform=MACHINE, compute="models")
    assert ran.outcome.summary.finish_s[0] == pytest.approx(2.0, rel=1e-4)
    assert ran.outcome.summary.finish_s[1] == pytest.approx(4.0, rel=1e-4)
    assert "inner, outer by roofline" in ran.outcome.summary.render() or "outer, inner" in ran.outcome.summary.render()


def test_a_kernel_that_the_machine_knows_takes_its_cost(emulated: Callable, tmp_path: Path) -> None:
    (tmp_path / "costs.toml").write_text(
        '[kernels]\nreference_speed = "1Gf"\n[kernels.multiply]\nsizes = ["n", "k"]\nseconds = {"n*k" = 1e-6}\n'
    )
    config = {"compute": "models", "kernels": tmp_path / "costs.toml"}
    assert ran_s(emulated, f"{MULTIPLY}multiply(3, 1, 20)", **config)[0] == pytest.approx(0.01, rel=1e-12)
    ran = emulated(f"{MULTIPLY}multiply(3, 1, 2.5)", 1, platform=MACHINE, **config)
    assert "kernel multiply: the machine's cost of it has the sizes n, k, and 'n' is no argument" in ran.error


def test_outside_a_run_a_kernel_is_what_it_was() -> None:
    @smpy.kernel(flop="1/n", bytes=3)
    def half(n: int) -> float:
        """Divide."""
        return n / 2

    assert half(0) == 0
    assert (half.__name__, half.__doc__) == ("half", "Divide.")


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ("multiply(0, 1)", "TypeError: missing a required argument: 'n'"),
        ("multiply(0, 'm', 1)", "ValueError: kernel multiply: "),
        ("multiply(0, -1, 1)", "ValueError: kernel multiply: cannot compute -1000.0 operations"),
        ("smpy.kernel(flop='1/n', name='inverse')(lambda n: n)(0)", "ValueError: kernel inverse: division by zero"),
        ("smpy.kernel(flop='n.size')(lambda n: n)(0)", "'int' object has no attribute 'size'"),
    ],
)
def test_a_call_without_a_time_is_refused_by_the_name_of_its_kernel(emulated: Callable, call: str, told: str) -> None:
    assert told in emulated(MULTIPLY + call, 1, platform=MACHINE, compute="models").error


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("2*q", "'q' is none of the arguments m, n"),
        ("2*", "is no expression"),
        ("open('/etc/passwd')", "'open' is not arithmetic"),
        ("__import__('os')", "'__import__' is not arithmetic"),
        ("m.__class__", "is not arithmetic"),
        ("m.sort()", "is not arithmetic"),
        ("[x for x in m]", "is not arithmetic"),
        ("lambda: 1", "is not arithmetic"),
        ("'3'*m", "is not arithmetic"),
        ("m if n else 1", "is not arithmetic"),
        ("max(m, key=len)", "is not arithmetic"),
        ("(m := 3)", "is not arithmetic"),
        ("log2", "none of the arguments"),
    ],
)
def test_what_is_not_arithmetic_over_the_arguments_is_refused_where_it_is_written(text: str, told: str) -> None:
    with pytest.raises(ValueError, match="kernel it: flop = ") as refused:
        smpy.kernel(flop=text, name="it")(lambda m, n: None)
    assert told in str(refused.value)


@pytest.mark.parametrize("number", [-1, float("nan"), float("inf")])
def test_a_number_that_is_no_work_is_refused_where_it_is_written(number: float) -> None:
    with pytest.raises(ValueError, match="kernel it: cannot compute"):
        smpy.kernel(flop=number, name="it")(lambda: None)


def test_a_generator_is_no_kernel() -> None:
    def numbers(n: int):
        yield from range(n)

    with pytest.raises(ValueError, match="kernel numbers: it must compute when it is called"):
        smpy.kernel(flop="n")(numbers)


@given(m=st.integers(1, 10**6), n=st.integers(1, 10**6), at=st.integers(0, 1))
def test_an_expression_has_pythons_value(m: int, n: int, at: int) -> None:
    def function(a, /, b, *rest, c=3, **others):
        """All kinds of parameters."""

    text = "2*m.shape[0]**2 - -b // 7 % 5 + c*log2(b) / max(c, 2) + len(rest) + len(others) + min(b, c)".replace(
        "m.", "a."
    )
    a = SimpleNamespace(shape=(m, n))
    (value,) = over_arguments(function, {"it": text})(a, n, *range(at), **({"c": n, "d": 1} if at else {}))
    c = n if at else 3
    assert value == 2 * m**2 - -n // 7 % 5 + c * log2(n) / max(c, 2) + at + at + min(n, c)
