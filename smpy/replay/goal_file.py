"""Reads programs in GOAL, the language of LogGOPSim: operations of each rank, ordered by their requirements.

GOAL is of Hoefler, Siebert & Lumsdaine 2009. A file has `num_ranks N`, then `rank r { ... }` for each rank with

    l1: calc 1000
    l2: send 100b to 3 tag 7
    l3: recv 100b from 3 tag 7
    l2 requires l1
    l3 irequires l1

Times are in nanoseconds. With `requires`, an operation waits for the end of another; with `irequires`, for its start.
Operations without a requirement between them are concurrent. A source or tag of -1 matches any. Comments are those of
C++.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from smpy.engine.goal_text import GoalTextError, rows_of_text
from smpy.errors import UsageError, meant
from smpy.input_files import read_input

if TYPE_CHECKING:
    from smpy.engine.goal_text import GoalRows

ANY: Final = -1
_NUMBER_MAX: Final = 1 << 53
_TAG_MAX: Final = (1 << 31) - 1
_RANKS_MAX: Final = 1 << 24
_SHOWN_MAX: Final = 40  # characters of an unknown word that an error shows
_LABEL: Final = re.compile(r"([A-Za-z_]\w*)\s*:")


@dataclass(frozen=True, slots=True)
class GoalProgram:
    """A program in GOAL: its path, and the rows of its ranks."""

    path: Path
    goal_rows: GoalRows

    @property
    def n_ranks(self) -> int:
        """Number of ranks."""
        return len(self.goal_rows.first_of_rank) - 1


def read_goal(path: str | Path) -> GoalProgram:
    """Read a program in GOAL.

    Raises
    ------
    UsageError
        If the file cannot be read, or is no program that can be performed: file, line and why.
    """
    path = Path(path)
    try:
        text = read_input(path, "GOAL file")
        if not text.isascii():
            text.decode()
    except OSError as wrong:
        raise UsageError(f"cannot read GOAL file {str(path)!r}: {wrong.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path}: this is no text") from None
    try:
        return GoalProgram(path, rows_of_text(text))
    except GoalTextError as wrong:
        raise UsageError(f"{path}, line {wrong.error.line}: {_sentence(wrong.why, wrong.error, text)}") from None


def _sentence(why: str, error: Any, text: bytes) -> str:
    """Reason why a text is not a valid program; `error` is the kernel's `goal_error`."""
    word = text[error.at : error.at + min(error.n_bytes, 4 * _SHOWN_MAX)].decode(errors="ignore").split("\n")[0].strip()
    verb, way = ("send", "to") if error.is_send else ("recv", "from")
    last = error.n_ranks - 1
    if why == "no_label":
        of_rank = text[error.rank_at :].decode().partition("}")[0]
        return f"rank {error.rank} has no label {word}{meant(word, _LABEL.findall(of_rank))}"
    if why == "other_rank":
        expected = f"rank {error.rank} comes next" if error.rank < error.n_ranks else f"num_ranks is {error.n_ranks}"
        return f"it is of rank {word}, and {expected}: ranks follow each other from 0"
    if why == "unfed":
        source = "any rank" if error.peer == ANY else f"rank {error.peer}"
        tag = "" if error.tag == ANY else f" with tag {error.tag}"
        return f"rank {error.rank} receives more from {source}{tag} than is sent"
    return {
        "no_head": "it does not begin with `num_ranks` and a number",
        "bad_ranks": f"num_ranks is {word}: a program has 1 to {_RANKS_MAX:,} ranks",
        "few_ranks": f"it ends behind rank {error.rank - 1}, and num_ranks is {error.n_ranks}",
        "no_rank": f"{word[:_SHOWN_MAX]!r} is no `rank {error.rank} {{`",
        "unclosed": f"the file ends within rank {error.rank}: there is a }} missing",
        "no_statement": f"{word[:_SHOWN_MAX]!r} is no statement: calc N, send Nb to R, recv Nb from R, A requires B",
        "way": f"{verb} ... {'from' if error.is_send else 'to'}: it is `send Nb to R`, and `recv Nb from R`",
        "too_large": f"{word} is too large: up to {_NUMBER_MAX}",
        "other_unit": f"{'nic' if error.is_nic else 'cpu'} {word}: a rank has one CPU and one network interface, 0",
        "bad_peer": f"{verb} of rank {error.rank} {way} rank {word}: there are ranks 0 to {last}",
        "bad_tag": f"{word} is no tag: from 0 to {_TAG_MAX}",
        "label_twice": f"the label {word} is there twice: it is in line {error.other_line}",
        "cycle": "it is in a cycle of requirements, or behind one",
    }[why]
