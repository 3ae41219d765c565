"""Replay of a trace without its program, on its machine or another one."""

from smpy.replay.changes import Better
from smpy.replay.replay import ReplayResult, replay

__all__ = ["Better", "ReplayResult", "replay"]
