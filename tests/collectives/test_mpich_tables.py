"""The choice of MPICH's tables, beside the conditions of its tuning files written out one by one."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import pytest

from smpy.collectives.facts import Query
from smpy.collectives.hosts import Hosts
from smpy.collectives.tables import table

LAYOUTS = {
    "one host": lambda rank, n_ranks: 0,
    "one rank a host": lambda rank, n_ranks: rank,
    "hosts of four": lambda rank, n_ranks: rank // 4,
    "dealt to two": lambda rank, n_ranks: rank % 2,
    "one beside others": lambda rank, n_ranks: int(rank == n_ranks - 1),
}
EDGES = (8, 256, 2048, 12_288, 32_768, 81_920, 524_288)
SIZES = sorted({1, 3, *(edge + step for edge in EDGES for step in (-1, 0, 1))})


class Asked(NamedTuple):
    """A call as MPICH's tests ask for it."""

    size: int
    nbytes: int
    total: int
    count: int
    commutative: bool
    built_in: bool
    regular: bool
    parent: bool
    one_node: bool
    consecutive: bool

    @property
    def pow2(self) -> bool:
        return self.size & (self.size - 1) == 0

    @property
    def count_below_pow2(self) -> bool:
        power = 1
        while 2 * power <= self.size:
            power *= 2
        return self.count < power


def device(operation: str, call: Asked) -> str:
    """MPICH 4.3.2, maint/tuning/coll/ch4/generic.json: our name of a composition; empty where all take part alike."""
    if operation == "bcast" and call.parent:
        if call.size < 8:
            return "two_level"
        if call.pow2:
            if call.nbytes < 12_288:
                return "two_level"
            return "two_level_host_of_root_first" if call.nbytes < 524_288 else ""
        return "two_level" if call.nbytes < 12_288 else ""
    if operation == "allreduce" and not call.one_node and call.parent:
        return "two_level" if call.commutative else ""
    if operation == "reduce" and call.parent and call.commutative:
        return "two_level_host_of_root_last" if call.nbytes <= 2048 else "two_level"
    if operation == "barrier" and call.parent:
        return "two_level"
    return "two_level" if operation == "scan" and call.consecutive else ""


def general(operation: str, call: Asked) -> str:  # noqa: C901  # as many conditions as the file has
    """MPICH 4.3.2, maint/tuning/coll/mpir/generic.json, of messages that are not empty and not in place."""
    if operation == "bcast":
        if call.size < 8 or call.nbytes <= 12_288:
            return "binomial_tree"
        if call.pow2 and call.nbytes <= 524_288:
            return "scatter_recursive_doubling_allgather"
        return "scatter_ring_allgather"
    if operation == "allreduce":
        if call.nbytes <= 8 or not call.built_in or call.count_below_pow2:
            return "recursive_doubling"
        return "balanced_rabenseifner"
    if operation in ("allgather", "allgatherv"):
        if call.pow2:
            return "recursive_doubling" if call.total < 524_288 else "logical_ring"
        return "bruck" if call.total < 81_920 else "logical_ring"
    if operation == "reduce":
        if not call.commutative:
            return "in_order_binomial_tree"  # its binomial tree, of an operation that keeps the order
        if call.nbytes <= 2048 or not call.built_in or call.count_below_pow2:
            return "binomial_tree"
        return "balanced_rabenseifner"
    if operation in ("reduce_scatter", "reduce_scatter_block"):
        if call.commutative:
            return "recursive_halving" if call.total < 524_288 else "pair"
        is_regular = operation == "reduce_scatter_block" or call.regular
        return "halving" if is_regular and call.pow2 else "recursive_doubling"
    if operation == "alltoall":
        if call.size > 8 and call.nbytes <= 256:  # comm_size<8, which csel.c compares by <= below is_sendbuf_inplace
            return "bruck"
        return "scattered" if call.nbytes <= 32_768 else "pair"
    return {
        "barrier": "dissemination",
        "scan": "recursive_doubling",
        "exscan": "recursive_doubling",
        "gather": "binomial_tree",
        "scatter": "binomial_tree",
        "gatherv": "linear",
        "scatterv": "linear",
        "alltoallv": "scattered",
        "alltoallw": "scattered",
    }[operation]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ["mpich-4", "mpich-5"])
def test_a_table_of_mpich_chooses_as_its_files_do_condition_by_condition(name: str, layout: str) -> None:
    kinds = [(True, True), (True, False), (False, False)]  # commutative, MPI's own
    for n_ranks, nbytes, (commutative, built_in) in product((1, 2, 3, 4, 7, 8, 9, 16, 17, 64), SIZES, kinds):
        hosts = Hosts(LAYOUTS[layout](rank, n_ranks) for rank in range(n_ranks))
        nodes = [LAYOUTS[layout](rank, n_ranks) for rank in range(n_ranks)]
        parent = len(set(nodes)) < n_ranks
        for operation, rules in table(name).items():
            if operation == "split":
                continue
            total = nbytes if operation in ("allgatherv", "reduce_scatter") else n_ranks * nbytes
            call = Asked(
                n_ranks,
                nbytes,
                total,
                count=nbytes,
                commutative=commutative,
                built_in=built_in,
                regular=nbytes % 2 == 0,
                parent=parent,
                one_node=parent and len(set(nodes)) == 1,
                # MPICH 5.0.1, commutil.c: ranks of one node are not counted among the consecutive ones
                consecutive=parent and nodes == sorted(nodes) and (name == "mpich-4" or len(set(nodes)) > 1),
            )
            query = Query(
                n_ranks,
                nbytes,
                commutative=commutative,
                is_predefined=built_in,
                n_entries=nbytes,
                total_bytes=total,
                are_equal=nbytes % 2 == 0,
            )
            told = f"{operation} of {nbytes} bytes on {n_ranks} ranks"
            row = rules.row_for(query, lambda hosts=hosts: hosts)
            composition = device(operation, call)
            assert row.use == (composition or general(operation, call)), told
            assert row.parts == ((("leaders", "mpich-4"), ("local", "mpich-4")) if composition else ()), told
            part = rules.row_for(query._replace(is_part=True), lambda hosts=hosts: hosts)
            assert part.use == general(operation, call), told
