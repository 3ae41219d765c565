"""Drawn programs of one-sided calls leave the bytes that a plain model in numpy has, and repeat their dates."""

from random import Random

import numpy as np
import pytest

from smpy.mpi import MPI
from tests.mpi.conftest import run_world

WORLD = MPI.COMM_WORLD
N_ENTRIES = 12
N_EPOCHS = 4
CALLS = ("Put", "Rput", "Get", "Rget", "Accumulate", "Raccumulate", "Get_accumulate", "Fetch_and_op")
TYPES = (np.int8, np.int32, np.int64, np.uint16, np.float32, np.float64)
OPERATIONS = {"SUM": np.add, "MAX": np.maximum, "MIN": np.minimum, "PROD": np.multiply}


class Plan:
    """A drawn program: the accesses of each rank in each epoch.

    A rank writes to its own stripe of every target, all combine entries of a common stripe by one operation an epoch,
    and read what was there before the epoch.
    """

    def __init__(self, seed: int) -> None:
        draw = Random(seed)
        self.n_ranks = draw.randrange(2, 9)
        self.dtype = np.dtype(draw.choice(TYPES))
        self.stripe = N_ENTRIES
        self.epochs = []
        for _ in range(N_EPOCHS):
            kind = draw.choice(("fence", "groups", "exclusive", "shared", "all", "flush"))
            op = draw.choice(list(OPERATIONS))
            calls = [[self._drawn(draw, rank) for _ in range(draw.randrange(5))] for rank in range(self.n_ranks)]
            self.epochs.append((kind, op, calls))

    def _drawn(self, draw: Random, rank: int) -> tuple:
        call = draw.choice(CALLS)
        target, first = draw.randrange(self.n_ranks), draw.randrange(N_ENTRIES)
        step = draw.choice((1, 1, 2, 3))
        count = 1 if call == "Fetch_and_op" else draw.randrange(1 + (N_ENTRIES - first + step - 1) // step)
        values = [draw.randrange(4) for _ in range(count)]
        return call, target, first, step, values

    def empty(self) -> np.ndarray:
        """Memory of a rank: a stripe for each rank to write, one to combine, one to read."""
        return np.arange((self.n_ranks + 2) * N_ENTRIES, dtype=self.dtype) % 5

    def modelled(self) -> list[np.ndarray]:
        """The memory that the program leaves."""
        memories = [self.empty() for _ in range(self.n_ranks)]
        for _, op, calls in self.epochs:
            for rank, of_rank in enumerate(calls):
                for call, target, first, step, values in of_rank:
                    given = np.array(values, self.dtype)
                    if call in ("Put", "Rput"):
                        memories[target][self.places(rank, first, step, len(values))] = given
                    elif "ccumulate" in call or call == "Fetch_and_op":
                        places = self.places(self.n_ranks, first, step, len(values))
                        memories[target][places] = OPERATIONS[op](memories[target][places], given)
        return memories

    def places(self, stripe: int, first: int, step: int, count: int) -> slice:
        start = stripe * N_ENTRIES + first
        return slice(start, start + count * step, step) if count else slice(0, 0)

    def main(self, rank: int) -> tuple[np.ndarray, float]:
        """The program of a rank: the memory that it leaves, and the date of its end."""
        memory = self.empty()
        win = MPI.Win.Create(memory, memory.itemsize, comm=WORLD)
        for kind, op, calls in self.epochs:
            self._epoch(win, kind, getattr(MPI, op), calls, rank)
            WORLD.Barrier()
        win.Free()
        return memory, MPI.Wtime()

    def run(self) -> tuple[list[np.ndarray], list[float]]:
        returned = run_world(self.n_ranks, self.main).returned
        return [memory for memory, _ in returned], [date for _, date in returned]

    def _epoch(self, win: MPI.Win, kind: str, op: MPI.Op, calls: list, rank: int) -> None:
        everybody = WORLD.Get_group()
        if kind == "fence":
            win.Fence(MPI.MODE_NOPRECEDE)
        elif kind == "groups":
            win.Post(everybody)
            win.Start(everybody)
        elif kind in ("all", "flush"):
            win.Lock_all()
        requests = []
        for what in calls[rank]:
            target = what[1]
            if kind in ("exclusive", "shared"):
                win.Lock(target, MPI.LOCK_EXCLUSIVE if kind == "exclusive" else MPI.LOCK_SHARED)
            requests += self._access(win, op, rank, *what)
            if kind in ("exclusive", "shared"):
                MPI.Request.Waitall(requests)
                win.Unlock(target)
            elif kind == "flush":
                win.Flush(target)
        MPI.Request.Waitall(requests)
        if kind == "fence":
            win.Fence(MPI.MODE_NOSUCCEED)
        elif kind == "groups":
            win.Complete()
            win.Wait()
        elif kind in ("all", "flush"):
            win.Unlock_all()

    def _access(
        self, win: MPI.Win, op: MPI.Op, rank: int, call: str, target: int, first: int, step: int, values: list[int]
    ) -> list[MPI.Request]:
        given, count = np.array(values, self.dtype), len(values)
        entry = MPI.Datatype.fromcode(self.dtype.char)
        spaced = entry.Create_vector(count, 1, step).Commit()
        place = lambda stripe: [stripe * N_ENTRIES + first, 1, spaced]  # noqa: E731
        if call in ("Put", "Rput"):
            started = getattr(win, call)([given, count, entry], target, place(rank))
        elif call in ("Get", "Rget"):
            started = getattr(win, call)([given, count, entry], target, place(self.n_ranks + 1))
        elif call in ("Accumulate", "Raccumulate"):
            started = getattr(win, call)([given, count, entry], target, place(self.n_ranks), op)
        elif call == "Get_accumulate":
            started = win.Get_accumulate([given, count, entry], given.copy(), target, place(self.n_ranks), op)
        else:
            started = win.Fetch_and_op(given, given.copy(), target, self.n_ranks * N_ENTRIES + first, op)
        return [started] if started is not None else []


def check(seed: int) -> None:
    plan = Plan(seed)
    memories, dates = plan.run()
    for rank, (found, expected) in enumerate(zip(memories, plan.modelled(), strict=True)):
        assert found.tolist() == expected.tolist(), f"seed {seed}, rank {rank}"
    assert plan.run()[1] == dates


@pytest.mark.parametrize("seed", range(40))
def test_a_drawn_program_leaves_the_bytes_of_its_model(seed):
    check(seed)


@pytest.mark.campaign
def test_two_thousand_drawn_programs_leave_the_bytes_of_their_models():
    for seed in range(40, 2040):
        check(seed)
