"""Allreduces within hosts, between them, and within them again.

SimGrid's own algorithms assume that consecutive ranks share a host (`patterns.consecutive_hosts`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from smpy.collectives.allreduce.one_level import rabenseifner, recursive_doubling
from smpy.collectives.bcast.two_levels import nonblocking_bcast
from smpy.collectives.call import Call
from smpy.collectives.host_search import search_hosts
from smpy.collectives.patterns import binomial_tree
from smpy.collectives.patterns.consecutive_hosts import consecutive_hosts
from smpy.collectives.patterns.han import ON_HOSTS
from smpy.collectives.patterns.powers_of_two import power_of_two_up_to
from smpy.collectives.patterns.segments import split
from smpy.collectives.patterns.two_levels import among_leaders, on_hosts
from smpy.collectives.ranks import Ranks
from smpy.collectives.reduce.two_levels import nonblocking_reduce, segments_of
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule, Value

_SEGMENT_ENTRIES: Final = 4096
_SHORT_BYTES: Final = 2048


Between = Callable[[Schedule, Call, Ranks], None]


def _on_two_levels(call: Call, between: Between) -> Schedule:
    """Reduce on each host along a binomial tree, combine the results of hosts, and broadcast along a binomial tree."""
    steps = Schedule(call)
    search_hosts(steps, call)
    levels = consecutive_hosts(call)
    binomial_tree.reduce(steps, levels.local, call.nbytes)
    with steps.when(levels.local.index == 0):
        between(steps, call, levels.leaders)
    binomial_tree.broadcast(steps, levels.local, call.nbytes)
    return steps


@algorithm(
    "allreduce",
    "hosts_first_binomial_tree",
    simgrid="smp_binomial",
    source="SimGrid 3.32, allreduce-smp-binomial.cpp",
    chooses=True,
    in_order="recursive_doubling",
)
def hosts_first_binomial_tree(call: Call) -> Schedule:
    """Use a binomial tree up and down between hosts."""

    def up_and_down(steps: Schedule, call: Call, leaders: Ranks) -> None:
        binomial_tree.reduce(steps, leaders, call.nbytes)
        binomial_tree.broadcast(steps, leaders, call.nbytes)

    return _on_two_levels(call, up_and_down)


@algorithm(
    "allreduce",
    "hosts_first_binomial_pipeline",
    simgrid="smp_binomial_pipeline",
    source="SimGrid 3.32, allreduce-smp-binomial-pipeline.cpp",
    chooses=True,
    in_order="recursive_doubling",
)
def hosts_first_binomial_pipeline(call: Call) -> Schedule:
    """Use four binomial trees for each segment of 4,096 entries, one segment after the other."""
    steps = Schedule(call)
    search_hosts(steps, call)
    levels = consecutive_hosts(call)
    segments = split(call.nbytes, _SEGMENT_ENTRIES * call.item_bytes)
    n_segments = segments.n_segments
    stages = (
        (binomial_tree.reduce, levels.local),
        (binomial_tree.reduce, levels.leaders),
        (binomial_tree.broadcast, levels.leaders),
        (binomial_tree.broadcast, levels.local),
    )
    for round_ in steps.loop(0, n_segments + len(stages) - 1):
        for behind, (tree, ranks) in enumerate(stages):
            segment = round_ - behind
            takes_part: Value = (segment >= 0) & (segment < n_segments)
            if ranks is levels.leaders:
                takes_part = takes_part & (levels.local.index == 0)
            with steps.when(takes_part):
                tree(steps, ranks, segments.size(segment))
    return steps


@algorithm(
    "allreduce",
    "hosts_first_recursive_doubling",
    simgrid="smp_rdb",
    source="SimGrid 3.32, allreduce-smp-rdb.cpp",
    chooses=True,
    in_order="recursive_doubling",
)
def hosts_first_recursive_doubling(call: Call) -> Schedule:
    """Use recursive doubling between hosts."""
    return _on_two_levels(call, lambda steps, call, leaders: call.add(steps, recursive_doubling, leaders, call.nbytes))


@algorithm(
    "allreduce",
    "hosts_first_ring",
    simgrid=("smp_rsag", "smp_rsag_lr"),
    source="SimGrid 3.32, allreduce-smp-rsag.cpp, allreduce-smp-rsag-lr.cpp",
    chooses=True,
    in_order="recursive_doubling",
)
def hosts_first_ring(call: Call) -> Schedule:
    """Use a ring between hosts, round which each host's part goes twice; the last part has the entries left over."""
    return _on_two_levels(call, _rings)


def _rings(steps: Schedule, call: Call, leaders: Ranks) -> None:
    n_hosts, nbytes = leaders.size_max, call.nbytes
    part = nbytes // call.item_bytes // n_hosts * call.item_bytes
    rest = nbytes - n_hosts * part

    def size(number: Value) -> Value:
        return part + (number % n_hosts == n_hosts - 1) * rest

    for first, reduces in ((1, True), (0, False)):
        for i in steps.loop(0, n_hosts - 1):
            mine = leaders.index - first - i
            steps.exchange(leaders.ahead(1), size(mine), leaders.behind(1), size(mine - 1))
            if reduces:
                steps.combine(size(mine - 1))


@algorithm(
    "allreduce",
    "hosts_first_rabenseifner",
    simgrid="smp_rsag_rab",
    source="SimGrid 3.32, allreduce-smp-rsag-rab.cpp",
    chooses=True,
    in_order="recursive_doubling",
)
def hosts_first_rabenseifner(call: Call) -> Schedule:
    """Use Rabenseifner's algorithm between hosts."""
    return _on_two_levels(call, lambda steps, call, leaders: call.add(steps, rabenseifner, leaders, call.nbytes))


def one_level(call: Call) -> Schedule:
    """MPICH's rule for ranks on one level: Rabenseifner's algorithm or recursive doubling (SimGrid 3.32, mpich)."""
    nbytes = call.nbytes
    assert isinstance(nbytes, int)  # a part of a choosing algorithm
    has_entries = nbytes // call.item_bytes >= power_of_two_up_to(call.n_ranks)
    return (rabenseifner if nbytes > _SHORT_BYTES and has_entries and call.commutative else recursive_doubling)(call)


@algorithm(
    "allreduce",
    "mvapich2_two_level",
    simgrid="mvapich2_two_level",
    source="MVAPICH2, two-level allreduce; SimGrid 3.32, allreduce-mvapich-two-level.cpp",
    chooses=True,
)
def mvapich2_two_level(call: Call) -> Schedule:
    """Reduce on each host by MPICH's rule, then recursive doubling among first ranks, then the run's broadcast.

    Where the ranks of a host are not consecutive, recursive doubling alone keeps the operands in order.
    Parts: "local", whose value "reduce" selects the run's reduction, and "leaders".
    """
    steps, nbytes = Schedule(call), call.nbytes
    assert isinstance(nbytes, int)
    search_hosts(steps, call)
    if nbytes == 0:
        return steps
    assert call.hosts is not None  # a choosing algorithm, of all ranks
    if not call.commutative and not call.hosts.is_blocked:
        call.add(steps, recursive_doubling, call.everyone, nbytes)
        return steps
    if call.parts.get("local") == "reduce":
        call.add_chosen(steps, "reduce", nbytes, ranks=call.local)
    else:
        call.add(steps, one_level, call.local, nbytes)
    among_leaders(steps, call, "allreduce", nbytes, default="recursive_doubling")
    call.add_chosen(steps, "bcast", nbytes, ranks=call.local)
    return steps


@algorithm(
    "allreduce",
    "mvapich2_reduce_scatter",
    simgrid="mvapich2_rs",
    source="MVAPICH2, reduce-scatter and allgather; SimGrid 3.32, allreduce-mvapich-rs.cpp",
    in_order="recursive_doubling",
)
def mvapich2_reduce_scatter(call: Call) -> Schedule:
    """Use Rabenseifner's algorithm, or recursive doubling if the vector has fewer entries than there are ranks."""
    steps, nbytes = Schedule(call), call.nbytes
    has_entries = nbytes >= power_of_two_up_to(call.n_ranks) * call.item_bytes
    with steps.when(has_entries):
        call.add(steps, rabenseifner, call.everyone, nbytes)
    with steps.when((has_entries == 0) & (nbytes > 0)):
        call.add(steps, recursive_doubling, call.everyone, nbytes)
    return steps


# ---- Open MPI 5's han: in segments, with libnbc between hosts ----


_N_BEHIND: Final = 3
"""Number of segments by which the last stage is behind the first one."""


@algorithm("allreduce", "han", source="Open MPI 5.0, coll_han_allreduce.c, libnbc", chooses=True)
def han(call: Call) -> Schedule:
    """Segments of 64 KiB: reduce on each host, reduce and broadcast between the first ranks, broadcast on each host.

    Each of the four stages is one segment behind the stage before it, and all are performed at once.
    """
    steps, nbytes = Schedule(call), call.nbytes
    assert isinstance(nbytes, int)  # a choosing algorithm
    segment, n_full, last = segments_of(nbytes, call.item_bytes)

    def overlap(ahead: int) -> None:
        """Add the step in which the segment `ahead` is in the first stage."""
        reduced, between, back, known = (_size(ahead - stage, segment, n_full, last) for stage in range(4))
        with steps.when(call.local.index == 0):
            if back is not None:
                with steps.fork(1):
                    call.add(steps, nonblocking_bcast, call.leaders, back)
            if between is not None:
                with steps.fork(2):
                    call.add(steps, nonblocking_reduce, call.leaders, between)
        if reduced is not None:
            call.add_chosen(steps, "reduce", reduced, ranks=call.local, table=ON_HOSTS)
        if known is not None:
            call.add_chosen(steps, "bcast", known, ranks=call.local, table=ON_HOSTS)
        steps.join()

    for ahead in range(_N_BEHIND):
        overlap(ahead)
    if n_full > _N_BEHIND:
        for _ in steps.loop(_N_BEHIND, n_full):
            overlap(_N_BEHIND)
    for ahead in range(max(_N_BEHIND, n_full), n_full + _N_BEHIND + 1):
        overlap(ahead)
    return steps


def _size(number: int, segment: int, n_full: int, last: int) -> int | None:
    """Bytes of the segment with a number; None if there is none."""
    if number == n_full:
        return last
    return segment if 0 <= number < n_full else None


# ---- by tables that a row names ----


@algorithm("allreduce", "two_level", source="MPICH, ch4_coll_impl.h, composition alpha", chooses=True)
def two_level(call: Call) -> Schedule:
    """Reduce on each host, allreduce among the first ranks, and broadcast on each host; for commutative operations.

    Parts: the tables "leaders" and "local"; by default, the run's.
    """
    steps, nbytes = Schedule(call), call.nbytes
    assert isinstance(nbytes, int)  # a choosing algorithm
    on_hosts(steps, call, "reduce", nbytes)
    among_leaders(steps, call, "allreduce", nbytes)
    on_hosts(steps, call, "bcast", nbytes)
    return steps
