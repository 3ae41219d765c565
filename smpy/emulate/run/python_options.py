"""Command line of Python: the program that it names, and the `sys.flags` that its options set."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any, Final, NamedTuple

_FLAGS: Final[dict[str, tuple[str, ...]]] = {
    "d": ("debug",),
    "i": ("inspect", "interactive"),
    "O": ("optimize",),
    "B": ("dont_write_bytecode",),
    "s": ("no_user_site",),
    "S": ("no_site",),
    "E": ("ignore_environment",),
    "v": ("verbose",),
    "b": ("bytes_warning",),
    "q": ("quiet",),
    "I": ("isolated", "ignore_environment", "no_user_site", "safe_path"),
    "P": ("safe_path",),
}
_SWITCHES: Final = {"dev": "dev_mode", "utf8": "utf8_mode", "utf8=1": "utf8_mode"}  # of option -X


class PythonLine(NamedTuple):
    """Program of a command line of Python.

    Attributes
    ----------
    kind : str
        Program's kind: "script", "module", "text", or empty when there is none.
    what : str
        Its path, name or text.
    args : tuple of str
        Words that follow it.
    flags : object or None
        `sys.flags` with the options; None when they set none.
    """

    kind: str
    what: str
    args: tuple[str, ...]
    flags: Any = None


def read_python_line(arguments: tuple[str, ...]) -> PythonLine:
    """Read the arguments of Python."""
    args, counts = list(arguments), dict[str, int]()
    while args:
        arg = args.pop(0)
        if not arg.startswith("-"):
            return PythonLine("script", arg, tuple(args), _flags(counts))
        if arg == "-":
            break
        if arg.startswith("--"):
            del args[: arg == "--check-hash-based-pycs"]
            continue
        for place, letter in enumerate(arg[1:], 2):
            if letter in "mcWX":
                value = arg[place:] or (args.pop(0) if args else "")
                if letter in "mc" and value:
                    return PythonLine("module" if letter == "m" else "text", value, tuple(args), _flags(counts))
                if letter == "X" and value in _SWITCHES:
                    counts[_SWITCHES[value]] = 1
                break
            for flag in _FLAGS.get(letter, ()):
                counts[flag] = counts.get(flag, 0) + 1
    return PythonLine("", "", ())


def _flags(counts: dict[str, int]) -> Any:
    if not counts:
        return None
    kind: Any = type(sys.flags)
    flags = {name: getattr(sys.flags, name) for name in kind.__match_args__}
    flags.update({name: type(flags[name])(n) for name, n in counts.items() if name in flags})
    return SimpleNamespace(**flags)
