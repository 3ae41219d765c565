"""Runs the scripts of a page in node, without a browser: nothing is drawn, and files beside the page are loaded."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="there is no node")
_SCRIPTS = Path(__file__).parents[2] / "smpy" / "report"
_STUBS = """
const fs = require("fs"), vm = require("vm");
const [page, ...files] = process.argv.slice(1);
const inPage = /<script type="application\\/json" id="page-data">(.*?)<\\/script>/s;
const text = inPage.exec(fs.readFileSync(page, "utf8"))[1];
const folder = page.replace(/[^/]*$/, "");
const document = {
  getElementById: () => ({ textContent: text }), querySelectorAll: () => [], createElement: () => ({ remove() {} }),
  head: {
    append(script) {
      const path = folder + decodeURIComponent(script.src);
      if (!fs.existsSync(path)) return script.onerror();
      vm.runInThisContext(fs.readFileSync(path, "utf8"));
      script.onload();
    },
  },
};
Object.assign(globalThis, { document, drawInView: () => undefined });
const code = files.map((file) => fs.readFileSync(file, "utf8")).join("\\n");
"""


def said(page: Path, script: str, names: Sequence[str] = ("reading.js", "call_stacks.js", "page.js")) -> Any:
    """Object that an asynchronous script returns, which sees what these files define: those of the page of a trace."""
    assert NODE is not None
    asked = json.dumps(f";globalThis.answer = async () => {{{script}}};")
    tell = "answer().then((found) => console.log(JSON.stringify(found)));"
    run = f"(() => {{ {_STUBS} vm.runInThisContext(code + {asked}); {tell} }})();"
    files = [str(_SCRIPTS / name) for name in names]
    done = subprocess.run([NODE, "-e", run, str(page), *files], check=True, capture_output=True, text=True, timeout=60)
    return json.loads(done.stdout)
