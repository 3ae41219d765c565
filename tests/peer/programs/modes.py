"""modes MODE BYTES DISTANCE ROUNDS FLOP: every rank sends to the one DISTANCE ahead and receives from the one behind,
with a mode of sending: bsend, rsend, ibsend, irsend, persistent requests started one by one (start) or together
(startall) of kind send, bsend, rsend or ssend, Sendrecv_replace (replace), or requests freed at once (free)."""

import sys

from mpi4py import MPI

import smpy

comm = MPI.COMM_WORLD
rank, n_ranks = comm.Get_rank(), comm.Get_size()
mode, flop = sys.argv[1], float(sys.argv[5])
n_bytes, distance, rounds = map(int, sys.argv[2:5])
dest, source = (rank + distance) % n_ranks, (rank - distance) % n_ranks
out, into = bytearray(n_bytes), bytearray(n_bytes)


def persistent(kind: str, is_together: bool) -> None:
    make = {"send": comm.Send_init, "bsend": comm.Bsend_init, "rsend": comm.Rsend_init, "ssend": comm.Ssend_init}
    requests = [comm.Recv_init(into, source), make[kind](out, dest)]
    for i in range(rounds):
        if is_together:
            MPI.Prequest.Startall(requests)
        else:
            for request in requests:
                request.Start()
        smpy.execute(flop * (1 + rank % 2))
        if i % 2:
            requests[1].Wait()
            requests[0].Wait()
        else:
            MPI.Request.Waitall(requests)


MPI.Attach_buffer(bytearray(rounds * (n_bytes + MPI.BSEND_OVERHEAD) + MPI.BSEND_OVERHEAD))
smpy.execute(flop * (rank * 7 % n_ranks))
how, _, kind = mode.partition("-")
if kind:
    persistent(kind, how == "startall")
    rounds = 0
for i in range(rounds):
    if mode == "bsend":
        comm.Bsend(out, dest, i)
        smpy.execute(flop)
        comm.Recv(into, source, i)
    elif mode == "ibsend":
        request = comm.Ibsend(out, dest, i)
        comm.Recv(into, source, i)
        smpy.execute(flop)
        request.Wait()
    elif mode == "rsend":
        request = comm.Irecv(into, source, i)
        comm.Barrier()
        comm.Rsend(out, dest, i)
        request.Wait()
    elif mode == "irsend":
        request = comm.Irecv(into, source, i)
        comm.Barrier()
        other = comm.Irsend(out, dest, i)
        smpy.execute(flop)
        request.Wait()
        other.Wait()
    elif mode == "replace":
        comm.Sendrecv_replace(out, dest, i, source, i)
        smpy.execute(flop)
    else:
        comm.Isend(out, dest, i).Free()
        comm.Recv(into, source, i)
        smpy.execute(flop)
