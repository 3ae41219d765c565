"""Seeded mutations of platform and host files: bits flipped, parts lost or exchanged, numbers out of this world."""

from __future__ import annotations

import random
import re

NUMBERS = (
    "0", "-1", "1e400", "-1e400", "nan", "inf", "1e308", "1e-320", "99999999999999999999", "2147483648", "4294967296",
    "9" * 5000, "", "0x10", "1,2", "0-0", "0-1000000000", "7-3", "1;1;1;1", "2;1000000,1000000;1000000,1000000;1,1",
    "\u0661", "1_000", "  5 ", "5..6", "%d", "&lt;",
)  # fmt: skip
UNITS = ("", "Gf", "GF", "Yf", "GBps", "gbps", "YiBps", "us", "w", "ps", "MiB", "f", "kilometres", "\u00b5s")
WORDS = (
    "",
    "x" * 100_000,
    "a b",
    "\u00e9",
    "\ufffd",
    "__loopback__",
    "NONE",
    "FAT_TREE",
    "yes",
    "\u0000",
    "\ud800",
    "4.1",
)


VOCABULARY = (
    *("Full", "Floyd", "Dijkstra", "DijkstraCache", "Vivaldi", "Cluster", "None", "WIFI"),
    *("FLAT", "TORUS", "DRAGONFLY", "SPLITDUPLEX", "FATPIPE", "SHARED", "UP", "DOWN", "NO"),
    *("2,2", "1,4", "2;2,2;1,2;1,1", "2,1;2,1;2,1;1", "0 0 0", "1 2 3"),
    *("flat", "fat-tree", "torus", "dragonfly", "hyperx", "graph", "valiant", "minimal", "run", "half", "smpi", "ib"),
)  # fmt: skip


def mutate(data: bytes, seed: int) -> bytes:
    """One to three mutations, the same for a seed; of every second seed, only such as leave the syntax alone."""
    draw = random.Random(seed)
    mutations = WELL_FORMED if seed % 2 else MUTATIONS
    head = data.find(b"<platform") + 1 if draw.random() < 0.9 else 0  # text before it breaks all the rest
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        data = data[:head] + draw.choice(mutations)(data[head:], draw)
    return data


def _flip(data: bytes, draw: random.Random) -> bytes:
    at = draw.randrange(len(data) or 1)
    return data[:at] + bytes([(data[at] if data else 0) ^ 1 << draw.randrange(8)]) + data[at + 1 :]


def _cut(data: bytes, draw: random.Random) -> bytes:
    first = draw.randrange(len(data) + 1)
    return data[:first] + data[first + draw.choice((1, 1, 2, 50, len(data))) :]


def _pieces(pattern: str, data: bytes, draw: random.Random) -> list[re.Match[bytes]]:
    found = list(re.finditer(pattern.encode(), data))
    return draw.sample(found, min(2, len(found)))


def _replace(data: bytes, match: re.Match[bytes], text: bytes) -> bytes:
    return data[: match.start()] + text + data[match.end() :]


def _on_pieces(pattern: str, data: bytes, draw: random.Random) -> bytes:
    """Loses, doubles or exchanges what the pattern finds."""
    pieces = sorted(_pieces(pattern, data, draw), key=lambda piece: piece.start())
    if not pieces:
        return data
    how = draw.choice(("lose", "double", "exchange"))
    if how == "lose":
        return _replace(data, pieces[0], b"")
    if how == "double" or len(pieces) < 2:
        return _replace(data, pieces[0], pieces[0][0] * 2)
    return _replace(_replace(data, pieces[1], pieces[0][0]), pieces[0], pieces[1][0])


def _tag(data: bytes, draw: random.Random) -> bytes:
    return _on_pieces(r"<[^>]*>", data, draw)


def _attribute(data: bytes, draw: random.Random) -> bytes:
    return _on_pieces(r"\s\w+\s*=\s*[\"'][^\"']*[\"']", data, draw)


def _line(data: bytes, draw: random.Random) -> bytes:
    return _on_pieces(r"(?m)^[^\n]*\n", data, draw)


def _value(data: bytes, draw: random.Random) -> bytes:
    for piece in _pieces(r"(?<=[\"'])[^\"'\n]*(?=[\"'])|(?<=:)\d+", data, draw)[:1]:
        kind = draw.choice((NUMBERS, UNITS, WORDS))
        return _replace(data, piece, draw.choice(kind).encode("utf-8", "surrogatepass"))
    return data


def _number(data: bytes, draw: random.Random) -> bytes:
    for piece in _pieces(r"\d+(\.\d+)?", data, draw)[:1]:
        return _replace(data, piece, draw.choice(NUMBERS).encode())
    return data


def _unit(data: bytes, draw: random.Random) -> bytes:
    for piece in _pieces(r"(?<=\d)[A-Za-z]+", data, draw)[:1]:
        return _replace(data, piece, draw.choice(UNITS).encode())
    return data


def _element(data: bytes, draw: random.Random) -> bytes:
    """Loses, doubles or moves an element without others in it, or a line of a file of lines."""
    pieces = _pieces(r"<\w+[^>]*/>" if b"<" in data else r"(?<=\n)[^\n]*\n", data, draw)
    if not pieces:
        return data
    how = draw.choice(("lose", "double", "move"))
    if how == "lose":
        return _replace(data, pieces[0], b"")
    if how == "double" or len(pieces) < 2:
        return _replace(data, pieces[0], pieces[0][0] * 2)
    first, last = sorted(pieces, key=lambda piece: piece.start())
    return _replace(_replace(data, last, b""), first, last[0] + first[0])


def _meaning(data: bytes, draw: random.Random) -> bytes:
    """Gives a value that stands elsewhere in the file, or that means something there, to an attribute or a key."""
    known = re.findall(rb"(?<=[\"'])[\w,;:. -]+(?=[\"'])|(?<==)[\w,;:.-]+", data)
    words = [*(word.encode() for word in VOCABULARY), *known, *known]
    for piece in _pieces(
        r"(?<=[\w]=[\"'])[^\"'\n]*(?=[\"'])|(?<=\w = [\"'])[^\"'\n]*(?=[\"'])|(?<=\w=)[\w,;:.-]+", data, draw
    )[:1]:
        return _replace(data, piece, draw.choice(words))
    return data


def _digits(data: bytes, draw: random.Random) -> bytes:
    """A small number for another one."""
    for piece in _pieces(r"\d+", data, draw)[:1]:
        return _replace(data, piece, str(draw.choice((0, 1, 2, 3, 5, 7, 100))).encode())
    return data


WELL_FORMED = (_element, _element, _meaning, _meaning, _digits, _unit)
MUTATIONS = (_flip, _cut, _tag, _tag, _attribute, _attribute, _line, _value, _value, _number, _number, _unit)
