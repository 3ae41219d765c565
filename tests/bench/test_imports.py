"""Speed of the import of OTF2, beside the reader of its package."""

from __future__ import annotations

from pathlib import Path
from time import process_time

import pytest

import smpy
from tests.bench.table import Table

otf2 = pytest.importorskip("otf2")

pytestmark = [pytest.mark.bench, pytest.mark.timeout(1800)]

N_RANKS, N_ROUNDS, EVENTS_OF_ROUND = 8, 2000, 14
LEAST_SHARE = 0.6


def halo(folder: Path) -> Path:
    """Ranks of a ring that exchange messages by requests, and reduce a number, again and again."""
    with otf2.writer.open(str(folder), timer_resolution=10**9) as archive:
        definitions, mpi = archive.definitions, otf2.Paradigm.MPI
        region = {
            name: definitions.region(f"MPI_{name}", paradigm=mpi) for name in ("Irecv", "Isend", "Waitall", "Allreduce")
        }
        node = definitions.system_tree_node("node")
        groups = [definitions.location_group(f"MPI Rank {rank}", system_tree_parent=node) for rank in range(N_RANKS)]
        locations = [definitions.location("Master thread", group=group) for group in groups]
        kinds = otf2.GroupType
        definitions.group("", group_type=kinds.COMM_LOCATIONS, paradigm=mpi, members=locations)
        world = definitions.comm(
            "MPI_COMM_WORLD", definitions.group("world", group_type=kinds.COMM_GROUP, paradigm=mpi, members=locations)
        )
        for rank, location in enumerate(locations):
            events = archive.event_writer_from_location(location)
            after, before = (rank + 1) % N_RANKS, (rank - 1) % N_RANKS
            for number in range(N_ROUNDS):
                now = 1000 * number
                events.enter(now + 100, region["Irecv"])
                events.mpi_irecv_request(now + 105, 2 * number)
                events.leave(now + 110, region["Irecv"])
                events.enter(now + 200, region["Isend"])
                events.mpi_isend(now + 205, after, world, 1, 1000, 2 * number + 1)
                events.leave(now + 210, region["Isend"])
                events.enter(now + 300 + rank, region["Waitall"])
                events.mpi_irecv(now + 390, before, world, 1, 1000, 2 * number)
                events.mpi_isend_complete(now + 390, 2 * number + 1)
                events.leave(now + 400 + rank, region["Waitall"])
                events.enter(now + 500 + rank, region["Allreduce"])
                events.mpi_collective_begin(now + 500 + rank)
                size = 8 * N_RANKS
                events.mpi_collective_end(now + 600, otf2.CollectiveOp.ALLREDUCE, world, 2**32 - 1, size, size)
                events.leave(now + 600, region["Allreduce"])
    return folder / "traces.otf2"


def test_import_of_otf2_beside_the_reader_of_its_package(table: Table, folder: Path) -> None:
    path = halo(folder / "halo")
    n_events = N_RANKS * N_ROUNDS * EVENTS_OF_ROUND
    theirs, ours = [], []
    for number in range(3):
        began_s = process_time()
        with otf2.reader.open(str(path)) as trace:
            assert sum(1 for _ in trace.events) == n_events
        read_s = process_time()
        smpy.import_trace(path, folder / f"trace{number}")
        theirs.append(n_events / (read_s - began_s))
        ours.append(n_events / (process_time() - read_s))
    table.at_least("import of OTF2, beside its package's reader", max(ours), max(theirs), "events/s", LEAST_SHARE)
