"""Pages of the site that are made from the code."""

from __future__ import annotations

import inspect
from importlib import import_module

from costs import costs_page

SECTIONS = {
    "smpy": "For programs, and to run them",
    "smpy.analysis": "Analyses of traces",
    "smpy.errors": "Errors",
}
COMMANDS = """
.. click:: smpy.cli.main:main
   :prog: smpy
   :nested: full
"""


def made_pages() -> dict[str, str]:
    """Text of each page, by its name in the site."""
    return {
        "commands.rst": heading("Commands and their options", "=") + COMMANDS,
        "costs.md": costs_page(),
        "python.rst": heading("Python names", "=") + "".join(names_of(*section) for section in SECTIONS.items()),
    }


def heading(title: str, line: str) -> str:
    return f"{title}\n{line * len(title)}\n"


def names_of(name: str, title: str) -> str:
    """Public names of a module, each with its docstring."""
    module = import_module(name)
    public = getattr(module, "__all__", None) or [
        key for key, value in vars(module).items() if inspect.isclass(value) and value.__module__ == name
    ]
    text = f"\n{heading(title, '-')}\n"
    for key in public:
        value = getattr(module, key)
        if inspect.isclass(value):
            text += f".. autoclass:: {name}.{key}\n   :members:\n\n"
        elif callable(value):
            text += f".. autofunction:: {name}.{key}\n\n"
    return text
