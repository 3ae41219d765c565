"""A page in one file: its sections, their data, plotly's JavaScript and the scripts that draw."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from importlib import resources
from typing import Any, Final

from smpy.errors import UsageError
from smpy.records.time_words import KIND_WORDS

_GLOSSARY: Final = "https://github.com/smpy-mpi/smpy/blob/main/docs/glossary.md"


def plotly_script(extra: str) -> str:
    """All of plotly's JavaScript.

    Parameters
    ----------
    extra : str
        Extra of smpy to install where plotly is missing.

    Raises
    ------
    UsageError
        If plotly is not installed.
    """
    try:
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        raise UsageError(f"a report needs plotly: {error}; pip install '.[{extra}]'") from error
    script: str = get_plotlyjs()
    return script


def document(
    title: str, intro: str, sections: Mapping[str, str], data: Mapping[str, Any], plotly_js: str, files: Sequence[str]
) -> str:
    """HTML that needs no other file and no network.

    Parameters
    ----------
    title : str
        Title of the page.
    intro : str
        HTML above the first section.
    sections : mapping of str to str
        HTML by the title of each.
    data : mapping
        Data that the scripts draw, as `reading.js` reads it.
    plotly_js : str
        From `plotly_script`.
    files : sequence of str
        Styles (.css) and scripts (.js) of this package; those that all pages have are not named.
    """
    kept = {name: _file(name) for name in ("page.css", "reading.js", "in_view.js", *files)}
    style = "".join(text for name, text in kept.items() if name.endswith(".css"))
    scripts = "\n".join(f"<script>{text}</script>" for name, text in kept.items() if name.endswith(".js"))
    links = "".join(f'<a href="#{_anchor(name)}">{escape(name)}</a>' for name in sections)
    body = "\n".join(
        f'<section id="{_anchor(name)}"><h2>{escape(name)}</h2>\n{content}</section>'
        for name, content in sections.items()
    )
    content = {**data, "kind_words": dict(KIND_WORDS)}
    text = json.dumps(content, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<link rel="icon" href="data:,"><style>\n{style}</style></head>\n<body><h1>{escape(title)}</h1>\n'
        f'<nav>{links}<a href="{_GLOSSARY}">Glossary</a></nav>\n{intro}\n{body}\n'
        f'<script type="application/json" id="page-data">{text}</script>\n'
        f"<script>{plotly_js}</script>\n{scripts}\n</body></html>\n"
    )


def _file(name: str) -> str:
    return (resources.files("smpy.report") / name).read_text(encoding="utf-8")


def _anchor(title: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in title.lower())


def facts_table(facts: Sequence[tuple[str, str]]) -> str:
    """Table of names and their texts."""
    cells = "".join(f"<tr><th>{escape(name)}</th><td>{escape(fact)}</td></tr>" for name, fact in facts)
    return f"<table>{cells}</table>"


def rows_table(head: Sequence[str], rows: Sequence[Sequence[str]], n_words: int) -> str:
    """A table with words in the first columns, and numbers in the others."""
    kinds = ["word"] * n_words + ["number"] * (len(head) - n_words)
    top = "".join(f'<th class="{kind}">{escape(name)}</th>' for name, kind in zip(head, kinds, strict=True))
    lines = (
        "".join(f'<td class="{kind}">{escape(cell)}</td>' for cell, kind in zip(row, kinds, strict=True))
        for row in rows
    )
    return f'<table class="rows"><tr>{top}</tr>{"".join(f"<tr>{line}</tr>" for line in lines)}</table>'


def figure(name: str) -> str:
    """Element in which a script draws the figure of this name."""
    return f'<div data-figure="{escape(name)}"></div>\n'
