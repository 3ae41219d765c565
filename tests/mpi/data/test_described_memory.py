"""Objects that describe their memory instead of exporting it: DLPack and the CUDA array interface."""

import sys

import numpy as np
import pytest

from smpy.mpi import MPI
from smpy.mpi.data import buffers
from smpy.mpi.data.buffers import memory_of
from smpy.mpi.data.message_specifications import part_of
from tests.mpi.described_arrays import CudaArray, Tensor

MAKERS = [Tensor, lambda array: Tensor(array, 0), CudaArray]


@pytest.fixture(params=["compiled", "python"])
def _reader(request, monkeypatch):
    """Have descriptions read by the compiled surface, and without it."""
    if request.param == "python":
        monkeypatch.setattr(buffers, "surface", None)


@pytest.mark.usefixtures("_reader")
@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("letter", "bhilBHILefdFD")
def test_what_is_described_has_a_datatype_and_a_count(make, letter):
    part = part_of(make(np.arange(6).reshape(2, 3).astype(letter)), is_written=True)
    assert (part.count, part.datatype) == (6, MPI.Datatype.fromcode(letter))
    assert np.frombuffer(part.carried(), letter).tolist() == list(range(6))


@pytest.mark.parametrize("make", MAKERS)
def test_described_memory_is_sent_and_received_into_and_then_let_go(run_ranks, make):
    def main(rank):
        array = np.arange(10.0) + 1 if rank == 0 else np.zeros(10)
        before = sys.getrefcount(array)
        lent = make(array)
        if rank == 0:
            MPI.COMM_WORLD.Isend([lent, (3, 2), MPI.DOUBLE], 1).Wait()
        else:
            MPI.COMM_WORLD.Irecv([lent, 3, MPI.DOUBLE], 0).Wait()
        del lent
        return array[:4].tolist(), sys.getrefcount(array) - before

    assert run_ranks(2, main).returned == [([1, 2, 3, 4], 0), ([3, 4, 5, 0], 0)]


@pytest.mark.usefixtures("_reader")
@pytest.mark.parametrize("make", MAKERS)
def test_memory_without_entries_is_described(make):
    assert part_of(make(np.zeros((0, 3))), is_written=True).count == 0


@pytest.mark.usefixtures("_reader")
@pytest.mark.parametrize("make", MAKERS)
def test_memory_of_accelerators_is_not_the_processors(make):
    assert memory_of(make(np.zeros(2)), is_written=True).is_host == (make is not CudaArray)


@pytest.mark.usefixtures("_reader")
@pytest.mark.parametrize("make", MAKERS)
def test_both_orders_are_memory_without_gaps_and_a_column_is_not(make):
    array = np.arange(6.0).reshape(2, 3)
    assert MPI.Get_address(make(array.T)) == array.ctypes.data
    with pytest.raises(BufferError, match="not contiguous"):
        part_of(make(array[:, 0]), is_written=False)


@pytest.mark.usefixtures("_reader")
def test_read_only_memory_is_not_received_into():
    array = np.zeros(3)
    array.flags.writeable = False
    part_of(CudaArray(array), is_written=False)
    with pytest.raises(BufferError, match="read-only"):
        part_of(CudaArray(array), is_written=True)


@pytest.mark.parametrize(
    ("other", "error", "text"),
    [
        ({"mask": 1}, BufferError, "masked"),
        ({"typestr": ">f8"}, BufferError, "byte order"),
        ({"shape": [3]}, TypeError, "'shape' is a tuple, not list"),
        ({"data": (1, 2, 3)}, ValueError, "too many"),
    ],
)
def test_a_description_that_makes_no_message_is_an_error(other, error, text):
    with pytest.raises(error, match=text):
        part_of(CudaArray(np.zeros(3), **other), is_written=False)


@pytest.mark.parametrize("version", [0, 1])
def test_a_capsule_that_was_used_already_is_an_error(version):
    if version and np.lib.NumpyVersion(np.__version__) < "2.1.0":
        pytest.skip("this numpy lends memory by version 0 alone")
    tensor = Tensor(np.zeros(3), version)
    capsule = tensor.array.__dlpack__(**({"max_version": (1, 0)} if version else {}))
    tensor.array = type(
        "Once", (), {"__dlpack__": lambda self, **_: capsule, "__dlpack_device__": lambda self: (1, 0)}
    )()
    part_of(tensor, is_written=False)
    np.from_dlpack(tensor)
    with pytest.raises(BufferError, match="used already"):
        part_of(tensor, is_written=False)
