"""Types that differ between the ends of messages and of collectives are named, with both lines."""

from __future__ import annotations

from collections.abc import Callable

import pytest

MESSAGES = {
    "integers as floats": ("np.zeros(4, 'i4')", "np.zeros(2)"),
    "types of one size": ("np.zeros(4, 'i4')", "np.zeros(4, 'f4')"),
    "a named type as another one": ("[np.zeros(4, 'i4'), MPI.INT]", "[np.zeros(2), MPI.DOUBLE]"),
    "a vector as another type": ("[np.zeros(4, 'i4'), 1, MPI.INT.Create_vector(2, 1, 2).Commit()]", "np.zeros(1)"),
    "a struct in another order": (
        "[np.zeros(12, 'u1'), 1, MPI.Datatype.Create_struct([1, 1], [0, 4], [MPI.INT, MPI.DOUBLE]).Commit()]",
        "[np.zeros(12, 'u1'), 1, MPI.Datatype.Create_struct([1, 1], [0, 8], [MPI.DOUBLE, MPI.INT]).Commit()]",
    ),
    "bytes as floats": ("np.zeros(16, 'u1')", "np.zeros(2)"),
    "signed as unsigned": ("np.zeros(2, 'i8')", "np.zeros(2, 'u8')"),
    "a complex number as two real ones": ("np.zeros(1, 'c16')", "np.zeros(2)"),
}
SENDS = ("comm.Send({}, 1)", "comm.Isend({}, 1).Wait()", "comm.Sendrecv({}, 1, 0, None, MPI.PROC_NULL)")
RECEIVES = ("comm.Recv({}, 0)", "comm.Irecv({}, 0).Wait()", "comm.Mprobe(0).Recv({})")


@pytest.mark.parametrize(("send", "receive"), [*zip(SENDS, RECEIVES, strict=True)])
@pytest.mark.parametrize("ends", MESSAGES.values(), ids=MESSAGES)
def test_types_that_differ_are_named_by_both_lines(checked: Callable, ends: tuple[str, str], send: str, receive: str):
    found = checked(f"if rank == 0:\n    {send.format(ends[0])}\nelse:\n    {receive.format(ends[1])}\n")
    assert found["types"] == [[(0, 2), (1, 4)]]


ALIKE = {
    "fewer than there is room for": ("np.zeros(2, 'i4')", "np.zeros(4, 'i4')"),
    "a vector as its elements": ("[np.zeros(4, 'i4'), 1, V]", "np.zeros(2, 'i4')"),
    "elements as a vector": ("np.zeros(2, 'i4')", "[np.zeros(4, 'i4'), 1, V]"),
    "names of one type": ("[np.zeros(2, 'i8'), MPI.LONG]", "[np.zeros(2, 'i8'), MPI.INT64_T]"),
    "a name and a format": ("[np.zeros(2), MPI.DOUBLE]", "np.zeros(2)"),
    "packed bytes": ("[np.zeros(8, 'u1'), MPI.PACKED]", "np.zeros(2, 'i4')"),
    "bytes, named and not": ("[np.zeros(8), MPI.BYTE]", "bytearray(64)"),
    "characters": ("[b'abcd', MPI.CHAR]", "bytearray(4)"),
    "no entries": ("np.zeros(0, 'i4')", "np.zeros(2)"),
    "a struct as its members, over and over": (
        "[np.zeros(48, 'u1'), 2, S]",
        "[np.zeros(48, 'u1'), 1, S.Create_contiguous(2).Commit()]",
    ),
}


@pytest.mark.parametrize(("send", "receive"), [*zip(SENDS, RECEIVES, strict=True)])
@pytest.mark.parametrize("ends", ALIKE.values(), ids=ALIKE)
def test_types_that_agree_are_left_alone(checked: Callable, ends: tuple[str, str], send: str, receive: str):
    types = (
        "V = MPI.INT.Create_vector(2, 1, 2).Commit()\n"
        "S = MPI.Datatype.Create_struct([1, 1], [0, 8], [MPI.INT, MPI.DOUBLE]).Commit()\n"
    )
    found = checked(f"{types}if rank == 0:\n    {send.format(ends[0])}\nelse:\n    {receive.format(ends[1])}\n")
    assert "types" not in found


RING = "ring = comm.Create_cart([size], periods=[True])"
COLLECTIVES = {
    "Bcast": "comm.Bcast(np.zeros(2) if rank else np.zeros(4, 'i4'))",
    "Bcast of types of one size": "comm.Bcast(np.zeros(2, 'f4' if rank else 'i4'))",
    "Ibcast": "comm.Ibcast(np.zeros(2) if rank else np.zeros(4, 'i4')).Wait()",
    "Gather": "comm.Gather(np.zeros(2, 'f4' if rank else 'i4'), np.zeros(4, 'i4'))",
    "Gatherv": "comm.Gatherv(np.zeros(2, 'f4' if rank else 'i4'), [np.zeros(4, 'i4'), [2, 2]])",
    "Scatter": "comm.Scatter(np.zeros(4, 'i4'), np.zeros(2, 'f4' if rank else 'i4'))",
    "Allgather": "comm.Allgather(np.zeros(2, 'f4' if rank else 'i4'), np.zeros(4, 'i4'))",
    "Allgatherv": "comm.Allgatherv(np.zeros(2, 'f4' if rank else 'i4'), [np.zeros(4, 'i4'), [2, 2]])",
    "Alltoall": "comm.Alltoall(np.zeros(4, 'f4' if rank else 'i4'), np.zeros(4, 'i4'))",
    "Alltoallv": "comm.Alltoallv([np.zeros(4, 'f4' if rank else 'i4'), [2, 2]], [np.zeros(4, 'i4'), [2, 2]])",
    "Alltoallw": (
        "x, t = np.zeros(4), MPI.FLOAT if rank else MPI.INT; "
        "comm.Alltoallw([x, [1, 1], [0, 8], [t, t]], [np.zeros(4), [1, 1], [0, 8], [MPI.INT, MPI.INT]])"
    ),
    "Neighbor_allgather": "ring.Neighbor_allgather(np.zeros(2, 'f4' if rank else 'i4'), np.zeros(4, 'i4'))",
    "Neighbor_allgatherv": "ring.Neighbor_allgatherv(np.zeros(2, 'f4' if rank else 'i4'), np.zeros(4, 'i4'))",
    "Neighbor_alltoall": "ring.Neighbor_alltoall(np.zeros(4, 'f4' if rank else 'i4'), np.zeros(4, 'i4'))",
    "Ineighbor_alltoallv": "ring.Ineighbor_alltoallv(np.zeros(4, 'f4' if rank else 'i4'), np.zeros(4, 'i4')).Wait()",
    "Neighbor_alltoallw": (
        "x, t = np.zeros(4), MPI.FLOAT if rank else MPI.INT; "
        "ring.Neighbor_alltoallw([x, [1, 1], [0, 8], [t, t]], [np.zeros(4), [1, 1], [0, 8], [MPI.INT, MPI.INT]])"
    ),
    "Bcast_init": "r = comm.Bcast_init(np.zeros(2) if rank else np.zeros(4, 'i4')); r.Start(); r.Wait(); r.Free()",
}


@pytest.mark.parametrize("program", COLLECTIVES.values(), ids=COLLECTIVES)
def test_types_that_differ_in_a_collective_are_named_by_both_lines(checked: Callable, program: str):
    assert checked(f"{RING}\n{program}\nring.Free()\n")["types"] == [[(0, 2), (1, 2)]]


BETWEEN_GROUPS = {
    "Bcast": ("Bcast(x, MPI.ROOT)", "Bcast(x, 0)"),
    "Ibcast": ("Ibcast(x, MPI.ROOT).Wait()", "Ibcast(x, 0).Wait()"),
    "Gather": ("Gather(None, x, MPI.ROOT)", "Gather(x, None, 0)"),
    "Scatterv": ("Scatterv(x, None, MPI.ROOT)", "Scatterv(None, x, 0)"),
    "Allgather": ("Allgather(x, np.zeros(2, 'i4'))", "Allgather(np.zeros(2, 'i4'), x)"),
    "Alltoall": ("Alltoall(x, np.zeros(2, 'i4'))", "Alltoall(np.zeros(2, 'i4'), x)"),
}
BRIDGE = (
    "half = comm.Split(rank); between = half.Create_intercomm(0, comm, 1 - rank); half.Free(); "
    "x = np.zeros(2, {} if rank else 'i4')"
)


@pytest.mark.parametrize("calls", BETWEEN_GROUPS.values(), ids=BETWEEN_GROUPS)
def test_types_that_differ_between_groups_are_named_by_both_lines(checked: Callable, calls: tuple[str, str]):
    program = f"if rank == 0:\n    between.{calls[0]}\nelse:\n    between.{calls[1]}\nbetween.Free()\n"
    assert checked(f"{BRIDGE.format(repr('f4'))}\n{program}")["types"] in ([[(0, 3), (1, 5)]], [[(1, 5), (0, 3)]])
    assert checked(f"{BRIDGE.format(repr('i4'))}\n{program}") == {}


def test_groups_that_send_different_types_are_left_alone(checked: Callable):
    calls = "y = np.zeros(2, 'i4' if rank else 'f4')\nbetween.Allgather(x, y)\nbetween.Alltoall(x, y)"
    assert checked(f"{BRIDGE.format(repr('f4'))}\n{calls}\nbetween.Free()\n") == {}


def test_ranks_beside_the_root_of_another_group_are_left_alone(checked: Callable):
    calls = (
        "if rank % 2 == 0:\n    between.Bcast(np.zeros(9, 'f4'), MPI.PROC_NULL if rank else MPI.ROOT)\n"
        "    between.Reduce(None, np.zeros(9), MPI.SUM, MPI.PROC_NULL if rank else MPI.ROOT)\n"
        "else:\n    between.Bcast(np.zeros(9, 'f4'), 0)\n    between.Reduce(np.zeros(9), None, MPI.SUM, 0)\n"
    )
    bridge = BRIDGE.replace("Split(rank)", "Split(rank % 2)").replace("1 - rank)", "1 - rank % 2)")
    assert checked(f"{bridge.format(repr('f4'))}\n{calls}between.Free()\n", 4) == {}


def test_a_root_that_gives_itself_another_type_is_named(checked: Callable):
    program = "\ncomm.Gather(np.zeros(2, 'i4' if rank == 0 else 'f4'), np.zeros(4, 'f4'))\n"
    assert checked(program)["types"] == [[(0, 2), (0, 2)]]


ALIKE_COLLECTIVES = {
    "all the same": "comm.Allgather(np.zeros(2), np.zeros(2 * size))",
    "in place": "comm.Allgather(MPI.IN_PLACE, np.zeros(2 * size))",
    "in place at the root": "comm.Gather(np.zeros(2) if rank else MPI.IN_PLACE, None if rank else np.zeros(2 * size))",
    "a vector and its elements": "comm.Bcast([np.zeros(4), 1, V] if rank else np.zeros(2))",
    "a rank with nothing to give": "comm.Gatherv(np.zeros(2) if rank else np.zeros(0, 'i4'), [np.zeros(2), [0, 2]])",
    "types by pair": (
        "mine = np.zeros(2, 'f4' if rank else 'i4')\n"
        "comm.Alltoallv([mine, [0, 2] if rank else [2, 0]], [mine, [0, 2] if rank else [2, 0]])"
    ),
    "types by pair, in one call": (
        "out = [[MPI.INT, MPI.FLOAT], [MPI.DOUBLE, MPI.INT]][rank]\n"
        "into = [[MPI.INT, MPI.DOUBLE], [MPI.FLOAT, MPI.INT]][rank]\n"
        "x = np.zeros(4)\n"
        "comm.Alltoallw([x, [1, 1], [0, 8], out], [np.zeros(4), [1, 1], [0, 8], into])"
    ),
    "types by edge": (
        "line = comm.Create_dist_graph_adjacent([left], [right])\n"
        "x, out = np.zeros(4), [MPI.FLOAT if rank else MPI.INT]\n"
        "line.Neighbor_alltoallw([x, [2], [0], out], [np.zeros(4), [2], [0], [MPI.INT if rank else MPI.FLOAT]])\n"
        "line.Free()"
    ),
    "in place by rank": "comm.Ialltoallw(MPI.IN_PLACE, [np.ones(2), [1, 1], [0, 8], [MPI.DOUBLE, MPI.DOUBLE]]).Wait()",
    "one collective after the other": "comm.Bcast(np.zeros(2)); comm.Bcast(np.zeros(4, 'i4')); comm.bcast(1)",
    "packed": "comm.Bcast([np.zeros(16, 'u1'), MPI.PACKED] if rank else np.zeros(2))",
}


@pytest.mark.parametrize("program", ALIKE_COLLECTIVES.values(), ids=ALIKE_COLLECTIVES)
def test_types_that_agree_in_a_collective_are_left_alone(checked: Callable, program: str):
    assert checked(f"V = MPI.DOUBLE.Create_vector(2, 1, 2).Commit()\n{program}\nV.Free()\n") == {}


ACCESSES = {
    "Put": "win.Put(np.zeros(2, 'i4'), 0, (0, 2, {}))",
    "Get": "win.Get(np.zeros(2, 'i4'), 0, (0, 2, {}))",
    "Accumulate": "win.Accumulate(np.zeros(2, 'i4'), 0, (0, 2, {}), MPI.REPLACE)",
}


@pytest.mark.parametrize("access", ACCESSES.values(), ids=ACCESSES)
@pytest.mark.parametrize(("target", "is_named"), [("MPI.FLOAT", True), ("MPI.INT32_T", False)])
def test_an_access_of_other_types_at_the_window_is_named(checked: Callable, access: str, target: str, is_named: bool):
    call = f"win.Fence()\nif rank:\n    {access.format(target)}\nwin.Fence()\nwin.Free()\n"
    found = checked(f"win = MPI.Win.Allocate(8, 1, comm=comm)\n{call}")
    assert found == ({"types": [[(1, 4), (1, 4)]]} if is_named else {})
