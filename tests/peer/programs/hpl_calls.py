"""HPL, its computing modelled, writes its calls to files for its twin to perform: hpl_calls.py FOLDER ARGUMENTS.

The arguments after the folder are those of apps/hpl.py. A line is a call and its numbers; communicators and requests
are numbered as they are made, the world is communicator 0.
"""

import sys
from pathlib import Path

from mpi4py import MPI

import smpy.engine.sequences

sys.path.insert(0, str(Path(__file__).parents[3] / "apps"))

from hpl import perform
from linpack.arguments import read
from linpack.kernels import Skeleton


class Calls:
    """The calls of one rank."""

    def __init__(self, folder):
        self.file = (folder / str(MPI.COMM_WORLD.rank)).open("w", encoding="ascii")
        self.n_comms = self.n_requests = 0

    def note(self, *words):
        print(*words, file=self.file)


class Request:
    def __init__(self, calls, request):
        self.calls, self.request, self.number = calls, request, calls.n_requests
        calls.n_requests += 1

    def Wait(self):  # name as in MPI
        self.calls.note("wait", self.number)
        self.request.Wait()


class Comm:
    """A communicator that notes what it is asked."""

    def __init__(self, calls, comm):
        self.calls, self.comm, self.number = calls, comm, calls.n_comms
        calls.n_comms += 1

    def __getattr__(self, name):
        return getattr(self.comm, name)

    def Split(self, color, key):
        self.calls.note("split", self.number, color if color >= 0 else -1, key)
        return Comm(self.calls, self.comm.Split(color, key))

    def Iprobe(self, source, tag):
        self.calls.note("iprobe", self.number, source, tag)
        return self.comm.Iprobe(source, tag)


def noted(name, starts):
    """A method that notes its peer, its tag and the bytes of its buffer."""

    def method(self, buffer, peer, tag):
        self.calls.note(name.lower(), self.number, peer, tag, buffer.nbytes)
        done = getattr(self.comm, name)(buffer, peer, tag)
        return Request(self.calls, done) if starts else done

    return method


for name in ("Send", "Ssend", "Recv", "Isend", "Issend", "Irecv"):
    setattr(Comm, name, noted(name, name.startswith("I")))

calls = Calls(Path(sys.argv[1]))
calls_of = vars(smpy.engine.sequences).setdefault("calls_of", {})  # calls of all ranks: they share the module
calls_of[MPI.COMM_WORLD.rank] = calls
if len(calls_of) == 1:
    execute = smpy.engine.sequences._execute

    def noted_execute(kernel, flop):
        calls_of[MPI.COMM_WORLD.rank].note("execute", repr(flop))
        execute(kernel, flop)

    smpy.engine.sequences._execute = noted_execute

job = read(sys.argv[2:], MPI.COMM_WORLD.size)
kernels = Skeleton(*job.skeleton)
for settings in job.runs:
    perform(Comm(calls, MPI.COMM_WORLD), settings, kernels)
calls.file.close()
