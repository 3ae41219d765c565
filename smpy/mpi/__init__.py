"""What a program sees as `mpi4py.MPI`, on a simulated machine.

One module for all ranks: a handle holds a number and no rank, and asks which rank runs. A method reads its arguments,
makes one call of the engine, and returns; families of calls are files of their own.
"""

from __future__ import annotations

from typing import Any

from smpy.mpi import constants as _constants
from smpy.mpi.buffers import BOTTOM, IN_PLACE, BottomType, InPlaceType
from smpy.mpi.comm import COMM_NULL, COMM_SELF, COMM_WORLD, Comm, Intracomm
from smpy.mpi.constants import *  # noqa: F403  # the standard's numbers
from smpy.mpi.datatypes import (
    PREDEFINED as _DATATYPES,
    Datatype,
    _typealign,
    _typecode,
    _typedict,
    _typedict_c,
    _typedict_f,
)
from smpy.mpi.environment import (
    Aint_add,
    Aint_diff,
    Finalize,
    Get_address,
    Get_library_version,
    Get_processor_name,
    Get_version,
    Init,
    Init_thread,
    Is_finalized,
    Is_initialized,
    Is_thread_main,
    Pcontrol,
    Query_thread,
    Wtick,
    Wtime,
    get_vendor,
)
from smpy.mpi.exceptions import ERROR_CLASSES as _ERROR_CLASSES
from smpy.mpi.exceptions import Exception, Get_error_class, Get_error_string
from smpy.mpi.groups import GROUP_EMPTY, GROUP_NULL, Group
from smpy.mpi.operations import PREDEFINED as _OPERATIONS
from smpy.mpi.operations import Op
from smpy.mpi.pickling import Pickle, pickle
from smpy.mpi.requests import REQUEST_NULL, Request
from smpy.mpi.status import Status

globals().update(_DATATYPES)
globals().update(_OPERATIONS)
globals().update({name: number for name, (number, _) in _ERROR_CLASSES.items()})

_CLASSES = (
    BottomType, Comm, Datatype, Exception, Group, InPlaceType, Intracomm, Op, Pickle, Request, Status
)  # fmt: skip
for _class in _CLASSES:
    _class.__module__ = "mpi4py.MPI"  # by that name programs print them, and pickle finds them


def __getattr__(name: str) -> Any:
    raise AttributeError(f"module 'mpi4py.MPI' has no attribute {name!r} (smpy does not simulate all of MPI)")
