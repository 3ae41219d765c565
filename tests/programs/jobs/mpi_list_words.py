"""mpi_list: filter, scan, reduce and regroup a distributed list."""

from itertools import chain

from mpi_list import Context

C = Context()


def show(*what):
    """Print on rank 0."""
    if C.rank == 0:
        print(*what)


def by_last_digit(number, groups):
    """Put a number among those that end as it does."""
    groups.setdefault(number % 10, []).append(number)


names = C.iterates(1000).map(lambda i: f"String {i}").filter(lambda name: "2" in name)
show(names.head(10))
show(names.len(), names.filter(lambda name: len(name) <= len("String nn")).collect())

numbers = C.iterates(57)
show("sum", numbers.reduce(lambda a, b: a + b, 0))
show("scan", numbers.scan(lambda a, b: a + b).collect())
show("pairs", numbers.flatMap(lambda i: [i, -i] if i % 7 == 0 else []).collect())
show("by rank", numbers.nodeMap(lambda rank, held: [(rank, len(held))]).collect())
show("by digit", numbers.group(by_last_digit, sorted, 10).collect())

blocks = numbers.nodeMap(lambda rank, held: [held])
again = blocks.repartition(len, lambda block, cuts: [block[i:j] for i, j in cuts], lambda parts: [*chain(*parts)], 5)
show("repartitioned", again.collect())
