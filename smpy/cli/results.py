"""Output of commands that print a result: text, JSON, and errors in one line."""

from __future__ import annotations

import io
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from smpy.cli.click_classes import grouped_option
from smpy.errors import JournalWarning, SmpyError, UsageError

if TYPE_CHECKING:
    from smpy.analysis.result import Result

EXIT_FAILURE: Final = 1
EXIT_USAGE: Final = 2

json_option: Final = grouped_option(
    "--json",
    "json_path",
    group="Records",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write it as JSON, too; -: only that.",
)


def _page(ctx: click.Context, param: click.Parameter, value: Path | None) -> Path | None:
    with errors_told():
        if value is not None and value.suffix != ".html":
            raise UsageError(f"{value}: --plot draws a page: name a file that ends with .html")
    return value


plot_option: Final = grouped_option(
    "--plot",
    "plot_path",
    group="Records",
    type=click.Path(path_type=Path),
    callback=_page,
    metavar="FILE.html",
    help="Draw it: a page that needs no network.",
)


@contextmanager
def errors_told() -> Iterator[None]:
    """Print an error of the body in one line and exit with its code; print each journal warning once."""
    printed: set[str] = set()
    before = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *args: Any, **names: Any) -> None:
        if not issubclass(category, JournalWarning):
            before(message, category, *args, **names)
        elif str(message) not in printed:
            printed.add(str(message))
            click.echo(f"smpy: {message}", err=True)

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", JournalWarning)
            warnings.showwarning = show
            yield
    except SmpyError as error:
        click.echo(f"smpy: {error}", err=True)
        sys.exit(EXIT_USAGE if isinstance(error, UsageError) else EXIT_FAILURE)


def tell(text: str, record: dict[str, Any], json_path: Path | None) -> None:
    """Print the text, and write the record to a file, if any; "-": print only the record."""
    if json_path is None:
        print_text(text)
        return
    import json
    from dataclasses import asdict, is_dataclass

    def plain(value: object) -> object:
        if is_dataclass(value) and not isinstance(value, type):
            return asdict(value)
        raise TypeError(f"{type(value).__name__} has no place in a record")

    written = json.dumps(record, default=plain, indent=1)
    if str(json_path) == "-":
        print_text(written)
        return
    from smpy.records.files import write_whole

    print_text(text)
    write_whole(json_path, f"{written}\n")


def show(result: Result, json_path: Path | None, plot_path: Path | None) -> None:
    """Draw a result, print its table, and write its record, as the options ask.

    Raises
    ------
    UsageError
        If a file cannot be written.
    """
    if plot_path is not None:
        from smpy.records.files import write_whole

        write_whole(plot_path, result.plot().to_html())
    tell(result.table(), result.to_record(), json_path)


def error_line(error: str) -> str:
    """Error of a run in one line: its first line, and the exception below it, without the traceback.

    Examples
    --------
    >>> error_line("rank 0 failed at 0 s:\\nTraceback (most recent call last):\\n  File ...\\nKeyError: 1\\n")
    'rank 0 failed at 0 s: KeyError: 1'
    """
    head, _, text = error.strip().partition("\n")
    lines = text.rpartition("Traceback (most recent call last):\n")[2].splitlines() if head.endswith(":") else ()
    return " ".join([head, *[line for line in lines if not line.startswith(" ")][:1]])


def print_text(text: str) -> None:
    """Print a text; characters that the terminal lacks are escaped."""
    try:
        click.echo(text)
    except UnicodeEncodeError:  # a character that this terminal lacks
        encoding = sys.stdout.encoding
        click.echo(text.encode(encoding, "backslashreplace").decode(encoding))
    except BrokenPipeError:  # click ends silently then, as is usual in a pipe
        raise
    except OSError as error:
        sys.stdout = io.StringIO()  # the old stream would write its rest at exit, and fail again
        raise UsageError(f"cannot write to standard output: {error.strerror}; make room for it") from None
