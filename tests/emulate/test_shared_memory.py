"""Shared memory and temporary files of a run: names that are its own in places that other processes share."""

import os
from collections.abc import Callable, Iterator
from multiprocessing.shared_memory import SharedMemory

import pytest

NAME = f"smpy_test_{os.getpid()}"
CREATE = f"""
from multiprocessing.shared_memory import SharedMemory
block = SharedMemory("{NAME}", create=True, size=16)
block.buf[0] = 1
print(block.name)
"""


def _there() -> list[str]:
    return [name for name in os.listdir("/dev/shm") if NAME in name]


@pytest.fixture
def outside() -> Iterator[SharedMemory]:
    """A block of the name that the programs use, of another process as far as they know."""
    block = SharedMemory(NAME, create=True, size=16)
    yield block
    block.close()
    block.unlink()


def test_a_block_of_the_name_outside_the_run_is_not_in_its_way(emulated: Callable, outside: SharedMemory):
    ran = emulated(CREATE + "block.close(); block.unlink()", 1)
    assert (ran.error, ran.out) == ("", NAME + "\n")
    assert (outside.buf[0], _there()) == (0, [NAME])


def test_a_block_of_the_run_is_taken_before_one_from_outside(emulated: Callable, outside: SharedMemory):
    program = f"""
        from multiprocessing.shared_memory import SharedMemory
        other = SharedMemory("{NAME}")
        other.buf[1] += 2
        mine = SharedMemory("{NAME}", create=True, size=16)
        again = SharedMemory("{NAME}")
        again.buf[1] = 7
        print(mine.buf[1], other.buf[1])
        """
    ran = emulated(program, 1)
    assert (ran.error, ran.out) == ("", "7 2\n")
    assert outside.buf[1] == 2


def test_blocks_that_ranks_leave_are_unlinked_when_the_run_ends(emulated: Callable):
    assert emulated(CREATE + "raise SystemExit(3)", 1).outcome.exit_code == 3
    assert not _there()


def test_an_error_tells_the_name_that_the_program_knows(emulated: Callable):
    ran = emulated(CREATE + "SharedMemory(block.name, create=True, size=1)", 1)
    assert f"FileExistsError: [Errno 17] File exists: '/{NAME}'" in ran.error


@pytest.mark.parametrize("how", ["fork", "spawn"])
def test_child_processes_share_the_blocks_of_their_run(emulated: Callable, outside: SharedMemory, how: str):
    program = f"""
        from multiprocessing import get_context
        from multiprocessing.shared_memory import SharedMemory

        def fill(name):
            block = SharedMemory(name)
            block.buf[0] = 5

        if __name__ == "__main__":
            block = SharedMemory("{NAME}", create=True, size=16)
            child = get_context("{how}").Process(target=fill, args=(block.name,))
            child.start()
            child.join()
            print(block.buf[0])
        """
    ran = emulated(program, 1)
    assert (ran.error, ran.out, outside.buf[0]) == ("", "5\n", 0)


def test_temporary_names_differ_between_runs(emulated: Callable):
    program = "import tempfile; print(tempfile.mktemp())"
    assert emulated(program, 1).out != emulated(program, 1).out
