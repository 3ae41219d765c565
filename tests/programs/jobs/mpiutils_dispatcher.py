"""mpiutils: a dispatcher and its workers."""

from mpiutils import dispatcher


def square(x):
    """The work."""
    return x * x


for result in dispatcher.map(square, range(10)):
    print(result)
assert dispatcher.broadcast({"rank": dispatcher.rank()}) == {"rank": 0}
dispatcher.barrier()
results = dispatcher.farm(square, range(5))
if dispatcher.am_dispatcher():
    print(sorted(results), dispatcher.size())
