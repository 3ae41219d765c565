"""Memory that exists and that is held, on systems that tell it and on those that do not."""

import sys
from pathlib import Path

import pytest

from smpy.engine import memory
from smpy.errors import PlatformError, UsageError


@pytest.mark.parametrize("has_resource", [True, False])
def test_memory_is_known_or_said_to_be_unknown_without_linux(monkeypatch: pytest.MonkeyPatch, has_resource: bool):
    monkeypatch.setattr(memory, "_PROCESS", "/nowhere/")
    monkeypatch.setattr(memory, "_CONTAINER_LIMITS", ("/nowhere",))
    if not has_resource:
        monkeypatch.setitem(sys.modules, "resource", None)
    assert (memory.peak_rss_bytes() > 0) == (memory.rss_bytes() > 0) == has_resource
    monkeypatch.delattr("os.sysconf")
    assert (memory.limit_bytes() is None) or has_resource
    if not has_resource:
        memory.check_fits(1 << 100, "anything", "run less")


def test_a_containers_limit_bounds_what_there_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    for text, limit in (("max\n", None), ("1000000\n", 1_000_000)):
        (tmp_path / "memory.max").write_text(text)
        monkeypatch.setattr(memory, "_CONTAINER_LIMITS", (str(tmp_path / "memory.max"),))
        assert limit is None or memory.limit_bytes() == limit
    with pytest.raises(UsageError, match=r"it would take 2 MB of memory at least, and there are 1 MB here: run less"):
        memory.check_fits(2_000_000, "it", "run less")
    with pytest.raises(PlatformError):
        memory.check_fits(2_000_000, "it", "run less", PlatformError)
    memory.check_fits(1_000_000, "it", "run less")
