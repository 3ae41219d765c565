"""mpipartition: particles sent to the ranks that own their place, and copied across boundaries."""

import numpy as np
from mpi4py import MPI
from mpipartition import Partition, distribute, exchange, overload
from ordered import in_order_of_ranks

KEYS = ("x", "y")

with in_order_of_ranks():
    partition = Partition(2, create_neighbor_topo=True)
    draw = np.random.default_rng(7 + MPI.COMM_WORLD.Get_rank())
    data = {key: draw.uniform(0, 10, 200) for key in KEYS}
    data["id"] = np.arange(200) + 200 * partition.rank
    print("partition", list(partition.decomposition), list(partition.coordinates), list(partition.extent))
    print("neighbours", sorted(partition.neighbor_ranks) if partition.neighbor_ranks is not None else None)

    own = distribute(partition, 10.0, data, KEYS)
    print("own", len(own["id"]), int(own["id"].sum()), round(float(own["x"].sum()), 9))
    around = overload(partition, 10.0, own, 0.7, KEYS)
    print("with those around", len(around["id"]), int(around["id"].sum()), round(float(around["y"].sum()), 9))

    own["x"] = (own["x"] + 0.3) % 10
    moved = distribute(partition, 10.0, own, KEYS)
    print("moved", len(moved["id"]), int(moved["id"].sum()), exchange.__name__)
