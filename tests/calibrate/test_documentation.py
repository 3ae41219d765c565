"""docs/calibrating.md names what there is."""

import re
from pathlib import Path

from smpy.calibrate.kernels import kernels

PAGE = (Path(__file__).parents[2] / "docs" / "calibrating.md").read_text(encoding="utf-8")


def test_the_table_of_kernels_has_every_one_with_its_sizes():
    written: dict[str, str] = {}
    for names, sizes in re.findall(r"^\| (`.+) \| (.+) \|$", PAGE, re.MULTILINE):
        for name in re.findall(r"`([A-Za-z]\w+)`", names):
            for letter in "sdcz" if "X" in name else "_":
                written[name.replace("X", letter)] = sizes
    for kernel in kernels().values():
        assert all(re.search(rf"\b{size}\b", written[kernel.name]) for size in kernel.sizes), kernel.name
