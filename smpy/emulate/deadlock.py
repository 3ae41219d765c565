"""The deadlock report: who waits, in which call, where in the program, and what to look at."""

from __future__ import annotations

import os
from enum import IntEnum
from math import isnan
from typing import TYPE_CHECKING, Final

import smpy
from smpy.emulate.ranks_in_text import lines_by_rank, place_of, ranks_text
from smpy.engine.kernel import lib
from smpy.engine.messages import ANY, WaitingRank

if TYPE_CHECKING:
    from smpy.engine.engine import Engine

_OURS: Final = os.path.dirname(os.path.abspath(smpy.__file__)) + os.sep
_LINES_MAX: Final = 16  # of exact descriptions; more of them are put together by call and line
_HINTS_MAX: Final = 3


class WaitKind(IntEnum):
    """What a rank waits for, as the kernel numbers it."""

    SEND = lib.WAIT_SEND
    RECV = lib.WAIT_RECV
    SEVERAL = lib.WAIT_SEVERAL
    PROBE = lib.WAIT_PROBE
    COLLECTIVE = lib.WAIT_COLLECTIVE


def describe_deadlock(engine: Engine, home: str) -> str:
    """The whole message for a run in which no rank can go on.

    Parameters
    ----------
    engine : Engine
        The world, stopped where it is stuck.
    home : str
        The program's directory: file names are given from there.
    """
    waiting = engine.waiting()
    kinds = {wait.kind for wait in waiting}
    what = "wait and nothing will wake them"
    if kinds <= {WaitKind.RECV, WaitKind.PROBE}:
        what = "wait for messages nobody will send"
    elif kinds == {WaitKind.SEND}:
        what = "wait to send messages nobody will receive"
    who = "1 rank" if len(waiting) == 1 else f"{len(waiting)} ranks"
    if len(waiting) == 1:
        what = what.replace("wait", "waits", 1).replace("them", "it")
    head = f"at {engine.now_s:.9g} s, {who} {what}"
    places = {wait.rank: line_of(engine, wait.rank, home) for wait in waiting}
    lines = lines_by_rank([(wait.rank, _call(wait), places[wait.rank]) for wait in waiting])
    if len(lines) > _LINES_MAX:
        lines = lines_by_rank([(wait.rank, _kind_of_call(wait), places[wait.rank]) for wait in waiting])
    return "\n".join([head, *lines, *_hints(engine, waiting)])


def line_of(engine: Engine, rank: int, home: str) -> str:
    """File and line of the program's innermost frame."""
    frame = engine.frame_of(rank)
    while frame is not None and frame.f_code.co_filename.startswith(_OURS):
        frame = frame.f_back
    if frame is None:
        return ""
    return place_of(frame.f_code.co_filename, frame.f_lineno, home)


def _call(wait: WaitingRank) -> str:
    """The call a rank is in, as its program would write it."""
    comm = f" on communicator {wait.comm}" if wait.comm > 0 else ""
    match wait.kind:
        case WaitKind.COLLECTIVE:
            return f"{wait.call}({'non-blocking collective' if _is_completion(wait.call) else ''}){comm}"
        case WaitKind.SEND:
            operation = _operation(wait.call, "Isend", f"dest={wait.peer}, tag={wait.tag}")
            return f"{operation} of {wait.nbytes:,} bytes{comm}"
        case WaitKind.RECV | WaitKind.PROBE:
            source = "ANY_SOURCE" if wait.peer == ANY else wait.peer
            tag = "ANY_TAG" if wait.tag == ANY else wait.tag
            return _operation(wait.call, "Irecv", f"source={source}, tag={tag}") + comm
        case _:
            return f"{wait.call}({wait.n_requests} requests)"


def _operation(call: str, started_by: str, arguments: str) -> str:
    """`Recv(source=1, tag=7)`, or `Wait(Irecv(source=1, tag=7))` for what was started before."""
    return f"{call}({started_by}({arguments}))" if _is_completion(call) else f"{call}({arguments})"


def _is_completion(call: str) -> bool:
    """Whether a call waits for what another one has started."""
    return call.lower().startswith("wait")


def _kind_of_call(wait: WaitingRank) -> str:
    """The call without what differs between ranks."""
    match wait.kind:
        case WaitKind.COLLECTIVE:
            return f"{wait.call}()"
        case WaitKind.SEVERAL:
            return f"{wait.call}(several requests)"
        case WaitKind.SEND:
            return _operation(wait.call, "Isend", "dest=various")
        case _:
            return _operation(wait.call, "Irecv", "source=various")


# ---- what to look at ----


def _hints(engine: Engine, waiting: list[WaitingRank]) -> list[str]:
    ended = {rank for rank, finish_s in enumerate(engine.finish_s()) if not isnan(finish_s)}
    members = {comm: engine.world_ranks(comm) for comm in {wait.comm for wait in waiting} if comm >= 0}
    peers = {wait.rank: _world_peer(wait, members) for wait in waiting}
    return [
        *_about_collectives(waiting, members, ended)[:_HINTS_MAX],
        *_about_ended(peers, ended)[:_HINTS_MAX],
        *_about_tags(waiting, peers),
        *_about_pairs(waiting, peers, sends_are_synchronous=engine.sends_are_synchronous),
    ]


def _about_collectives(waiting: list[WaitingRank], members: dict[int, list[int]], ended: set[int]) -> list[str]:
    """Who is missing in a collective, or in another one."""
    entered: dict[int, dict[str, list[int]]] = {}
    for wait in waiting:
        if wait.kind == WaitKind.COLLECTIVE:
            entered.setdefault(wait.comm, {}).setdefault(wait.call, []).append(wait.rank)
    hints = []
    for comm, calls in entered.items():
        if len(calls) > 1:
            both = "; ".join(f"{ranks_text(ranks)} in {call}" for call, ranks in calls.items())
            hints.append(f"All ranks of a communicator must enter its collectives in the same order: {both}.")
            continue
        ((call, ranks),) = calls.items()
        missing = sorted(set(members[comm]) - set(ranks))
        if missing:
            gone = sorted(ended.intersection(missing))
            note = f" ({ranks_text(gone)} ended)" if gone else ""
            whose = " of its communicator" if comm else ""
            if _is_completion(call):
                hints.append(
                    f"A non-blocking collective completes when all ranks have started it: "
                    f"look at {ranks_text(missing)}{whose}{note}."
                )
            else:
                hints.append(f"{call} has not been entered by {ranks_text(missing)}{whose}{note}.")
    return hints


def _about_ended(peers: dict[int, int], ended: set[int]) -> list[str]:
    """Ranks that wait for one that has ended."""
    waited_for: dict[int, list[int]] = {}
    for rank, peer in peers.items():
        if peer in ended:
            waited_for.setdefault(peer, []).append(rank)
    return [
        f"Rank {peer} has ended: it will neither send to {ranks_text(ranks)} nor receive."
        for peer, ranks in waited_for.items()
    ]


def _about_tags(waiting: list[WaitingRank], peers: dict[int, int]) -> list[str]:
    """A send and a receive between the same ranks that do not match."""
    sends = {(w.rank, peers[w.rank], w.comm): w for w in waiting if w.kind == WaitKind.SEND}
    for wait in waiting:
        if wait.kind == WaitKind.RECV and wait.tag != ANY:
            send = sends.get((peers[wait.rank], wait.rank, wait.comm))
            if send is not None and send.tag != wait.tag:
                both = f"Rank {send.rank} sends to rank {wait.rank} with tag {send.tag}"
                return [f"{both}, which receives only tag {wait.tag}."]
    return []


def _about_pairs(waiting: list[WaitingRank], peers: dict[int, int], *, sends_are_synchronous: bool) -> list[str]:
    """What is usually wrong when point-to-point calls wait for each other."""
    pairs = {wait.rank: wait for wait in waiting if wait.kind != WaitKind.COLLECTIVE}
    kinds = {wait.kind for wait in pairs.values()}
    alone = [rank for rank in pairs if peers[rank] == rank]
    if alone:
        return [
            f"Rank {alone[0]} waits for a message from itself, or for itself to receive: it does neither meanwhile."
        ]
    if any(wait.call in ("Ssend", "ssend") for wait in pairs.values()):
        return ["A synchronous send waits for its receive: use Sendrecv, or Issend and a later Wait."]
    if WaitKind.SEND in kinds and sends_are_synchronous:
        return ["With --synchronous-sends every standard send waits for its receive: use Sendrecv, or Isend and Wait."]
    if WaitKind.SEND in kinds:
        return ["A Send above the eager limit waits for its receive: use Sendrecv, or Isend and a later Wait."]
    if any(wait.peer == ANY and wait.kind in (WaitKind.RECV, WaitKind.PROBE) for wait in pairs.values()):
        return ["A receive from ANY_SOURCE waits for one message more than is sent."]
    if WaitKind.SEVERAL not in kinds and any(peers[rank] in pairs for rank in pairs):
        return ["Each waits for another to send first: use Sendrecv, or let one of them send before it receives."]
    return []


def _world_peer(wait: WaitingRank, members: dict[int, list[int]]) -> int:
    """World rank of the other side, -1 when it is not one."""
    if wait.kind not in (WaitKind.SEND, WaitKind.RECV, WaitKind.PROBE) or wait.peer < 0:
        return -1
    return members[wait.comm][wait.peer]
