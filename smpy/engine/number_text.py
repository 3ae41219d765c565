"""Text of templates and whole numbers, for exporters that write millions of lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from smpy.engine.kernel import ffi, lib

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BLANK: Final[bytes] = bytes([lib.NUMBER_TEXT_BLANK])
"""Byte of a template that stands for a number."""


def fill_templates(
    templates: Sequence[bytes], template_of_row: NDArray[np.int8], numbers: NDArray[np.int64]
) -> memoryview:
    """Text of rows.

    Parameters
    ----------
    templates : sequence of bytes
        Templates, with a `BLANK` for each number.
    template_of_row : array of int, [rows]
        Number of the template of each row.
    numbers : array of int, [rows, columns]
        Numbers of each row; a template takes the first ones.
    """
    import numpy as np

    n_blanks = np.array([template.count(BLANK) for template in templates])
    n_others = np.array([len(template) for template in templates]) - n_blanks
    n_rows, width = numbers.shape
    if n_blanks.max() > width:
        raise ValueError("a template has more blanks than a row has numbers")
    room = (n_others + n_blanks * lib.NUMBER_TEXT_DIGITS)[template_of_row].sum()
    first = np.cumsum([0, *map(len, templates)], dtype=np.int32)
    text = np.empty(int(room), np.uint8)
    n_bytes = lib.number_text_fill(
        b"".join(templates),
        ffi.from_buffer("int[]", first),
        n_rows,
        ffi.from_buffer("int8_t[]", np.ascontiguousarray(template_of_row, np.int8)),
        ffi.from_buffer("int64_t[]", np.ascontiguousarray(numbers, np.int64)),
        width,
        ffi.from_buffer("char[]", text),
    )
    return text[:n_bytes].data
