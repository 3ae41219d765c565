"""Datatypes, operations, statuses, errors and what MPI says of itself."""

import copy
import inspect
import operator
import pickle
import subprocess
import sys

import numpy as np
import pytest

from smpy.mpi import MPI
from smpy.mpi.data.basic_types import BASIC


@pytest.mark.parametrize("name", BASIC)
def test_a_basic_datatype_is_as_large_as_numpy_s(name):
    datatype = getattr(MPI, name)
    assert datatype.size == datatype.extent == datatype.true_extent == np.dtype(datatype.typestr).itemsize
    assert (datatype.lb, datatype.ub) == (0, datatype.size)
    assert datatype.is_predefined
    assert datatype.is_named
    assert datatype.combiner == MPI.COMBINER_NAMED
    assert datatype.name.startswith("MPI_")
    assert np.dtype(datatype.typechar).itemsize == datatype.size or datatype.typechar == "U"


@pytest.mark.parametrize("code", ["?", *"bhilqBHILQefdgFDG", "i1", "i8", "u4", "f8", "c16", "b1"])
def test_a_type_string_finds_its_datatype(code):
    datatype = MPI.Datatype.fromcode(code)
    assert datatype.size == np.dtype(code).itemsize
    assert np.dtype(datatype.tocode()) == np.dtype(code)


@pytest.mark.parametrize(
    ("name", "size", "extent"),
    [("SHORT_INT", 6, 8), ("INT_INT", 8, 8), ("LONG_INT", 12, 16), ("FLOAT_INT", 8, 8), ("DOUBLE_INT", 12, 16),
     ("LONG_DOUBLE_INT", 20, 32)],
)  # fmt: skip
def test_a_pair_has_the_layout_that_c_gives_it(name, size, extent):
    pair = getattr(MPI, name)
    assert (pair.size, pair.extent) == (size, extent)
    assert MPI._typecode(pair) is None


def test_a_null_datatype_is_an_error():
    assert not MPI.DATATYPE_NULL
    assert MPI.Datatype() == MPI.DATATYPE_NULL
    with pytest.raises(MPI.Exception, match="the datatype is null") as caught:
        MPI.DATATYPE_NULL.Get_size()
    assert caught.value == MPI.ERR_TYPE
    with pytest.raises(MPI.Exception, match="predefined"):
        MPI.INT.Free()


def test_other_names_are_the_same_datatype():
    assert MPI.BOOL == MPI.C_BOOL
    assert MPI.TWOINT == MPI.INT_INT
    assert MPI.FLOAT64_T == MPI.DOUBLE
    assert MPI.INT != MPI.INT32_T


@pytest.mark.parametrize(
    ("op", "x", "y", "result"),
    [("SUM", 2, 3, 5), ("PROD", 2, 3, 6), ("MAX", 2, 3, 3), ("MIN", 2, 3, 2), ("LAND", 2, 0, False),
     ("LOR", 2, 0, True), ("LXOR", 2, 3, False), ("BAND", 6, 3, 2), ("BOR", 6, 3, 7), ("BXOR", 6, 3, 5),
     ("REPLACE", 2, 3, 3), ("NO_OP", 2, 3, 2), ("MAXLOC", (2, 0), (3, 1), (3, 1)), ("MAXLOC", (3, 4), (3, 1), (3, 1)),
     ("MINLOC", (2, 0), (3, 1), (2, 0)),
     ("MINLOC", (2, 0), (2, 1), (2, 0)), ("SUM", "a", "b", "ab")],
)  # fmt: skip
def test_an_operation_is_a_function_of_two_objects(op, x, y, result):
    assert getattr(MPI, op)(x, y) == result
    assert getattr(MPI, op).is_commutative
    assert getattr(MPI, op).is_predefined


def test_an_operation_made_of_a_function_calls_it():
    op = MPI.Op.Create(lambda x, y, datatype: operator.add(x, y))
    assert op(1, 2) == 3
    assert not op.is_commutative
    assert not op.is_predefined
    op.Free()
    assert not op
    with pytest.raises(TypeError, match="not callable"):
        MPI.Op.Create(3)
    with pytest.raises(MPI.Exception, match="predefined"):
        MPI.SUM.Free()


@pytest.mark.usefixtures("named_mpi4py")
def test_a_status_says_what_it_was_told():
    status = MPI.Status()
    assert (status.source, status.tag, status.error, status.count) == (MPI.ANY_SOURCE, MPI.ANY_TAG, MPI.SUCCESS, 0)
    assert not status.cancelled
    status.source, status.tag, status.error, status.cancelled = 3, 4, 5, True
    status.Set_elements(MPI.INT, 6)
    assert (status.Get_source(), status.Get_tag(), status.Get_error(), status.Is_cancelled()) == (3, 4, 5, True)
    assert (status.count, status.Get_count(MPI.INT), status.Get_elements(MPI.INT)) == (24, 6, 6)
    assert status.Get_count(MPI.C_LONG_DOUBLE_COMPLEX) == MPI.UNDEFINED
    assert MPI.Status(status) == copy.copy(status) == status != MPI.Status()
    assert pickle.loads(pickle.dumps(status)) == status
    status.Set_elements(MPI.BYTE, 20)
    assert (status.Get_count(MPI.DOUBLE_INT), status.Get_elements(MPI.DOUBLE_INT)) == (MPI.UNDEFINED, 3)


def test_an_exception_is_the_number_of_its_class():
    error = MPI.Exception(MPI.ERR_RANK)
    assert error == MPI.ERR_RANK
    assert int(error) == error.error_code == error.error_class == MPI.ERR_RANK
    assert str(error) == error.error_string == MPI.Get_error_string(MPI.ERR_RANK) == "invalid rank"
    assert repr(error) == f"MPI.Exception({MPI.ERR_RANK})"
    assert MPI.Exception(-1) == MPI.ERR_UNKNOWN
    assert isinstance(error, RuntimeError)
    assert hash(error) == hash(MPI.ERR_RANK)
    assert MPI.ERR_BUFFER < error < MPI.ERR_LASTCODE
    assert not MPI.Exception()
    with pytest.raises(MPI.Exception, match="is not an error code"):
        MPI.Get_error_string(12345678)


def test_what_mpi_says_of_itself(run_ranks):
    def main(rank):
        assert MPI.Get_version() == (MPI.VERSION, MPI.SUBVERSION)
        assert MPI.get_vendor()[0] == "smpy"
        assert "smpy" in MPI.Get_library_version()
        assert MPI.Query_thread() == MPI.THREAD_MULTIPLE
        assert MPI.Is_thread_main()
        return MPI.Get_processor_name()

    assert len(set(run_ranks(2, main).returned)) == 1


def test_hosts_have_their_simulated_names(run_ranks):
    assert run_ranks(3, lambda rank: MPI.Get_processor_name(), "cluster.xml").returned == ["n0", "n1", "n10"]


def test_the_clock_is_the_simulated_one(run_ranks):
    def main(rank):
        first = MPI.Wtime()
        MPI.COMM_WORLD.Barrier()
        return first, MPI.Wtime() > first

    assert run_ranks(2, main).returned == [(0, True), (0, True)]
    assert MPI.Wtick() <= 1e-9


def test_mpi_starts_with_the_program_and_ends_once(run_ranks):
    def main(rank):
        assert MPI.Is_initialized()
        assert not MPI.Is_finalized()
        with pytest.raises(MPI.Exception, match="started already"):
            MPI.Init()
        MPI.Finalize()
        assert MPI.Is_initialized()
        with pytest.raises(MPI.Exception, match="ended already"):
            MPI.Finalize()
        return MPI.Is_finalized()

    assert run_ranks(2, main).returned == [True, True]


def test_outside_a_run_there_are_no_ranks():
    from smpy.errors import UsageError

    assert not MPI.Is_initialized()
    with pytest.raises(UsageError, match="smpy run"):
        MPI.COMM_WORLD.Get_rank()


def test_abort_ends_the_run_where_simulated_time_stands(run_ranks):
    from smpy.engine import running
    from smpy.engine.engine import Engine
    from smpy.engine.outcomes import Aborted
    from smpy.platforms import default_cluster, place

    platform = default_cluster(2).build()
    engine = Engine(platform, platform.models, place(platform, 2))
    reached = []

    def body(rank):
        if rank == 1:
            MPI.COMM_WORLD.Abort(3)
            reached.append("behind Abort")
        MPI.COMM_WORLD.Barrier()

    engine.spawn(body)
    running.enter(engine)
    try:
        assert engine.run(lambda: None) == Aborted(1, 3)
    finally:
        running.enter(None)
    assert reached == []


def test_importing_mpi_does_not_import_numpy():
    code = "import sys, smpy.mpi.MPI; raise SystemExit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_everything_public_has_a_docstring():
    bare = []
    for name in MPI.__all__:
        value = getattr(MPI, name)
        if callable(value) and not isinstance(value, MPI.Op) and not value.__doc__:
            bare.append(name)
        if isinstance(value, type):
            for attribute in dir(value):
                if not attribute.startswith("_") and not inspect.getdoc(getattr(value, attribute)):
                    bare += [f"{name}.{attribute}"]
    bare.remove("Exception.args")  # Python's own
    assert bare == []


def test_a_missing_name_says_so():
    with pytest.raises(AttributeError, match=r"no attribute 'No_such_call': smpy has no MPI.No_such_call yet"):
        MPI.No_such_call  # noqa: B018
