"""The program of the trace with threads: a thread of each rank receives while its main thread holds a lock."""

import threading

from mpi4py import MPI

import smpy

world = MPI.COMM_WORLD
lock = threading.Lock()


def receive():
    with smpy.region("receive"):
        world.recv(source=1 - world.rank)
        with lock:
            smpy.inject_seconds(0.5)


thread = threading.Thread(target=receive, name="receiver")
with lock:
    thread.start()
    smpy.inject_seconds(1 + world.rank)
    world.send("work", 1 - world.rank)
thread.join()
world.Barrier()
