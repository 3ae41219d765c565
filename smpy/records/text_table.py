"""Plain-text tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def text_table(head: Sequence[str], rows: Iterable[Sequence[str]], n_words: int = 0) -> str:
    """Columns aligned to the right; the last `n_words` columns, of words, to the left.

    Parameters
    ----------
    head : sequence of str
        Title of each column.
    rows : iterable of sequence of str
        Cells.
    n_words : int
        Number of columns, at the end, that are of words.
    """
    lines = [head, *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    return "\n".join(
        "  "
        + "  ".join(
            cell.ljust(width) if i >= len(head) - n_words else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
