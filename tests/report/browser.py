"""Looks at a page in a headless Chromium."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
HELPERS = """
const later = (ms) => new Promise((done) => setTimeout(done, ms));
const soon = () => new Promise((done) => {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = done;
  port2.postMessage(0);
});
const until = async (is) => { // most turns take no virtual time, which would run out before the browser is done
  for (let turn = 1; !is(); turn++) await (turn % 200 ? soon() : later(20));
};
const figure = (name) => document.querySelector(`[data-figure=${name}]`);
"""
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium")


def seen(page: Path, script: str) -> tuple[dict[str, Any], str]:
    """Object `found` that a script in the page fills when all is drawn, and the lines of the browser's console."""
    text = page.read_text()
    wait = "await until(() => !document.querySelector('[data-figure]:not([data-is-drawn])'));"
    more = (
        f"<script>{HELPERS} const found = {{}}; (async () => {{ {wait} {script}"
        "document.body.dataset.found = JSON.stringify(found); })();</script></body>"
    )
    page.write_text(text.replace("</body>", more))
    assert CHROMIUM is not None
    command = [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1300,6000"]
    command += [f"--user-data-dir={page.parent / 'browser'}", "--virtual-time-budget=30000", "--enable-logging=stderr"]
    command += ["--dump-dom", page.as_uri()]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
    told = re.search(r'data-found="([^"]*)"', done.stdout)
    console = "\n".join(line for line in done.stderr.splitlines() if ":CONSOLE" in line)
    return json.loads(unescape(told[1])) if told else {}, console


def drawn_after_s(page: Path) -> float:
    """Real time from the beginning of loading until the first figure is drawn."""
    say = "document.querySelector('[data-is-drawn]') && clearInterval(asks) === undefined"
    more = f"<script>const asks = setInterval(() => {say} && console.log(`drawn ${{performance.now()}}`), 5);</script>"
    page.write_text(page.read_text().replace("</body>", more + "</body>"))
    assert CHROMIUM is not None
    command = [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1300,900"]
    command += [f"--user-data-dir={page.parent / 'browser'}", "--enable-logging=stderr", page.as_uri()]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as browser:
        assert browser.stderr is not None
        try:
            found = (re.search(r'CONSOLE.*"drawn ([\d.]+)"', line) for line in browser.stderr)
            return float(next(filter(None, found))[1]) / 1000
        finally:
            browser.terminate()
