"""Formats a traceback for the program's author: without the frames of smpy's own machinery."""

from __future__ import annotations

import os
import re
import traceback
from pathlib import Path
from pickle import PickleError
from typing import Final

import smpy
from smpy.emulate.reports.ranks_in_text import place_of
from smpy.engine import running

_OURS: Final = str(Path(smpy.__file__).parent) + os.sep
_RAISING: Final = re.compile(r"^raise |\breal(_\w+)?\(")  # `real` is the function that one of ours replaces
_IMPORTS: Final = ("<frozen importlib._bootstrap>", "<frozen importlib._bootstrap_external>")


def report(error: BaseException) -> str:
    """Traceback of an error that a program raised.

    Frames of smpy and of the import system are left out. Frames at the very end stay unless the error was raised there
    on purpose: they show its origin.
    """
    try:
        return _full_report(error)
    except Exception:  # noqa: BLE001  # no memory, or the program has replaced what `traceback` needs
        return _short_report(error)


def line_of_error(error: BaseException, home: str) -> str:
    """File and line of the innermost frame of the program that an error has left."""
    place, at = "", error.__traceback__
    while at is not None:
        file = at.tb_frame.f_code.co_filename
        if not file.startswith(_OURS) and file not in _IMPORTS:
            place = place_of(file, at.tb_lineno, home)
        at = at.tb_next
    return place


def _short_report(error: BaseException) -> str:
    """Short traceback, made with almost no memory and without module `traceback`."""
    places = []
    at = error.__traceback__
    while at is not None:
        code = at.tb_frame.f_code
        if not code.co_filename.startswith(_OURS) and code.co_filename not in _IMPORTS:
            places.append(f'  File "{code.co_filename}", line {at.tb_lineno}, in {code.co_name}\n')
        at = at.tb_next
    try:
        what = f"{type(error).__name__}: {error}".removesuffix(": ")
    except Exception:  # noqa: BLE001  # its own __str__ is broken
        what = type(error).__name__
    return "Traceback (most recent call last):\n" + "".join(places) + what


def _full_report(error: BaseException) -> str:
    text = traceback.TracebackException.from_exception(error)
    _strip(text, set())
    if _is_purposeful(error) or _is_worded(error, text):
        _drop_tail(text)
        if not text.stack:
            return str(error)
    return "".join(text.format()).rstrip()


def _strip(text: traceback.TracebackException, seen: set[int]) -> None:
    """Drop our frames before the last frame that is not ours, here and in the errors that led to this one."""
    if id(text) in seen:
        return
    seen.add(id(text))
    last = max((i for i, frame in enumerate(text.stack) if not _is_ours(frame)), default=-1)
    text.stack[:] = [frame for i, frame in enumerate(text.stack) if i > last or not _is_ours(frame)]
    for other in (text.__cause__, text.__context__, *(text.exceptions or ())):
        if other is not None:
            _strip(other, seen)


def _drop_tail(text: traceback.TracebackException) -> None:
    """Drop all our frames, and the previous error if it was raised and handled within them."""
    text.stack[:] = [frame for frame in text.stack if not _is_ours(frame)]
    if text.__context__ is not None and all(_is_ours(frame) for frame in text.__context__.stack):
        text.__suppress_context__ = True


def _is_ours(frame: traceback.FrameSummary) -> bool:
    return frame.filename.startswith(_OURS) or frame.filename in _IMPORTS


def _is_purposeful(error: BaseException) -> bool:
    package = type(error).__module__.partition(".")[0]
    return package in ("smpy", "mpi4py") or isinstance(error, (ImportError, SyntaxError, PickleError))


def _is_worded(error: BaseException, text: traceback.TracebackException) -> bool:
    """Whether an error was raised on purpose, with a message for the program's author.

    An error from a Python function that one of ours replaces counts as raised on purpose too.
    """
    last = text.stack[-1] if text.stack else None
    if last is not None and not _is_ours(last):
        return False
    if getattr(error, "__notes__", None):
        return True
    if last is None:
        return False
    has_wrong_arguments = isinstance(error, TypeError) and last.filename == running.__file__  # before the call began
    return has_wrong_arguments or _RAISING.search(last.line or "") is not None
