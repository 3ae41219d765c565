"""The table of collectives beside real MPIs is what the raw times and today's predictions give."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_page_shows_the_errors_of_the_raw_times():
    script = [sys.executable, "calibration/collective_curves.py", "calibration/collectives"]
    told = subprocess.run(script, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    page = (ROOT / "calibration" / "README.md").read_text(encoding="utf-8")
    assert told in page
