"""Entry point of `smpy` and `python -m smpy`: handles Ctrl-C and forks a run's guards before it imports the rest."""

from __future__ import annotations

import gc
import os
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType


def _leave(number: int, frame: FrameType | None) -> None:
    """Exit at once, without an exception: imports and callbacks from C swallow some."""
    os.write(2, b"smpy: interrupted before the simulation started\n")
    os._exit(128 + number)


if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else it is ignored, as in the background
    signal.signal(signal.SIGINT, _leave)

if sys.argv[1:2] == ["run"]:  # before imports, so that processes above the run are small
    from smpy.runs.guard import guard_this_process

    guard_this_process()
    gc.disable()  # until the run begins: imports leave little garbage, and each collection visits all that they make

from smpy.cli.main import main  # noqa: E402  # it is what takes time

if __name__ == "__main__":
    main()
