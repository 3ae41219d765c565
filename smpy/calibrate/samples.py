"""Raw measurements in a CSV file: each row is written as soon as it is measured, so that a measurement can resume.

The first line is a comment with the plan and place as JSON. A last line that was cut off is dropped.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from smpy.errors import UsageError
from smpy.input_files import read_input

SIZE_NAMES: Final = ("m", "n", "k", "batch", "bytes")
_COLUMNS: Final = ("kernel", *SIZE_NAMES, "cache", "repetition", "processor_s", "wall_s")
_HEAD: Final = "# smpy calibrate "
_END: Final = "# ended\n"
_WARNING: Final = "# warning: "


@dataclass(frozen=True, slots=True)
class KernelSample:
    """One measured time.

    Parameters
    ----------
    kernel : str
        Its name.
    sizes : tuple of (str, int)
        Names and values of its sizes.
    cache : str
        "warm": its operands were used just before; "cold": other memory was written in between.
    repetition : int
        The round it belongs to.
    processor_s, wall_s : float
        Time of one call, of the processor and of the clock on the wall.
    """

    kernel: str
    sizes: tuple[tuple[str, int], ...]
    cache: str
    repetition: int
    processor_s: float
    wall_s: float

    @property
    def visit(self) -> tuple[str, tuple[tuple[str, int], ...], int]:
        """Kernel, sizes and round of the measurement."""
        return self.kernel, self.sizes, self.repetition


@dataclass(frozen=True, slots=True)
class Recorded:
    """Content of a file of samples.

    Parameters
    ----------
    about : dict
        Plan and place of the measurement.
    samples : tuple of KernelSample
        In the order in which they were measured.
    is_ended : bool
        Whether nothing is left to measure.
    warnings : tuple of str
        Disturbances of the measurement.
    n_bytes : int
        Size of the file, as far as its rows are whole.
    """

    about: dict[str, Any]
    samples: tuple[KernelSample, ...]
    is_ended: bool
    warnings: tuple[str, ...]
    n_bytes: int


def read_samples(path: Path) -> Recorded:
    """The samples of a file.

    Raises
    ------
    UsageError
        If it cannot be read, or is no such file; with its line.
    """
    try:
        data = read_input(path, "file of measurements")
        text = data.decode()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is no file of measurements: it is no text") from error
    whole = text[: text.rfind("\n") + 1]
    head, _, rows = whole.partition("\n")
    names, _, rest = rows.partition("\n")
    about = _about(head)
    if about is None or (names and tuple(names.split(",")) != _COLUMNS):
        raise UsageError(f"{path} is no file of measurements of `smpy calibrate`: name another one")
    is_ended = rest.endswith(_END)
    samples = tuple(
        _sample(path, number, row)
        for number, row in enumerate(csv.reader(io.StringIO(rest)), start=3)
        if row and not row[0].startswith("#")
    )
    lines = rest.splitlines()
    warnings = tuple(line.removeprefix(_WARNING) for line in lines if line.startswith(_WARNING))
    return Recorded(about, samples, is_ended, warnings, len(whole.encode()))


def _about(head: str) -> dict[str, Any] | None:
    with suppress(ValueError):
        about = json.loads(head.removeprefix(_HEAD))
        if head.startswith(_HEAD) and isinstance(about, dict):
            return about
    return None


def _sample(path: Path, number: int, row: Sequence[str]) -> KernelSample:
    try:
        fields = dict(zip(_COLUMNS, row, strict=True))
        sample = KernelSample(
            fields["kernel"],
            tuple((name, int(fields[name])) for name in SIZE_NAMES if fields[name]),
            fields["cache"],
            int(fields["repetition"]),
            float(fields["processor_s"]),
            float(fields["wall_s"]),
        )
    except ValueError as error:
        raise UsageError(f"{path}: line {number} is no measurement: {','.join(row)!r}") from error
    if sample.cache not in ("warm", "cold") or not sample.sizes:
        raise UsageError(f"{path}: line {number} is no measurement: {','.join(row)!r}")
    return sample


class SampleFile:
    """A file of samples, written row by row.

    Parameters
    ----------
    path : Path
        The file; made if it does not exist.
    about : mapping
        Plan and place, for its first line.
    recorded : Recorded or None
        Content of the file so far, to go on from.

    Raises
    ------
    UsageError
        If it cannot be written; the rows that were written before are kept.
    """

    def __init__(self, path: Path, about: Mapping[str, Any], recorded: Recorded | None) -> None:
        self._path: Final = path
        try:
            self._descriptor: Final = os.open(path, os.O_WRONLY | os.O_CREAT, 0o666)
            self._n_bytes = 0 if recorded is None else recorded.n_bytes
            os.ftruncate(self._descriptor, self._n_bytes)
            os.lseek(self._descriptor, self._n_bytes, os.SEEK_SET)
        except OSError as error:
            raise self._error(error) from error
        if not self._n_bytes:
            self._append(f"{_HEAD}{json.dumps(about)}\n{','.join(_COLUMNS)}\n")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._descriptor)

    def add(self, samples: Sequence[KernelSample]) -> None:
        """Write the samples of a visit, all or none."""
        rows = []
        for sample in samples:
            sizes = dict(sample.sizes)
            fields = [sample.kernel, *(sizes.get(name, "") for name in SIZE_NAMES), sample.cache, sample.repetition]
            rows.append(f"{','.join(map(str, fields))},{sample.processor_s:.6e},{sample.wall_s:.6e}\n")
        self._append("".join(rows))

    def warn(self, text: str) -> None:
        """Note in a line that the measurement was disturbed from here on."""
        self._append(f"{_WARNING}{text}\n")

    def end(self) -> None:
        """Mark the measurement as complete."""
        self._append(_END)

    def _append(self, text: str) -> None:
        data = text.encode()
        try:
            left = data
            while left:
                left = left[os.write(self._descriptor, left) :]
        except OSError as error:
            os.ftruncate(self._descriptor, self._n_bytes)
            raise self._error(error) from error
        self._n_bytes += len(data)

    def _error(self, error: OSError) -> UsageError:
        return UsageError(
            f"cannot write {self._path}: {error.strerror or error}; what was measured before is kept: make room, or "
            "name a file in a folder that takes it, and run the same command again"
        )
