"""A page shows the same from tiles as from all intervals, and bins with calls where tiles are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from smpy.records.trace import Trace
from smpy.report import tiled_timeline, tiles
from smpy.report.page import write_report
from tests.records.large_trace import write_ring
from tests.report.node import needs_node, said

pytestmark = needs_node
READ = """
const told = [];
const allOf = (arrays) => Promise.all(arrays.map(unpacked));
const open = async () => {
  const { timeline } = page;
  if (timeline.exact) return new Exact(timeline, await unpackedAll(timeline.exact));
  const bins = new Bins(timeline, await allOf(timeline.levels), await allOf(timeline.labels));
  const source = new Tiled(timeline, bins, () => undefined, (text) => told.push(text));
  addTile = (...tile) => waits.push(source.add(...tile));
  return source;
};
const waits = [];
const source = await open();
const views = [];
const { first_s: from, last_s: to } = page.timeline;
const width = to - from;
for (const [first, last, top, bottom] of [[0, 1, 0, 8], [0.31, 0.33, 2, 5], [0.9, 1, 7, 8]]) {
  const view = [from + first * width, from + last * width, top, bottom];
  source.picture(...view);
  await Promise.all(waits);
  const { z } = source.picture(...view);
  const at = [0.2, 0.5, 0.77].map((part) => source.at(view[0] + part * (view[1] - view[0]), top));
  const messages = lines(source.messages(await unpackedAll(page.messages.drawn)), ...view);
  const ends = new Set(messages.x.map((x, i) => `${x} ${messages.y[i]} ${messages.text[i]}`));
  views.push({ z: z.map((row) => [...row]), at, messages: [...ends].sort() });
}
return { views, told };
"""


@pytest.fixture(scope="module")
def ring(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_ring(tmp_path_factory.mktemp("ring") / "trace", 8, 30)


def page_of(ring: Path, folder: Path, *, is_tiled: bool) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        if is_tiled:
            patch.setattr(tiled_timeline, "EXACT_MAX", 0)
            patch.setattr(tiles, "INTERVALS", 60)
        write_report(Trace(ring), folder / "report.html", {})
    return folder / "report.html"


def test_a_view_of_tiles_is_that_of_all_intervals_at_every_zoom(ring: Path, tmp_path: Path):
    (tmp_path / "tiled").mkdir()
    exact = said(page_of(ring, tmp_path, is_tiled=False), READ)
    tiled = said(page_of(ring, tmp_path / "tiled", is_tiled=True), READ)
    assert len(list((tmp_path / "tiled" / "report.tiles").iterdir())) > 8
    assert tiled == exact
    assert "ring.py" in exact["views"][1]["at"][0] or "rank 2" in exact["views"][1]["at"][0]
    assert exact["views"][1]["messages"]


@pytest.mark.parametrize("change", ["missing", "of another page"])
def test_without_its_tiles_a_page_shows_bins_with_calls_and_says_so(ring: Path, tmp_path: Path, change: str):
    page = page_of(ring, tmp_path, is_tiled=True)
    for tile in (tmp_path / "report.tiles").iterdir():
        if change == "missing":
            tile.unlink()
        else:
            tile.write_text(tile.read_text().replace('addTile("', 'addTile("x', 1))
    found = said(page, READ)
    why = "is not beside this page" if change == "missing" else "belongs to another page"
    assert found["told"][0] == f"Tile 0-0 of the folder report.tiles {why}: the picture is coarse."
    assert all(": mostly " in text for view in found["views"] for text in view["at"])
    assert any(", Recv " in text for view in found["views"] for text in view["at"])
