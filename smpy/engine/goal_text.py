"""The rows of a program in GOAL, made of its text by the kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from smpy.engine.kernel import ffi, lib
from smpy.engine.trace import dtype_of
from smpy.errors import SmpyError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_REASONS: Final = {
    getattr(lib, f"GOAL_{name.upper()}"): name
    for name in (
        *("no_head", "bad_ranks", "few_ranks", "no_rank", "other_rank", "unclosed", "no_statement", "way", "too_large"),
        *("other_unit", "bad_peer", "bad_tag", "label_twice", "no_label", "cycle", "unfed"),
    )
}


class GoalTextError(SmpyError):
    """A text that is no program in GOAL: `why` it is none, and numbers of the kernel's `goal_error` as `error`."""

    def __init__(self, why: str, error: Any) -> None:
        super().__init__(why)
        self.why, self.error = why, error


@dataclass(frozen=True, slots=True, eq=False)
class GoalRows:
    """Rows of the ranks of a program, each rank's together.

    Attributes
    ----------
    rows : structured array, [rows]
        Rows of `actions`; the amount of `work` is in nanoseconds, and the line of an operation is that in the file.
    first_of_rank : array of int, [ranks + 1]
        Number of the first row of each rank, and of all rows.
    rank_of_added : array of int
        Ranks of the timelines beyond the first ones, whose numbers follow those of the ranks.
    has_wildcards : bool
        Whether a receive takes a message from any source, or of any tag.
    """

    rows: NDArray[np.void]
    first_of_rank: NDArray[np.int64]
    rank_of_added: NDArray[np.int32]
    has_wildcards: bool
    _owner: Any

    def part(self, first: int, n: int, speed: float) -> NDArray[np.void]:
        """Copies n rows, with the seconds of work on a CPU that is so many times as fast."""
        import numpy as np

        part: NDArray[np.void] = np.empty(n, self.rows.dtype)
        lib.goal_time(self._owner.row + first, n, speed, ffi.from_buffer("trace_action[]", part, require_writable=True))
        return part


def rows_of_text(text: bytes) -> GoalRows:
    """Rows of a program.

    Raises
    ------
    GoalTextError
        If it is none.
    MemoryError
        If there is no room for them.
    """
    import numpy as np

    error = ffi.new("goal_error *")
    program = lib.goal_read(text, len(text), error)
    if not program:
        if not error.why:
            raise MemoryError("no room for the operations of the program")
        raise GoalTextError(_REASONS[error.why], error)
    program = ffi.gc(program, lib.goal_free)
    n_ranks = program.n_ranks

    def array(pointer: Any, n: int, kind: Any) -> NDArray[Any]:
        size = n * np.dtype(kind).itemsize
        return np.frombuffer(ffi.buffer(pointer, size), kind) if n else np.empty(0, kind)

    first_of_rank = array(program.first_row, n_ranks + 1, np.int64)
    return GoalRows(
        array(program.row, int(first_of_rank[-1]), dtype_of("actions")),
        first_of_rank,
        array(program.rank_of_added, program.n_added, np.int32),
        bool(program.has_wildcards),
        program,
    )
