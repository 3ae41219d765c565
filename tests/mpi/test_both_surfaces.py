"""The compiled surface and the plain one are one surface: same simulated times, same data, same errors."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

TRAFFIC = """
    import random
    import sys

    import numpy as np
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    me, n = world.rank, world.size
    draw = random.Random(5)  # the same for all ranks
    sizes = [0, 1, 16, 240, 1393, 8191, 8192, 20000]
    status = MPI.Status()
    lines = []

    def told():
        return status.Get_source(), status.Get_tag(), status.Get_count(MPI.DOUBLE), status.Get_error()

    for turn in range(60):
        size, shift, tag, form = draw.choice(sizes), draw.randrange(n), draw.randrange(5), draw.randrange(9)
        to, source = (me + shift) % n, (me - shift) % n
        mine, got = np.full(size, me + turn * 0.5), np.full(size + 3, -1.0)
        if form == 0:
            requests = [world.Irecv(got, source, tag), world.Isend(mine, to, tag)]
            MPI.Request.Waitall(requests)
        elif form == 1:
            request = world.Isend([mine, MPI.DOUBLE], dest=to, tag=tag)
            world.Recv((got, MPI.DOUBLE), status=status)
            request.Wait(status if shift % 2 else None)
            lines.append(told())
        elif form == 2:
            world.Sendrecv([mine, (size, 0)], to, tag, [got, None, 2, "d"] if turn % 2 else got, source, tag, status)
            lines.append(told())
        elif form == 3:
            request = world.Irecv(got)
            sent = world.Issend(mine, to)
            while not request.Test(status):
                pass
            sent.Wait()
            lines.append(told())
        elif form == 4:
            requests = [world.Isend(mine, to, k) for k in range(3)]
            requests += [world.Irecv(got, MPI.ANY_SOURCE, k) for k in range(3)]
            done = []
            while len(done) < 6:
                done.append(MPI.Request.Waitany(requests, status))
            lines.append((sorted(done), told()[1:]))
        elif form == 5:
            world.Send(mine, MPI.PROC_NULL, tag)
            world.Recv(got, MPI.PROC_NULL, tag, status)
            world.Sendrecv(mine[:3], me, tag, got, me, tag)
            lines.append(told())
        elif form == 6:
            world.Isend(mine, to, tag)  # dropped
            world.Recv(got[: size], source, tag)
        elif form == 7:
            request = world.Isend(mine[::2].copy(), to, 3)
            world.Recv([got, (size + 1) // 2, MPI.DOUBLE], source=source, tag=3)
            request.Wait()
        else:
            request = world.Irecv(got, MPI.ANY_SOURCE, tag)
            if shift:
                world.send({"turn": turn}, to, 9)
                lines.append(world.recv(source=source, tag=9))
            world.Isend(mine, to, tag).Wait()
            request.Wait(status)
            lines.append(told())
        world.Barrier()
        lines.append(float(got.sum()))

    try:
        if me:
            world.Recv(np.zeros(1), 0, 1, status)
        else:
            [world.Send(np.zeros(2), rank, 1) for rank in range(1, n)]
    except MPI.Exception as error:
        lines.append((error.Get_error_class() == MPI.ERR_TRUNCATE, str(error), told()))
    for wrong in ((np.zeros(1), n), (np.zeros(1), 0, -5), (np.zeros(1, object), 0), ("text", 0)):
        try:
            world.Send(*wrong)
        except Exception as error:
            lines.append((type(error).__name__, str(error)))
    part = world.Split(me % 2, -me)
    part.Sendrecv(np.full(4, me), (part.rank + 1) % part.size, 0, got := np.zeros(4, int), (part.rank - 1) % part.size)
    MPI.COMM_SELF.Isend(b"x", 0)
    MPI.COMM_SELF.Recv(bytearray(1))
    lines.append((part.rank, part.size, got.tolist(), MPI.COMM_SELF.rank, MPI.COMM_SELF.size))
    for line in lines:
        print(me, line)
    print(me, f"{MPI.Wtime():.12g}")
"""


@pytest.fixture
def on_each(smpy_run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> Callable[..., Any]:
    """Runs a program on the plain surface and on the compiled one: what each leaves."""

    def runs(source: str, n_ranks: int, compute: str = "none") -> list[tuple[int, str, str, dict[str, Any]]]:
        left = []
        for setting in ("python", "compiled"):
            monkeypatch.setenv("SMPY_SURFACE", setting)
            path = tmp_path / f"{setting}.json"
            ran = smpy_run(source, n_ranks, "--compute", compute, "--quiet", "--json", str(path))
            summary = json.loads(path.read_text()) if path.exists() else {}
            summary.pop("host", None)
            for lost in (lost for remark in summary.get("remarks", ()) for lost in remark["first"]):
                lost.pop("line", None)  # known to the compiled surface alone
            left.append((ran.code, ran.out, ran.err, summary))
        return left

    return runs


@pytest.mark.parametrize("n_ranks", [1, 5])
def test_the_same_program_takes_the_same_time_and_prints_the_same(on_each: Callable[..., Any], n_ranks: int) -> None:
    plain, compiled = on_each(TRAFFIC, n_ranks)
    assert plain[0] == 0, plain[2]
    assert len(plain[1].splitlines()) > 60 * n_ranks
    assert compiled == plain


@pytest.mark.parametrize(
    "call",
    ["world.Recv(room)", "world.Irecv(room).Wait()", "world.Ssend(room, 0)", "world.Send(large, 1 - world.rank)",
     "MPI.Request.Waitall([world.Irecv(room, 0), world.Isend(large, 1)])", "world.Sendrecv(large, 1, 0, room, 0, 5)"],
)  # fmt: skip
def test_a_deadlock_reads_the_same(on_each: Callable[..., Any], call: str) -> None:
    plain, compiled = on_each(
        f"""
        from mpi4py import MPI
        world, room, large = MPI.COMM_WORLD, bytearray(8), bytearray(1_000_000)
        {call}
        """,
        2,
    )
    assert plain[0] != 0
    assert "2 ranks wait" in plain[2]
    assert compiled == plain


@pytest.mark.parametrize("call", ["world.Recv(room, 1)", "world.Irecv(room, 1).Wait()"])
def test_a_truncated_message_reads_the_same(on_each: Callable[..., Any], call: str) -> None:
    plain, compiled = on_each(
        f"""
        from mpi4py import MPI
        world, room = MPI.COMM_WORLD, bytearray(8)
        if world.rank:
            world.Send(bytes(9), 0, 4)
        else:
            {call}
        """,
        2,
    )
    assert "has 9 bytes" in plain[2]
    assert compiled == plain


@pytest.mark.timed
def test_computing_between_calls_is_measured_by_both(on_each: Callable[..., Any]) -> None:
    plain, compiled = on_each(
        """
        from mpi4py import MPI
        world = MPI.COMM_WORLD
        for turn in range(10):
            sum(range(200_000))
            world.Sendrecv(b"x", (world.rank + 1) % 8, 0, bytearray(1))
        """,
        8,
        "measured",
    )
    assert 0.25 < compiled[3]["makespan_s"] / plain[3]["makespan_s"] < 4  # the clocks are real
