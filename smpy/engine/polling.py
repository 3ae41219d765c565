"""Polls that a program repeats, with nothing in between, until they succeed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from smpy.engine.surface import surface

__all__ = ["poll_until"]


def poll_until(question: Callable[..., object], *arguments: Any, **named: Any) -> None:
    """Call ``question(*arguments, **named)`` until its answer is true.

    Under a simulated run a communicator's ``Iprobe`` is repeated by the kernel, without the program: the polls are the
    same ones, with the same dates, as those of ``while not comm.Iprobe(source, tag): pass``, and cost the simulator a
    tenth. Everything else, and every question under a real MPI, is asked in such a loop.

    Parameters
    ----------
    question : callable
        Function to call, such as ``comm.Iprobe`` or ``request.Test``.
    *arguments, **named
        Arguments of each call.

    Examples
    --------
    >>> answers = iter([False, False, True])
    >>> poll_until(lambda: next(answers))
    """
    if surface is None or not surface.poll_until(question, *arguments, **named):
        while not question(*arguments, **named):
            pass
