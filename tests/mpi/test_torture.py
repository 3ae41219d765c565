"""Programs as nasty as MPI allows: what was sent is overwritten at once, nobody is in step, much is in flight."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smpy.collectives.register import OPERATIONS, algorithms_of
from smpy.collectives.selection import Selection
from smpy.collectives.world_schedules import choose
from smpy.engine.running import current
from smpy.mpi import MPI
from tests.mpi.collectives.collective_cases import CASES, GAP, Draw, Entries
from tests.mpi.conftest import run_world

RANKS = st.integers(1, 17)
SEEDS = st.integers(0, 2**32)
FORMS = ["blocking", "non-blocking", "persistent"]
quick = settings(max_examples=12)
thorough = settings(max_examples=40)


def linger(random):
    """Let some simulated time pass, or none."""
    if random.integers(2):
        current().sleep(float(random.exponential(20e-6)))


# ---- collectives ----


def started(comm, case, form):
    """Make the call: a request, None when it has completed."""
    if form == "blocking":
        getattr(comm, case.call)(*case.arguments)
        case.spoil()
        case.check()
        return None
    if form == "non-blocking":
        return getattr(comm, f"I{case.call.lower()}")(*case.arguments)
    request = getattr(comm, f"{case.call}_init")(*case.arguments)
    request.Start()
    return request


def complete(random, pending, *, leave=0):
    """Complete requests in any order, each rank in its own, until so many are left."""
    while len(pending) > leave:
        request, case = pending.pop(random.integers(len(pending)))
        while random.integers(2) and not request.Test():
            linger(random)
        request.Wait()
        case.spoil()
        case.check()


def known(op):
    """smpy's own algorithms of an operation: others may have registered meanwhile."""
    ours = (each for each in algorithms_of(op).values() if each.make.__module__.startswith("smpy."))
    return sorted(each.name for each in ours if each.only_ranks is None)


def some_algorithms(plan):
    """An algorithm of each collective, whatever its table says."""
    named = {op: str(plan.choice(known(op))) for op in OPERATIONS if not op.startswith("inter_")}
    return Selection(forced=named)


def collectives(n_ranks, seed, n_calls):
    """All kinds of collectives in all forms and of any algorithm, several in flight, on two communicators."""

    def main(rank):
        choose(current(), some_algorithms(np.random.default_rng((seed, 2))))
        plan, mine = np.random.default_rng(seed), np.random.default_rng((seed, rank, 1))
        comms = [MPI.COMM_WORLD, MPI.COMM_WORLD.Dup()]
        pending = []
        for _ in range(n_calls):
            case = CASES[plan.integers(len(CASES))](Draw(int(plan.integers(2**32)), rank, n_ranks))
            comm, form = comms[plan.integers(2)], str(plan.choice(FORMS))
            linger(mine)
            request = started(comm, case, form)
            if request is not None:
                pending.append((request, case))
            complete(mine, pending, leave=3)
        complete(mine, pending)

    run_world(n_ranks, main)


@pytest.mark.slow
@quick
@given(RANKS, SEEDS)
def test_collectives_equal_numpy(n_ranks, seed):
    collectives(n_ranks, seed, 40)


@pytest.mark.campaign
@thorough
@given(RANKS, SEEDS)
def test_many_collectives_equal_numpy(n_ranks, seed):
    collectives(n_ranks, seed, 150)


# ---- point to point ----

COUNTS = [0, 1, 700, 9000]  # eager, and above the eager limit
BLOCKING = ["Send", "Ssend", "Rsend", "Bsend"]
STARTED = ["Isend", "Issend", "Irsend", "Ibsend", "Send_init", "Ssend_init", "Rsend_init", "Bsend_init"]
EARLY = ["Irecv", "Recv_init", "freed"]
LATE = ["Recv", "Mprobe", "Improbe", "Probe"]


class Letter:
    """A message of the plan, as all ranks know it."""

    def __init__(self, plan, tag, n_ranks):
        self.tag = tag
        self.source, self.dest = (int(rank) for rank in plan.integers(n_ranks, size=2))
        self.values = plan.integers(-1000, 1000, int(plan.choice(COUNTS)))
        self.is_late = bool(plan.integers(3) == 0)
        self.receive = str(plan.choice(LATE if self.is_late else EARLY))
        modes = ["Ssend"] if self.receive == "freed" else [*STARTED, *BLOCKING]
        if self.is_late:  # a rank that waits for it may be waited for
            modes = [mode for mode in [*STARTED, "Bsend"] if "Ir" not in mode and "Rs" not in mode]
        self.mode = str(plan.choice(modes))

    def post(self, comm, into):
        """An early receive: its request."""
        if self.receive == "Recv_init":
            request = comm.Recv_init(into.spec, self.source, self.tag)
            request.Start()
            return request
        request = comm.Irecv(into.spec, self.source, self.tag)
        if self.receive == "freed":
            request.Free()
        return request

    def take(self, comm, into):
        """A late receive."""
        if self.receive == "Mprobe":
            comm.Mprobe(self.source, self.tag).Recv(into.spec)
        elif self.receive == "Improbe":
            held = None
            while held is None:
                held = comm.Improbe(self.source, self.tag)
            held.Irecv(into.spec).Wait()
        else:
            if self.receive == "Probe":
                comm.Probe(self.source, self.tag)
            comm.Recv(into.spec, self.source, self.tag)

    def send(self, comm, out):
        """Send it: a request when it may not have left."""
        request = getattr(comm, self.mode)(out.spec, self.dest, self.tag)
        if request is not None and self.mode.endswith("_init"):
            request.Start()
        return request


def letters(n_ranks, seed, n_rounds):
    """Every mode of sending against every way to receive."""

    def main(rank):
        plan, mine = np.random.default_rng(seed), np.random.default_rng((seed, rank, 1))
        comm = MPI.COMM_WORLD.Dup()
        attached = np.zeros(2_000_000, np.uint8)
        comm.Attach_buffer(attached)
        for _ in range(n_rounds):
            exchange(comm, rank, [Letter(plan, tag, n_ranks) for tag in range(2 * n_ranks)], mine)
        comm.Detach_buffer()

    run_world(n_ranks, main)


def exchange(comm, rank, plan, random):
    inbox = [(letter, new_entries(random, letter.values * 0)) for letter in plan if letter.dest == rank]
    posted = [letter.post(comm, into) for letter, into in inbox if not letter.is_late]
    comm.Barrier()  # a ready send wants its receive posted
    outbox = [(letter, new_entries(random, letter.values)) for letter in plan if letter.source == rank]
    under_way = []
    for i in random.permutation(len(outbox)):
        letter, out = outbox[i]
        linger(random)
        request = letter.send(comm, out)
        if request is None:
            out.memory[:] = GAP
        else:
            under_way.append((request, out))
    for letter, into in inbox:
        if letter.is_late:
            linger(random)
            letter.take(comm, into)
    for request, out in under_way:
        request.Wait()
        out.memory[:] = GAP
    MPI.Request.Waitall([request for request in posted if request])
    comm.Barrier()
    for letter, into in inbox:
        np.testing.assert_array_equal(into.values, letter.values, f"{letter.mode} to {letter.receive}")
        assert into.gaps_are_whole()


def new_entries(random, values):
    return Entries(values, int(random.integers(1, 4)))


@pytest.mark.slow
@quick
@given(RANKS, SEEDS)
def test_messages_carry_what_was_sent(n_ranks, seed):
    letters(n_ranks, seed, 3)


@pytest.mark.campaign
@thorough
@given(RANKS, SEEDS)
def test_many_messages_carry_what_was_sent(n_ranks, seed):
    letters(n_ranks, seed, 12)


@pytest.mark.slow
@quick
@given(RANKS, SEEDS)
def test_exchanges_carry_what_was_sent(n_ranks, seed):
    def main(rank):
        random, plan = np.random.default_rng((seed, rank)), np.random.default_rng(seed)
        world = MPI.COMM_WORLD
        for _ in range(5):
            shift, count = int(plan.integers(n_ranks)), int(plan.choice(COUNTS))
            dest, source = (rank + shift) % n_ranks, (rank - shift) % n_ranks
            mine, its = np.arange(count) + 1000 * rank, np.arange(count) + 1000 * source
            out, into, both = (new_entries(random, values) for values in (mine, mine * 0, mine))
            linger(random)
            world.Sendrecv(out.spec, dest, 0, into.spec, source, 0)
            out.memory[:] = GAP
            world.Sendrecv_replace(both.spec, dest, 1, source, 1)
            np.testing.assert_array_equal(into.values, its)
            np.testing.assert_array_equal(both.values, its)
            assert into.gaps_are_whole()
            assert both.gaps_are_whole()

    run_world(n_ranks, main)


# ---- one at a time ----


def test_the_root_of_a_bcast_leaves_first():
    def main(rank):
        buffer = np.full(10, 7.0) if rank == 0 else np.zeros(10)
        current().sleep(float(rank))
        MPI.COMM_WORLD.Bcast(buffer)
        left_s = current().clock_s()
        if rank == 0:
            buffer[:] = 0
        return left_s, buffer.tolist()

    returned = run_world(5, main).returned
    assert returned[0][0] < 1
    assert all(values == [7.0] * 10 for _, values in returned[1:])


@pytest.mark.parametrize("call", ["Scan", "Exscan"])
def test_low_ranks_leave_a_scan_early(call):
    def main(rank):
        mine, result = np.full(3, 10**rank), np.zeros(3, int)
        current().sleep(float(rank))
        getattr(MPI.COMM_WORLD, call)(mine, result)
        mine[:] = 0
        return current().clock_s(), int(result[0])

    returned = run_world(5, main).returned
    for rank, (left_s, result) in enumerate(returned):
        assert left_s < rank + 1
        assert result == int("1" * (rank + 1 if call == "Scan" else rank) or "0")


def test_an_operation_that_raises_is_the_failure_of_the_rank_that_completes():
    def main(rank):
        def add(left, right, datatype):
            if rank == 1:
                raise ZeroDivisionError("not on this rank")
            np.frombuffer(right)[:] += np.frombuffer(left)

        op, world = MPI.Op.Create(add, commute=True), MPI.COMM_WORLD
        mine, result = np.full(2, 1.0 + rank), np.zeros(2)
        if rank == 1:
            with pytest.raises(ZeroDivisionError, match="not on this rank"):
                world.Reduce(mine, result, op, 1)
        else:
            world.Reduce(mine, None, op, 1)
        world.Reduce(mine, result, op, 2)
        return result[0]

    assert run_world(3, main).returned == [0, 0, 6]


def test_an_operation_sees_copies():
    def main(rank):
        def spoil(left, right, datatype):
            total = np.frombuffer(left) + np.frombuffer(right)
            np.frombuffer(left)[:] = -1
            np.frombuffer(right)[:] = total

        mine, running, whole = np.full(2, 1.0 + rank), np.zeros(2), np.zeros(2)
        op = MPI.Op.Create(spoil)
        MPI.COMM_WORLD.Scan(mine, running, op)
        MPI.COMM_WORLD.Allreduce(mine, whole, op)
        return mine[0], running[1], whole[0]

    assert run_world(4, main).returned == [(1, 1, 10), (2, 3, 10), (3, 6, 10), (4, 10, 10)]


def test_a_freed_receive_delivers():
    def main(rank):
        world, buffer = MPI.COMM_WORLD, np.zeros(20_000)
        if rank == 0:
            request = world.Irecv(buffer, 1)
            request.Free()
            assert not request
        else:
            buffer[:] = 5
            current().sleep(1.0)
            world.Send(buffer, 0)
        world.Barrier()
        return buffer.sum()

    assert run_world(2, main).returned == [100_000, 100_000]
