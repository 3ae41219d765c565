"""State of a run is kept by its engine, so that two runs in one process know nothing of each other."""

import ast
from pathlib import Path

import smpy
from smpy.mpi import MPI

SURFACE = Path(smpy.__file__).parent / "mpi"


def test_no_module_of_the_surface_assigns_to_its_own_variables():
    assigning = [
        f"{path.relative_to(SURFACE)}:{node.lineno}"
        for path in SURFACE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Global)
    ]
    assert assigning == []


def test_a_run_sees_nothing_of_the_one_before(run_ranks):
    def main(rank):
        world = MPI.COMM_WORLD
        found = [
            MPI.Add_error_class(),
            MPI.INT.Get_name(),
            MPI.Comm.Create_keyval(),
            MPI.Session.Init().handle,
            MPI.pickle.PROTOCOL,
            MPI.FILE_NULL.Get_errhandler() == MPI.ERRORS_RETURN,
            world.Dup().handle,
        ]
        for _ in range(20):
            MPI.Op.Create(lambda a, b, t: None)
        MPI.INT.Set_name("mine")
        MPI.pickle.PROTOCOL = 2
        MPI.FILE_NULL.Set_errhandler(MPI.ERRORS_ARE_FATAL)
        MPI.Attach_buffer(bytearray(1000))
        return found

    assert run_ranks(2, main).returned == run_ranks(2, main).returned
