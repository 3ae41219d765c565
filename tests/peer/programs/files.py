"""files SEED CALLS BYTES NAME: drawn calls of MPI.File on one file; a NAME without a slash is relative."""

import os
import sys

from draw import Draw
from mpi4py import MPI

import smpy

CALLS, ALONE = 19, (0, 1, 2, 3, 9, 10)
comm = MPI.COMM_WORLD
rank = comm.Get_rank()
seed, calls, n_bytes = map(int, sys.argv[1:4])
common, own = Draw(seed), Draw((seed * 31 + rank * 17 + 5) & 0xFFFFFFFF)
types = (MPI.BYTE, MPI.INT, MPI.BYTE.Create_vector(2, 4, 9).Commit())
etype_bytes = 1
data = bytearray(16 * n_bytes + 1024)
os.chdir("/tmp")
mode = MPI.MODE_RDWR | MPI.MODE_CREATE | MPI.MODE_DELETE_ON_CLOSE
file = MPI.File.Open(comm, sys.argv[4], mode)
with_offset = {0: file.Write_at, 1: file.Read_at, 4: file.Write_at_all, 5: file.Read_at_all}
without = {
    2: file.Write,
    3: file.Read,
    6: file.Write_all,
    7: file.Read_all,
    8: file.Write_ordered,
    9: file.Write_shared,
    10: file.Read_shared,
    11: file.Read_ordered,
}


def access_file(call: int) -> None:
    state = own if call in ALONE else common
    datatype = types[state.below(3)]
    size = datatype.Get_size()
    count = 1 + state.below(n_bytes) // size
    if etype_bytes == 4:
        count = (count + 3) // 4 * 4
    form, at = state.below(3), state.below(n_bytes)
    offset = (rank * count * size // etype_bytes, at, at + rank * (at % 7))[form]
    spec = [data, count, datatype]
    if call in with_offset:
        with_offset[call](offset, spec)
    else:
        without[call](spec)


for _ in range(calls):
    call = common.below(CALLS)
    if call in (9, 10, 14, 15, 18):
        smpy.execute(54321.0 * (rank + 1))  # they come to the shared pointer one after the other
    if call < 12:
        access_file(call)
    elif call == 12:
        file.Sync()
    elif call == 13:
        file.Seek(own.below(n_bytes))
    elif call == 14:
        file.Seek_shared(common.below(n_bytes))
    elif call == 15:
        etype_bytes = 4 if common.below(2) else 1
        etype = MPI.INT if etype_bytes == 4 else MPI.BYTE
        file.Set_view(common.below(n_bytes), etype, etype)
    elif call == 16:
        file.Set_size(1 + common.below(n_bytes))
    elif call == 17:
        smpy.execute(1e3 * own.below(n_bytes))
    elif call == 18:
        file.Get_position_shared()
file.Close()
