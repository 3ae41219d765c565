"""`python -m tests.bench`: the benchmarks, then their table; arguments go to pytest."""

import sys
from pathlib import Path

import pytest

sys.exit(pytest.main(["-m", "bench", str(Path(__file__).parent), *sys.argv[1:]]))
