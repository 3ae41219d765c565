"""A random legal program: `random_program.py SEED N_STEPS FORMS` prints, step by step, what each rank has received.

All ranks draw alike, so that their calls fit; each draws its data for itself. Every number is a small integer, so that
the order of a reduction changes no bit. With FORMS "blocking" collectives take their blocking form whatever was drawn;
the results are the same.
"""

from __future__ import annotations

import hashlib
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from mpi4py import MPI

WORLD = MPI.COMM_WORLD
TYPES = [MPI.INT8_T, MPI.INT16_T, MPI.INT32_T, MPI.INT64_T, MPI.UINT8_T, MPI.FLOAT, MPI.DOUBLE]


class Draw:
    """Random draws common to all ranks, a rank's own draws, and a hash of all it has received."""

    def __init__(self, name: str) -> None:
        self.common = random.Random(name)
        self.own = np.random.default_rng([WORLD.rank, *name.encode()])
        self.received = hashlib.blake2b(digest_size=8)

    def below(self, n: int) -> int:
        return self.common.randrange(n)

    def one(self, choices: list[Any]) -> Any:
        return self.common.choice(choices)

    def bytes(self, n: int) -> np.ndarray:
        return self.own.integers(0, 256, n, dtype="B")

    def receive(self, *things: Any) -> None:
        for thing in things:
            self.received.update(thing.tobytes() if isinstance(thing, np.ndarray) else repr(thing).encode())


# ---- datatypes ----


def derived(draw: Draw, depth: int) -> tuple[MPI.Datatype, MPI.Datatype]:
    """A committed datatype without overlaps, and its basic type."""
    if depth == 0:
        basic = draw.one(TYPES)
        return basic.Dup().Commit(), basic
    old, basic = derived(draw, depth - 1)
    extent, n, block = old.extent, 1 + draw.below(3), 1 + draw.below(3)
    stride = block + draw.below(3)
    places = draw.common.sample([stride * i for i in range(n + 1)], n)
    makers: list[Callable[[], MPI.Datatype]] = [
        lambda: old.Create_contiguous(n),
        lambda: old.Create_vector(n, block, stride),
        lambda: old.Create_hvector(n, block, stride * extent),
        lambda: old.Create_indexed([draw.below(block + 1) for _ in range(n - 1)] + [block], places),
        lambda: old.Create_hindexed([block] * n, [place * extent for place in places]),
        lambda: old.Create_indexed_block(block, places),
        lambda: MPI.Datatype.Create_struct([block] * n, [place * extent for place in places], [old] * n),
        lambda: old.Create_subarray([n + 2, block + 1], [n, block], [draw.below(3), 1], MPI.ORDER_C),
    ]
    bare = draw.one(makers)()
    start, length = bare.Get_true_extent()
    new = bare.Create_resized(0, start + length + draw.below(3))
    old.Free()
    bare.Free()
    return new.Commit(), basic


# ---- communicators ----


def some_comm(draw: Draw) -> MPI.Intracomm:
    """A communicator of this rank, null for those that are left out."""
    ranks = draw.common.sample(range(WORLD.size), 1 + draw.below(WORLD.size))
    keys = [draw.below(3) for _ in range(WORLD.size)]
    kind = draw.one(["Dup", "Split", "Create", "Create_group", "Cart"])
    group = WORLD.group.Incl(ranks)
    if kind == "Split":
        return WORLD.Split(int(WORLD.rank in ranks), keys[WORLD.rank])
    if kind == "Create":
        return WORLD.Create(group)
    if kind == "Create_group":
        return WORLD.Create_group(group) if WORLD.rank in ranks else MPI.COMM_NULL
    if kind == "Cart":
        return WORLD.Create_cart(MPI.Compute_dims(WORLD.size, 2), [True, False])
    return WORLD.Dup()


# ---- collectives ----


@dataclass
class Call:
    """A collective call: its name, its arguments, what it writes, what is to be freed."""

    name: str
    arguments: tuple[Any, ...] = ()
    written: list[np.ndarray] = field(default_factory=list)
    kept: list[Any] = field(default_factory=list)


def multiplied(left: Any, right: Any, datatype: MPI.Datatype) -> None:
    """Matrices of two rows, left times right: the order of operands matters."""
    a, b = (np.frombuffer(side, "q").reshape(-1, 2, 2) for side in (left, right))
    b[:] = (a @ b) % 10007


def reduction(draw: Draw, comm: MPI.Intracomm) -> Call:
    name = draw.one(["Reduce", "Allreduce", "Scan", "Exscan", "Reduce_scatter", "Reduce_scatter_block"])
    n, root, is_in_place = draw.one([1, 2, 17, 600]), draw.below(comm.size), draw.below(3) == 0
    kind = draw.one(["built in", "matrices", "locations"])
    if kind == "matrices":
        op, datatype, dtype = MPI.Op.Create(multiplied, False), MPI.INT64_T.Create_contiguous(4), "4q"
        is_in_place = is_in_place and name != "Reduce"  # MPICH 4.0.2 dies there
    elif kind == "locations":
        op, datatype, dtype = draw.one([MPI.MINLOC, MPI.MAXLOC]), MPI.DOUBLE_INT, np.dtype("d,i", align=True)
    else:
        op, datatype, dtype = draw.one([MPI.SUM, MPI.PROD, MPI.MAX, MPI.LXOR, MPI.BOR]), MPI.INT32_T, "i"
    kept = [] if op.is_predefined else [datatype.Commit(), op]

    def numbers(n_entries: int) -> np.ndarray:
        made = np.zeros(n_entries, dtype)
        for part in [made[each] for each in made.dtype.names] if made.dtype.names else [made]:
            part[...] = draw.own.integers(0, 4, part.shape)
        return made

    given, result = numbers(n * comm.size), numbers(n * comm.size)
    out = MPI.IN_PLACE if is_in_place else [given, n, datatype]
    if name == "Reduce":
        is_root = comm.rank == root
        arguments = (out, [result, n, datatype], op, root) if is_root else ([given, n, datatype], None, op, root)
    elif name == "Reduce_scatter":
        counts = [draw.below(n + 1) for _ in range(comm.size)]
        total = sum(counts)
        out = MPI.IN_PLACE if is_in_place else [given, total, datatype]
        arguments = (out, [result, total if is_in_place else counts[comm.rank], datatype], counts, op)
        return Call(name, arguments, [result[: counts[comm.rank]]], kept)
    else:
        arguments = (out, [result, n, datatype], op)
    return Call(name, arguments, [result[:n]], kept)


def movement(draw: Draw, comm: MPI.Intracomm) -> Call:
    name = draw.one(["Bcast", "Gather", "Scatter", "Allgather", "Alltoall", "Gatherv", "Scatterv", "Allgatherv"])
    name = draw.one([name, name, "Alltoallv", "Alltoallw"])
    size, rank, root, is_in_place = comm.size, comm.rank, draw.below(comm.size), draw.below(3) == 0
    datatype, basic = derived(draw, draw.below(4))
    extent, count = datatype.extent, draw.below(4)
    table = [[draw.below(4) for _ in range(size)] for _ in range(size)]
    out, into = draw.bytes(4 * size * extent), draw.bytes(4 * size * extent)
    per_entry = datatype.Get_size() // basic.Get_size()
    if name in ("Alltoallv", "Alltoallw"):
        sent, received = table[rank], [row[rank] for row in table]
        places = draw.common.sample(range(0, 4 * size, 4), size) if size > 1 else [0]
        if name == "Alltoallw":
            bytewise, types = [place * extent for place in places], [datatype] * size
            arguments: tuple[Any, ...] = ([out, sent, bytewise, types], [into, received, bytewise, types])
        else:
            arguments = ([out, sent, places, datatype], [into, received, places, datatype])
        return Call(name, arguments, [into], [datatype])
    counts = table[0] if name.endswith("v") else [count] * size
    many_out, many_into = ([out, count, datatype], [into, count, datatype])
    if name.endswith("v"):
        places = [4 * i for i in range(size)]
        many_out, many_into = [out, (counts, places), datatype], [into, (counts, places), datatype]
    one_out = [out, counts[rank], datatype] if draw.below(2) else [out, counts[rank] * per_entry, basic]
    one_into = [into, counts[rank], datatype] if draw.below(2) else [into, counts[rank] * per_entry, basic]
    if name == "Bcast":
        arguments = ([into, count, datatype] if draw.below(2) else [into, count * per_entry, basic], root)
    elif name.startswith("Gather"):
        in_place = MPI.IN_PLACE if is_in_place else one_out
        arguments = (in_place, many_into, root) if rank == root else (one_out, None, root)
    elif name.startswith("Scatter"):
        in_place = MPI.IN_PLACE if is_in_place else one_into
        arguments = (many_out, in_place, root) if rank == root else (None, one_into, root)
    else:
        ours = many_out if name == "Alltoall" else one_out
        arguments = (MPI.IN_PLACE if is_in_place else ours, many_into)
    return Call(name, arguments, [into], [datatype])


def collectives(draw: Draw, comm: MPI.Intracomm, forms: str) -> None:
    """Some collectives under way at a time, and messages around a ring among them."""
    calls, requests, kept = [], [], []
    for _ in range(1 + draw.below(4)):
        call = draw.one([reduction, movement, movement])(draw, comm)
        form = draw.one(["", "I", "_init"])
        if form == "" or forms == "blocking":
            getattr(comm, call.name)(*call.arguments)
        elif form == "I":
            requests.append(getattr(comm, f"I{call.name.lower()}")(*call.arguments))
        else:
            requests.append(getattr(comm, f"{call.name}_init")(*call.arguments))
            requests[-1].Start()
            kept.append(requests[-1])
        calls.append(call)
    got, sent = np.zeros(4, "B"), draw.bytes(4)
    requests.append(comm.Irecv(got, (comm.rank - 1) % comm.size))
    requests.append(comm.Isend(sent, (comm.rank + 1) % comm.size))
    complete(draw, requests)
    draw.receive(got, *(buffer for call in calls for buffer in call.written))
    for thing in [*kept, *(thing for call in calls for thing in call.kept)]:
        thing.Free()


# ---- messages ----


def messages(draw: Draw, comm: MPI.Intracomm, forms: str) -> None:
    """Messages between drawn pairs, each with a tag of its own or in the order of its pair."""
    datatype, basic = derived(draw, draw.below(3))
    room = 4 * datatype.extent
    MPI.Attach_buffer(bytearray(1 << 16))
    receives, requests, kept = [], [], []
    for number in range(1 + draw.below(8)):
        source, dest, tag = draw.below(comm.size), draw.below(comm.size), draw.one([0, 1, 100 + number])
        how = draw.one(["Isend", "Issend", "Ibsend", "Bsend", "Send_init", "Ssend_init", "isend"])
        probe = draw.one(["", "Probe", "Mprobe", "ANY_SOURCE"])
        count, data = draw.below(5), draw.bytes(room)
        if comm.rank == dest:
            receives.append((source if probe != "ANY_SOURCE" or tag < 100 else MPI.ANY_SOURCE, tag, how, probe))
        if comm.rank == source:
            spec = data.tolist() if how == "isend" else [data, count, datatype]
            request = getattr(comm, how)(spec, dest, tag)
            if how.endswith("_init"):
                request.Start()
                kept.append(request)
            requests += [] if request is None else [request]
    for source, tag, how, probe in receives:
        status, buffer = MPI.Status(), draw.bytes(room)
        if how == "isend":
            draw.receive(comm.recv(None, source, tag, status))
        elif probe == "Mprobe":
            comm.Mprobe(source, tag, status).Recv([buffer, 4, datatype], status)
        else:
            if probe == "Probe":
                comm.Probe(source, tag, status)
                draw.receive(status.source, status.Get_count(MPI.BYTE))
            comm.Recv([buffer, 4, datatype], source, tag, status)
        draw.receive(buffer, status.source, status.tag, status.Get_count(MPI.BYTE), status.Get_elements(basic))
    complete(draw, requests)
    MPI.Detach_buffer()
    for request in kept:
        request.Free()
    datatype.Free()


def complete(draw: Draw, requests: list[MPI.Request]) -> None:
    how = draw.own.choice(["Wait", "Waitall", "Waitany", "Waitsome", "Test", "Testany", "Testsome"])
    if how == "Waitall":
        MPI.Request.Waitall(requests)
    elif how == "Wait":
        for i in draw.own.permutation(len(requests)):
            requests[i].Wait()
    elif how == "Test":
        while not all(request.Test() for request in requests):
            pass
    elif how.endswith("any"):
        while getattr(MPI.Request, how)(requests) not in (MPI.UNDEFINED, (MPI.UNDEFINED, True)):
            pass
    else:
        while getattr(MPI.Request, how)(requests) is not None:
            pass


def main(seed: str, n_steps: str, forms: str) -> None:
    lines = []
    for step in range(int(n_steps)):
        draw = Draw(f"{seed}/{step}")
        comm = some_comm(draw)
        if comm == MPI.COMM_NULL:
            continue
        family = draw.one([collectives, collectives, messages])
        family(draw, comm, forms)
        comm.Free()
        lines.append(f"rank {WORLD.rank} step {step} {family.__name__} {draw.received.hexdigest()}\n")
    for of_rank in WORLD.gather(lines) or []:
        sys.stdout.writelines(of_rank)


main(*sys.argv[1:])
