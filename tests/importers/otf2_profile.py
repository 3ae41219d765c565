"""Profile of an mpi4py program: it runs unchanged, and an OTF2 archive tells its calls.

    mpiexec -n 2 python otf2_profile.py FOLDER program.py argument ...

MPI.COMM_WORLD and MPI.Request are replaced by classes of Python that note each call of those below; other calls are
not in the archive. Rank 0 writes it when all ranks have ended. Dates are of the clock that processes of a host share.
"""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import clock_gettime_ns
from typing import Any, Final

import otf2
from mpi4py import MPI

CLOCK: Final = 1  # CLOCK_MONOTONIC
NO_ROOT: Final = 2**32 - 1
Event = tuple[Any, ...]
events: list[Event] = []
world = MPI.COMM_WORLD
PlainRequest = MPI.Request


def note(kind: str, *fields: Any) -> None:
    """Note an event, now."""
    events.append((clock_gettime_ns(CLOCK), kind, *fields))


@contextmanager
def call(name: str) -> Iterator[None]:
    """Note that a call begins and ends."""
    note("enter", f"MPI_{name}")
    yield
    note("leave", f"MPI_{name}")


def n_bytes(buffer: Any) -> int:
    """Bytes of an array, or of the entries that a specification [array, counts, ...] names."""
    if buffer is None or buffer is MPI.IN_PLACE:
        return 0
    array, *more = buffer if isinstance(buffer, list | tuple) else [buffer]
    counts = more[0] if more else None
    if isinstance(counts, tuple) and not all(isinstance(each, int) for each in counts):
        counts = counts[0]
    if isinstance(counts, int):
        return counts * array.itemsize
    if isinstance(counts, Sequence) or hasattr(counts, "sum"):
        return int(sum(counts)) * array.itemsize
    return int(array.nbytes)


@contextmanager
def collective(name: str, root: int, sent: int = 0, received: int = 0) -> Iterator[None]:
    """Note a collective, with the bytes that its caller gives and takes."""
    with call(name):
        note("begin")
        yield
        note("collective", name.upper(), root, sent, received)


class Started(PlainRequest):
    """Request whose end is noted."""

    def of(self, kind: str, fields: tuple[Any, ...]) -> Started:
        """Return this request, of a send or a receive with these fields of its event."""
        self.noted = kind, fields
        return self

    def note_end(self) -> None:
        """Note that it is complete."""
        note(*(self.noted[0], *self.noted[1]))

    @classmethod
    def Waitall(cls, requests: Sequence[Any], statuses: Any = None) -> None:
        with call("Waitall"):
            PlainRequest.Waitall(requests, statuses)
            for request in requests:
                if isinstance(request, Started):
                    request.note_end()

    def Wait(self, status: Any = None) -> Any:
        with call("Wait"):
            PlainRequest.Wait(self, status)
            self.note_end()
        return True


class Traced(MPI.Intracomm):
    """COMM_WORLD, whose calls are noted."""

    n_requests = 0

    def Send(self, buf: Any, dest: int, tag: int = 0) -> None:
        with call("Send"):
            note("send", dest, tag, n_bytes(buf))
            MPI.Intracomm.Send(self, buf, dest, tag)

    def Recv(self, buf: Any, source: int = MPI.ANY_SOURCE, tag: int = MPI.ANY_TAG, status: Any = None) -> None:
        status = MPI.Status() if status is None else status
        with call("Recv"):
            MPI.Intracomm.Recv(self, buf, source, tag, status)
            note("recv", status.Get_source(), status.Get_tag(), status.Get_count(MPI.BYTE))

    def Sendrecv(
        self, sendbuf: Any, dest: int, sendtag: int = 0, recvbuf: Any = None,
        source: int = MPI.ANY_SOURCE, recvtag: int = MPI.ANY_TAG, status: Any = None,
    ) -> None:  # fmt: skip
        status = MPI.Status() if status is None else status
        with call("Sendrecv"):
            note("send", dest, sendtag, n_bytes(sendbuf))
            MPI.Intracomm.Sendrecv(self, sendbuf, dest, sendtag, recvbuf, source, recvtag, status)
            note("recv", status.Get_source(), status.Get_tag(), status.Get_count(MPI.BYTE))

    def Isend(self, buf: Any, dest: int, tag: int = 0) -> Any:
        if dest == MPI.PROC_NULL:
            return MPI.Intracomm.Isend(self, buf, dest, tag)
        Traced.n_requests += 1
        with call("Isend"):
            note("isend", dest, tag, n_bytes(buf), Traced.n_requests)
            request = MPI.Intracomm.Isend(self, buf, dest, tag)
        return Started(request).of("isend_complete", (Traced.n_requests,))

    def Irecv(self, buf: Any, source: int = MPI.ANY_SOURCE, tag: int = MPI.ANY_TAG) -> Any:
        if source == MPI.PROC_NULL:
            return MPI.Intracomm.Irecv(self, buf, source, tag)
        Traced.n_requests += 1
        with call("Irecv"):
            note("irecv_request", Traced.n_requests)
            request = MPI.Intracomm.Irecv(self, buf, source, tag)
        return Started(request).of("irecv", (source, max(tag, 0), n_bytes(buf), Traced.n_requests))

    def Barrier(self) -> None:
        with collective("Barrier", NO_ROOT):
            MPI.Intracomm.Barrier(self)

    def Bcast(self, buf: Any, root: int = 0) -> None:
        size = n_bytes(buf)
        with collective("Bcast", root, size * (self.rank == root), size):
            MPI.Intracomm.Bcast(self, buf, root)

    def Allreduce(self, sendbuf: Any, recvbuf: Any, op: Any = MPI.SUM) -> None:
        size = n_bytes(recvbuf) * self.size  # as Score-P counts it
        with collective("Allreduce", NO_ROOT, size, size):
            MPI.Intracomm.Allreduce(self, sendbuf, recvbuf, op)

    def Reduce(self, sendbuf: Any, recvbuf: Any, op: Any = MPI.SUM, root: int = 0) -> None:
        size = n_bytes(sendbuf)
        with collective("Reduce", root, size, size * (self.rank == root)):
            MPI.Intracomm.Reduce(self, sendbuf, recvbuf, op, root)

    def Gather(self, sendbuf: Any, recvbuf: Any, root: int = 0) -> None:
        with collective("Gather", root, n_bytes(sendbuf), n_bytes(recvbuf) * (self.rank == root)):
            MPI.Intracomm.Gather(self, sendbuf, recvbuf, root)

    def Alltoall(self, sendbuf: Any, recvbuf: Any) -> None:
        with collective("Alltoall", NO_ROOT, n_bytes(sendbuf), n_bytes(recvbuf)):
            MPI.Intracomm.Alltoall(self, sendbuf, recvbuf)

    def Alltoallv(self, sendbuf: Any, recvbuf: Any) -> None:
        with collective("Alltoallv", NO_ROOT, n_bytes(sendbuf), n_bytes(recvbuf)):
            MPI.Intracomm.Alltoallv(self, sendbuf, recvbuf)


# ---- the archive ----


def write(folder: str, of_ranks: Sequence[Sequence[Event]], hosts: Sequence[str]) -> None:
    """Write the events of all ranks."""
    first_ns = min(of_rank[0][0] for of_rank in of_ranks)
    with otf2.writer.open(folder, timer_resolution=10**9) as trace:
        definitions = trace.definitions
        root = definitions.system_tree_node("machine")
        nodes = {host: definitions.system_tree_node(host, parent=root) for host in dict.fromkeys(hosts)}
        locations = []
        for rank, host in enumerate(hosts):
            group = definitions.location_group(f"MPI Rank {rank}", system_tree_parent=nodes[host])
            locations.append(definitions.location("Master thread", group=group))
        kind = otf2.enums
        definitions.group("", kind.GroupType.COMM_LOCATIONS, kind.Paradigm.MPI, members=locations)
        members = definitions.group(
            "MPI_COMM_WORLD", kind.GroupType.COMM_GROUP, kind.Paradigm.MPI, members=range(len(locations))
        )
        comm = definitions.comm("MPI_COMM_WORLD", members)
        names = {event[2] for of_rank in of_ranks for event in of_rank if event[1] == "enter"}
        regions = {
            name: definitions.region(name, region_role=kind.RegionRole.FUNCTION, paradigm=kind.Paradigm.MPI)
            for name in sorted(names)
        }
        for location, of_rank in zip(locations, of_ranks, strict=True):
            _write_rank(trace.event_writer_from_location(location), of_rank, first_ns, comm, regions)


def _write_rank(writer: Any, of_rank: Sequence[Event], first_ns: int, comm: Any, regions: dict[str, Any]) -> None:
    add: dict[str, Callable[..., Any]] = {
        "enter": lambda t, name: writer.enter(t, regions[name]),
        "leave": lambda t, name: writer.leave(t, regions[name]),
        "send": lambda t, peer, tag, size: writer.mpi_send(t, peer, comm, tag, size),
        "recv": lambda t, peer, tag, size: writer.mpi_recv(t, peer, comm, tag, size),
        "isend": lambda t, peer, tag, size, request: writer.mpi_isend(t, peer, comm, tag, size, request),
        "isend_complete": writer.mpi_isend_complete,
        "irecv_request": writer.mpi_irecv_request,
        "irecv": lambda t, peer, tag, size, request: writer.mpi_irecv(t, peer, comm, tag, size, request),
        "begin": writer.mpi_collective_begin,
        "collective": lambda t, name, root, sent, received: writer.mpi_collective_end(
            t, getattr(otf2.enums.CollectiveOp, name), comm, root, sent, received
        ),
    }
    for time_ns, kind, *fields in of_rank:
        add[kind](time_ns - first_ns, *fields)


def main() -> None:
    """Run the program, and write the archive."""
    folder, program, *arguments = sys.argv[1:]
    sys.argv = [program, *arguments]
    sys.path.insert(0, os.path.dirname(os.path.abspath(program)))
    traced = Traced(world)
    MPI.COMM_WORLD, MPI.Request = traced, Started  # type: ignore[misc]
    world.Barrier()
    with call("Init"):
        pass
    runpy.run_path(program, run_name="__main__")
    with call("Finalize"):
        pass
    of_ranks, hosts = world.gather(events), world.gather(MPI.Get_processor_name())
    if world.rank == 0:
        write(folder, of_ranks, hosts)


if __name__ == "__main__":
    main()
