"""Every algorithm by its operation and name, and what SimGrid calls it where that differs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from smpy.collectives import (
    allreduces,
    between_groups,
    bruck,
    linear,
    nonblocking,
    recursive_doubling,
    rings,
    trees,
)
from smpy.collectives.schedule import NBYTES, RANK, ROOT, EqualBlocks, Offsets, Schedule, Table, Value

Algorithm = Callable[..., Schedule]

ALGORITHMS: Final[dict[str, dict[str, Algorithm]]] = {
    "barrier": {
        "linear": linear.linear_barrier,
        "binomial_tree": trees.binomial_tree_barrier,
        "dissemination": bruck.dissemination_barrier,
        "recursive_doubling": recursive_doubling.recursive_doubling_barrier,
    },
    "bcast": {
        "binomial_tree": trees.binomial_tree_bcast,
        "linear": linear.linear_bcast,
        "scatter_ring_allgather": trees.scatter_ring_allgather_bcast,
        "scatter_recursive_doubling_allgather": trees.scatter_recursive_doubling_allgather_bcast,
    },
    "reduce": {
        "linear": linear.linear_reduce,
        "basic_linear": linear.basic_linear_reduce,
        "binomial_tree": trees.binomial_tree_reduce,
        "in_order_binomial_tree": trees.in_order_binomial_tree_reduce,
        "rabenseifner": recursive_doubling.rabenseifner_reduce,
        "balanced_rabenseifner": recursive_doubling.balanced_rabenseifner_reduce,
    },
    "allreduce": {
        "reduce_bcast": allreduces.reduce_bcast_allreduce,
        "basic_reduce_bcast": allreduces.basic_reduce_bcast_allreduce,
        "recursive_doubling": recursive_doubling.recursive_doubling_allreduce,
        "rabenseifner": recursive_doubling.rabenseifner_allreduce,
        "balanced_rabenseifner": recursive_doubling.balanced_rabenseifner_allreduce,
        "ring": allreduces.ring_allreduce,
        "open_mpi_ring": allreduces.open_mpi_ring_allreduce,
    },
    "gather": {
        "linear": linear.linear_gather,
        "basic_linear": linear.basic_linear_gather,
        "binomial_tree": trees.binomial_tree_gather,
    },
    "scatter": {
        "linear": linear.linear_scatter,
        "basic_linear": linear.basic_linear_scatter,
        "binomial_tree": trees.binomial_tree_scatter,
    },
    "allgather": {
        "linear": linear.linear_allgather,
        "ring": rings.ring_allgather,
        "pair": rings.pair_allgather,
        "logical_ring": rings.logical_ring_allgather,
        "neighbour_exchange": rings.neighbour_exchange_allgather,
        "bruck": bruck.bruck_allgather,
        "recursive_doubling": recursive_doubling.recursive_doubling_allgather,
    },
    "alltoall": {
        "linear": linear.linear_alltoall,
        "ring": rings.ring_alltoall,
        "pair": rings.pair_alltoall,
        "scattered": linear.scattered_alltoall,
        "bruck": bruck.bruck_alltoall,
    },
    "gatherv": {"linear": linear.linear_gatherv},
    "scatterv": {"linear": linear.linear_scatterv},
    "allgatherv": {
        "linear": linear.linear_allgatherv,
        "ring": rings.ring_allgatherv,
        "pair": rings.pair_allgatherv,
        "logical_ring": rings.logical_ring_allgatherv,
        "bruck": bruck.bruck_allgatherv,
        "recursive_doubling": recursive_doubling.recursive_doubling_allgatherv,
    },
    "alltoallv": {
        "linear": linear.linear_alltoallv,
        "pair": rings.pair_alltoallv,
        "scattered": linear.scattered_alltoallv,
    },
    "alltoallw": {"linear": linear.linear_alltoallv, "scattered": linear.scattered_alltoallv},
    "reduce_scatter": {
        "reduce_then_scatterv": linear.reduce_then_scatterv,
        "basic_reduce_then_scatterv": linear.basic_reduce_then_scatterv,
        "pair": rings.pair_reduce_scatter,
        "recursive_doubling": recursive_doubling.recursive_doubling_reduce_scatter,
        "halving": recursive_doubling.halving_reduce_scatter,
        "recursive_halving": recursive_doubling.recursive_halving_reduce_scatter,
    },
    "scan": {"linear": linear.linear_scan, "recursive_doubling": recursive_doubling.recursive_doubling_scan},
    "exscan": {"linear": linear.linear_scan, "recursive_doubling": recursive_doubling.recursive_doubling_scan},
    "neighbour": {"exchange": linear.linear_neighbour_exchange},
}

SIMGRID_NAMES: Final[dict[str, dict[str, str]]] = {
    "barrier": {
        "ompi_basic_linear": "linear",
        "ompi_tree": "binomial_tree",
        "ompi_bruck": "dissemination",
        "ompi_recursivedoubling": "recursive_doubling",
    },
    "bcast": {
        "flattree": "linear",
        "scatter_LR_allgather": "scatter_ring_allgather",
        "scatter_rdb_allgather": "scatter_recursive_doubling_allgather",
    },
    "reduce": {
        "ompi_basic_linear": "basic_linear",
        "flat_tree": "basic_linear",
        "binomial": "binomial_tree",
        "scatter_gather": "rabenseifner",
    },
    "allreduce": {
        "redbcast": "reduce_bcast",
        "rdb": "recursive_doubling",
        "rab_rdb": "rabenseifner",
        "lr": "ring",
    },
    "gather": {"ompi_basic_linear": "basic_linear", "ompi_binomial": "binomial_tree"},
    "scatter": {"ompi_basic_linear": "basic_linear", "ompi_binomial": "binomial_tree"},
    "allgather": {
        "NTSLR": "logical_ring",
        "ompi_neighborexchange": "neighbour_exchange",
        "rdb": "recursive_doubling",
    },
    "allgatherv": {"ompi_bruck": "bruck", "mpich_rdb": "recursive_doubling"},
    "alltoall": {"basic_linear": "linear"},
    "alltoallv": {"ompi_basic_linear": "linear", "ring": "pair"},
    "reduce_scatter": {
        "mpich_pair": "pair",
        "mpich_rdb": "recursive_doubling",
        "mpich_noncomm": "halving",
    },
}

_NON_BLOCKING: Final[dict[str, Algorithm]] = {
    "barrier": nonblocking.start_barrier,
    "bcast": nonblocking.start_bcast,
    "reduce": nonblocking.start_reduce,
    "allreduce": nonblocking.start_allreduce,
    "gather": nonblocking.start_gather,
    "scatter": nonblocking.start_scatter,
    "allgather": nonblocking.start_allgather,
    "alltoall": nonblocking.start_alltoall,
    "gatherv": nonblocking.start_gatherv,
    "scatterv": nonblocking.start_scatterv,
    "allgatherv": nonblocking.start_allgatherv,
    "alltoallv": nonblocking.start_alltoallv,
    "alltoallw": nonblocking.start_alltoallv,
    "reduce_scatter": nonblocking.start_reduce_scatter,
    "scan": nonblocking.start_scan,
    "exscan": nonblocking.start_scan,
    "neighbour": nonblocking.start_neighbour_exchange,
}

_BETWEEN_GROUPS: Final[dict[str, Algorithm]] = {
    "barrier": between_groups.through_the_first,
    "bcast": linear.inter_from_root,
    "reduce": linear.inter_to_root,
    "allreduce": between_groups.through_the_first,
    "gather": linear.inter_to_root,
    "scatter": linear.inter_from_root,
    "gatherv": linear.inter_gatherv,
    "scatterv": linear.inter_scatterv,
    "allgather": linear.inter_allgatherv,
    "allgatherv": linear.inter_allgatherv,
    "alltoall": linear.inter_alltoallv,
    "alltoallv": linear.inter_alltoallv,
    "alltoallw": linear.inter_alltoallv,
    "reduce_scatter": linear.inter_reduce_scatter,
    "reduce_scatter_block": linear.inter_reduce_scatter,
    "ibarrier": between_groups.start_barrier,
    "ibcast": between_groups.start_from_root,
    "ireduce": between_groups.start_to_root,
    "iallreduce": between_groups.start_allreduce,
    "igather": between_groups.start_to_root,
    "iscatter": between_groups.start_from_root,
    "igatherv": between_groups.start_gatherv,
    "iscatterv": between_groups.start_scatterv,
    "iallgather": between_groups.start_allgatherv,
    "iallgatherv": between_groups.start_allgatherv,
    "ialltoall": between_groups.start_alltoallv,
    "ialltoallv": between_groups.start_alltoallv,
    "ialltoallw": between_groups.start_alltoallv,
    "ireduce_scatter": between_groups.start_reduce_scatter,
    "ireduce_scatter_block": between_groups.start_reduce_scatter,
}

_VARYING: Final = {
    *("gatherv", "scatterv", "allgatherv", "alltoallv", "alltoallw", "reduce_scatter"),
    *("igatherv", "iscatterv", "iallgatherv", "ialltoallv", "ialltoallw", "ireduce_scatter"),
}

_DIVIDE_ENTRIES: Final = {
    *ALGORITHMS["allreduce"].values(),
    recursive_doubling.rabenseifner_reduce,
    recursive_doubling.balanced_rabenseifner_reduce,
}


def algorithms_of(op: str) -> dict[str, list[str]]:
    """The algorithms an operation can be made to use, and the names that SimGrid has for each where they differ."""
    theirs = SIMGRID_NAMES.get(op, {})
    return {name: [known for known, ours in theirs.items() if ours == name] for name in ALGORITHMS[op]}


def _with_equal_blocks(algorithm: Algorithm) -> Algorithm:
    """A reduce_scatter of blocks that are all as large as the rank's own."""

    def of_equal_blocks(rank: Value, n_ranks: int, root: Value, nbytes: Value) -> Schedule:
        return algorithm(rank, n_ranks, root, nbytes, EqualBlocks(nbytes), EqualBlocks(nbytes))

    return of_equal_blocks


ALGORITHMS["reduce_scatter_block"] = {
    name: _with_equal_blocks(algorithm) for name, algorithm in ALGORITHMS["reduce_scatter"].items()
}
ALGORITHMS.update({f"i{op}": {"linear": algorithm} for op, algorithm in _NON_BLOCKING.items()})
ALGORITHMS["ireduce_scatter_block"] = {"linear": _with_equal_blocks(nonblocking.start_reduce_scatter)}
ALGORITHMS.update({f"inter_{op}": {"linear": algorithm} for op, algorithm in _BETWEEN_GROUPS.items()})


def schedule_of(
    algorithm: str,
    rank: Value,
    n_ranks: int,
    root: Value = 0,
    nbytes: Value = 0,
    *,
    n_remote: int = 0,
    item_bytes: int = 1,
    tables: Sequence[Offsets] = (),
) -> Schedule:
    """What a rank does in an algorithm ("op:name"): its list of calls, or with symbols the program of every rank.

    Parameters
    ----------
    algorithm : str
        As `select` returns it.
    rank, root, nbytes : int or Formula
        Of the call.
    n_ranks : int
        Size of the communicator, or of the caller's group.
    n_remote : int
        Size of the other group.
    item_bytes : int
        Size of an entry of a reduction.
    tables : sequence of sequence of int
        What the rank brings along.
    """
    op, _, name = algorithm.partition(":")
    make = ALGORITHMS[op][name]
    out, into, targets, sources = (*tables, *[EqualBlocks(0)] * 4)[:4]
    if op in ("neighbour", "ineighbour"):
        return make(rank, out, into, targets, sources)
    if op.startswith("inter_"):
        return make(rank, n_ranks, n_remote, root, nbytes, out, into)
    if op in _VARYING:
        return make(rank, n_ranks, root, nbytes, out, into)
    if make in _DIVIDE_ENTRIES:
        return make(rank, n_ranks, root, nbytes, item_bytes)
    return make(rank, n_ranks, root, nbytes)


def program_of(algorithm: str, n_ranks: int, n_remote: int = 0, item_bytes: int = 1) -> list[int]:
    """The words of an algorithm's program for the kernel."""
    tables = [Table(k) for k in range(4)]
    return schedule_of(
        algorithm, RANK, n_ranks, ROOT, NBYTES, n_remote=n_remote, item_bytes=item_bytes, tables=tables
    ).words()
