"""The kernel's accounts of each rank's calls, as columns."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from smpy.engine.kernel import ffi, lib

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_WORDS: Final = ffi.sizeof("call_account") // 8
_HALVES: Final = ffi.sizeof("call_account") // 4


@dataclass(frozen=True, slots=True, eq=False)
class Accounts:
    """A row for each rank and call site, in the order of first calls.

    Parameters
    ----------
    rank, call, line, comm : sequence of int
        World rank; numbers of the call and of its line, 0 for none; the communicator, -1 for none.
    count : sequence of int
        Number of calls.
    spent_s : sequence of sequence of float
        Seconds, a column for each kind in the order of `smpy.engine.time_categories.Spent`.
    sent_bytes, received_bytes : sequence of int
        Bytes in messages.
    messages_of_size : sequence of sequence of int
        Number of messages, a column for each size: 0 bytes, then by powers of 4.
    """

    rank: Sequence[int]
    call: Sequence[int]
    line: Sequence[int]
    comm: Sequence[int]
    count: Sequence[int]
    spent_s: Sequence[Sequence[float]]
    sent_bytes: Sequence[int]
    received_bytes: Sequence[int]
    messages_of_size: Sequence[Sequence[int]]


def accounts(sim: Any) -> Accounts:
    """Accounts of a finished world."""
    listed = ffi.new("const call_account **")
    n = lib.sim_accounts(sim, listed)
    content = memoryview(ffi.buffer(listed[0], n * ffi.sizeof("call_account")) if n else b"")  # the kernel's own
    ints, counts, words = content.cast("i"), content.cast("I"), content.cast("q")
    spent_s = content.cast("d")

    def member(name: str) -> int:
        return int(ffi.offsetof("call_account", name))

    first_kind, first_size = member("spent_s") // 8, member("messages_of_size") // 4
    rank, call, line, comm = (
        array("i", ints[member(field) // 4 :: _HALVES]) for field in ("rank", "call", "line", "comm")
    )
    count, sent, received = (
        array("q", words[member(field) // 8 :: _WORDS]) for field in ("count", "sent_bytes", "received_bytes")
    )
    return Accounts(
        rank=rank,
        call=call,
        line=line,
        comm=comm,
        count=count,
        spent_s=[array("d", spent_s[first_kind + kind :: _WORDS]) for kind in range(lib.SPENT_KINDS)],
        sent_bytes=sent,
        received_bytes=received,
        messages_of_size=[array("I", counts[first_size + size :: _HALVES]) for size in range(lib.ACCOUNT_SIZES)],
    )


def call_counts(sim: Any) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
    """Counts of the accounts in the middle of a run, without times; the accounts stay as they are.

    Returns
    -------
    sites : (n_accounts, 3) array of int
        Numbers of the call and its line, and the communicator.
    rank : (n_accounts,) array of int
        World rank.
    counts : (n_accounts, 4) array of int
        Calls, messages sent, bytes sent and bytes received.
    """
    import numpy as np  # a run without skipped iterations need not import it

    fields = {"call": "i4", "line": "i4", "comm": "i4", "rank": "i4", "count": "i8", "sent_bytes": "i8"}
    fields |= {"received_bytes": "i8", "messages_of_size": f"{lib.ACCOUNT_SIZES}u4"}
    row = np.dtype({
        "names": list(fields),
        "formats": list(fields.values()),
        "offsets": [ffi.offsetof("call_account", name) for name in fields],
        "itemsize": ffi.sizeof("call_account"),
    })  # fmt: skip
    listed = ffi.new("const call_account **")
    n = lib.sim_accounts_so_far(sim, listed)
    rows = np.frombuffer(ffi.buffer(listed[0], n * row.itemsize) if n else b"", row)
    messages = rows["messages_of_size"].sum(axis=1, dtype=np.int64)
    return (
        np.stack([rows["call"], rows["line"], rows["comm"]], axis=1),
        rows["rank"].copy(),
        np.stack([rows["count"], messages, rows["sent_bytes"], rows["received_bytes"]], axis=1),
    )


def skipped_s(sim: Any, n_ranks: int) -> array[float]:
    """Seconds of iterations that each rank did not perform."""
    seconds = array("d", bytes(8 * n_ranks))
    lib.sim_skipped_s(sim, ffi.from_buffer("double[]", seconds))
    return seconds


def kept_waiting_s(sim: Any, n_ranks: int) -> array[float]:
    """Seconds that each rank kept others waiting."""
    kept_s = array("d", bytes(8 * n_ranks))
    lib.sim_kept_waiting_s(sim, ffi.from_buffer("double[]", kept_s))
    return kept_s


def caused_waits_s(sim: Any, n_ranks: int) -> array[float]:
    """Part of the ranks' waits that is certainly due to each rank, in seconds."""
    caused_s = array("d", bytes(8 * n_ranks))
    lib.sim_caused_waits_s(sim, ffi.from_buffer("double[]", caused_s))
    return caused_s


def link_loads(sim: Any) -> list[tuple[int, int, float, float, float]]:
    """Rows of the links in use: number, most flows at once, bytes, seconds with flows, seconds full."""
    n = lib.sim_link_loads(sim, ffi.NULL)
    loads = ffi.new("link_load[]", max(n, 1))
    lib.sim_link_loads(sim, loads)
    return [(load.link, load.most_flows, load.bytes, load.busy_s, load.saturated_s) for load in loads[0:n]]


def message_pairs(sim: Any) -> tuple[bool, bytes]:
    """Messages by pair: whether pairs are of hosts, not ranks; and an unordered array of message_pair."""
    is_of_hosts = ffi.new("int *")
    n = lib.sim_message_pairs(sim, is_of_hosts, ffi.NULL)
    pairs = ffi.new("message_pair[]", max(n, 1))
    lib.sim_message_pairs(sim, is_of_hosts, pairs)
    return bool(is_of_hosts[0]), bytes(ffi.buffer(pairs))[: n * ffi.sizeof("message_pair")]


def account_energy_j(sim: Any, n_accounts: int) -> array[float]:
    """Joules above the idle power of hosts, of each account."""
    joules = array("d", bytes(8 * n_accounts))
    lib.sim_account_energy_j(sim, n_accounts, ffi.from_buffer("double[]", joules))
    return joules


def host_energy_j(sim: Any, n_hosts: int) -> tuple[array[float], bytearray]:
    """Joules of each host, NaN if its power is unknown; and whether it has computed."""
    joules, is_used = array("d", bytes(8 * n_hosts)), bytearray(n_hosts)
    lib.sim_host_energy_j(sim, ffi.from_buffer("double[]", joules), ffi.from_buffer("uint8_t[]", is_used))
    return joules, is_used


def link_energy_j(sim: Any, n_links: int) -> array[float]:
    """Joules of each link, NaN if its power is unknown."""
    joules = array("d", bytes(8 * n_links))
    lib.sim_link_energy_j(sim, ffi.from_buffer("double[]", joules))
    return joules
