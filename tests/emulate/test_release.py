"""Objects of a rank that has ended are deleted, except those still in use."""

from collections.abc import Callable

import pytest

KEEPER = "__smpy_shared__ = True\nkept = []\n"
PROGRAM = """
import weakref
import keeper
from mpi4py import MPI
class Thing:
    pass
rank = MPI.COMM_WORLD.rank
table = {"rank": rank}
unused = Thing()
def value():
    return table["rank"]
def decorated(function):
    def wrapper():
        return function()
    return wrapper
class Teller:
    @property
    def rank(self):
        return value()
    def tell(self):
        return self.rank
def last():
    return [tell() for tell in keeper.kept]
"""


@pytest.mark.parametrize(
    "what", ["value", "decorated(value)", "Teller().tell", "lambda: table['rank']", "decorated(lambda: Teller().rank)"]
)
def test_a_function_that_a_rank_leaves_in_a_shared_module_works_after_its_end(emulated: Callable, what: str):
    program = f"""{PROGRAM}
keeper.kept.append({what})
if rank == 1:
    MPI.COMM_WORLD.recv(source=0)
    import time
    time.sleep(1)
    assert last() == [0, 1]
else:
    MPI.COMM_WORLD.send(None, 1)
"""
    assert emulated(program, 2, files={"keeper.py": KEEPER}).error == ""


@pytest.mark.parametrize("kept", ["", "keeper.kept.append(value)", "import atexit; atexit.register(lambda: rank)"])
def test_what_nobody_uses_is_deleted_when_the_rank_ends(emulated: Callable, kept: str):
    program = f"""{PROGRAM}
{kept}
gone = weakref.ref(unused)
if rank == 0:
    keeper.gone = gone
    MPI.COMM_WORLD.send(None, 1)
else:
    MPI.COMM_WORLD.recv(source=0)
    import time
    time.sleep(1)
    assert gone() is unused and keeper.gone() is None
"""
    assert emulated(program, 2, files={"keeper.py": KEEPER}).error == ""
