"""A program's greenlets belong to the rank that switches to them; event loops that wait in real time are refused.

gevent and eventlet have one loop per thread. All ranks share one thread: the loop would run greenlets of one rank
while another rank is running, and its waits would pass in real time.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from smpy.emulate.patches import Patches
from smpy.emulate.ranks import running
from smpy.errors import UsageError

if TYPE_CHECKING:
    from smpy.emulate.modules.imports import Importer

_LOOPS: Final = {"gevent.hub": "Hub", "eventlet.hubs.hub": "BaseHub"}
_PATCHERS: Final = {
    "gevent.monkey": "patch_",
    "eventlet": "monkey_patch",
}  # they replace functions of Python for all ranks


def refuse_loops(patches: Patches, importer: Importer) -> None:
    """Refuse ranks, but not their threads, to start the loop of such a package, until the patches are undone."""
    for module, kind in _LOOPS.items():
        importer.when_imported(module, partial(_refuse_loop, patches, module, kind))
    for module, prefix in _PATCHERS.items():
        importer.when_imported(module, partial(_refuse_patchers, patches, module, prefix))


def _refuse_loop(patches: Patches, module: str, name: str) -> None:
    kind: Any = getattr(import_module(module), name)
    patches.attribute(kind, "__init__", _refused(module, kind.__init__))


def _refuse_patchers(patches: Patches, name: str, prefix: str) -> None:
    module = import_module(name)
    for patcher in [patcher for patcher in vars(module) if patcher.startswith(prefix)]:
        patches.attribute(module, patcher, _refused(name, getattr(module, patcher)))


def _refused(module: str, real: Callable[..., Any]) -> Callable[..., Any]:
    package = module.partition(".")[0]

    @functools.wraps(real)
    def function(*args: Any, **kwargs: Any) -> Any:
        state = running()
        if state is not None and state.engine.is_here():
            raise UsageError(
                f"{package} waits in real time, in one loop for all that a thread runs; all ranks and their threads "
                f"are one thread here, and rank {state.rank} would run the others' greenlets: use asyncio, or "
                f"greenlets without {package}"
            )
        return real(*args, **kwargs)

    return function
