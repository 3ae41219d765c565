"""Points are handed out and in, whatever becomes of the scheduler."""

from __future__ import annotations

import logging
from types import SimpleNamespace

import pytest

from smpy.runs.request import RunInputs
from smpy.study import dask_cluster, tasks
from smpy.study.carried_variables import CarriedVariables
from smpy.study.dask_cluster import DaskConnection
from smpy.study.journal import Entry
from smpy.study.tasks import Task


def task(key: str) -> Task:
    return Task(key, "", ".", ".", (), False, False, False, None, None)


def hand_out(done: tasks.Done) -> tasks._HandOut:
    connection = DaskConnection(SimpleNamespace(), lambda: None, lambda: 1)
    return tasks._HandOut(connection, done, CarriedVariables({}, ()))


class Ended:
    """A future of Dask, whose scheduler may be gone when its result is fetched."""

    def __init__(self, status: str = "finished", *, has_scheduler: bool = True) -> None:
        self.status, self.has_scheduler = status, has_scheduler

    def result(self) -> tuple[Entry, RunInputs]:
        if not self.has_scheduler:
            raise ConnectionResetError(104, "Connection reset by peer")
        return Entry({"makespan_s": 1.0}), RunInputs()

    def release(self) -> None:
        pass


def test_what_has_come_is_handed_in_even_if_the_scheduler_goes_with_the_next():
    kept: list[str] = []
    points = hand_out(lambda ended: kept.extend(task.key for task, _, _ in ended))
    futures = [Ended(), Ended(has_scheduler=False)]
    points._out = {future: task(f"point {i}") for i, future in enumerate(futures)}
    with pytest.raises(tasks._LostError):
        points._take_all(futures)
    assert kept == ["point 0"]


def test_a_point_whose_worker_dies_before_its_result_is_fetched_is_handed_out_again(monkeypatch: pytest.MonkeyPatch):
    again: list[str] = []
    points = hand_out(lambda ended: pytest.fail(f"{ended} have ended"))
    monkeypatch.setattr(points, "_hand_out", lambda task: again.append(task.key))
    future = Ended("lost")
    points._out = {future: task("point")}
    points._take_all([future])
    assert again == ["point"]


def test_a_point_that_dask_cancels_tells_of_a_lost_scheduler():
    points = hand_out(lambda ended: pytest.fail(f"{ended} have ended"))
    future = Ended("cancelled")
    points._out = {future: task("point")}
    with pytest.raises(tasks._LostError):
        points._take_all([future])


def test_a_full_disk_is_not_told_as_a_lost_scheduler():
    def full(_: object) -> None:
        raise OSError(28, "No space left on device")

    points = hand_out(full)
    future = Ended()
    points._out = {future: task("point")}
    with pytest.raises(OSError, match="No space left"):
        points._take_all([future])


def test_points_share_what_memory_the_container_has(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(dask_cluster, "limit_bytes", lambda: 8_000)
    assert dask_cluster.memory_of_a_point(4) == 1_800
    monkeypatch.setattr(dask_cluster, "limit_bytes", lambda: None)
    assert dask_cluster.memory_of_a_point(4) is None


def test_dasks_loggers_are_silent_for_a_study_alone():
    logger = logging.getLogger("distributed.smpy_test")
    logger.setLevel(logging.INFO)
    with dask_cluster._silence():
        assert not logger.isEnabledFor(logging.CRITICAL)
    assert logger.level == logging.INFO
