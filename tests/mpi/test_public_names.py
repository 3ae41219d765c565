"""Names of the surface are those of mpi4py, no others, with room for the program's own."""

import importlib.util
import pickle
from pathlib import Path

import numpy as np
import pytest

from smpy.mpi import MPI
from tests.mpi.public_names import read_stub, stored

HANDLES = [
    *("Comm", "Intracomm", "Intercomm", "Cartcomm", "Graphcomm", "Distgraphcomm", "Topocomm", "Group", "Info", "Op"),
    *("Datatype", "Request", "Prequest", "Grequest", "Message", "Status", "Errhandler", "File", "Win", "Session"),
]
COMMON = (
    "comm",
    "number",
    "kind",
    "buffer",
    "message",
    "finish",
    "view",
    "layout",
    "members",
    "pairs",
    "data",
    "_comm",
)


def public(thing):
    return {name for name in dir(thing) if not name.startswith("_")}


def test_the_module_has_mpi4py_s_public_names_and_no_others():
    assert public(MPI) == stored()[""]


@pytest.mark.parametrize("name", sorted(stored().keys() - {""}))
def test_a_class_has_mpi4py_s_public_names_and_no_others(name):
    assert public(getattr(MPI, name)) - public(Exception) == stored()[name]


def test_the_names_are_those_of_an_installed_mpi4py():
    found = importlib.util.find_spec("mpi4py")
    stub = Path(found.origin).with_name("MPI.pyi") if found and found.origin else Path("MPI.pyi")
    if not stub.is_file():
        pytest.skip("mpi4py is not installed")
    assert read_stub(stub) == stored()


@pytest.mark.parametrize("name", HANDLES)
def test_a_subclass_may_have_attributes_of_any_name_that_mpi4py_leaves_free(name):
    kind = getattr(MPI, name)

    class Mine(kind):
        def __init__(self, *args):
            for attribute in set(COMMON) - stored()[name]:
                setattr(self, attribute, attribute)

    mine = Mine()
    assert isinstance(mine, kind)
    assert all(getattr(mine, attribute) == attribute for attribute in set(COMMON) - stored()[name])
    if name != "Status":
        assert mine == kind()
        assert not mine


def test_a_communicator_s_subclass_works_as_one(run_ranks):
    class Grid(MPI.Intracomm):
        def __new__(cls, comm=None, shape=None):
            return super().__new__(cls, comm)

        def __init__(self, comm, shape):
            self.comm, self.shape, self.number = comm, shape, 10**8

    def main(rank):
        grid = Grid(MPI.COMM_WORLD, (2, 1))
        room = np.zeros(1)
        grid.Sendrecv(np.ones(1) * rank, 1 - rank, 0, room, 1 - rank)
        copy = grid.Dup()
        assert type(copy) is Grid
        assert not hasattr(copy, "shape")
        copy.Free()
        return grid.Get_size(), grid.size, grid.comm.rank, grid.allreduce(1), grid.shape, room[0]

    assert run_ranks(2, main).returned == [(2, 2, 0, 2, (2, 1), 1), (2, 2, 1, 2, (2, 1), 0)]


@pytest.mark.parametrize("name", ["_kernel_comm", "_kernel_request", "_buffer"])
def test_the_kernel_s_numbers_cannot_be_written(name):
    if "smpy.mpi.state.python_bases" in str(MPI.Comm.__mro__):
        pytest.skip("the plain classes leave the check to the kernel alone")
    handle = MPI.Request() if name != "_kernel_comm" else MPI.Comm()
    with pytest.raises(AttributeError):
        setattr(handle, name, 10**8)


def test_a_number_that_is_none_of_the_kernel_s_is_refused(run_ranks):
    from smpy.errors import SmpyError

    def main(rank):
        comm, request = MPI.Intracomm(), MPI.Request()
        comm._refer_to(10**8)
        request._refer_to(10**8)
        calls = [lambda: comm.Send(b"", 0), comm.recv, comm.Barrier, request.Wait, request.Test, request.wait]
        for call in calls:
            with pytest.raises((MPI.Exception, SmpyError, RuntimeError)):
                call()
        return comm.Get_size() <= 0

    assert run_ranks(1, main).returned == [True]


def test_a_rank_cannot_complete_another_rank_s_request(run_ranks):
    from smpy.errors import SmpyError

    shared = {}

    def main(rank):
        shared[rank] = MPI.COMM_WORLD.Irecv(bytearray(1), 1 - rank)
        MPI.COMM_WORLD.Barrier()
        with pytest.raises((SmpyError, RuntimeError), match="each rank completes its own"):
            shared[1 - rank].Wait()
        with pytest.raises((SmpyError, RuntimeError), match="each rank completes its own"):
            MPI.Request.Waitsome([shared[1 - rank]])
        MPI.COMM_WORLD.Barrier()
        MPI.COMM_WORLD.Send(b"x", 1 - rank)
        return shared[rank].Wait()

    assert run_ranks(2, main).returned == [True, True]


def test_there_is_no_binary_interface():
    assert MPI.Get_abi_version() == (-1, -1)
    assert {MPI.Get_abi_info().Get(f"mpi_{name.lower()}_size") for name in ("AINT", "COUNT", "OFFSET")} == {"8"}
    assert MPI.AINT.size == MPI.COUNT.size == MPI.OFFSET.size == 8
    assert MPI.Get_abi_fortran_info() == MPI.INFO_NULL


@pytest.mark.usefixtures("named_mpi4py")
def test_predefined_handles_pickle_by_name():
    for name in ("COMM_WORLD", "COMM_NULL", "INT", "SUM", "INFO_NULL", "GROUP_EMPTY", "REQUEST_NULL", "ERRORS_RETURN"):
        assert pickle.loads(pickle.dumps(getattr(MPI, name))) is getattr(MPI, name)
