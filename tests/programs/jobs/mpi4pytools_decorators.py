"""mpi4pytools: communication by decorators, and a queue of tasks."""

import numpy as np
from mpitools import eval_on_main, setup_mpi
from mpitools.comms import (
    all_to_all,
    broadcast_from_main,
    buffered_gather_to_all,
    gather_to_main,
    reduce_to_all,
    scatter_from_main,
)
from mpitools.queue import MPIQueue, Task
from ordered import in_order_of_ranks

comm, rank, size = setup_mpi()


class Doubling(Task):
    """A task of the queue."""

    def __init__(self, task_id, number):
        super().__init__(task_id)
        self.number = number

    def execute(self):
        """Work of the function."""
        return 2 * self.number


with in_order_of_ranks():
    print(broadcast_from_main()(lambda: {"from": rank})())
    print(gather_to_main()(lambda: rank**2)())
    print(scatter_from_main()(lambda: [f"to {other}" for other in range(size)])())
    print(all_to_all()(lambda: [(rank, other) for other in range(size)])())
    print(reduce_to_all(op="sum")(lambda: rank + 1)(), reduce_to_all(op="max")(lambda: -rank)())
    print(buffered_gather_to_all((2,), "d")(lambda: np.full(2, rank, dtype="d"))().tolist())
    eval_on_main()(lambda: print("main alone"))()
queue = MPIQueue()
if rank == 0:
    queue.add_tasks([Doubling(f"task {number}", number) for number in range(10)])
results = queue.run()
if rank == 0:
    print(sorted((task_id, result.result) for task_id, result in results.items()))
