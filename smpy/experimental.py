"""Many MPI calls in one, for programs of thousands of ranks: it may change in any version, or go.

* `poll_until`: a loop of polls that the kernel turns
* `MessageProgram` and `AwaitedMessage`: messages, and modelled computing between them, that one call performs

`apps/hpl.py` takes a quarter of the processor time with them. Under a real MPI they make the single calls. They need
the compiled surface (not ``SMPY_SURFACE=python``).
"""

from __future__ import annotations

from smpy.engine.polling import poll_until
from smpy.engine.sequences import AwaitedMessage, MessageProgram

__all__ = ["AwaitedMessage", "MessageProgram", "poll_until"]
