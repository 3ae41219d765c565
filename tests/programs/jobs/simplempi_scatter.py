"""simplempi: a list, a dictionary and a loop divided among the ranks."""

import simplempi
from ordered import in_order_of_ranks
from simplempi.parfor import parfor, pprint

with in_order_of_ranks():
    smpi = simplempi.simpleMPI()
    smpi.pprint(smpi.scatterList(range(20)))
    smpi.pprint(sorted(smpi.scatter({name: len(name) for name in ("a", "bb", "ccc", "dddd", "eeeee")}).items()))
    smpi.sync_barrier()
    for i in parfor(list(range(10))):
        pprint(f"{i}**2 = {i**2}")
