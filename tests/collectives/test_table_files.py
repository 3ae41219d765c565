"""Files of Open MPI and MPICH choose algorithms as their libraries would."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest

from smpy.collectives.choice import selection_of
from smpy.collectives.facts import Query
from smpy.collectives.hosts import Hosts
from smpy.collectives.selection import Selection
from smpy.collectives.tables import SelectorRow
from smpy.errors import PlatformWarning, UsageError
from smpy.platforms.models.collective_tables import with_table
from smpy.platforms.models.machine_models import CollectiveChoice

RULES = """
3 # collectives
3 # alltoall
2 # sizes of communicators
4 2
0 2 0 0
1000 1 0 0
8 1
0 3 0 0
7 # bcast
1
16
3
0 6 0 0
2048 8 0 0     # from 2 KiB on
100000 0 0 0
6 1 2 1 0 3 0 0 # barrier
"""


def selection(tmp_path: Path, text: str) -> Selection:
    path = tmp_path / "rules.conf"
    path.write_text(text)
    return selection_of(with_table(CollectiveChoice("smpi"), str(path)))


def chosen(selection: Selection, operation: str, n_ranks: int, nbytes: int, **more: Any) -> str:
    query = Query(n_ranks, nbytes, **more)
    return selection.rules(operation).choose(query, lambda: Hosts(range(n_ranks))).name


def test_open_mpis_rules_choose_by_ranks_and_by_the_bytes_that_it_counts(tmp_path: Path) -> None:
    rules = selection(tmp_path, RULES)
    assert chosen(rules, "alltoall", 4, 249) == "pair"  # 996 bytes in all
    assert chosen(rules, "alltoall", 4, 250) == "linear"
    assert chosen(rules, "alltoall", 7, 250) == "linear"
    assert chosen(rules, "alltoall", 8, 10_000) == "bruck"
    assert chosen(rules, "alltoall", 2, 10) == "pair"  # fewer ranks than the first rule has
    assert chosen(rules, "bcast", 64, 2047) == chosen(rules, "bcast", 2, 0) == "doubling_tree"
    assert (
        chosen(rules, "bcast", 64, 2048) == chosen(rules, "bcast", 64, 99_999) == "scatter_recursive_doubling_allgather"
    )
    assert chosen(rules, "barrier", 9, 0) == "recursive_doubling"


def test_open_mpis_algorithm_0_and_what_has_no_rules_are_its_own_choice(tmp_path: Path) -> None:
    rules = selection(tmp_path, RULES)
    own = Selection(rules.table)
    assert rules.table == "openmpi-4"
    with_zero = selection(tmp_path, "1 3 1 0 2 0 2 0 0 1000 0 0 0")
    assert chosen(with_zero, "alltoall", 64, 100) == chosen(own, "alltoall", 64, 100) == "bruck"
    assert chosen(with_zero, "alltoall", 2, 100) == "pair"
    assert chosen(rules, "allgather", 64, 100) == chosen(own, "allgather", 64, 100)
    assert chosen(selection(tmp_path, "1 3 0"), "alltoall", 8, 10) == chosen(own, "alltoall", 8, 10)


def test_open_mpis_second_version_may_have_requests_on_the_line(tmp_path: Path) -> None:
    text = "rule-file-version-2\n1 3 1 0 2\n0 2 0 0 0\n500 1 0 0\n"
    assert chosen(selection(tmp_path, text), "alltoall", 4, 1000) == "linear"


def test_values_of_open_mpis_rules_that_are_not_taken_are_told(tmp_path: Path) -> None:
    with pytest.warns(PlatformWarning, match="fan-outs, segments and requests are not taken"):
        selection(tmp_path, "1 7 1 0 1 0 6 0 8192")
    with pytest.warns(PlatformWarning, match="alltoallw: Open MPI has no rules for it"):
        selection(tmp_path, "1 5 1 0 1 0 1 0 0")
    with pytest.warns(PlatformWarning, match="alltoall, row 2 is never reached"):
        selection(tmp_path, "1 3 1 0 2 0 2 0 0 0 1 0 0")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("# nothing\n", "the file ends where the number of collectives comes"),
        ("1\n3\n1\n4", "the file ends"),
        ("1\n99\n", "line 2: '99' stands where Open MPI's rules have a collective: say a whole number from 0 to 21"),
        ("1\nalltoall\n", "line 2: 'alltoall' stands where"),
        ("1 3 1 4 1\n5 2 0 0", "line 2: alltoall: the first message size is 5: begin at 0"),
        ("1 3 1 4 1\n0 9 0 0", "line 2: alltoall has no algorithm 9 of Open MPI's here: it has"),
        ("1 3 1 4 1\n0 2 0 0\n7", "line 3: '7' stands behind the last rule"),
        ("2 3 0\n3 0", "line 2: alltoall, collective 3, has rules already"),
        ("1 3 1 4 1 0 2 0 -1", "'-1' stands where Open MPI's rules have a segment size"),
        ('{"rule_file_version": 3, "collectives": {}}', "rules of Open MPI 6 in JSON are not read"),
    ],
)
def test_rules_that_are_not_open_mpis_are_refused_by_line(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(UsageError) as raised:
        selection(tmp_path, text)
    assert told in str(raised.value)
    assert "rules.conf" in str(raised.value)


def leaf(name: str) -> dict[str, Any]:
    return {f"algorithm=MPIR_{name}": {}}


TUNING = {
    "collective=alltoall": {
        "comm_type=intra": {
            "is_sendbuf_inplace=yes": leaf("Alltoall_intra_pairwise_sendrecv_replace"),
            "is_sendbuf_inplace=no": {
                "comm_size<8": {
                    "avg_msg_size<=32768": leaf("Alltoall_intra_scattered"),
                    "avg_msg_size=any": leaf("Alltoall_intra_pairwise"),
                },
                "comm_size=any": leaf("Alltoall_intra_brucks"),
            },
        },
        "comm_type=inter": leaf("Alltoall_inter_pairwise_exchange"),
    },
    "collective=reduce": {
        "comm_type=intra": {
            "avg_msg_size<2048": leaf("Reduce_intra_binomial"),
            "is_op_built_in=yes": {
                "count<pow2": leaf("Reduce_intra_binomial"),
                "count=any": leaf("Reduce_intra_reduce_scatter_gather"),
            },
            "is_op_built_in=no": leaf("Reduce_intra_binomial"),
        }
    },
    "collective=ibcast": {"comm_type=intra": leaf("Ibcast_intra_sched_auto")},
}


def test_a_tuning_file_of_mpichs_chooses_as_its_tests_do(tmp_path: Path) -> None:
    rules = selection(tmp_path, json.dumps(TUNING, indent=1))
    assert chosen(rules, "alltoall", 7, 32_768) == "scattered"
    assert chosen(rules, "alltoall", 7, 32_769) == "pair"
    assert chosen(rules, "alltoall", 8, 32_769) == "bruck"
    assert chosen(rules, "reduce", 8, 2047, n_entries=256) == "binomial_tree"
    assert chosen(rules, "reduce", 8, 2048, n_entries=256) == "balanced_rabenseifner"
    assert chosen(rules, "reduce", 8, 2048, n_entries=7) == "binomial_tree"
    assert chosen(rules, "reduce", 8, 2048, n_entries=256, is_predefined=False) == "binomial_tree"
    assert chosen(rules, "reduce", 8, 64, n_entries=8, commutative=False) == "in_order_binomial_tree"
    assert chosen(rules, "allgather", 8, 64) == chosen(Selection("mpich-4"), "allgather", 8, 64)


def test_mpichs_own_file_says_what_the_table_says(tmp_path: Path) -> None:
    tests = {
        "comm_size=pow2": {
            "total_msg_size<524288": leaf("Allgather_intra_recursive_doubling"),
            "total_msg_size=any": leaf("Allgather_intra_ring"),
        },
        "comm_size=any": {
            "total_msg_size<81920": leaf("Allgather_intra_brucks"),
            "total_msg_size=any": leaf("Allgather_intra_ring"),
        },
    }
    rules = selection(tmp_path, json.dumps({"collective=allgather": {"comm_type=intra": tests}}))
    for n_ranks in (2, 3, 7, 8, 100, 128):
        for nbytes in (1, 640, 819, 820, 4095, 4096, 9102, 9103, 65_535, 65_536, 300_000):
            own = chosen(Selection("mpich-4"), "allgather", n_ranks, nbytes)
            assert chosen(rules, "allgather", n_ranks, nbytes) == own


def test_mpichs_compositions_over_hosts_stand_above_its_file_which_chooses_their_parts(tmp_path: Path) -> None:
    tests = {
        "comm_hierarchy=node": leaf("Bcast_intra_scatter_ring_allgather"),
        "comm_hierarchy=any": leaf("Bcast_intra_binomial"),
    }
    rules = selection(tmp_path, json.dumps({"collective=bcast": {"comm_type=intra": tests}})).rules("bcast")

    def row(nbytes: int, host_of_rank: list[int], **more: Any) -> SelectorRow:
        return rules.row_for(Query(len(host_of_rank), nbytes, **more), lambda: Hosts(host_of_rank))

    two_hosts = [0] * 4 + [1] * 4
    assert (row(100, two_hosts).use, row(100, [0] * 8).parts) == ("two_level", ())
    assert row(100, [0] * 4, is_part=True).use == "scatter_ring_allgather"
    assert row(1_000_000, two_hosts).use == row(100, list(range(8))).use == "binomial_tree"


def test_an_algorithm_of_mpichs_that_is_not_here_is_told_once(tmp_path: Path) -> None:
    tests = {"comm_size<8": leaf("Barrier_intra_smp"), "comm_size=any": leaf("Barrier_intra_smp")}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        rules = selection(tmp_path, json.dumps({"collective=barrier": tests}))
    assert [str(each.message) for each in caught] == [
        "MPIR_Barrier_intra_smp has no algorithm here: the table mpich-4 chooses"
    ]
    assert chosen(rules, "barrier", 4, 0) == "dissemination"


def test_the_radix_of_an_algorithm_is_two_or_told(tmp_path: Path) -> None:
    name = "algorithm=MPIR_Barrier_intra_k_dissemination"
    tests = {"comm_size<9": {name: {"k=2": {}}}, "comm_size=any": {name: {"k=4": {}}}}
    with pytest.warns(PlatformWarning) as caught:
        selection(tmp_path, json.dumps({"collective=barrier": tests}))
    assert [str(each.message) for each in caught] == [
        "MPIR_Barrier_intra_k_dissemination with k=4 has no algorithm here: the table mpich-4 chooses"
    ]


def test_compositions_of_a_file_are_told_once_and_those_of_the_table_stand(tmp_path: Path) -> None:
    tests = {
        "comm_size=node_comm_size": {"composition=MPIDI_Allreduce_intra_composition_gamma": {}},
        "is_multi_threaded=yes": leaf("Allreduce_intra_ring"),
        "comm_size=any": {"composition=MPIDI_Allreduce_intra_composition_alpha": {}},
    }
    with pytest.warns(PlatformWarning) as caught:
        rules = selection(tmp_path, json.dumps({"collective=allreduce": {"comm_type=intra": tests}}))
    assert [str(each.message) for each in caught] == [
        "a composition over hosts has no algorithm here: the table mpich-4 chooses"
    ]
    for nbytes in (8, 100_000):
        assert chosen(rules, "allreduce", 8, nbytes) == chosen(Selection("mpich-4"), "allreduce", 8, nbytes)


def test_a_test_for_all_ranks_on_one_host_holds_there_alone(tmp_path: Path) -> None:
    tests = {
        "comm_size=node_comm_size": leaf("Alltoall_intra_brucks"),
        "comm_size=any": leaf("Alltoall_intra_pairwise"),
    }
    rules = selection(tmp_path, json.dumps({"collective=alltoall": {"comm_type=intra": tests}})).rules("alltoall")
    for hosts, use in (([0] * 4, "bruck"), ([0, 0, 1, 1], "pair"), ([0, 1, 2, 3], "pair")):
        assert rules.row_for(Query(4, 8), lambda hosts=hosts: Hosts(hosts)).use == use


def test_a_misspelled_collective_beside_others_is_told_by_file_line_and_key(tmp_path: Path) -> None:
    kept = '"collective=ibarrier": {}, "collective=ineighbor_alltoallw": {}, "collective=barrier": {},'
    text = '{%s\n"collective=bcst": {"algorithm=MPIR_Bcast_intra_binomial": {}}}'
    with pytest.warns(PlatformWarning) as caught:
        selection(tmp_path, text % kept.replace('barrier": {}', 'barrier": {"algorithm=dissemination": {}}'))
    assert [(Path(each.filename).name, each.lineno, str(each.message)) for each in caught] == [
        ("rules.conf", 2, "'collective=bcst' is no collective of MPICH's: did you mean 'bcast'?")
    ]


def test_rules_that_together_fit_every_call_leave_none_to_the_table(tmp_path: Path) -> None:
    tests = {"is_commutative=yes": leaf("Scan_intra_recursive_doubling"), "is_commutative=no": leaf("Scan_intra_smp")}
    with pytest.warns(PlatformWarning) as caught:
        rules = selection(tmp_path, json.dumps({"collective=scan": tests}))
    assert [str(each.message) for each in caught] == [
        "MPIR_Scan_intra_smp has no algorithm here: the table mpich-4 chooses"
    ]
    assert chosen(rules, "scan", 4, 8) == "recursive_doubling"


@pytest.mark.parametrize("tests", ['"collective=ibcast": {', '"collective=bcast": {"comm_type=inter": {'])
def test_a_tuning_file_of_which_no_rule_is_taken_is_told(tmp_path: Path, tests: str) -> None:
    text = "{" + tests + '"algorithm=MPIR_Bcast_intra_binomial": {}' + "}" * (1 + tests.count("{"))
    with pytest.warns(PlatformWarning, match="no rule is of a blocking collective within a group: the table mpich-4"):
        rules = selection(tmp_path, text)
    assert chosen(rules, "barrier", 4, 0) == "dissemination"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"collective=bcast": 3}', "'collective=bcast' has no object with tests"),
        ('{"collective=bcast": {\n"com_size<3": {}}}', "line 1: 'com_size<3' is no test of MPICH's that smpy knows"),
        ('{"collective=bcast": {\n"com_size<3": {}}}', "did you mean 'comm_size'?"),
        ('{"collective=bcast": {"comm_size<few": {}}}', "'comm_size<few' is a condition that smpy does not know"),
        ('{"collective=bcast": {"comm_size<3": 4}}', "'comm_size<3' has no object"),
        ('{"collective=bcast": {}, "comm_size<3": {}}', "'comm_size<3' stands where collectives do"),
    ],
)
def test_a_tuning_file_that_is_not_mpichs_is_refused_by_line(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(UsageError) as raised:
        selection(tmp_path, text)
    assert told in str(raised.value)
