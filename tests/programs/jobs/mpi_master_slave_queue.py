"""mpi_master_slave: a queue of work, resources bound to slaves, results as they come."""

from mpi4py import MPI
from mpi_master_slave import Master, Slave, WorkQueue


class Squarer(Slave):
    """Squares what it gets."""

    def do_work(self, data):
        """The work, and its result."""
        name, number = data
        return name, number, number**2


def main():
    """Rank 0 is the master."""
    comm = MPI.COMM_WORLD
    if comm.Get_rank() != 0:
        Squarer().run()
        return
    master = Master(range(1, comm.Get_size()))
    queue = WorkQueue(master)
    for number in range(20):
        queue.add_work(("task", number), resource_id=number % 3 or None)
    results = []
    while not queue.done():
        queue.do_work()
        results += queue.get_completed_work()
    master.terminate_slaves()
    print(sorted(results))
    print("slaves", master.num_slaves())


if __name__ == "__main__":
    main()
