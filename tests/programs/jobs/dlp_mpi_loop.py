"""dlp_mpi: a loop's examples handed out as ranks get free, results gathered."""

import os
import time

os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = "1"  # dlp_mpi insists
import dlp_mpi

results = []
for example in dlp_mpi.split_managed(list(range(10)), is_indexable=False, progress_bar=False):
    time.sleep(0.01)
    results.append(example**2)
results = dlp_mpi.gather(results)
if dlp_mpi.IS_MASTER:
    print(sorted(result for of_rank in results for result in of_rank))

dlp_mpi.barrier()
results = sorted(dlp_mpi.map_unordered(lambda example: example + 1, list(range(7)), progress_bar=False))
if dlp_mpi.IS_MASTER:
    print(results, dlp_mpi.SIZE)
assert dlp_mpi.bcast({"rank": dlp_mpi.RANK}) == {"rank": 0}
