"""Gathers the pages of the site: those that docs/README.md lists, and those made from the code (`make docs`).

Pages are Markdown that a git host shows, too: their links lead to files of the project. In the site such a link leads
to the page that the file has become, else to the project's repository.
"""

from __future__ import annotations

import re
import shutil
import sys
import tomllib
from pathlib import Path

from reference import made_pages

ROOT = Path(__file__).resolve().parents[1]
LIST = ROOT / "docs" / "README.md"
REPOSITORY: str = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]["Repository"]
LINK = re.compile(r"`[^`]*`|(?<=\]\()([^)\s]+)(?=\))|(?<=\]: )(\S+)")
SECTION = re.compile(r"^## (.*)\n((?:(?!## ).*\n)*)", re.MULTILINE)


def target_of(link: str, page: Path) -> Path | None:
    """File or folder of the project that a link of the page leads to; None: it leads elsewhere."""
    path = link.partition("#")[0]
    inside = re.match(re.escape(REPOSITORY) + r"/(?:blob|tree)/main/(.*)", path)
    if path == "" or (path.startswith(("http:", "https:", "mailto:")) and not inside):
        return None
    target = (ROOT / inside[1] if inside else page.parent / path).resolve()
    if not target.exists():
        raise SystemExit(f"{page.relative_to(ROOT)}: {link} leads to nothing")
    return target


def site_name(file: Path) -> str:
    """Name of a page in the site: `kernels.md` of kernels/README.md."""
    if file == LIST:
        return "index.md"
    path = file.relative_to(ROOT / "docs") if file.is_relative_to(ROOT / "docs") else file.relative_to(ROOT)
    return str(path).removesuffix("/README.md").removesuffix(".md").replace("/", "-").lower() + ".md"


def listed_pages(text: str) -> list[Path]:
    """Pages that a part of the list names, in order."""
    links = [match[1] or match[2] for match in LINK.finditer(text)]
    targets = [target_of(link, LIST) for link in links if link]
    return list(dict.fromkeys(file for file in targets if file is not None and file.suffix == ".md"))


def with_contents(text: str, made: dict[str, str]) -> str:
    """The list of pages with the contents that Sphinx wants; its reference names the pages made from the code."""
    for section in SECTION.finditer(text):
        title, body = section[1], section[2].rstrip()
        pages = [site_name(file) for file in listed_pages(body)]
        if title == "Reference":
            pages += made
            body += "".join(f"\n* {{doc}}`{name.partition('.')[0]}`" for name in made)
        contents = "\n".join(["```{toctree}", ":hidden:", f":caption: {title}", *pages, "```"])
        text = text.replace(section[0], f"## {title}\n{body}\n\n{contents}\n\n")
    return text


def gather(folder: Path) -> None:
    """Write all pages, and the pictures on them, into an empty folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    sections = SECTION.findall(LIST.read_text(encoding="utf-8"))
    pages = {file: site_name(file) for file in [LIST, *listed_pages("".join(body for _, body in sections))]}

    def link_in_site(match: re.Match[str], page: Path) -> str:
        link = match[1] or match[2]
        target = link and target_of(link, page)
        if not target:
            return match[0]
        if target.suffix == ".png":
            shutil.copy(target, folder)
            return target.name
        kind = "tree" if target.is_dir() else "blob"
        anchor = link[len(link.partition("#")[0]) :]
        return pages.get(target, f"{REPOSITORY}/{kind}/main/{target.relative_to(ROOT)}") + anchor

    made = made_pages()
    for page, name in pages.items():
        text = page.read_text(encoding="utf-8")
        text = with_contents(text, made) if page == LIST else text
        text = LINK.sub(lambda match, page=page: link_in_site(match, page), text)
        (folder / name).write_text(text, encoding="utf-8")
    for name, content in made.items():
        (folder / name).write_text(content, encoding="utf-8")


if __name__ == "__main__":
    gather(Path(sys.argv[1]))
