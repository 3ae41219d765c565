"""pyske: skeletons on distributed lists and trees, and the package's own examples."""

import runpy

from ordered import in_order_of_ranks
from pyske.core.list.plist import PList
from pyske.core.support.parallel import at_root, nprocs

with in_order_of_ranks():
    runpy.run_module("pyske.examples.list.hello_world", run_name="__main__")

numbers = PList.init(lambda i: (7 * i) % 31, 100)
total = numbers.reduce(lambda a, b: a + b)
mean = total / numbers.length()
deviations = numbers.map(lambda x: (x - mean) ** 2)
variance = deviations.reduce(lambda a, b: a + b) / numbers.length()
prefixes = numbers.scanl(lambda a, b: a + b, 0).to_seq()
longest = numbers.mapi(lambda i, x: (x, -i)).reduce(max)
at_root(lambda: print("total", total, "variance", variance, "longest", longest, "ranks", nprocs))
at_root(lambda: print("prefixes", list(prefixes)))
