"""Simulated time goes on after months, when a date can no longer tell nanoseconds."""

from collections.abc import Callable

import pytest


@pytest.mark.parametrize("years", [1, 1e6])
def test_ranks_go_on_after_years(emulated: Callable, years: float):
    ran = emulated(
        f"""
        import smpy, time
        from mpi4py import MPI
        comm = MPI.COMM_WORLD
        time.sleep({years} * 365 * 86400)
        smpy.execute(1e9)
        while not comm.Iprobe(tag=9):
            if comm.rank == 1:
                comm.send("done", 0, 9)
                break
        comm.Barrier()
        print(comm.rank)
        """
    )
    assert ran.error == ""
    assert sorted(ran.out.split()) == ["0", "1"]
    assert ran.outcome.summary.makespan_s >= years * 365 * 86400
