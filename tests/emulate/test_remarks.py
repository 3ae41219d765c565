"""Remarks of the summary: lost messages, kernels above their host's peak, polls that took long."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

HEAD = """
import numpy as np
import smpy
from mpi4py import MPI
c = MPI.COMM_WORLD
a, b = np.zeros(3), np.zeros(3)
large = np.zeros(100_000)
"""


def remarks(ran) -> str:
    return "\n".join(line for remark in ran.outcome.summary.remarks for line in (remark.topic, *remark.lines))


def lost(ran) -> list[tuple]:
    """Kind, rank, peer, tag and line of everything that was left over."""
    record = json.loads(ran.outcome.summary.to_json())
    found = [one for remark in record["remarks"] if remark["topic"] == "lost messages" for one in remark["first"]]
    return [(one["kind"], one["rank"], one["peer"], one["tag"], one["line"]) for one in found]


@pytest.mark.parametrize(
    ("on_rank_0", "found"),
    [
        ("c.Send(a, 1, 5)", ("send", 0, 1, 5)),
        ("c.Send([a, 3, MPI.DOUBLE], 1, 5)", ("send", 0, 1, 5)),
        ("c.send({1: 2}, 1, 5)", ("send", 0, 1, 5)),
        ("c.Isend(large, 1, 5)", ("send", 0, 1, 5)),
        ("c.Issend(a, 1, 5)", ("send", 0, 1, 5)),
        ("c.Send(a, 0, 5)", ("send", 0, 0, 5)),
        ("MPI.Attach_buffer(bytearray(999)); c.Bsend(a, 1, 5)", ("send", 0, 1, 5)),
        ("request = c.Irecv(a, 1, 5)", ("receive", 0, 1, 5)),
        ("c.irecv(source=1, tag=5)", ("receive", 0, 1, 5)),
        ("c.Irecv(a)", ("receive", 0, -1, -1)),
        ("r = c.Recv_init(a, 1, 5); r.Start()", ("receive", 0, 1, 5)),
        ("c.Send(a, 0, 5); c.Improbe(0, 5)", ("send", 0, 0, 5)),
        ("c.Ibarrier()", ("collective", 0, None, None)),
        ("c.Irecv(b, 0, 5); c.Send(a, 0, 5)", ("request", 0, 0, 5)),
    ],
)
def test_what_nobody_completes_is_told_by_rank_tag_and_line(emulated: Callable, on_rank_0: str, found: tuple):
    ran = emulated(HEAD + f"if c.rank == 0:\n    {on_rank_0}\n")
    assert lost(ran) == [(*found, "program.py:9")]
    assert "program.py:9" in ran.outcome.summary.render()
    assert ran.code == 0


@pytest.mark.parametrize(
    "complete",
    [
        "c.Send(a, 1 - c.rank); c.Recv(b)",
        "r = c.Irecv(b, 1 - c.rank); c.Send(a, 1 - c.rank); r.Wait()",
        "r = [c.Isend(large, 1 - c.rank), c.Irecv(large.copy(), 1 - c.rank)]; MPI.Request.Waitall(r)",
        "r = c.Irecv(b, 1 - c.rank); r.Cancel(); r.Wait()",
        "c.Irecv(b, 1 - c.rank).Free(); c.Send(a, 1 - c.rank); c.Barrier()",
        "c.send(1, 1 - c.rank); c.recv()",
        "r = c.isend(1, 1 - c.rank); c.recv(); r.wait()",
        "r = c.Ibarrier()\nwhile not r.Test():\n    pass",
        "r = c.Recv_init(b, 1 - c.rank); r.Start(); c.Send(a, 1 - c.rank); r.Wait()",
        "MPI.Attach_buffer(bytearray(999)); c.Bsend(a, 1 - c.rank); c.Recv(b); MPI.Detach_buffer()",
        "MPI.Attach_buffer(bytearray(999)); c.Bsend(a, 1 - c.rank); c.Recv(b)",
        "c.Split(0).Dup().allreduce(1); c.alltoall([1, 2]); c.scan(1); c.Sendrecv(a, 1 - c.rank, 0, b, 1 - c.rank)",
        "d = c.Split(c.rank).Create_intercomm(0, c, 1 - c.rank); d.Barrier(); d.Merge(); d.bcast(1, MPI.PROC_NULL)",
    ],
)
def test_a_program_that_completes_everything_lost_nothing(emulated: Callable, complete: str):
    ran = emulated(HEAD + complete, strict=True)
    assert (ran.code, ran.error, lost(ran)) == (0, "", [])


def test_a_strict_run_fails_when_messages_were_lost(smpy_run: Callable):
    ran = smpy_run(HEAD + "if c.rank == 0: c.Send(a, 1, 5)", 2, "--strict", "--quiet")
    assert ran.code == 1
    assert "smpy: lost messages: 1 message that nobody received" in ran.err
    assert "rank 0: send to rank 1, tag 5, 24 bytes   program.py:8" in ran.err


def test_a_strict_run_keeps_the_programs_own_exit_code(emulated: Callable):
    ran = emulated(HEAD + "c.Send(a, 1 - c.rank)\nraise SystemExit(7)", strict=True)
    assert (ran.code, len(lost(ran))) == (7, 2)


def test_a_run_that_stopped_early_says_nothing_of_lost_messages(emulated: Callable):
    assert lost(emulated(HEAD + "c.Send(a, 1 - c.rank)\nc.Abort(3)", strict=True)) == []


def test_many_lost_messages_take_few_lines(emulated: Callable):
    ran = emulated(HEAD + "for tag in range(100):\n    c.Send(a, (c.rank + 1) % c.size, tag)", 40)
    (remark,) = ran.outcome.summary.remarks
    assert remark.lines == (
        "4,000 messages that nobody received (--strict: an error)",
        "  ranks 0-39 (40): send, 100 times   program.py:9",
    )
    assert len(remark.facts["first"]) == 1000
    assert remark.facts["n"] == 4000


def test_the_line_is_the_programs_not_the_librarys_that_is_ours(emulated: Callable):
    ran = emulated(
        HEAD + "import tools\ntools.give(c, a)", 1, files={"tools.py": "def give(c, a):\n    c.Send(a, 0, 1)\n"}
    )
    assert lost(ran) == [("send", 0, 0, 1, "tools.py:2")]


def test_functions_that_look_alike_have_lines_of_their_own(emulated: Callable):
    ran = emulated(HEAD + "def one():\n    c.Send(a, 0, 1)\ndef two():\n    c.Send(a, 0, 2)\none()\ntwo()", 1)
    assert lost(ran) == [("send", 0, 0, 1, "program.py:9"), ("send", 0, 0, 2, "program.py:11")]


# ---- kernels ----


@pytest.mark.parametrize(("kernel", "flop", "shape"), [("dgemm", 2, (9, 9, 9)), ("dtrsm", 1, (9, 9))])
@pytest.mark.parametrize("part_of_peak", [0.999, 1.001, 2.0])
def test_a_kernel_above_its_hosts_peak_is_told(emulated: Callable, kernel: str, flop: int, shape, part_of_peak: float):
    cost = flop * 1e-9 / part_of_peak
    models = f"smpy.KernelModels(dgemm_s_per_mnk={cost}, dtrsm_s_per_mnn={cost})"
    ran = emulated(HEAD + f"for _ in range(3): {models}.{kernel}{shape}")
    peak = 49.6e9
    record = json.loads(ran.outcome.summary.to_json())["remarks"]
    if part_of_peak < 1:
        assert record == []
    else:
        rate = pytest.approx(part_of_peak * peak)
        assert record == [{"topic": kernel, "flop_per_s": rate, "peak_flop_per_s": peak}]
        assert f"{part_of_peak * 49.6:.4g} Gf, above the 49.6 Gf of its host's core" in remarks(ran)


def test_a_kernel_that_is_not_called_is_not_told_of(emulated: Callable):
    assert remarks(emulated(HEAD + "smpy.KernelModels(1e-9, 0)")) == ""


def test_a_strict_run_refuses_a_kernel_above_its_hosts_peak(emulated: Callable):
    ran = emulated(HEAD + "smpy.KernelModels(1e-9, 1e-9).dgemm(9, 9, 9)", strict=True)
    assert ran.code == 1
    assert "dgemm is modelled at 99.2 Gf, above the 49.6 Gf of a core of node-0, and the run is strict" in ran.error


# ---- polls ----

POLLING = """
import time
if c.rank == 0:
    time.sleep(1.1e-3)
    c.Send(a, 1)
else:
    while not c.Iprobe():
        pass
    c.Recv(b)
"""


def test_polls_that_take_long_name_the_other_rule(emulated: Callable, tmp_path):
    platform = tmp_path / "two.xml"
    platform.write_text(
        '<platform version="4.1"><cluster id="c" prefix="n" suffix="" radical="0-1" speed="1Gf" bw="1GBps" lat="1us"/>'
        "</platform>",
        encoding="utf-8",
    )
    ran = emulated(HEAD + POLLING, platform=platform)
    assert "in vain, by SMPI's rule; --set smpy/polls=notice" in remarks(ran)
    (record,) = json.loads(ran.outcome.summary.to_json())["remarks"]
    assert record == {"topic": "polls", "share": pytest.approx(0.4 / 2.6, abs=0.01)}
    assert remarks(emulated(HEAD, platform=platform)) == ""


def test_polls_that_notice_are_not_remarked_on(emulated: Callable):
    assert remarks(emulated(HEAD + POLLING)) == ""
