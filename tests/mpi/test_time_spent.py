"""Categories of the ranks' time: computing, sleeping, communication, and waiting for others."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smpy.engine.running import current
from smpy.engine.time_categories import Spent
from smpy.mpi import MPI
from smpy.records.time_shares import TimeShares
from tests.mpi.conftest import run_world

LARGE = 1_000_000  # bytes: a send of them waits for its receive
LATE_S = 1.0
SOON_S = 0.01  # more than any transfer here takes


def spent(*bodies, platform_file=None) -> Spent:
    """Time of ranks with these bodies, by category, in seconds."""

    def main(rank):
        bodies[rank](MPI.COMM_WORLD)

    world = run_world(len(bodies), main, platform_file)
    found = world.engine.spent_s()
    assert math.fsum(found) == pytest.approx(math.fsum(world.finish_s), rel=1e-12)
    return found


def late(call):
    def body(comm):
        current().sleep(LATE_S)
        call(comm)

    return body


def send(nbytes):
    return lambda comm: comm.Send(np.zeros(nbytes, "B"), comm.size - 1 - comm.rank, 1)


def receive(nbytes):
    return lambda comm: comm.Recv(np.zeros(nbytes, "B"), comm.size - 1 - comm.rank, 1)


def started(make, complete):
    return lambda comm: complete([make(comm)])


@pytest.mark.parametrize("nbytes", [8, LARGE])
def test_who_receives_from_a_late_sender_waits_until_it_has_sent(nbytes: int):
    found = spent(late(send(nbytes)), receive(nbytes))
    assert found.late_sender == found.waiting == pytest.approx(LATE_S, abs=1e-5)  # but for the overhead of sending
    assert found.sleeping == LATE_S
    assert found.transfer > 0


@pytest.mark.parametrize("nbytes", [8, LARGE])
def test_who_receives_what_was_sent_before_does_not_wait(nbytes: int):
    found = spent(send(nbytes), late(receive(nbytes)))
    assert found.late_receiver == pytest.approx(LATE_S if nbytes == LARGE else 0, abs=1e-5)
    assert found.late_sender == found.late_members == 0
    assert 0 < found.transfer < SOON_S


@pytest.mark.parametrize("complete", [MPI.Request.Waitall, MPI.Request.Waitany, MPI.Request.Waitsome])
def test_a_wait_for_several_is_for_others_while_no_message_travels(complete):
    def receive_several(comm):
        buffers = [np.zeros(8, "B") for _ in range(3)]
        left = [comm.Irecv(buffer, 0, 1) for buffer in buffers]
        while any(left):
            complete(left)

    def send_several(comm):
        for _ in range(3):
            current().sleep(LATE_S)
            comm.Send(np.zeros(8, "B"), 1, 1)

    found = spent(send_several, receive_several)
    assert found.late_sender == found.waiting == pytest.approx(3 * LATE_S, abs=1e-4)


@pytest.mark.parametrize(
    "call",
    [
        lambda comm: comm.Barrier(),
        lambda comm: comm.Bcast(np.zeros(LARGE, "B"), comm.size - 1),
        lambda comm: comm.Allreduce(np.zeros(8), np.zeros(8)),
        lambda comm: comm.allreduce(1),
        lambda comm: comm.Split(0, comm.rank),
        lambda comm: comm.Ibarrier().Wait(),
        lambda comm: MPI.Request.Waitall([comm.Ialltoall(np.zeros(8, "B"), np.zeros(8, "B"))]),
    ],
)
def test_who_comes_to_a_collective_first_waits_for_the_last(call):
    found = spent(*[call] * 7, late(call))
    assert found.waiting == pytest.approx(7 * LATE_S, rel=1e-3)
    assert found.late_receiver == 0
    assert found.computing == 0


def test_a_collective_of_buffers_is_late_by_its_members():
    calls = [lambda comm: comm.Barrier(), lambda comm: comm.Ibarrier().Wait()]
    for call in calls:
        found = spent(*[call] * 7, late(call))
        assert found.late_members == found.waiting == pytest.approx(7 * LATE_S, rel=1e-3)


def test_ranks_that_enter_a_collective_together_wait_for_nobody():
    for _ in range(2):
        found = spent(*[lambda comm: comm.Bcast(np.zeros(LARGE, "B"))] * 8)
        assert found.waiting == 0
        assert found.transfer > 0


def test_a_collective_of_a_part_of_the_ranks_waits_for_these_alone():
    def body(comm):
        half = comm.Split(comm.rank % 2, comm.rank)
        for _ in range(3):  # one half runs ahead of the other
            if comm.rank == 0:
                current().sleep(LATE_S)
            half.Barrier()

    assert spent(*[body] * 8).waiting == pytest.approx(3 * 3 * LATE_S, rel=1e-3)


def test_a_root_that_runs_ahead_waits_for_nobody():
    def body(comm):
        for _ in range(40):
            if comm.rank:
                current().sleep(LATE_S)
            comm.Bcast(np.zeros(8, "B"))

    found = spent(*[body] * 4)
    assert found.waiting + found.transfer < SOON_S


def test_groups_wait_for_each_other():
    def body(comm):
        side = comm.rank % 2
        inter = comm.Split(side, comm.rank).Create_intercomm(0, comm, 1 - side, 7)
        if side:
            current().sleep(LATE_S)
        inter.Barrier()

    assert spent(*[body] * 4).waiting == pytest.approx(2 * LATE_S, rel=1e-3)


@pytest.mark.parametrize("platform_file", [None, "cluster.xml"])
def test_probes_and_polls_that_succeed_wait_until_the_message_is_sent(platform_file):
    def probe(comm):
        comm.Probe(0, 1)
        receive(8)(comm)

    def poll(comm):
        while not comm.Iprobe(0, 1):
            pass
        receive(8)(comm)

    probed, polled = (spent(late(send(8)), look, platform_file=platform_file) for look in (probe, poll))
    for found in probed, polled:
        assert found.late_sender == pytest.approx(LATE_S, rel=1e-3)
        assert found.waiting_for_others == found.late_sender
        assert found.communicating == found.polling + found.overhead + found.transfer


def test_a_probe_of_what_is_there_is_a_poll():
    def probe(comm):
        comm.Probe(0, 1)
        receive(8)(comm)

    assert spent(send(8), late(probe)).probing == 0


def test_computing_on_a_shared_core_is_computing():
    def compute(comm):
        current().compute(1e9)

    found = spent(*[compute] * 4, platform_file="multicore.xml")
    assert found.computing > 0
    assert found == Spent(found.computing, *[0] * 10)


def test_what_a_stopped_run_has_spent_is_known():
    def body(comm):
        if comm.rank == 0:
            current().sleep(LATE_S)
            current().stop("enough")
        comm.Barrier()

    world = run_world(2, lambda rank: body(MPI.COMM_WORLD))
    found = world.engine.spent_s()
    assert (found.sleeping, found.waiting) == (LATE_S, pytest.approx(LATE_S, abs=1e-6))  # its overheads before


@pytest.mark.slow
@settings(max_examples=25)
@given(st.integers(1, 6), st.integers(0, 2**32))
def test_all_of_a_ranks_time_goes_to_something(n_ranks: int, seed: int):
    def main(rank):
        comm, common, own = MPI.COMM_WORLD, random.Random(seed), random.Random(f"{seed} {rank}")
        for _ in range(12):
            if own.random() < 0.5:
                current().sleep(own.random() * 1e-3)
            if own.random() < 0.5:
                current().compute(own.random() * 1e6)
            nbytes, shift, step = common.choice([8, 5000, LARGE]), common.randrange(n_ranks), common.randrange(5)
            out, into = np.zeros(nbytes, "B"), np.zeros(nbytes, "B")
            if step == 0:
                comm.Sendrecv(out, (rank + shift) % n_ranks, 0, into, (rank - shift) % n_ranks, 0)
            elif step == 1:
                comm.Allreduce(out, into)
            elif step == 2:
                request = comm.Ibcast(out, shift)
                while not request.Test():
                    current().compute(1e4)
            elif step == 3:
                sent = comm.Isend(out, (rank + shift) % n_ranks, 0)
                comm.Probe((rank - shift) % n_ranks, 0)
                comm.Recv(into, (rank - shift) % n_ranks, 0)
                sent.Wait()
            else:
                MPI.Request.Waitany([comm.Ibarrier()])

    world = run_world(n_ranks, main)
    found = world.engine.spent_s()
    assert min(found) >= 0
    assert math.fsum(found) == pytest.approx(math.fsum(world.finish_s), rel=1e-12)


@given(st.lists(st.floats(0, 1e6), min_size=4, max_size=4))
def test_shares_add_up_and_so_do_those_that_are_printed(parts_s: list[float]):
    compute_s, communication_s, waiting_s, sleep_s = parts_s
    shares = TimeShares.of(compute_s=compute_s, communication_s=communication_s, waiting_s=waiting_s, sleep_s=sleep_s)
    if not sum(parts_s):
        assert shares.render() == "no simulated time passed"
        return
    assert math.fsum([shares.compute, shares.communication, shares.waiting, shares.sleep]) == pytest.approx(1)
    printed = [float(part.split("%")[0]) for part in shares.render().split(", ")]
    assert math.fsum(printed) == pytest.approx(100)
    for share, shown in zip([shares.compute, shares.communication, shares.waiting, shares.sleep], printed, strict=True):
        assert shown == pytest.approx(100 * share, abs=0.1)
