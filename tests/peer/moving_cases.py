"""Drawn runs of every algorithm that moves blocks or holds ranks back, forced under SimGrid's name."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from smpy.collectives.patterns.powers_of_two import is_power_of_two
from smpy.collectives.register import algorithms_of
from tests.peer.case import HOSTS, OVERHEADS, Case

OPERATIONS = ("barrier", "gather", "scatter", "allgather", "allgatherv", "alltoall", "alltoallv")
ROOTED = ("gather", "scatter")
VARYING = ("allgatherv", "alltoallv")
SIZES = (8, 100, 1000, 5000, 30_000, 70_000, 300_000)
PARTS = {
    "barrier": ("ompi_bruck", "mpich_smp", "ompi_tree", "ompi_doublering"),
    "gather": ("ompi_binomial", "ompi_linear_sync"),
    "bcast": ("scatter_LR_allgather", "binomial_tree", "SMP_binomial", "NTSL"),
}
"""Algorithms that a part of another may be told to use."""
DRAWS = 14


def drawn(operation: str, name: str) -> Iterator[Case]:
    """Runs of an algorithm in which the peer neither stops nor is wrong."""
    random = Random(f"{operation} {name}")
    n_drawn = 0
    while n_drawn < DRAWS:
        n_ranks, size = random.randint(2, 16), random.choice(SIZES)
        per_host, is_cyclic = random.choice((1, 2, 3)), random.random() < 0.3
        platform = "cluster_multicore" if is_cyclic or (per_host > 1 and random.random() < 0.5) else "cluster"
        options = {f"smpi/{operation}": name}
        for part, names in PARTS.items():
            if part != operation and random.random() < 0.3:
                options[f"smpi/{part}"] = random.choice(names)
        if random.random() < 0.15:
            options |= OVERHEADS
        n_rounds, flop = random.randint(1, 2), random.choice((0, 1e4))
        root = random.randrange(n_ranks) if operation in ROOTED else 0
        program = "varying" if operation in VARYING else "collectives"
        arguments = (operation, 0 if operation == "barrier" else size, root, n_rounds, flop)
        placement = "cyclic" if is_cyclic else "block"
        case = Case(program, arguments, platform, n_ranks, per_host, placement, options)
        if not stops(operation, name, case) and case.n_ranks <= HOSTS[platform][1] * per_host:
            n_drawn += 1
            yield case


def stops(operation: str, name: str, case: Case) -> bool:
    """Whether smpirun gives up, or does something wrong."""
    n = case.n_ranks
    if name in ("pair", "pair_light_barrier", "pair_mpi_barrier", "pair_one_barrier", "rhv"):
        return not is_power_of_two(n)
    if name == "2dmesh":
        return n > 3 and not any(n % side == 0 for side in range(2, n))
    if name == "3dmesh":
        return n == 2 or (n > 7 and not any(n % (side * side) == 0 for side in range(2, n // 3 + 1)))
    if name == "ompi_two_procs":
        return n != 2
    differ = len(set(counts_on_hosts(case))) > 1
    if (operation, name) == ("allgather", "mvapich2_smp"):
        return differ or (case.placement == "cyclic" and n > HOSTS[case.platform][1])
    if (operation, name) == ("gather", "mvapich2_two_level"):
        root, n_hosts = int(str(case.arguments[2])), HOSTS[case.platform][1]
        return differ or (root >= n_hosts if case.placement == "cyclic" else root % case.per_host > 0)
    return False


def counts_on_hosts(case: Case) -> list[int]:
    """Numbers of ranks on the hosts."""
    n_hosts = HOSTS[case.platform][1] if case.placement == "cyclic" else -(-case.n_ranks // case.per_host)
    if case.placement == "cyclic":
        return [len(range(host, case.n_ranks, n_hosts)) for host in range(min(n_hosts, case.n_ranks))]
    full, rest = divmod(case.n_ranks, case.per_host)
    return [case.per_host] * full + [rest] * (rest > 0)


ALGORITHMS = [
    (operation, name)
    for operation in OPERATIONS
    for algorithm in algorithms_of(operation).values()
    for name in algorithm.simgrid_names
]
