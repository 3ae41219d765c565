"""First words of docstrings, comments and sentences are verbs or nouns, and so are names of variables."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from smpy.options import OPTIONS

PROJECT = Path(__file__).parents[2]
FOLDERS = ["smpy", "kernels", "apps", "calibration", "tests"]
HIDES_ITS_NOUN = r"(What|Who|Whom|Whose|How|Where|When|Which|Those|They|That|Of|As)\b"
CLAUSE_AS_SUBJECT = re.compile(r"(?:^|[.!] )((?:What|Whatever|Who|Whoever|Which|Those)\b[^.?:]*)(?=[.:]|$)")
NO_NOUNS = {"found", "told", "given", "made", "wanted", "said", "those", "that", "it", "of"}
COMMENT = re.compile(rf"\s*(#|/\*) {HIDES_ITS_NOUN}")


def files(folder: str, *suffixes: str) -> list[Path]:
    return [path for path in sorted((PROJECT / folder).rglob("*")) if path.suffix in suffixes]


def docstrings(path: Path) -> Iterator[tuple[int, str]]:
    """Line and text of each string that stands as a statement: attributes have such docstrings, too."""
    blocks = [ast.parse(path.read_text(encoding="utf-8")).body]
    while blocks:
        for each in blocks.pop():
            match each:
                case ast.Expr(value=ast.Constant(value=str(text)), lineno=line):
                    yield line, text.strip()
                case ast.ClassDef(body=body) | ast.FunctionDef(body=body) | ast.If(body=body) | ast.With(body=body):
                    blocks.append(body)


def bound_name(node: ast.AST) -> str | None:
    """Name of the variable or the parameter that a node binds; None: it binds none."""
    match node:
        case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
            return name
    return None


@cache
def docstrings_of(folder: str) -> list[tuple[Path, int, str]]:
    """File, line and text of each docstring in the Python files of a folder."""
    return [(path.relative_to(PROJECT), line, text) for path in files(folder, ".py") for line, text in docstrings(path)]


@pytest.mark.parametrize("folder", FOLDERS)
def test_docstrings_begin_with_a_verb_or_a_noun(folder: str):
    hidden = [
        f"{path}:{line}: {text.splitlines()[0]}"
        for path, line, text in docstrings_of(folder)
        if re.match(HIDES_ITS_NOUN, text)
    ]
    assert not hidden, "\n".join(hidden)


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_sentence_of_a_docstring_has_a_clause_for_its_subject(folder: str):
    clauses = [
        f"{path}:{line}: {found[1]}"
        for path, line, text in docstrings_of(folder)
        for found in CLAUSE_AS_SUBJECT.finditer(" ".join(text.split()))
    ]
    assert not clauses, "\n".join(clauses)


def paragraphs_of(page: str) -> list[str]:
    """Paragraphs of a page in Markdown, without code and tables."""
    prose = re.sub(r"^```.*?^```", "", page, flags=re.MULTILINE | re.DOTALL)
    lines = [line for line in prose.splitlines() if not line.startswith(("    ", "|", "#"))]
    return [" ".join(paragraph.split()) for paragraph in re.split(r"\n\s*\n|\n\* ", "\n".join(lines))]


@pytest.mark.parametrize("folder", [".", "docs", *FOLDERS])
def test_no_sentence_of_a_page_has_a_clause_for_its_subject(folder: str):
    pages = (PROJECT / folder).glob("*.md" if folder == "." else "**/*.md")
    clauses = [
        f"{page.relative_to(PROJECT)}: {found[1]}"
        for page in pages
        for paragraph in paragraphs_of(page.read_text(encoding="utf-8"))
        for found in CLAUSE_AS_SUBJECT.finditer(paragraph)
    ]
    assert not clauses, "\n".join(clauses)


def test_help_texts_begin_with_a_verb_or_a_noun():
    texts = [(f"--{name}", option.help) for name, option in OPTIONS.items()]
    for path in files("smpy", ".py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.keyword(arg="help" | "short_help", value=ast.Constant(value=str(text))):
                    texts.append((f"{path.relative_to(PROJECT)}:{node.lineno}", text))
    assert not [f"{place}: {text}" for place, text in texts if re.match(HIDES_ITS_NOUN, text)]


@pytest.mark.parametrize("folder", FOLDERS)
def test_comments_above_code_begin_with_a_verb_or_a_noun(folder: str):
    hidden = [
        f"{path.relative_to(PROJECT)}:{number}: {line.strip()}"
        for path in files(folder, ".py", ".c", ".h")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if COMMENT.match(line)
    ]
    assert not hidden, "\n".join(hidden)


def test_variables_and_parameters_have_a_noun_for_a_name():
    named = [
        f"{path.relative_to(PROJECT)}:{node.lineno}: {name}"
        for path in files("smpy", ".py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if (name := bound_name(node)) in NO_NOUNS
    ]
    assert not named, "\n".join(named)
