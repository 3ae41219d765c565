"""`run.json` of a trace: its writer seals it with a checksum; its reader checks seal and keys (`schema.md`)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from math import inf
from pathlib import Path
from typing import Any, Final

from smpy.errors import DamagedFileError, UsageError
from smpy.input_files import read_plain_file, strict_json
from smpy.records.trace_info_rules import broken_rule
from smpy.records.trace_layout import COLUMNS, INFO, READABLE, REMEDY, damaged

_SEAL: Final = "sha256"


# ---- writing ----


def info_text(summary: str, traced: Mapping[str, Any]) -> str:
    """Text of `run.json`.

    Parameters
    ----------
    summary : str
        The run's summary as JSON, a key a line.
    traced : mapping
        Object below the key `trace`.
    """
    head = summary.rstrip().removesuffix("\n}") + f',\n  "trace": {json.dumps(traced)}'
    return f'{head},\n  "{_SEAL}": "{_checksum(json.loads(head + "}"))}"\n}}\n'


def sealed(data: bytes) -> dict[str, Any]:
    """Size and checksum of a file, for `trace.files`."""
    return {"bytes": len(data), _SEAL: sha256(data).hexdigest()}


def _checksum(content: Mapping[str, Any]) -> str:
    """Checksum of a JSON object, independent of the layout of its text."""
    return sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def check_replaceable(folder: Path, program_path: str, *, overwrite: bool) -> None:
    """Refuse to replace the trace of another program, unless the user allows it.

    Parameters
    ----------
    folder : Path
        Folder for a new trace.
    program_path : str
        `trace.program_path` of the new trace.
    overwrite : bool
        Whether the trace of any program may be replaced.

    Raises
    ------
    UsageError
        If a trace of another program is there.
    """
    try:
        content = json.loads(read_plain_file(folder / INFO, "trace"))
        before = content["trace"].get("program_path", content["program"])
        is_same = before == program_path or (
            before == content["program"] and Path(before).name == Path(program_path).name
        )
    except (OSError, ValueError, RecursionError, KeyError, TypeError, AttributeError):  # no readable trace
        return
    if not is_same and not overwrite:
        raise UsageError(
            f"{folder} has a trace of {before}, and this run is of {program_path}: "
            "name another folder, or add --overwrite"
        )


# ---- reading ----


def read_info(folder: Path) -> dict[str, Any]:
    """Content of the `run.json` of a trace.

    Raises
    ------
    UsageError
        If there is no trace, if another version wrote it, or if it has changed since it was written.
    """
    path = folder / INFO
    try:
        content = strict_json(read_plain_file(path, "trace"))
    except OSError as error:
        if isinstance(error, FileNotFoundError) and any((folder / f"{table}.parquet").is_file() for table in COLUMNS):
            raise UsageError(f"{folder} is incomplete: the run ended before it wrote {path.name}: {REMEDY}") from error
        raise UsageError(
            f"{folder} is not a trace: {path.name}: {error.strerror}; name the folder that `smpy run --trace` wrote"
        ) from error
    except (ValueError, RecursionError) as error:  # no JSON, or not UTF-8
        raise damaged(f"{path} is damaged: {error}") from error
    if not isinstance(content, dict) or not isinstance(content.get("trace"), dict):
        raise UsageError(f"{path} is not of a trace: name the folder that `smpy run --trace` wrote")
    number = content["trace"].get("format")
    if number not in READABLE or isinstance(number, bool):
        raise UsageError(
            f"{folder} was recorded by another version of smpy, {content.get('smpy', 'which is not known')}: it is a "
            f"trace of format {number}; this version reads format {', '.join(map(str, READABLE))}: {REMEDY}"
        )
    try:
        is_sealed = content.get(_SEAL) == _checksum({key: value for key, value in content.items() if key != _SEAL})
    except RecursionError:  # lists nested almost too deeply for the reader of JSON are too deep for its writer
        is_sealed = False
    if not is_sealed:
        raise damaged(f"{path} has changed since it was written, or a part of it is missing")
    if broken := broken_rule(content):
        raise damaged(f"{path} is damaged: {broken}")
    window_s = content["trace"]["window_s"]
    if window_s is not None and window_s[1] is None:
        window_s[1] = inf
    return content


def check_file(folder: Path, name: str, files: Mapping[str, Any]) -> bool:
    """Check that a file of a trace has not changed; False if the file neither exists nor is listed.

    Parameters
    ----------
    folder : Path
        The trace.
    name : str
        Name of the file.
    files : mapping
        `trace.files` of its `run.json`.

    Raises
    ------
    DamagedFileError
        If it is missing, longer, shorter or changed, if it is no plain file, or no part of the trace.
    """
    path = folder / name
    known = files.get(name)
    if known is None:
        if path.exists():
            raise DamagedFileError(f"{path} is no part of this trace: remove it, or {REMEDY}")
        return False
    try:
        if not path.is_file():
            raise damaged(f"{path} {'is no plain file' if path.exists() else 'is missing'}")
        n_bytes = path.stat().st_size
        if n_bytes != known["bytes"]:
            how = "shorter" if n_bytes < known["bytes"] else "longer"
            raise damaged(f"{path} is {how} than when it was written: {n_bytes:,} of {known['bytes']:,} bytes")
        if _sum_of(path) != known[_SEAL]:
            raise damaged(f"{path} has changed since it was written")
    except OSError as error:
        raise damaged(f"{path} cannot be read: {error.strerror or error}") from error
    return True


def _sum_of(path: Path) -> str:
    total, block = sha256(), memoryview(bytearray(1 << 20))
    with path.open("rb", buffering=0) as file:
        while n_bytes := file.readinto(block):
            total.update(block[:n_bytes])
    return total.hexdigest()
