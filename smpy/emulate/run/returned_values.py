"""Values that a function returns on each rank, pickled for the process that has called `smpy.simulate`."""

from __future__ import annotations

import pickle
import reprlib
from collections.abc import Mapping

from smpy.engine.engine import Engine
from smpy.engine.running import current, named_call, per_world
from smpy.errors import UsageError


class _Pickles:
    """Pickled values of a world, by rank."""

    def __init__(self) -> None:
        self.of_rank: dict[int, bytes] = {}


@named_call("")
def keep_returned(value: object) -> None:
    """Keep the value that the running rank's function returned, as it is now.

    Raises
    ------
    UsageError
        If it cannot be pickled.
    """
    try:
        data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    except Exception as error:  # noqa: BLE001  # classes raise what they like
        raise UsageError(
            f"it returned {reprlib.repr(value)}, which cannot be sent to the caller: {error}; return None, or plain "
            "values"
        ) from None
    per_world(_Pickles).of_rank[current().rank] = data


def returned_of(engine: Engine) -> Mapping[int, bytes]:
    """Pickled values that ranks have returned, by rank."""
    of_rank: Mapping[int, bytes] = engine.world_storage.get(_Pickles, _Pickles()).of_rank
    return of_rank
