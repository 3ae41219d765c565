"""Silence for a library in C that writes to standard error, in place of its errors' sentences."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_STDERR: int = 2


@contextmanager
def library_silenced() -> Iterator[None]:
    """Send what C writes to standard error nowhere while the body runs; Python still writes there."""
    try:
        kept = os.dup(_STDERR)
    except OSError:  # it is closed
        yield
        return
    stream = sys.stderr
    try:
        is_on_it = stream.fileno() == _STDERR
    except (AttributeError, OSError, ValueError, io.UnsupportedOperation):
        is_on_it = False
    if is_on_it:
        stream.flush()
        sys.stderr = os.fdopen(os.dup(kept), "w", buffering=1, encoding=stream.encoding, errors=stream.errors)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, _STDERR)
    os.close(nowhere)
    try:
        yield
    finally:
        os.dup2(kept, _STDERR)
        os.close(kept)
        if is_on_it:
            sys.stderr.close()
            sys.stderr = stream
