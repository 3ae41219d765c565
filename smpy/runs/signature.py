"""Options of a run in the signature and the docstring of a function that takes them as keywords."""

from __future__ import annotations

import re
from collections.abc import Callable
from inspect import Parameter, cleandoc, signature
from textwrap import fill, indent
from typing import Any, TypeVar

from smpy.options import OPTIONS

_Function = TypeVar("_Function", bound=Callable[..., Any])


def takes_options(function: _Function) -> _Function:
    """Decorate a function that takes `**options`: add the options of a run to its signature and docstring.

    The docstring has numpydoc's form; the options come before its section Returns.
    """
    whole = signature(function)
    own = [each for each in whole.parameters.values() if each.kind is not Parameter.VAR_KEYWORD]
    options = [option for option in OPTIONS.values() if option.keyword not in whole.parameters]
    named = [Parameter(option.keyword, Parameter.KEYWORD_ONLY, default=option.shown_default) for option in options]
    function.__signature__ = whole.replace(parameters=[*own, *named])  # type: ignore[attr-defined]
    if function.__doc__:  # python -OO has none
        texts = [f"{option.keyword}\n{indent(fill(_in_python(option.help), 112), ' ' * 4)}" for option in options]
        section = "\n".join(["Other Parameters", "----------------", *texts])
        before, returns, after = cleandoc(function.__doc__).partition("\nReturns\n")
        function.__doc__ = f"{before}\n{section}\n{returns}{after}"
    return function


def _in_python(text: str) -> str:
    """Description of an option, with Python names for the options in its text."""
    return re.sub(r"--([\w-]+)", lambda flag: flag[1].replace("-", "_"), text)
