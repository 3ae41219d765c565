"""Handles that are never freed are named by the line that made them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

NEVER_FREED = {
    "a duplicate of the world": "new = comm.Dup()",
    "a part of the world": "new = comm.Split(rank)",
    "a Cartesian communicator": "new = comm.Create_cart([size])",
    "a group": "new = comm.Get_group()",
    "a part of a group": "group = comm.group; new = group.Incl([0]); group.Free()",
    "the union of groups": "a = comm.group; new = MPI.Group.Union(a, a); a.Free()",
    "a vector": "new = MPI.INT.Create_vector(2, 1, 2).Commit()",
    "a struct": "new = MPI.Datatype.Create_struct([1, 1], [0, 8], [MPI.INT, MPI.DOUBLE]).Commit()",
    "a resized type": "old = MPI.INT.Create_contiguous(2); new = old.Create_resized(0, 16).Commit(); old.Free()",
    "an operation": "new = MPI.Op.Create(lambda a, b, t: None)",
    "a commutative operation": "new = MPI.Op.Create(lambda a, b, t: None, commute=True)",
    "an operation of two names": "new = MPI.Op.Create(max); other = MPI.Op(new)",
    "a file": "new = MPI.File.Open(comm, 'a file', MPI.MODE_CREATE | MPI.MODE_WRONLY)",
    "a file of one rank": "new = MPI.File.Open(MPI.COMM_SELF, f'a file {rank}', MPI.MODE_CREATE | MPI.MODE_RDWR)",
    "a file whose handle is dropped": "MPI.File.Open(comm, 'a file', MPI.MODE_CREATE | MPI.MODE_RDWR)",
    "a persistent send": "new = comm.Send_init(np.zeros(1), right)",
    "a persistent receive": "new = comm.Recv_init(np.zeros(1), left)",
    "a persistent collective": "new = comm.Bcast_init(np.zeros(1))",
    "a handle that Python collects": "comm.Dup(); import gc; gc.collect()",
}


@pytest.mark.parametrize("program", NEVER_FREED.values(), ids=NEVER_FREED)
def test_a_handle_that_is_never_freed_is_named_by_rank_and_line(checked: Callable, program: str):
    assert checked(f"\n{program}\n")["not freed"] == [[(0, 2)], [(1, 2)]]


INCOMPLETE = {
    "a send of an object": "comm.isend(1, right); comm.recv(source=left)",
    "a send of a buffer": "request = comm.Isend(np.zeros(1), right); comm.Recv(np.zeros(1), left)",
    "a send in a list": "requests = [comm.Isend(np.zeros(1), right)]; comm.Recv(np.zeros(1), left)",
}


@pytest.mark.parametrize("program", INCOMPLETE.values(), ids=INCOMPLETE)
def test_a_request_that_nobody_completes_is_named_by_rank_and_line(checked: Callable, program: str):
    assert sorted(checked(f"\n{program}\n")["requests"]) == [[(0, 2)], [(1, 2)]]


CORRECT = {
    "a communicator is freed": "comm.Dup().Free()",
    "a communicator is disconnected": "comm.Split(0).Disconnect()",
    "a communicator of nobody": "comm.Split(MPI.UNDEFINED)",
    "a handle on the world": "MPI.Comm(comm); MPI.Intracomm(MPI.COMM_SELF)",
    "a group is freed by another handle": "group = comm.group; MPI.Group(group).Free()",
    "an empty group": "group = comm.group; group.Incl([]); group.Free()",
    "a type is freed": "MPI.INT.Create_vector(2, 1, 2).Commit().Free()",
    "a type on the way to another one": "MPI.INT.Create_vector(2, 1, 2).Create_resized(0, 16).Commit().Free()",
    "a type of the standard": "MPI.Datatype(MPI.INT); MPI.Datatype.Match_size(MPI.TYPECLASS_REAL, 8)",
    "an operation is freed": "MPI.Op.Create(max).Free()",
    "an operation of the standard": "MPI.Op(MPI.SUM)",
    "a file is closed": "MPI.File.Open(comm, 'a file', MPI.MODE_CREATE | MPI.MODE_WRONLY).Close()",
    "a persistent request is freed": "comm.Send_init(np.zeros(1), right).Free()",
    "a persistent request is started twice": (
        "r = comm.Send_init(np.zeros(1), right)\n"
        "for _ in range(2): r.Start(); comm.Recv(np.zeros(1), left); r.Wait()\n"
        "r.Free()"
    ),
    "no persistent request is started": "MPI.Prequest.Startall([]); MPI.Request.Waitall([])",
    "a communicator is freed as the rank ends": "import atexit; new = comm.Dup(); atexit.register(new.Free)",
    "a communicator of an object that is deleted": (
        "class Owner:\n"
        "    def __init__(self): self.comm = comm.Dup()\n"
        "    def __del__(self): self.comm.Free()\n"
        "owner = Owner()"
    ),
    "a communicator that is made and freed often": "for _ in range(9): comm.Dup().Free()",
    "reductions of objects": "comm.allreduce(1); comm.gather(1)",
    "all requests are waited for": "MPI.Request.waitall([comm.isend(1, right), comm.irecv(source=left)])",
    "requests are tested": "r = comm.isend(1, right)\ncomm.recv(source=left)\nwhile not r.test()[0]: pass",
    "a request is waited for among some": (
        "r = [comm.Isend(np.zeros(1), right), comm.Irecv(np.zeros(1), left)]\nwhile MPI.Request.Waitsome(r): pass"
    ),
    "a request is freed": "comm.Isend(np.zeros(1), right).Free(); comm.Recv(np.zeros(1), left)",
    "a generalised request is waited for": "r = MPI.Grequest.Start(); r.Complete(); r.Wait()",
    "a started reduction is waited for": "comm.Iallreduce(np.zeros(1), np.zeros(1)).Wait()",
}


@pytest.mark.parametrize("program", CORRECT.values(), ids=CORRECT)
def test_a_program_that_frees_all_is_left_alone(checked: Callable, program: str):
    assert checked(program) == {}


def test_a_run_that_fails_is_not_told_what_it_would_have_freed(emulated: Callable):
    ran = emulated("from mpi4py import MPI\nnew = MPI.COMM_WORLD.Dup()\nraise SystemError", checks=True)
    assert not [remark for remark in ran.outcome.summary.remarks if remark.topic == "not freed"]


def test_a_group_of_a_window_that_is_not_freed_is_named(checked: Callable):
    program = "win = MPI.Win.Allocate(8, comm=comm)\ngroup = win.Get_group()\n{}win.Free()\n"
    assert checked(program.format(""))["not freed"] == [[(0, 2)], [(1, 2)]]
    assert checked(program.format("group.Free()\n")) == {}
