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
    "Bcast_init": "r = comm.Bcast_init(np.zeros(2) if rank else np.zeros(4, 'i4')); r.Start(); r.Wait(); r.Free()",
}


@pytest.mark.parametrize("program", COLLECTIVES.values(), ids=COLLECTIVES)
def test_types_that_differ_in_a_collective_are_named_by_both_lines(checked: Callable, program: str):
    assert checked(f"\n{program}\n")["types"] == [[(0, 2), (1, 2)]]


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
    "one collective after the other": "comm.Bcast(np.zeros(2)); comm.Bcast(np.zeros(4, 'i4')); comm.bcast(1)",
    "packed": "comm.Bcast([np.zeros(16, 'u1'), MPI.PACKED] if rank else np.zeros(2))",
}


@pytest.mark.parametrize("program", ALIKE_COLLECTIVES.values(), ids=ALIKE_COLLECTIVES)
def test_types_that_agree_in_a_collective_are_left_alone(checked: Callable, program: str):
    assert checked(f"V = MPI.DOUBLE.Create_vector(2, 1, 2).Commit()\n{program}\nV.Free()\n") == {}
