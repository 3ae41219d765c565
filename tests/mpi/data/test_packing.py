"""Pack and Unpack: the bytes of entries one after another, native or as all machines agree on."""

import struct

import numpy as np
import pytest

from smpy.mpi import MPI

SELF = MPI.COMM_SELF


def test_entries_of_several_datatypes_share_a_buffer():
    numbers, letters, room = np.arange(6.0), bytearray(b"letters"), bytearray(100)
    column = MPI.DOUBLE.Create_vector(3, 1, 2).Create_resized(0, 48)
    position = column.Pack(numbers, room, 0, SELF)
    position = MPI.CHAR.Pack(letters, room, position, SELF)
    assert position == column.Pack_size(1, SELF) + MPI.CHAR.Pack_size(7, SELF) == 31
    found, text = np.zeros(6), bytearray(7)
    assert MPI.CHAR.Unpack(room, column.Unpack(room, 0, found, SELF), text, SELF) == position
    assert found.tolist() == [0, 0, 2, 0, 4, 0]
    assert text == letters


def test_a_packed_buffer_travels_as_packed(run_ranks):
    def main(rank):
        world, room = MPI.COMM_WORLD, bytearray(20)
        if rank == 0:
            MPI.DOUBLE.Pack(np.array([0.5]), room, MPI.INT.Pack(np.array([7], "i4"), room, 0, world), world)
            world.Send([room, 12, MPI.PACKED], 1)
            return None
        world.Recv([room, MPI.PACKED], 0)
        count, value = np.zeros(1, "i4"), np.zeros(1)
        MPI.DOUBLE.Unpack(room, MPI.INT.Unpack(room, 0, count, world), value, world)
        return int(count[0]), float(value[0])

    assert run_ranks(2, main).returned[1] == (7, 0.5)


@pytest.mark.parametrize(
    ("datatype", "values", "external"),
    [
        (MPI.INT, np.array([1, -2], "i4"), struct.pack(">ii", 1, -2)),
        (MPI.LONG, np.array([3, -4]), struct.pack(">ii", 3, -4)),
        (MPI.LONG_LONG, np.array([3, -4]), struct.pack(">qq", 3, -4)),
        (MPI.DOUBLE, np.array([0.1]), struct.pack(">d", 0.1)),
        (MPI.C_FLOAT_COMPLEX, np.array([1 + 2j], "c8"), struct.pack(">ff", 1, 2)),
        (MPI.C_BOOL, np.array([True, False]), b"\1\0"),
        (MPI.WCHAR, np.array(["é"]), "é".encode("utf-16-be")),
        (MPI.CHAR, np.array([b"x"]), b"x"),
        (MPI.LONG_DOUBLE, np.array([1, -2.5], "g"), b"\x3f\xff" + bytes(14) + b"\xc0\x00\x40" + bytes(13)),
    ],
)
def test_the_external_representation_is_big_endian_and_of_the_standards_sizes(datatype, values, external):
    room = bytearray(len(external))
    assert datatype.Pack_external_size("external32", len(values)) == len(external)
    assert datatype.Pack_external("external32", values, room, 0) == len(external)
    assert room == external
    found = np.zeros_like(values)
    assert datatype.Unpack_external("external32", room, 0, found) == len(external)
    assert (found == values).all()


def test_long_doubles_keep_all_their_bits_in_the_external_representation():
    limits, third = np.finfo("g"), np.longdouble(1) / 3
    values = np.array([third, -third, 0, -0.0, np.inf, limits.smallest_subnormal * 7, limits.max, limits.eps], "g")
    room = bytearray(16 * len(values))
    MPI.LONG_DOUBLE.Pack_external("external32", values, room, 0)
    found = np.zeros_like(values)
    MPI.LONG_DOUBLE.Unpack_external("external32", room, 0, found)
    assert [(x, np.signbit(x)) for x in found] == [(x, np.signbit(x)) for x in values]


def test_derived_entries_are_converted_element_by_element():
    pair = MPI.Datatype.Create_struct([1, 2], [0, 8], [MPI.INT, MPI.DOUBLE])
    two = pair.Create_contiguous(2)
    data = np.zeros(2, np.dtype([("n", "i4"), ("x", "f8", 2)], align=True))
    data["n"], data["x"] = [1, 2], [[0.5, 1.5], [2.5, 3.5]]
    room = bytearray(40)
    assert two.Pack_external("external32", data, room, 0) == 40
    assert room == struct.pack(">iddidd", 1, 0.5, 1.5, 2, 2.5, 3.5)
    found = np.zeros_like(data)
    two.Unpack_external("external32", room, 0, found)
    assert (found == data).all()


@pytest.mark.parametrize(
    ("call", "error_class"),
    [
        (lambda: MPI.INT.Pack(np.zeros(4, "i4"), bytearray(15), 0, SELF), MPI.ERR_TRUNCATE),
        (lambda: MPI.INT.Pack(np.zeros(4, "i4"), bytearray(99), -1, SELF), MPI.ERR_TRUNCATE),
        (lambda: MPI.INT.Unpack(bytes(15), 0, np.zeros(4, "i4"), SELF), MPI.ERR_TRUNCATE),
        (lambda: MPI.INT.Pack(b"", bytearray(1), 0, MPI.COMM_NULL), MPI.ERR_COMM),
        (lambda: MPI.INT.Pack_size(-1, SELF), MPI.ERR_COUNT),
        (lambda: MPI.INT.Pack_external("internal", b"", bytearray(1), 0), MPI.ERR_ARG),
    ],
)
def test_packing_refuses_what_does_not_fit(call, error_class):
    with pytest.raises(MPI.Exception) as caught:
        call()
    assert caught.value.Get_error_class() == error_class


def test_no_entries_at_all_are_packed_externally():
    columns = MPI.INT.Create_vector(2, 1, 2)
    packed = bytearray(8)
    assert columns.Pack_external("external32", b"", packed, 3) == 3
    assert columns.Unpack_external("external32", packed, 3, bytearray()) == 3
