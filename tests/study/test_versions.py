"""Points run again with another version of any module that makes their results."""

from __future__ import annotations

import re
from pathlib import Path

import smpy
from smpy.study.versions import OF_RESULTS

WITHOUT_RESULTS = {"errors", "input_files", "installed_parts"}
PACKAGE = Path(smpy.__file__).parent


def test_what_results_depend_on_imports_nothing_that_results_do_not_depend_on():
    known = {name.removesuffix(".py") for name in OF_RESULTS} | WITHOUT_RESULTS
    for name in OF_RESULTS:
        if name in ("__init__.py", "replay"):  # a run needs one module of replays
            continue
        place = PACKAGE / name
        for path in [place] if place.is_file() else place.rglob("*.py"):
            imported = set(re.findall(r"^ *(?:from|import) smpy\.(\w+)", path.read_text(), re.MULTILINE))
            assert imported <= known, path
