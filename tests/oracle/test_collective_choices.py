"""Algorithms that Open MPI and MPICH chose for 500 drawn calls on one host, as breakpoints in their libraries saw."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from smpy.collectives.facts import Query
from smpy.collectives.hosts import Hosts
from smpy.collectives.tables import table

RECORD = json.loads(Path(__file__).with_name("collective_choices.json").read_text(encoding="utf-8"))
UNEQUAL = ("allgatherv", "reduce_scatter", "gatherv", "scatterv")  # rank i has i % 3 entries more
OPEN_MPI = {
    "allgather_intra_bruck": "bruck",
    "allgather_intra_recursivedoubling": "recursive_doubling",
    "allgather_intra_two_procs": "pair",
    "allgatherv_intra_basic_default": "gather_bcast",
    "allgatherv_intra_bruck": "bruck",
    "allgatherv_intra_neighborexchange": "neighbour_exchange",
    "allgatherv_intra_ring": "logical_ring",
    "allgatherv_intra_two_procs": "pair",
    "allreduce_intra_basic_linear": "linear_reduce_bcast",
    "allreduce_intra_nonoverlapping": "chosen_reduce_bcast",
    "allreduce_intra_recursivedoubling": "recursive_doubling",
    "allreduce_intra_redscat_allgather": "balanced_rabenseifner",
    "allreduce_intra_ring": "open_mpi_ring",
    "allreduce_intra_ring_segmented": "open_mpi_ring",
    "alltoall_intra_basic_linear": "linear",
    "alltoall_intra_bruck": "bruck",
    "alltoall_intra_linear_sync": "linear",
    "alltoall_intra_pairwise": "ring",
    "alltoall_intra_two_procs": "pair",
    "alltoallv_intra_basic_linear": "linear",
    "alltoallv_intra_pairwise": "pair",
    "barrier_intra_basic_linear": "linear",
    "barrier_intra_recursivedoubling": "recursive_doubling",
    "basic_alltoallw_intra": "linear",
    "basic_gatherv_intra": "linear",
    "basic_scatterv_intra": "linear",
    "bcast_intra_basic_linear": "linear",
    "bcast_intra_binomial": "doubling_tree",
    "bcast_intra_bintree": "binary_tree",
    "bcast_intra_chain": "chain",
    "bcast_intra_knomial": "radix_4_tree",
    "bcast_intra_pipeline": "chain",
    "bcast_intra_scatter_allgather": "scatter_recursive_doubling_allgather",
    "exscan_intra_linear": "linear",
    "gather_intra_basic_linear": "basic_linear",
    "gather_intra_binomial": "binomial_tree",
    "reduce_intra_basic_linear": "basic_linear",
    "reduce_intra_binary": "binary_tree",
    "reduce_intra_binomial": "posted_binomial_tree",
    "reduce_intra_chain": "chain",
    "reduce_intra_in_order_binary": "open_mpi_in_order_binary_tree",
    "reduce_intra_pipeline": "chain",
    "reduce_scatter_block_intra_butterfly": "butterfly",
    "reduce_scatter_block_intra_recursivehalving": "open_mpi_recursive_halving",
    "reduce_scatter_intra_basic_recursivehalving": "open_mpi_recursive_halving",
    "reduce_scatter_intra_nonoverlapping": "chosen_reduce_then_scatterv",
    "reduce_scatter_intra_ring": "open_mpi_ring",
    "scan_intra_linear": "linear",
    "scatter_intra_basic_linear": "basic_linear",
    "scatter_intra_binomial": "binomial_tree",
    "scatter_intra_linear_nb": "linear",
}
MPICH = {
    "binomial": "binomial_tree",
    "brucks": "bruck",
    "k_dissemination": "dissemination",
    "linear": "linear",
    "noncommutative": "halving",
    "pairwise": "pair",
    "recursive_doubling": "recursive_doubling",
    "recursive_halving": "recursive_halving",
    "reduce_scatter_allgather": "balanced_rabenseifner",
    "reduce_scatter_gather": "balanced_rabenseifner",
    "ring": "logical_ring",
    "scatter_recursive_doubling_allgather": "scatter_recursive_doubling_allgather",
    "scatter_ring_allgather": "scatter_ring_allgather",
    "scattered": "scattered",
}
COMPOSITIONS = {
    "Barrier_intra_composition_alpha": "two_level",
    "Bcast_intra_composition_alpha": "two_level",
    "Bcast_intra_composition_beta": "two_level_host_of_root_first",
    "Reduce_intra_composition_alpha": "two_level",
    "Reduce_intra_composition_beta": "two_level_host_of_root_last",
    "Scan_intra_composition_alpha": "two_level",
}


def query_of(call: dict[str, Any]) -> Query:
    n_ranks, item_bytes = call["ranks"], call["item_bytes"]
    counts = [call["count"] + (rank % 3 if call["op"] in UNEQUAL else 0) for rank in range(n_ranks)]
    is_of_all = call["op"] in ("allgatherv", "reduce_scatter", "reduce_scatter_block")
    return Query(
        n_ranks,
        call["count"] * item_bytes,
        commutative=call["commutative"],
        item_bytes=item_bytes,
        n_entries=sum(counts) if is_of_all else call["count"],
        total_bytes=sum(counts) * item_bytes if call["op"] in UNEQUAL else None,
        is_predefined=call["predefined"],
        are_equal=len(set(counts)) == 1,
    )


def chosen(name: str, call: dict[str, Any], **facts: bool) -> str:
    hosts = Hosts([0] * call["ranks"])
    return table(name)[call["op"]].choose(query_of(call)._replace(**facts), lambda: hosts).name


@pytest.mark.parametrize("name", ["openmpi-4", "openmpi-5"])
def test_a_table_of_open_mpi_chooses_what_its_library_did(name: str) -> None:
    assert len(RECORD["calls"]) == 500
    for call in RECORD["calls"]:
        of_operation = [each for each in call["open_mpi"] if each in OPEN_MPI and call["op"] in each]
        # The last one, to which others have left the call; a ring's rest is a part of ours.
        theirs = of_operation[0 if call["op"] == "allreduce" else -1] if of_operation else "reduce_then_scatter"
        ours = {"reduce_then_scatter": "chosen_reduce_then_scatterv", **OPEN_MPI}[theirs]
        assert chosen(name, call) == ours, call


@pytest.mark.parametrize("name", ["mpich-4", "mpich-5"])
def test_a_table_of_mpich_chooses_what_its_library_did_and_so_do_its_parts(name: str) -> None:
    for call in RECORD["calls"]:
        functions = call.get(name, call["mpich"])
        composition = next((COMPOSITIONS[each] for each in functions if each in COMPOSITIONS), None)
        prefix, wanted = call["op"].capitalize() + "_", [chosen(name, call, is_part=True)]
        if composition is not None:  # a part of the only host's first rank, too
            wanted.append(chosen(name, {**call, "ranks": 1, "root": 0}, is_part=True))
        if call["op"] == "reduce":  # MPICH's binomial tree keeps the order by itself
            wanted = [each.removeprefix("in_order_") for each in wanted]
        called = [each.removeprefix(prefix).removeprefix("intra_").removeprefix("allcomm_") for each in functions]
        assert sorted(MPICH[each] for each in called if each in MPICH) == sorted(wanted), call
        assert composition is None or chosen(name, call) == composition, call
        assert composition is not None or chosen(name, call) == chosen(name, call, is_part=True), call
