"""Progress of a study where no terminal shows it."""

from __future__ import annotations

import io
import sys

import pytest

from smpy.cli import progress
from smpy.cli.progress import study_progress
from smpy.study.state import StudyProgress


def test_a_file_gets_a_line_each_half_minute(monkeypatch: pytest.MonkeyPatch):
    file, date_s = io.StringIO(), [1000.0]
    monkeypatch.setattr(sys, "stderr", file)
    monkeypatch.setattr(progress, "monotonic", lambda: date_s[0])
    with study_progress() as show:
        assert show is not None
        for n_done in range(100):  # a point a second
            date_s[0] += 1
            show(StudyProgress(100, n_done, n_done // 50, 100.0 - n_done))
    assert file.getvalue().splitlines() == [
        "smpy: 29 of 100 points have ended, 71 are left, about 71 s left",
        "smpy: 59 of 100 points have ended, 1 of them failed, 41 are left, about 41 s left",
        "smpy: 89 of 100 points have ended, 1 of them failed, 11 are left, about 11 s left",
    ]


def test_the_last_point_is_left(monkeypatch: pytest.MonkeyPatch):
    file, date_s = io.StringIO(), [1000.0]
    monkeypatch.setattr(sys, "stderr", file)
    monkeypatch.setattr(progress, "monotonic", lambda: date_s[0])
    with study_progress() as show:
        assert show is not None
        date_s[0] += 31
        show(StudyProgress(2, 1, 0, None))
    assert file.getvalue() == "smpy: 1 of 2 points have ended, 1 is left\n"


def test_a_short_study_writes_no_progress_into_a_file(monkeypatch: pytest.MonkeyPatch):
    file = io.StringIO()
    monkeypatch.setattr(sys, "stderr", file)
    with study_progress() as show:
        assert show is not None
        show(StudyProgress(10, 5, 0, 1.0))
    assert file.getvalue() == ""


def test_a_quiet_study_has_no_progress():
    with study_progress(is_wanted=False) as show:
        assert show is None
