"""mpiparticles: markers that move to the ranks that own their place."""

import maybempi
import numpy as np
from mpiparticles import BoxDecomposition, IdAllocator, ParticleStore, global_count, migrate
from ordered import in_order_of_ranks

comm = maybempi.get_mpi().COMM_WORLD
with in_order_of_ranks():
    decomposition = BoxDecomposition(comm, [0.0, 0.0], [1.0, 1.0], proc_sizes=[comm.size, 1])
    store = ParticleStore(ndim=2, nvel=3, id_allocator=IdAllocator.from_comm(comm))
    draw = np.random.default_rng(comm.rank)
    store.add(draw.uniform(0, 1, (2, 30)), np.zeros((3, 30)))
    print("sent and received", migrate(store, decomposition))
    store.positions[:, : store.length] = (store.positions[:, : store.length] + 0.1) % 1
    print("sent and received", migrate(store, decomposition))
    store.compact_if_needed()
    print("held", store.length, "of", global_count(store, comm))
