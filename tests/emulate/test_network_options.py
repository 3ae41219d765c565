"""Options of the network model, given to a run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from smpy.errors import UsageError

PLATFORM = """<?xml version="1.0"?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">{}
<cluster id="c" prefix="n" suffix="" radical="0-1" speed="1Gf" bw="1GBps" lat="10us"/></platform>
"""
RULE = "<config><prop id='smpy/polls' value='{}'/></config>"
POLLER = """
    import smpy
    from mpi4py import MPI
    world = MPI.COMM_WORLD
    if world.rank == 0:
        smpy.execute(1e7)  # 10 ms
        world.Send(bytearray(8), 1)
    else:
        while not world.Iprobe():
            pass
        print(MPI.Wtime())
"""


@pytest.fixture
def seen_s(emulated: Callable[..., Any], tmp_path: Path) -> Callable[..., float]:
    """Date at which rank 1 sees a message that is sent at 10 ms, by polls that last 3 ms and more."""

    def when(config: str = "", *options: tuple[str, str]) -> float:
        path = tmp_path / "platform.xml"
        path.write_text(PLATFORM.format(config))
        return float(emulated(POLLER, 2, platform=path, options=(("smpi/iprobe", "3ms"), *options)).out)

    return when


def test_the_rule_of_polls_can_be_chosen_on_any_machine(seen_s: Callable[..., float]) -> None:
    assert seen_s() == pytest.approx(18e-3)  # 3 + 6 + 9 ms
    assert seen_s("", ("smpy/polls", "notice")) == pytest.approx(12e-3)
    assert seen_s("", ("smpi/grow-injected-times", "no")) == pytest.approx(12e-3)


def test_the_run_has_the_last_word_on_the_rule(seen_s: Callable[..., float]) -> None:
    assert seen_s(RULE.format("notice")) == pytest.approx(12e-3)
    assert seen_s(RULE.format("notice"), ("smpy/polls", "grow")) == pytest.approx(18e-3)


def test_an_overhead_given_to_the_run_is_paid(emulated: Callable[..., Any]) -> None:
    program = """
        from mpi4py import MPI
        world = MPI.COMM_WORLD
        if world.rank == 0:
            world.Send(bytearray(8), 1)
        else:
            world.Recv(bytearray(8))
    """
    plain_s, slower_s = (
        emulated(program, 2, options=options).outcome.summary.makespan_s for options in ((), (("smpi/os", "0:1ms"),))
    )
    assert slower_s - plain_s == pytest.approx(1e-3 - 0.2e-6, rel=1e-5)


SENDER = """
    from mpi4py import MPI
    world = MPI.COMM_WORLD
    if world.rank == 0:
        world.Ssend(bytearray(8), 1)
    else:
        world.Recv(bytearray(8))
        print(MPI.Wtime())
"""


def test_the_command_takes_a_network_model_by_name_and_its_numbers(smpy_run: Callable[..., Any]) -> None:
    options = ("--quiet", "--compute", "none", "--set", "network/latency-factor=0.25", "--network", "constant")
    ran = smpy_run(SENDER, 2, *options)
    assert (ran.code, float(ran.out)) == (0, pytest.approx(0.25, rel=1e-3))


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (("--network", "lv80"), "smpy: --network lv80: 'lv80' is not a network model: there are smpi, lv08, "),
        (("--compat", "3.32"), "smpy: --compat 3.32: '3.32' is no version whose rules smpy has: there are simgrid-"),
    ],
)
def test_the_command_refuses_a_model_it_does_not_have(
    option: tuple[str, str], message: str, smpy_run: Callable[..., Any]
) -> None:
    ran = smpy_run(SENDER, 2, *option)
    assert ran.code == 2
    assert message in ran.err


def test_a_wrong_option_is_refused_before_the_program_starts(emulated: Callable[..., Any]) -> None:
    with pytest.raises(UsageError, match=r"--set smpi/tset=1: .*did you mean 'smpi/test'"):
        emulated("print('started')", 1, options=(("smpi/tset", "1"),))
