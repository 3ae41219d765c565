"""Time that ranks take for the bytes of their messages: page faults, blocks of datatypes, copies of their own."""

from __future__ import annotations

import mmap
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from smpy.engine.running import current
from smpy.mpi import MPI
from smpy.platforms import Overhead, default_cluster
from tests.mpi.conftest import run_world

PAGE_S, HUGE_PAGE_S, BLOCK_S, COPY_BYTE_S = 1e-6, 1e-4, 1e-8, 1e-9
PAGE, HUGE_PAGE = 4096, 2 << 20
OWN_COPY, BLOCK = (Overhead(0, 0.0, COPY_BYTE_S),), (Overhead(0, BLOCK_S, 0.0),)


def untouched(nbytes: int, within: int | None = None) -> Any:
    """Bytes that nothing has touched, at the beginning of a page, or of a huge one."""
    memory = np.frombuffer(mmap.mmap(-1, nbytes + HUGE_PAGE), "u1")
    first = -memory.ctypes.data % HUGE_PAGE
    return memory[first : first + nbytes]


def touched(nbytes: int) -> Any:
    return np.ones(nbytes, "u1")


def extra_s(rank_main: Callable[[MPI.Comm], Any], n_ranks: int = 2, **costs: Any) -> list[float]:
    """Delay of each rank's end where its data costs what these numbers say."""

    def ends(**costs: Any) -> list[float]:
        models = default_cluster(n_ranks).models
        models = replace(models, calls=replace(models.calls, **costs))
        return run_world(n_ranks, lambda rank: rank_main(MPI.COMM_WORLD), models=models).finish_s

    return [with_costs - without for with_costs, without in zip(ends(**costs), ends(), strict=True)]


def close(*seconds: float) -> Any:
    return pytest.approx(seconds, rel=1e-9, abs=1e-15)


def to_second(room: Callable[[], Any], receive: Callable[[MPI.Comm, Any], Any]) -> Callable[[MPI.Comm], Any]:
    """Rank 0 sends 64 pages, and rank 1 receives them into `room()`."""

    def body(comm: MPI.Comm) -> None:
        if comm.rank == 0:
            comm.Send(touched(64 * PAGE), 1)
        else:
            receive(comm, room())

    return body


@pytest.mark.parametrize(
    "receive",
    [
        lambda comm, room: comm.Recv(room, 0),
        lambda comm, room: comm.Irecv(room, 0).Wait(),
        lambda comm, room: MPI.Request.Waitall([comm.Irecv(room, 0)]),
        lambda comm, room: MPI.Request.Waitany([comm.Irecv(room, 0)]),
    ],
    ids=["Recv", "Wait", "Waitall", "Waitany"],
)
def test_receive_takes_a_page_fault_for_each_untouched_page(receive: Callable[[MPI.Comm, Any], Any]):
    assert extra_s(to_second(lambda: untouched(64 * PAGE), receive), page_fault_s=PAGE_S) == close(0, 64 * PAGE_S)
    assert extra_s(to_second(lambda: touched(64 * PAGE), receive), page_fault_s=PAGE_S) == close(0, 0)


def test_second_receive_into_the_same_memory_takes_none():
    def body(comm: MPI.Comm) -> None:
        room = untouched(64 * PAGE)
        for _ in range(3):
            if comm.rank == 0:
                comm.Send(touched(64 * PAGE), 1)
            else:
                comm.Recv(room, 0)

    assert extra_s(body, page_fault_s=PAGE_S) == close(64 * PAGE_S, 64 * PAGE_S)  # rank 0 waits for rank 1


def test_pages_that_a_shorter_message_does_not_reach_stay_untouched():
    def body(comm: MPI.Comm) -> None:
        if comm.rank == 0:
            comm.Send(touched(10 * PAGE), 1)
        else:
            comm.Recv(untouched(64 * PAGE), 0)

    assert extra_s(body, page_fault_s=PAGE_S) == close(0, 10 * PAGE_S)


def test_large_buffer_has_huge_pages_and_small_ones_behind_them():
    n_bytes = 3 * HUGE_PAGE + 5 * PAGE

    def body(comm: MPI.Comm) -> None:
        if comm.rank == 0:
            comm.Send(touched(n_bytes), 1)
        else:
            comm.Recv(untouched(n_bytes), 0)

    costs = {"page_fault_s": PAGE_S, "huge_page_fault_s": HUGE_PAGE_S}
    assert extra_s(body, **costs) == close(0, 3 * HUGE_PAGE_S + 5 * PAGE_S)
    assert extra_s(body, page_fault_s=PAGE_S) == close(0, (3 * 512 + 5) * PAGE_S)


COLLECTIVES: dict[str, tuple[Callable[[MPI.Comm, Any, Any], Any], int, int]] = {
    "Allgather": (lambda comm, out, room: comm.Allgather(out[: 32 * PAGE], room), 64, 32),
    "Alltoall": (lambda comm, out, room: comm.Alltoall(out, room), 64, 32),
    "Alltoallv": (lambda comm, out, room: comm.Alltoallv([out, [32 * PAGE] * 2], [room, [32 * PAGE] * 2]), 64, 32),
    "Allreduce": (lambda comm, out, room: comm.Allreduce(out, room, MPI.MAX), 64, 64),
    "Scan": (lambda comm, out, room: comm.Scan(out, room, MPI.MAX), 64, 64),
    "Reduce_scatter_block": (
        lambda comm, out, room: comm.Reduce_scatter_block(out, room[: 32 * PAGE], MPI.MAX),
        32,
        64,
    ),
    "Ialltoall": (lambda comm, out, room: comm.Ialltoall(out, room).Wait(), 64, 32),
    "Neighbor_allgather": (
        lambda comm, out, room: comm.Create_cart([2], [True]).Neighbor_allgather(out[: 32 * PAGE], room),
        64,
        0,
    ),
}
"""Calls with 64 pages to send and room for 64: pages that each of two ranks writes, and that it copies itself."""


@pytest.mark.parametrize("name", COLLECTIVES)
def test_collective_takes_page_faults_of_its_result_and_the_copy_of_its_own_block(name: str):
    call, n_written, n_copied = COLLECTIVES[name]

    def body(comm: MPI.Comm) -> None:
        call(comm, touched(64 * PAGE), untouched(64 * PAGE))

    costs: dict[str, Any] = {"page_fault_s": PAGE_S, "own_copy": OWN_COPY}
    expected_s = n_written * PAGE_S + n_copied * PAGE * COPY_BYTE_S
    assert extra_s(body, **costs) == close(expected_s, expected_s)


def test_root_alone_copies_its_block_of_a_gather():
    def body(comm: MPI.Comm) -> None:
        comm.Gather(touched(8 * PAGE), touched(16 * PAGE) if comm.rank == 0 else None)

    assert extra_s(body, own_copy=OWN_COPY) == close(8 * PAGE * COPY_BYTE_S, 0)


def test_nothing_is_copied_in_place():
    def body(comm: MPI.Comm) -> None:
        comm.Allgather(MPI.IN_PLACE, touched(16 * PAGE))
        comm.Allreduce(MPI.IN_PLACE, touched(16 * PAGE), MPI.MAX)

    assert extra_s(body, own_copy=OWN_COPY) == close(0, 0)


def test_one_rank_copies_what_it_sends_to_itself():
    def body(comm: MPI.Comm) -> None:
        comm.Alltoall(touched(8 * PAGE), touched(8 * PAGE))
        comm.Sendrecv(touched(8 * PAGE), 0, 0, touched(8 * PAGE), 0, 0)

    assert extra_s(body, 1, own_copy=OWN_COPY) == close(2 * 8 * PAGE * COPY_BYTE_S)


def column(n_rows: int) -> MPI.Datatype:
    return MPI.DOUBLE.Create_vector(n_rows, 1, 7).Commit()


def scattered(n_rows: int) -> MPI.Datatype:
    return MPI.DOUBLE.Create_indexed([1] * n_rows, [7 * row + row % 2 for row in range(n_rows)]).Commit()


@pytest.mark.parametrize("n_rows", [10, 5000], ids=["eager", "rendezvous"])
@pytest.mark.parametrize("datatype", [column, scattered])
def test_both_ends_take_the_time_of_the_blocks_of_a_column(datatype: Callable[[int], MPI.Datatype], n_rows: int):
    def body(comm: MPI.Comm) -> None:
        matrix = np.ones((n_rows + 1, 7))
        if comm.rank == 0:
            comm.Send([matrix, 1, datatype(n_rows)], 1)
        else:
            current().sleep(0.1)  # the message has come: the rank's own work alone delays it
            comm.Recv([matrix, 1, datatype(n_rows)], 0)

    sent_s, received_s = extra_s(body, block=BLOCK)
    assert received_s == pytest.approx(n_rows * BLOCK_S, rel=1e-9, abs=1e-15)
    assert sent_s == pytest.approx(n_rows * BLOCK_S * (n_rows == 10), rel=1e-9, abs=1e-15)  # else it waits for rank 1


def test_dense_datatype_has_no_blocks():
    def body(comm: MPI.Comm) -> None:
        pair = MPI.DOUBLE.Create_contiguous(2).Commit()
        comm.Sendrecv([np.ones(8), 4, pair], 1 - comm.rank, 0, [np.ones(8), 4, pair], 1 - comm.rank, 0)

    assert extra_s(body, block=BLOCK) == close(0, 0)


def test_column_in_a_collective_takes_its_blocks_on_either_side():
    def gathers(comm: MPI.Comm) -> None:
        comm.Allgather([np.ones((51, 7)), 1, column(50)], [np.ones(100), 50, MPI.DOUBLE])

    def scatters(comm: MPI.Comm) -> None:
        comm.Allgather([np.ones(50), 50, MPI.DOUBLE], [np.ones((101, 7)), 1, column(50)])

    assert extra_s(gathers, block=BLOCK) == close(50 * BLOCK_S, 50 * BLOCK_S)
    assert extra_s(scatters, block=BLOCK) == close(100 * BLOCK_S, 100 * BLOCK_S)


@pytest.mark.parametrize("datatype", [column, scattered])
@pytest.mark.parametrize(("n_rows", "times"), [(146, 1), (147, 5)])
def test_blocks_cost_what_the_memory_that_they_span_says(
    datatype: Callable[[int], MPI.Datatype], n_rows: int, times: int
):
    """The last of 146 blocks ends at most 8,136 bytes behind the start of the first, that of 147 blocks 8,184."""

    def body(comm: MPI.Comm) -> None:
        matrix = np.ones((n_rows + 1, 7))
        if comm.rank == 0:
            comm.Send([matrix, 1, datatype(n_rows)], 1)
        else:
            current().sleep(0.1)
            comm.Recv([matrix, 1, datatype(n_rows)], 0)

    by_span = Overhead(0, BLOCK_S, 0.0), Overhead(8150, 5 * BLOCK_S, 0.0)
    assert extra_s(body, block=by_span) == close(n_rows * times * BLOCK_S, n_rows * times * BLOCK_S)


@pytest.mark.parametrize(("n_pages", "times"), [(8, 1), (9, 3)])
def test_a_copy_costs_what_its_size_says(n_pages: int, times: int):
    def body(comm: MPI.Comm) -> None:
        comm.Alltoall(touched(n_pages * PAGE), touched(n_pages * PAGE))

    by_size = Overhead(0, 0.0, COPY_BYTE_S), Overhead(8 * PAGE, 0.0, 3 * COPY_BYTE_S)
    assert extra_s(body, 1, own_copy=by_size) == close(n_pages * PAGE * times * COPY_BYTE_S)
