"""The deadlock report: the waiting ranks, their calls, their lines in the program, and hints."""

from __future__ import annotations

from collections.abc import Iterable
from math import isnan
from types import FrameType
from typing import TYPE_CHECKING, Final

from smpy.emulate.reports.collective_calls import CollectiveOfRank, collective_call, missing_ranks
from smpy.emulate.reports.ranks_in_text import lines_by_rank, place_of, ranks_text
from smpy.engine.messages import ANY, LeftKind, WaitingRank, WaitKind
from smpy.engine.thread_ranks import PASSED_OVER

if TYPE_CHECKING:
    from smpy.engine.engine import Engine
    from smpy.mpi.state.world import SharedBySides

_LINES_MAX: Final = 16  # number of exact descriptions; further ones are grouped by call and line
_HINTS_MAX: Final = 3


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
    calls = _collective_calls(engine, waiting)
    kinds = {WaitKind.COLLECTIVE if wait.timeline in calls else wait.kind for wait in waiting} - {WaitKind.PARKED}
    what = "wait and nothing will wake them"
    if kinds and kinds <= {WaitKind.RECV, WaitKind.PROBE}:
        what = "wait for messages nobody will send"
    elif kinds == {WaitKind.SEND}:
        what = "wait to send messages nobody will receive"
    n_ranks = len({wait.rank for wait in waiting})
    who = "1 rank" if n_ranks == 1 else f"{n_ranks} ranks"
    if n_ranks == 1:
        what = what.replace("wait", "waits", 1).replace("them", "it")
    head = f"at {engine.now_s:.9g} s, {who} {what}"
    return "\n".join([head, *describe_waits(engine, waiting, home), *_hints(engine, waiting, calls, home)])


def describe_waits(engine: Engine, waiting: list[WaitingRank], home: str) -> list[str]:
    """One line for all ranks that wait in the same call at the same place."""
    calls = _collective_calls(engine, waiting)
    places = {wait.timeline: line_of(engine, wait.timeline, home) for wait in waiting}
    calls_of_ranks = [(wait.rank, _call(wait, calls.get(wait.timeline)), places[wait.timeline]) for wait in waiting]
    lines = lines_by_rank(calls_of_ranks)
    if len(lines) > _LINES_MAX:
        kinds_of_call = [_kind_of_call(wait, calls.get(wait.timeline)) for wait in waiting]
        lines = lines_by_rank(
            [(wait.rank, kind, places[wait.timeline]) for wait, kind in zip(waiting, kinds_of_call, strict=True)]
        )
    return lines


def _collective_calls(engine: Engine, waiting: list[WaitingRank]) -> dict[int, CollectiveOfRank]:
    """Collectives that ranks and their threads have entered, by timeline."""
    return {wait.timeline: call for wait in waiting if (call := collective_call(engine, wait)) is not None}


def line_of(engine: Engine, timeline: int, home: str) -> str:
    """File and line of the program's innermost frame."""
    frame = engine.frame_of(timeline)
    while frame is not None and frame.f_code.co_filename.startswith(PASSED_OVER):
        frame = frame.f_back
    return line_in(frame, home)


def line_in(frame: FrameType | None, home: str) -> str:
    """File and line of a frame of the program."""
    if frame is None:
        return ""
    return place_of(frame.f_code.co_filename, frame.f_lineno, home)


def _call(wait: WaitingRank, collective: CollectiveOfRank | None) -> str:
    """The call a rank is in, as its program would write it."""
    step = f", step {wait.step} of a MessageProgram" if wait.step >= 0 else ""
    thread = f"in thread {wait.thread}: " if wait.thread else ""
    return thread + _plain_call(wait, collective) + step


def _plain_call(wait: WaitingRank, collective: CollectiveOfRank | None) -> str:
    number = wait.comm if collective is None else collective.communicator.number
    comm = f" on communicator {number}" if number > 0 else ""
    if collective is not None:
        return _kind_of_call(wait, collective) + comm
    if wait.kind == WaitKind.WINDOW or wait.call.startswith("Win."):
        return _window_call(wait) + comm
    match wait.kind:
        case WaitKind.COLLECTIVE:
            return f"{wait.call}({'non-blocking collective' if _is_completion(wait.call) else ''}){comm}"
        case WaitKind.SEND:
            operation = _operation(wait.call, "Isend", f"dest={wait.peer}, tag={wait.tag}")
            return f"{operation} of {wait.nbytes:,} bytes{comm}"
        case WaitKind.STORAGE:
            return f"{wait.call}({wait.nbytes:,} bytes of a file)"
        case WaitKind.RECV | WaitKind.PROBE:
            source = "ANY_SOURCE" if wait.peer == ANY else wait.peer
            tag = "ANY_TAG" if wait.tag == ANY else wait.tag
            return _operation(wait.call, "Irecv", f"source={source}, tag={tag}") + comm
        case WaitKind.PARKED:
            return wait.call
        case _:
            return f"{wait.call}({wait.n_requests} requests)"


def _window_call(wait: WaitingRank) -> str:
    """Text such as `Win.Lock(rank=2), which rank 0 has locked`; a wait for a window has that rank as its tag."""
    call = f"{wait.call}(rank={wait.peer})"
    if wait.kind != WaitKind.WINDOW:
        return call
    return f"{call}, which rank {wait.tag} has locked" if wait.tag >= 0 else f"{call}, which others have locked"


def _operation(call: str, started_by: str, arguments: str) -> str:
    """Text such as `Recv(source=1, tag=7)`, or `Wait(Irecv(source=1, tag=7))` for an operation started before."""
    return f"{call}({started_by}({arguments}))" if _is_completion(call) else f"{call}({arguments})"


def _is_completion(call: str) -> bool:
    """Whether a call waits for, or tests, an operation that another call started."""
    return call.lower().startswith(("wait", "test", "get_status"))


def _kind_of_call(wait: WaitingRank, collective: CollectiveOfRank | None) -> str:
    """Text of the call without the parts that differ by rank."""
    if collective is not None:
        return f"{wait.call}({collective.name}())" if collective.is_started else f"{collective.name}()"
    if wait.kind == WaitKind.WINDOW or wait.call.startswith("Win."):
        return f"{wait.call}(rank=various)"
    match wait.kind:
        case WaitKind.COLLECTIVE:
            return f"{wait.call}()"
        case WaitKind.SEVERAL:
            return f"{wait.call}(several requests)"
        case WaitKind.PARKED:
            return wait.call
        case WaitKind.SEND:
            return _operation(wait.call, "Isend", "dest=various")
        case WaitKind.STORAGE:
            return f"{wait.call}(bytes of a file)"
        case _:
            return _operation(wait.call, "Irecv", "source=various")


# ---- hints ----


def _hints(engine: Engine, waiting: list[WaitingRank], calls: dict[int, CollectiveOfRank], home: str) -> list[str]:
    single = [  # for messages
        wait for wait in waiting if wait.timeline not in calls and wait.kind not in (WaitKind.WINDOW, WaitKind.PARKED)
    ]
    ended = {rank for rank, finish_s in enumerate(engine.finish_s()) if not isnan(finish_s)}
    members = {comm: engine.peers_of(comm) for comm in {wait.comm for wait in single} if comm >= 0}
    peers = {wait.rank: _world_peer(wait, members) for wait in single}
    return [
        *_about_collectives(calls.values(), ended)[:_HINTS_MAX],
        *_about_ended(peers, ended)[:_HINTS_MAX],
        *_about_unexpected(engine, single, peers, home)[:_HINTS_MAX],
        *_about_pairs(single, peers, sends_are_synchronous=engine.sends_are_synchronous),
    ]


def _about_collectives(calls: Iterable[CollectiveOfRank], ended: set[int]) -> list[str]:
    """Hints that name the ranks missing from the first collective of each communicator in which a rank waits."""
    first: dict[SharedBySides, CollectiveOfRank] = {}
    for call in calls:
        known = first.setdefault(call.communicator.joint, call)
        if call.place < known.place:
            first[call.communicator.joint] = call
    hints = []
    for call in first.values():
        missing = missing_ranks(call)
        gone = sorted(ended.intersection(missing))
        note = f" ({ranks_text(gone)} ended)" if gone else ""
        whose = " of its communicator" if call.communicator.number else ""
        if missing:
            hints.append(f"{call.name} has not been entered by {ranks_text(sorted(missing))}{whose}{note}.")
    return hints


def _about_ended(peers: dict[int, int], ended: set[int]) -> list[str]:
    """Ranks that wait for a rank that has ended."""
    waited_for: dict[int, list[int]] = {}
    for rank, peer in peers.items():
        if peer in ended:
            waited_for.setdefault(peer, []).append(rank)
    return [
        f"Rank {peer} has ended: it will neither send to {ranks_text(ranks)} nor receive."
        for peer, ranks in waited_for.items()
    ]


def _about_unexpected(engine: Engine, waiting: list[WaitingRank], peers: dict[int, int], home: str) -> list[str]:
    """Messages that match a waiting receive except in tag, communicator or source."""
    receiving = {wait.rank: wait for wait in waiting if wait.kind in (WaitKind.RECV, WaitKind.PROBE)}
    advice: dict[tuple[int, str], str] = {}
    for one in engine.left_over():
        wait = receiving.get(engine.target_of(one)) if one.kind == LeftKind.SEND else None
        if wait is None:
            continue
        is_source = wait.peer == ANY or one.rank == peers[wait.rank]
        is_tag = wait.tag in (ANY, one.tag)
        place = place_of(*one.line, home)
        sent = f"Rank {one.rank} sends to rank {wait.rank} with tag {one.tag}"
        where = f" ({place})" if place else ""
        if is_source and wait.comm == one.comm and not is_tag:
            advice.setdefault((wait.rank, "tag"), f"{sent}{where}, which receives only tag {wait.tag}.")
        elif is_source and is_tag and wait.comm != one.comm:
            theirs, mine = (_name_of_comm(comm) for comm in (one.comm, wait.comm))
            advice.setdefault((wait.rank, "comm"), f"{sent} on {theirs}{where}, which receives on {mine}.")
        elif is_tag and wait.comm == one.comm and not is_source:
            only = f"which receives only from rank {peers[wait.rank]}."
            advice.setdefault((wait.rank, "source"), f"{sent}{where}, {only}")
    return list(advice.values())


def _name_of_comm(comm: int) -> str:
    return f"communicator {comm}" if comm else "COMM_WORLD"


def _about_pairs(waiting: list[WaitingRank], peers: dict[int, int], *, sends_are_synchronous: bool) -> list[str]:
    """Hint at the usual mistake when point-to-point calls wait for each other; empty if it was not made."""
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
    """World rank of the other side; -1 if there is none."""
    if wait.kind not in (WaitKind.SEND, WaitKind.RECV, WaitKind.PROBE) or wait.peer < 0:
        return -1
    return members[wait.comm][wait.peer]
