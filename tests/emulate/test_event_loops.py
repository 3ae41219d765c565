"""asyncio on ranks: a loop each, in simulated time, with MPI calls in coroutines."""

import resource
import time
from collections.abc import Callable
from typing import Any

import pytest

HEAD = """
import asyncio, os, sys, time
from mpi4py import MPI
comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()
def turn():
    return comm.sendrecv(rank, dest=(rank + 1) % size, source=(rank - 1) % size)
"""


@pytest.fixture
def succeeds(emulated: Callable) -> Callable:
    """Runs a program of coroutines; returns what it left."""

    def run(source: str, n_ranks: int = 4) -> Any:
        ran = emulated(HEAD + source, n_ranks)
        assert ran.code == 0, ran.error
        return ran

    return run


def test_sleeping_takes_simulated_time_and_no_real_one(succeeds: Callable):
    ran = succeeds("asyncio.run(asyncio.sleep(1000))")
    assert ran.outcome.summary.makespan_s == pytest.approx(1000)  # longer than a test may take


def test_each_rank_runs_its_own_loop_and_task_across_mpi_calls(succeeds: Callable):
    succeeds(
        """
async def main():
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    for _ in range(3):
        assert turn() == (rank - 1) % size
        assert asyncio.get_running_loop() is loop and asyncio.current_task() is task
        await asyncio.sleep(0.1 * (rank + 1))
    return loop
for _ in range(2):
    loop = asyncio.run(main())
    turn()
    assert asyncio._get_running_loop() is None and loop.is_closed()
"""
    )


def test_a_rank_outside_a_loop_is_told_so_while_others_run_theirs(succeeds: Callable):
    succeeds(
        """
async def main():
    turn()
    turn()
if rank % 2:
    asyncio.run(main())
else:
    turn()
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        turn()
"""
    )


def test_gather_queue_wait_for_timeout_and_call_later_agree_on_the_date(succeeds: Callable):
    ran = succeeds(
        """
async def produce(queue):
    for i in range(5):
        await asyncio.sleep(1 + rank)
        comm.Barrier()
        await queue.put((i, time.monotonic()))
async def consume(queue):
    return [await queue.get() for _ in range(5)]
async def main():
    loop, queue = asyncio.get_running_loop(), asyncio.Queue()
    _, got = await asyncio.gather(produce(queue), consume(queue))
    assert [i for i, _ in got] == [0, 1, 2, 3, 4]
    assert all(abs(date - (i + 1) * size) < 1e-3 for i, date in got), got
    try:
        await asyncio.wait_for(queue.get(), 3)
    except TimeoutError:
        pass
    async with asyncio.timeout(3):
        await asyncio.sleep(2)
    called = loop.create_future()
    loop.call_later(5, called.set_result, loop.time())
    await called
    assert abs(loop.time() - called.result() - 5) < 1e-3
    return round(loop.time(), 3)
print(asyncio.run(main()))
"""
    )
    assert ran.out.split() == ["30.0"] * 4


def test_policies_keep_a_loop_for_each_rank(succeeds: Callable):
    succeeds(
        """
loop = asyncio.new_event_loop()
asyncio.set_event_loop(loop)
loops = comm.allgather(id(loop))
assert len(set(loops)) == size and asyncio.get_event_loop() is loop
loop.call_later(1, loop.stop)
loop.run_forever()
loop.close()
"""
    )


def test_a_loop_that_nothing_can_wake_is_an_error(emulated: Callable):
    ran = emulated(
        HEAD
        + "async def main():\n    turn()\n    if rank == 1:\n        await asyncio.Event().wait()\nasyncio.run(main())"
    )
    assert "rank 1: asyncio's event loop, in which no call is scheduled, would wait for ever" in ran.error


def test_executors_children_and_sockets_are_waited_for_in_real_time(succeeds: Callable):
    ran = succeeds(
        """
async def ticks():
    while True:
        await asyncio.sleep(0.005)
async def main():
    ticking = asyncio.create_task(ticks())
    assert await asyncio.wait_for(asyncio.to_thread(sum, range(10**5)), 1000) == 4999950000
    ticking.cancel()
    child = await asyncio.create_subprocess_exec(sys.executable, "-c", "print(1)", stdout=-1)
    assert await asyncio.wait_for(child.communicate(), 1000) == (b"1\\n", None)
    child = await asyncio.create_subprocess_exec(sys.executable, "-c", "")
    assert await asyncio.wait_for(child.wait(), 1000) == 0
    async def answer(reader, writer):
        writer.write(await reader.readline())
        writer.close()
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    writer.write(b"hello\\n")
    assert await asyncio.wait_for(reader.readline(), 1000) == b"hello\\n"
    writer.close()
    server.close()
asyncio.run(main())
""",
        2,
    )
    assert ran.outcome.summary.makespan_s < 100


def test_asyncio_after_a_run_is_real_again(succeeds: Callable):
    import asyncio

    succeeds("asyncio.run(asyncio.sleep(1))")
    start_s = time.monotonic()
    asyncio.run(asyncio.sleep(0.01))
    assert time.monotonic() - start_s >= 0.01


def test_loops_of_many_ranks_find_descriptors(succeeds: Callable):
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (128, before[1]))
    try:
        succeeds("async def main():\n    comm.Barrier()\nasyncio.run(main())", 64)
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == 128
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_uvloop_makes_the_standard_librarys_loops(emulated: Callable):
    uvloop = "__smpy_shared__ = True\nclass Loop:\n    pass\ndef new_event_loop():\n    return Loop()\n"
    ran = emulated(
        """
        import asyncio, uvloop
        loop = uvloop.new_event_loop()
        loop.run_until_complete(asyncio.sleep(7))
        loop.close()
        """,
        2,
        files={"uvloop.py": uvloop},
    )
    assert ran.code == 0, ran.error
    assert ran.outcome.summary.makespan_s == pytest.approx(7)
