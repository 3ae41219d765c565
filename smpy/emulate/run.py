"""One run: assembles machine, engine and program, turns the loop, and says how it ended."""

from __future__ import annotations

import gc
import resource
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, Literal

import smpy.mpi
from smpy.compute.clock import Clock
from smpy.emulate.deadlock import describe_deadlock
from smpy.emulate.interrupts import Interrupts
from smpy.emulate.lifetime import Lifetime
from smpy.emulate.patches import Patches
from smpy.emulate.program import open_program
from smpy.emulate.streams import Outlet
from smpy.emulate.world import install_world
from smpy.engine import running
from smpy.engine.engine import Engine
from smpy.engine.outcomes import Aborted, Failed
from smpy.errors import DeadlockError, Interrupted, RankFailure, SmpyError
from smpy.platforms import Platform, default_cluster, place, read_simgrid_xml
from smpy.records.summary import Summary
