"""Reads what a page holds, as its script does."""

from __future__ import annotations

import json
import re
import zlib
from base64 import b64decode
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


def unpacked(array: dict[str, Any]) -> NDArray[Any]:
    content = zlib.decompress(b64decode(array["content"]))
    return np.frombuffer(content, np.dtype(array["dtype"]).newbyteorder("<")).reshape(array["shape"])


def data_of(page: Path) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="page-data">(.*?)</script>', page.read_text(), re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def tiles_of(folder: Path) -> dict[str, tuple[str, dict[str, dict[str, NDArray[Any]]]]]:
    """Stamp and columns of each tile, by its name."""
    tiles = {}
    for path in folder.glob("*-*.js"):
        stamp, name, tables = json.loads("[" + path.read_text().removeprefix("addTile(").removesuffix(");\n") + "]")
        assert name == path.stem
        tiles[name] = (
            stamp,
            {
                table: {column: unpacked(array) for column, array in columns.items()}
                for table, columns in tables.items()
            },
        )
    return tiles
