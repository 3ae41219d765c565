"""Functions that tests of energy run: each run imports this module, and nothing of pytest with it."""

from __future__ import annotations

import time

import smpy


def rank_here() -> int:
    from mpi4py import MPI

    return MPI.COMM_WORLD.rank  # type: ignore[no-any-return]


def compute(flop: float) -> None:
    smpy.execute(flop * (1 + rank_here()))


def send_one(nbytes: int) -> None:
    import numpy as np
    from mpi4py import MPI

    buffer = np.zeros(nbytes, "b")
    if rank_here() == 0:
        MPI.COMM_WORLD.Send(buffer, 1)
    elif rank_here() == 1:
        MPI.COMM_WORLD.Recv(buffer, 0)


def move() -> None:
    smpy.execute(4e9, bytes=2e9)


def change_states() -> None:
    if rank_here() == 0:
        smpy.execute(2e9)
        print(time.time())
        return
    time.sleep(0.2)
    smpy.set_host_pstate(1)
    print(smpy.host_pstate(), smpy.host_power_w(), round(smpy.host_energy_j(), 3))
    time.sleep(0.1)
    smpy.set_host_pstate(0)
    print(smpy.host_pstate(), smpy.host_power_w(), round(smpy.host_energy_j(), 3))


def set_state(state: object) -> None:
    smpy.set_host_pstate(state)  # type: ignore[arg-type]


def compute_steps() -> None:
    for _ in range(4):
        smpy.execute(1e9)


def unbalanced_ring(slow: bool) -> None:
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    rank, n_ranks = comm.rank, comm.size
    if slow and rank > 0:
        smpy.set_host_pstate(1)
    for step in range(10):
        smpy.execute(4e9 if rank == 0 else 2e9)
        comm.sendrecv(step, (rank + 1) % n_ranks, source=(rank - 1) % n_ranks)
        comm.barrier()


def mix(n_rounds: int) -> None:
    """Computing of different lengths on shared hosts, states, and looks of `Iprobe`, which compute, too."""
    import numpy as np
    from mpi4py import MPI

    comm, buffer = MPI.COMM_WORLD, np.zeros(100_000, "b")
    for n in range(n_rounds):
        smpy.execute(1e7 * (1 + comm.rank))
        smpy.set_host_pstate(n % 2)
        if comm.rank % 2 == 0:
            comm.Send(buffer, comm.rank + 1)
        else:
            while not comm.Iprobe(comm.rank - 1):
                smpy.execute(1e5)
            comm.Recv(buffer, comm.rank - 1)
        comm.allreduce(1)


def compute_and_add(n_rounds: int) -> None:
    from mpi4py import MPI

    for n in range(n_rounds):
        smpy.execute(1e8 * (1 + (MPI.COMM_WORLD.rank + n) % 5))
        MPI.COMM_WORLD.allreduce(1)
