"""Traces that have all actions of their runs: only these are replayed, or written as programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from smpy.errors import UsageError

if TYPE_CHECKING:
    from smpy.records.trace import Trace


def why_not_whole(trace: Trace) -> str | None:
    """Reason why a trace lacks actions of its run; None if it has all.

    Parameters
    ----------
    trace : Trace
        Trace of a run.
    """
    facts = trace.info["trace"]
    if not facts.get("is_complete", True):
        return "the run did not come to its end"
    if facts.get("can_replay"):
        return None
    if facts.get("window_s") is not None:
        return "it has a window of the run only"
    if facts.get("ranks") is not None:
        return "it has some ranks only"
    if trace.n_rows("threads"):
        return "its ranks have threads, and dates decide which of them takes a lock"
    return "it is of ranks with threads, or of hosts with --governor"


def check_whole(trace: Trace, purpose: str) -> None:
    """Refuse a trace that lacks actions of its run.

    Parameters
    ----------
    trace : Trace
        Trace of a run.
    purpose : str
        Purpose that only a whole trace serves, for the message: "be replayed".

    Raises
    ------
    UsageError
        Says why.
    """
    reason = why_not_whole(trace)
    if reason is not None:
        is_cut = not trace.info["trace"].get("is_complete", True)
        advice = "trace a whole run" if is_cut else "trace the whole run, without these"
        raise UsageError(f"{trace.folder} cannot {purpose}: {reason}: {advice}")


def check_performed(trace: Trace, purpose: str) -> None:
    """Refuse a trace of a run that skipped iterations; arguments and errors are those of `check_whole`."""
    if trace.info.get("skipped_share"):
        raise UsageError(
            f"{trace.folder}: iterations were skipped, and the trace lacks their calls: it cannot {purpose}; "
            "trace a run without --iterations"
        )
